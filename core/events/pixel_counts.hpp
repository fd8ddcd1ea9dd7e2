// PixelCounts: the shares of objects inside zones, and the shares of zones that are foreground. The
// pixels come from a label map, a mask or runs.
#pragma once

#include <span>
#include <vector>

#include "core/events/detector.hpp"

namespace regions::events {

class PixelCounts {
 public:
  // Forgets the counts of the last frame.
  void clear();
  // Must be called if the rules changed.
  void forget_rules() { areas_.clear(); }

  // Each of these functions counts the pixels of all zones that read pixels. `rules` are in pixels.
  // If they have another size than the map, they are scaled.

  // `pixels` has the number of pixels of each object in the map.
  void count_labels(const Rules& rules, ConstLabelMap labels, std::span<const Object> objects,
                    std::span<const double> pixels);
  void count_runs(const Rules& rules, Size picture, std::span<const PixelRun> runs,
                  std::span<const Object> objects);
  // A mask has no objects, so only foreground is counted.
  void count_mask(const Rules& rules, Image<const uint8_t> mask);
  // Counts a frame without foreground.
  void count_nothing(const Rules& rules) { foreground_.assign(rules.zones.size(), 0); }

  // The counts of the last frame, see FrameObjects.
  std::span<const std::vector<double>> shares() const { return shares_; }
  std::span<const double> foreground() const { return foreground_; }

 private:
  void begin(const Rules& rules, Size map_size);
  void set_shares(size_t zone, std::span<const Object> objects, std::span<const double> pixels);
  void set_foreground(size_t zone, uint64_t pixels);

  std::vector<std::vector<double>> shares_;  // [zone][object]
  std::vector<double> foreground_;           // [zone]
  std::vector<AreaPixels> areas_;            // [zone], for a map of areas_size_
  Size areas_size_;
  std::vector<uint32_t> inside_;  // [object id] pixels in a zone, for a moment
};

}  // namespace regions::events

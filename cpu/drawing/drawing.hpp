// Draws regions on a picture, on the CPU. draw() is the interface; the other functions are its
// phases.
#pragma once

#include <span>

#include "core/drawing/drawing.hpp"
#include "core/drawing/paint.hpp"
#include "core/drawing/stamp.hpp"
#include "core/workers.hpp"

namespace regions {

// Draws regions on `in` and writes the result to `out`, which has the same format and size and may
// be `in` itself. Label l gets the colour of regions[l - 1].track, or the colour of track l if
// that record does not exist. `ink` must be all zero, and is all zero afterwards.
void draw(const ConstFrame& in, const Frame& out, const LabelView& labels,
          std::span<const Region> regions, const DrawingParams& params, const Ink& ink,
          const Workers& workers);

// Copies the labels of `count` pixels of row y, from column x on.
void read_labels(const LabelSampler& labels, int x, int y, int count, uint32_t* to);

// Finds the edges of labels in rows begin..end - 1. Sets one bit per pixel: the pixel has a label
// other than 0, and at least one of its 8 neighbours has another label.
void find_label_edges(const LabelSampler& labels, Image<uint32_t> edges, Size picture, int begin,
                      int end);

// One row of the outlines of regions, one bit per pixel. Bits are also set outside of regions, but
// only pixels with a label are painted.
class OutlineRow {
 public:
  // Computes the outlines in row y by dilating `edges` (see paint.hpp). Returns false if the row
  // has no outlines; then the bits of this object are undefined.
  bool compute(Image<const uint32_t> edges, int thickness, int y);

  uint32_t outline(int word) const { return outline_[word]; }
  uint32_t shadow(int word) const { return shadow_[word]; }  // includes the outline's bits

 private:
  static constexpr int kMaxWords = 65536 / 32;
  uint32_t outline_[kMaxWords];
  uint32_t shadow_[kMaxWords];
};

// Writes the ink of all regions in band `band`, which has Ink::kBandHeight rows: writes the codes
// of pixels and marks the tiles that contain ink. A small amount of ink is written region by
// region. For many overlapping regions, the time is proportional to the area of the band plus a
// small constant time for each region.
void stamp_band(const StampPlan& plan, std::span<const Region> regions, const Ink& ink, int band);

}  // namespace regions

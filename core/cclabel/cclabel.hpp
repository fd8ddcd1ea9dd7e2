// Connected-component labelling: the parameters, the algorithm's interface, and decisions that both
// backends share.
#pragma once

#include "core/algorithm.hpp"
#include "core/drawing/drawing.hpp"
#include "core/frame.hpp"
#include "core/tracking/tracking.hpp"

namespace regions {

enum class Criterion : uint8_t { binary, equal, difference };
// In a picture, neighbouring pixels share an edge (4), or an edge or a corner (8). In a volume,
// neighbouring voxels share a face (6), a face or an edge (18), or a face, an edge or a corner
// (26).
enum class Connectivity : uint8_t { four = 4, six = 6, eight = 8, eighteen = 18, twenty_six = 26 };
enum class Source : uint8_t { image, alpha, mask };
enum class CcOutput : uint8_t { overlay, labels, colors, mask, none };
enum class Overflow : uint8_t { drop_smallest, saturate, error };
enum class LabelValues : uint8_t { dense, track };
enum class Method : uint8_t { automatic, union_find, propagation, sweep };

// Points from the property `seeds`. Only regions that contain one of the points are kept.
struct Seeds {
  static constexpr int kMax = 64;
  uint16_t x[kMax], y[kMax];  // coordinates in pixels; all points are inside the picture
  int count = 0;
};

// The properties of the element. The parameter table in cclabel.cpp documents each of them.
struct CcLabelParams : DrawingParams {
  Criterion criterion = Criterion::binary;
  double threshold = 0.5;
  double tolerance = 0.1;
  Connectivity connectivity = Connectivity::eight;
  Source source = Source::image;
  uint32_t min_area = 0;
  uint32_t max_area = 0;
  uint32_t fill_holes = 0;
  uint32_t max_regions = 4096;
  CcOutput output = CcOutput::overlay;
  Overflow overflow = Overflow::drop_smallest;
  bool track = false;
  uint32_t track_birth = 1;
  uint32_t track_memory = 30;
  LabelValues label_values = LabelValues::dense;
  int depth = 1;
  bool sliding = false;
  NumberList<128> thresholds;
  bool label_background = false;
  NumberList<2 * Seeds::kMax> seeds;  // x, y, x, y, …
  bool click_seeds = false;
  Method method = Method::automatic;
  bool attach_runs = false;
  uint32_t max_runs = 1 << 16;
};

// True for the connectivities of volumes.
REGIONS_HD constexpr bool is_spatial(Connectivity connectivity) {
  return connectivity != Connectivity::four && connectivity != Connectivity::eight;
}
// Connectivity of pixels within one slice of a volume with this connectivity.
REGIONS_HD constexpr Connectivity within_slice(Connectivity connectivity) {
  if (!is_spatial(connectivity)) return connectivity;
  return connectivity == Connectivity::six ? Connectivity::four : Connectivity::eight;
}

// Connectivity of the background for a given connectivity of the foreground. It is chosen so that
// foreground paths and background paths cannot cross each other.
REGIONS_HD constexpr Connectivity dual(Connectivity connectivity) {
  switch (connectivity) {
    case Connectivity::four:
      return Connectivity::eight;
    case Connectivity::eight:
      return Connectivity::four;
    case Connectivity::six:
      return Connectivity::twenty_six;
    default:
      return Connectivity::six;
  }
}

// Number of output volumes per input volume: one per threshold.
int layers_of(const CcLabelParams& params);
double threshold_of(const CcLabelParams& params, int layer);
// The seeds that are inside a picture of this size.
Seeds seeds_of(const CcLabelParams& params, Size picture);
// The layout of the task's outputs.
VolumeLayout volume_layout_of(const Setup& setup, const FrameTask& task);

namespace cclabel {
using Params = CcLabelParams;  // the name that meson.build's list of algorithms requires
}

std::span<const Field> fields_of(const CcLabelParams&);
Output output_of(const CcLabelParams& params);
// Derives the fields of a setup from the parameters.
void plan(const CcLabelParams& params, Setup& setup);

// The interface that make_algorithm<CcLabelParams, …>() returns.
class CcLabel : public Algorithm<CcLabelParams> {
 public:
  // Tracking events in the last frame of this slot, valid after the queue's wait() has returned.
  // All counts are zero without `track`.
  virtual TrackEvents track_events(int slot) const = 0;
  // Number of iterations of label propagation in the last frame of this slot; 0 for other methods.
  virtual uint32_t passes(int /*slot*/) const { return 0; }
};

inline bool uses_propagation(Method method) {
  return method == Method::propagation || method == Method::sweep;
}

// Throws SettingsError if the parameters contradict each other or the setup.
void expects_consistent(const Setup& setup, const CcLabelParams& params);
// Checks that both backends share. Each throws InputError if the setup, frame or parameters are
// unsuitable.
void expects_labellable(const Setup& setup);
void expects_labellable(const Setup& setup, const FrameTask& task, const CcLabelParams& params);
void expects_source(const Setup& setup, const FrameTask& task, const CcLabelParams& params);
void expects_method(const Setup& setup, const CcLabelParams& params, BackendKind backend);
void expects_trackable(const Setup& setup);
void expects_trackable(const Setup& setup, const FrameTask& task, const CcLabelParams& params);

// The range of areas that the properties min-area and max-area allow. Regions with another area
// become background. A region has fewer than 2^32 pixels, because expects_labellable() refuses
// larger pictures and volumes.
struct AreaBounds {
  uint32_t min_area = 0;  // pixels
  uint32_t max_area = UINT32_MAX;

  bool exclude_any() const { return min_area > 1 || max_area < UINT32_MAX; }
  REGIONS_HD bool contain(uint64_t area) const { return area >= min_area && area <= max_area; }
};
AreaBounds area_bounds_of(const CcLabelParams& params);

// Converts a threshold to an integer level in stored units. Pixels whose value is at least this
// level are foreground; the value is gray, luma or alpha, and luma_of() for RGB. Threshold 0 is
// black and makes every pixel foreground; 1 is white.
int threshold_level(double threshold, const Layout& layout, const Colorimetry& color);

// Converts a tolerance to an integer level in stored units. Neighbours are linked if the sum of
// |difference| over their channels is below this level (GTC 2010 S12218). Gray and YUV use one
// channel (luma), RGB uses three.
int tolerance_level(double tolerance, const Layout& layout);

// The value of pixel (x, y) that criterion=binary compares with the threshold.
template <class Byte>
REGIONS_HD inline int value_at(const BasicFrame<Byte>& frame, int x, int y) {
  if (frame.layout.model == ColorModel::rgb) {
    return luma_of(frame.sample(0, x, y), frame.sample(1, x, y), frame.sample(2, x, y));
  }
  return frame.sample(0, x, y);
}

// Sum of |difference| over the channels of two pixels. criterion=equal links pixels with sum 0, and
// criterion=difference compares the sum with the tolerance.
template <class Byte>
REGIONS_HD inline int distance_at(const BasicFrame<Byte>& frame, int x, int y, int x2, int y2) {
  const int channels = frame.layout.model == ColorModel::rgb ? 3 : 1;
  int sum = 0;
  for (int c = 0; c < channels; ++c) {
    const int d = frame.sample(c, x, y) - frame.sample(c, x2, y2);
    sum += d < 0 ? -d : d;
  }
  return sum;
}

// The value that label-values=track writes for a label. A piece of an object has the value of the
// object. `limit` is the largest value of the output
// format.
REGIONS_HD inline uint32_t track_value(const Region* regions, const TrackState* states,
                                       uint32_t count, uint32_t label, uint32_t limit,
                                       Overflow overflow) {
  // A region that has no record in the table has no track.
  if (label == 0 || label > count) return 0;
  const uint32_t own = regions[label - 1].track;
  const uint32_t track = own != 0 ? own : states[label - 1].part_of;
  if (track <= limit) return track;
  return overflow == Overflow::saturate ? limit : 0;
}

TrackRules track_rules(const CcLabelParams& params, const Layout& in);
// The largest label that fits in the task's output picture. The property `overflow` says what
// happens to larger labels.
uint32_t max_output_label(const FrameTask& task, const CcLabelParams& params);
// Returns how many of `total` regions get a label. `out` is the layout of the output picture, if
// there is one. Throws InputError if there are more regions than labels and `overflow` does not
// allow this.
LabelCapacity label_capacity(const CcLabelParams& params, uint32_t total, const Layout& out);

}  // namespace regions

namespace regions::cclabel {

// Returns the number of bytes of device memory that drop_value() requires for this many pixels.
// CUDA only.
size_t drop_value_bytes(size_t pixels);

// Removes the regions whose pixels have this value, and renumbers the other regions 1, 2, … in
// raster order. CUDA only. The frame has one component of 1 or 2 bytes. The label map has no
// padding between rows. `memory` is device memory of drop_value_bytes() bytes. Writes the new
// number of regions to `total`, which is in pinned host memory.
void drop_value(const ConstFrame& frame, uint32_t value, const LabelMap& labels, void* memory,
                uint32_t* total, Queue& queue);

}  // namespace regions::cclabel

// Connected-component labelling: parameters, and the decisions both backends must take alike.
#pragma once

#include "core/drawing/drawing.hpp"
#include "core/output.hpp"
#include "core/stack.hpp"
#include "core/tracking/tracking.hpp"
#include "core/verdict.hpp"

namespace regions {

enum class Criterion : uint8_t { binary, equal, difference };
// By edges and corners of a picture's pixels; by faces, edges and corners of a volume's voxels.
enum class Connectivity : uint8_t { four = 4, six = 6, eight = 8, eighteen = 18, twenty_six = 26 };
enum class Source : uint8_t { image, alpha, mask };
enum class CcOutput : uint8_t { overlay, labels, colors, mask, none };
enum class Overflow : uint8_t { drop_smallest, saturate, error };
enum class LabelValues : uint8_t { dense, track };
enum class Method : uint8_t { automatic, union_find, propagation, sweep };

// Points that choose the regions they lie in.
struct Seeds {
  static constexpr int kMax = 64;
  uint16_t x[kMax], y[kMax];  // all inside the picture
  int count = 0;
};

struct CcLabelParams : DrawingParams {
  Criterion criterion = Criterion::binary;
  double threshold = 0.5;
  double tolerance = 0.1;
  Connectivity connectivity = Connectivity::eight;
  Source source = Source::image;
  int64_t min_area = 0;
  int64_t max_area = 0;
  int64_t fill_holes = 0;
  int64_t max_regions = 4096;
  CcOutput output = CcOutput::overlay;
  Overflow overflow = Overflow::drop_smallest;
  bool track = false;
  int64_t track_birth = 1;
  int64_t track_memory = 30;
  LabelValues label_values = LabelValues::dense;
  int64_t depth = 1;
  bool sliding = false;
  NumberList<128> thresholds;
  bool label_background = false;
  NumberList<2 * Seeds::kMax> seeds;  // x, y, x, y, …
  bool click_seeds = false;
  Method method = Method::automatic;
  bool attach_runs = false;
  int64_t max_runs = 1 << 16;
};

// Whether the setting of connectivity is one of volumes.
REGIONS_HD constexpr bool is_spatial(Connectivity connectivity) {
  return connectivity != Connectivity::four && connectivity != Connectivity::eight;
}
// How pixels of a slice are neighbours where the volume's voxels are connected so.
REGIONS_HD constexpr Connectivity within_slice(Connectivity connectivity) {
  if (!is_spatial(connectivity)) return connectivity;
  return connectivity == Connectivity::six ? Connectivity::four : Connectivity::eight;
}

// How background is connected where foreground is so, that no line of one crosses one of the other.
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

// How many volumes come out of one: a threshold's each.
int layers_of(const CcLabelParams& params);
double threshold_of(const CcLabelParams& params, int layer);
// The seeds that lie inside such a picture.
Seeds seeds_of(const CcLabelParams& params, Size picture);
// What the job's outputs are.
Stack stack_of(const Setup& setup, const Job& job);

namespace cclabel {
using Params = CcLabelParams;  // by the name that stands in meson.build's list
}

std::span<const Field> fields_of(const CcLabelParams&);
Output output_of(const CcLabelParams& params);
// What the parameters make of a setup.
void plan(const CcLabelParams& params, Setup& setup);

// What make_algorithm<CcLabelParams, …>() makes.
class CcLabel : public Algorithm<CcLabelParams> {
 public:
  // Of the slot's last frame, once its queue's wait() has returned; all zero without `track`.
  virtual TrackReport track_report(int slot) const = 0;
  // Of the same frame: how often a method that goes over the frame until nothing changes did so.
  virtual uint32_t passes(int /*slot*/) const { return 0; }
};

inline bool is_historic(Method method) {
  return method == Method::propagation || method == Method::sweep;
}

// Parameters that contradict each other, or the setup that is made of them, whatever frames come:
// throws SettingsError.
void expects_agreeing(const Setup& setup, const CcLabelParams& params);
// What both backends refuse: throws InputError.
void expects_stackable(const Setup& setup);
void expects_stackable(const Setup& setup, const Job& job, const CcLabelParams& params);
void expects_source(const Setup& setup, const Job& job, const CcLabelParams& params);
void expects_method(const Setup& setup, const CcLabelParams& params, BackendKind backend);
void expects_trackable(const Setup& setup);
void expects_trackable(const Setup& setup, const Job& job, const CcLabelParams& params);

// A pixel is foreground when its value (gray, luma, alpha; for RGB luma_of) is >= this level.
// Black of the colorimetry is 0, white is 1; 0 makes every pixel foreground.
int foreground_level(double threshold, const Layout& layout, const Colorimetry& color);

// Neighbours are linked when the sum of |difference| over their channels (one for gray and YUV:
// the luma; three for RGB) is < this level. GTC 2010 S12218: sum |difference| < tolerance.
int difference_level(double tolerance, const Layout& layout);

// The value that `binary` compares, of pixel (x, y).
template <class Byte>
REGIONS_HD inline int value_at(const BasicFrame<Byte>& frame, int x, int y) {
  if (frame.layout.model == ColorModel::rgb) {
    return luma_of(frame.sample(0, x, y), frame.sample(1, x, y), frame.sample(2, x, y));
  }
  return frame.sample(0, x, y);
}

// Sum of |difference| over the channels that `equal` (0: linked) and `difference` compare.
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

// The value that label-values=track shows of a label: `limit` is the greatest the picture holds.
REGIONS_HD inline uint32_t track_value(const Region* regions, uint32_t count, uint32_t label,
                                       uint32_t limit, Overflow overflow) {
  if (label == 0 || label > count) return 0;  // a region beyond the table is not tracked
  const uint32_t track = regions[label - 1].track;
  if (track <= limit) return track;
  return overflow == Overflow::saturate ? limit : 0;
}

TrackRules track_rules(const CcLabelParams& params, const Layout& in);
// How many labels the job's output picture can tell apart; the rest overflows.
uint32_t limit_of(const Job& job, const CcLabelParams& params);
// Of a frame with so many regions; `out` is its picture, if it has one. Throws InputError where
// `overflow` forbids them.
Verdict verdict_of(const CcLabelParams& params, uint32_t total, const Layout& out);

}  // namespace regions

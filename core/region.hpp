// Region: the measurements of one labelled region. All values are exact integers, so that backends
// agree bit for bit.
#pragma once

#include <cstdint>

#include "core/frame.hpp"

namespace regions {

struct Region {
  uint32_t id = 0;  // label in this frame, 1..n in raster order of first pixels
  // Track id, which stays the same from frame to frame; equals `id` without tracking.
  uint32_t track = 0;
  int32_t first_x = 0;  // column of the first pixel in raster order
  int32_t first_y = 0;  // row of the first pixel
  int32_t left = 0;     // bounding box in pixels; right and bottom are inclusive
  int32_t top = 0;
  int32_t right = 0;
  int32_t bottom = 0;
  int32_t first_z = 0;  // slice of the first voxel; 0 in a picture
  int32_t front = 0;    // first slice of the region; 0 in a picture
  int32_t back = 0;     // last slice of the region (inclusive); 0 in a picture
  uint32_t layer = 0;   // index of the threshold in `thresholds`; 0 with a single threshold
  uint64_t area = 0;    // number of pixels or voxels
  uint64_t sum_x = 0;   // sums of the coordinates x, y and z of the region's pixels
  uint64_t sum_y = 0;
  uint64_t sum_z = 0;
  // Sums of stored colour components. A pixel has the chroma of the nearest sample.
  uint64_t sum_value[3] = {};

  REGIONS_HD int width() const { return right - left + 1; }
  REGIONS_HD int height() const { return bottom - top + 1; }
  REGIONS_HD int depth() const { return back - front + 1; }
  double centroid_x() const { return mean(sum_x); }
  double centroid_y() const { return mean(sum_y); }
  double centroid_z() const { return mean(sum_z); }
  double mean(uint64_t sum) const {
    return area ? static_cast<double>(sum) / static_cast<double>(area) : 0;
  }
};

// Further sums over a superpixel's pixels, stored separately from its Region.
struct Moments {
  uint64_t sum_lab[3] = {};  // sums of the stored CIELAB components 2 L + 28, a + 128 and b + 128
  uint64_t sum_xx = 0;       // sums of products of the pixels' coordinates
  uint64_t sum_xy = 0;
  uint64_t sum_yy = 0;
};

// Results of tracking for a region, in addition to its track.
struct TrackState {
  // Number of frames for which the region has not moved. It has moved if its centre is more than
  // two pixels and an eighth of its shorter side away from the place where it came to rest.
  uint32_t still = 0;
  // Track of the object that the region is a piece of; 0 for all other regions. A piece has track
  // 0.
  uint32_t part_of = 0;

  friend bool operator==(const TrackState&, const TrackState&) = default;
};

// A pair of touching regions and the length of their common border in pixel sides.
struct Border {
  uint32_t first = 0;  // the smaller label
  uint32_t second = 0;
  uint32_t length = 0;  // pixel sides
};
// Maximum number of borders between connected regions: they form a planar graph, which has fewer
// than 3 n edges (Euler).
constexpr size_t max_borders(size_t regions) { return 3 * regions; }

// A maximal horizontal run of pixels of one region.
struct PixelRun {
  uint32_t label = 0;
  uint32_t x = 0;  // column of the first pixel
  // Row of the picture or of the tall picture of a volume, see VolumeLayout::position.
  uint32_t row = 0;
  uint32_t width = 0;  // pixels
};

// Memory for an algorithm's results. Only the first `capacity` regions, in order of labels, get a
// record. `total` receives the number of all regions of the frame; it must be set if `regions` is.
struct RegionTable {
  Region* regions = nullptr;  // [capacity]
  uint32_t capacity = 0;
  uint32_t* total = nullptr;
  Moments* moments = nullptr;  // [capacity]; null if the algorithm does not compute moments
  // [max_borders(capacity)], borders between regions with a record, sorted by labels.
  Border* borders = nullptr;
  uint32_t* border_count = nullptr;  // receives the number of borders
  // [run_capacity], runs of the regions with a record, sorted by label and then in raster order.
  // `run_total` counts all runs; only the first `run_capacity` in raster order are stored.
  PixelRun* runs = nullptr;
  uint32_t run_capacity = 0;
  uint32_t* run_total = nullptr;
  // Number of occluded tracks, whose records follow the regions' records (see
  // core/tracking/tracking_step.hpp). Null: occluded tracks get no records, and the box of a region
  // always encloses the whole region.
  uint32_t* occluded_tracks = nullptr;
  // [capacity], also for the records of occluded tracks; null if nothing is tracked.
  TrackState* track_states = nullptr;
};

// Mean colours as R, G, B in 0..255, computed from the sums of a frame with this layout and
// colorimetry.
struct MeanColor {
  double red = 0, green = 0, blue = 0;
};
class MeanColors {
 public:
  MeanColors(const Layout& layout, const Colorimetry& color);
  MeanColor of(const Region& region) const;

 private:
  ColorModel model_;
  LumaWeights weights_;
  double unit_;          // factor from stored R, G, B or gray values to 0..255
  double luma_scale_;    // factor from stored luma differences to 0..255
  double chroma_scale_;  // factor from stored chroma differences to 0..255
  double black_, zero_;  // stored values of black luma and neutral chroma
};

// Mean CIELAB colour (D65).
struct MeanLab {
  double l = 0, a = 0, b = 0;
};
MeanLab mean_lab(const Region& region, const Moments& moments);

// Covariance of the positions of a region's pixels, in square pixels. It is computed from exact
// sums.
struct Covariance {
  double xx = 0, xy = 0, yy = 0;
};
Covariance covariance(const Region& region, const Moments& moments);

}  // namespace regions

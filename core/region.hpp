// Region: what is known of one labelled region, in exact integers so that backends agree bit for
// bit.
#pragma once

#include <cstdint>

#include "core/frame.hpp"

namespace regions {

struct Region {
  uint32_t id = 0;      // its label in this frame, 1..n in raster order of the first pixel
  uint32_t track = 0;   // id that stays from frame to frame; equals id where nothing tracks
  int32_t first_x = 0;  // first pixel in raster order
  int32_t first_y = 0;
  int32_t left = 0;  // box, all four inside the region
  int32_t top = 0;
  int32_t right = 0;
  int32_t bottom = 0;
  int32_t first_z = 0;  // of a volume: slice of the first voxel, and the first and last one's;
  int32_t front = 0;    // of a picture 0
  int32_t back = 0;
  uint32_t layer = 0;  // index of the threshold that it is a region of
  uint64_t area = 0;   // pixels, or voxels of a volume
  uint64_t sum_x = 0;  // sums over the region's pixels
  uint64_t sum_y = 0;
  uint64_t sum_z = 0;
  uint64_t sum_value[3] = {};  // of each colour component as stored (chroma at its nearest sample)

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

// What slicsuperpixel knows besides, beside a Region: sums over its pixels.
struct Moments {
  uint64_t sum_lab[3] = {};  // of CIELAB as stored: 2 L + 28, a + 128, b + 128
  uint64_t sum_xx = 0;       // of products of places
  uint64_t sum_xy = 0;
  uint64_t sum_yy = 0;
};

// Two regions that touch, and along how many sides of pixels.
struct Border {
  uint32_t first = 0;  // the lower label
  uint32_t second = 0;
  uint32_t length = 0;
};
// Pieces that are connected and touch by sides make a planar graph: among n of them there are less
// than 3 n borders (Euler).
constexpr size_t most_borders(size_t regions) { return 3 * regions; }

// A row of a region's pixels, as long as it goes.
struct PixelRun {
  uint32_t label = 0;
  uint32_t x = 0;      // its first pixel
  uint32_t row = 0;    // of the picture or of the stack, see Stack::place
  uint32_t width = 0;  // pixels
};

// Where an algorithm leaves its regions. `total` counts all regions of the frame, also those beyond
// `capacity`, of which only the first `capacity` (in label order) are recorded.
struct RegionTable {
  Region* regions = nullptr;  // [capacity]
  uint32_t capacity = 0;
  uint32_t* total = nullptr;
  Moments* moments = nullptr;  // [capacity], where the algorithm has them
  // Borders between regions that are recorded, in order of labels; room for most_borders(capacity).
  Border* borders = nullptr;
  uint32_t* border_count = nullptr;
  // Runs of the recorded regions, by label and then in raster order. Of more than `run_capacity`
  // those that come first in raster order are there; `run_total` counts all.
  PixelRun* runs = nullptr;
  uint32_t run_capacity = 0;
  uint32_t* run_total = nullptr;
  // Where tracks are asked for their parts of a region that several share: so many records come
  // behind those of the regions, see core/tracking/parts.hpp. Null: none, and boxes are the
  // regions'.
  uint32_t* parts = nullptr;
};

// Mean colours as R, G, B in 0..255, from the sums of a frame with this layout and colorimetry.
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
  double unit_;          // of a sum of R, G, B or grey
  double luma_scale_;    // of codes
  double chroma_scale_;  // of codes
  double black_, zero_;  // codes of luma and chroma
};

// Mean of the pixels' CIELAB colours (D65).
struct MeanLab {
  double l = 0, a = 0, b = 0;
};
MeanLab mean_lab(const Region& region, const Moments& moments);

// Of the places of a region's pixels, square pixels; rounded from exact sums.
struct Covariance {
  double xx = 0, xy = 0, yy = 0;
};
Covariance covariance(const Region& region, const Moments& moments);

}  // namespace regions

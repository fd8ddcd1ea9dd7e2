// Computes the tables for the conversion from sRGB to CIELAB, the grid of cells, and the scales of
// integer distances.
#include "core/slicsuperpixel/clusters.hpp"

#include <algorithm>
#include <cmath>

#include "core/slicsuperpixel/fragments.hpp"

namespace regions {
namespace {

// The matrix from linear sRGB (D65) to X, Y and Z. The rows X, Y, Z are divided by the white point,
// so each row sums to 1.
constexpr double kToXyz[3][3] = {
    {0.4124564 / 0.9504700, 0.3575761 / 0.9504700, 0.1804375 / 0.9504700},
    {0.2126729, 0.7151522, 0.0721749},
    {0.0193339 / 1.0888300, 0.1191920 / 1.0888300, 0.9503041 / 1.0888300}};

double linear(int level) {
  const double v = level / 255.0;
  return v <= 0.04045 ? v / 12.92 : std::pow((v + 0.055) / 1.055, 2.4);
}

LabTables make_tables() {
  LabTables tables;
  // White gives the last index. Half an index is added for rounding, only to the shares of red, so
  // that each sum contains it once.
  const double scale = (LabTables::kRoots - 1) << LabTables::kDrop;
  for (int c = 0; c < 3; ++c) {
    for (int level = 0; level < 256; ++level) {
      uint64_t shares = 0;
      for (int axis = 0; axis < 3; ++axis) {
        double share = std::floor(kToXyz[axis][c] * linear(level) * scale);
        if (c == 0) share += 1 << (LabTables::kDrop - 1);
        shares |= static_cast<uint64_t>(share) << (axis * LabTables::kShare);
      }
      tables.share[c][level] = shares;
    }
  }
  for (int i = 0; i < LabTables::kRoots; ++i) {
    const double t = i / static_cast<double>(LabTables::kRoots - 1);
    const double f = t > 216.0 / 24389 ? std::cbrt(t) : (24389.0 / 27 * t + 16) / 116;
    tables.root[i] = static_cast<uint16_t>(std::lround(f * LabTables::kUnit));
  }
  return tables;
}

// Ratio of the number of cells to the requested number of superpixels. It is below 1, because some
// clusters in photographs have a second fragment that is worth keeping.
constexpr double kCellRatio = 0.94;
// Added to the error of a grid in grid_of() if it has fewer than 90 % of the requested number of
// cells. Flat pictures need enough cells, because their clusters have no second fragments.
constexpr double kFewCellsCost = 0.1;

int ceil_div(int a, int b) { return (a + b - 1) / b; }

SlicGrid grid_with(Size size, int width, int height) {
  return {size, width, height, ceil_div(size.width, width), ceil_div(size.height, height)};
}

}  // namespace

const LabTables& lab_tables() {
  static const LabTables tables = make_tables();
  return tables;
}

ColorReader reader_of(const Layout& layout, const Colorimetry& color, ColorSpace color_space) {
  ColorReader reader;
  reader.color_space = color_space;
  YuvDecoder& decoder = reader.decoder;
  decoder.drop = layout.sample_bits > 8 ? layout.sample_bits - 8 : 0;
  decoder.is_yuv = layout.model == ColorModel::yuv;
  if (!decoder.is_yuv) return reader;
  const auto [kr, kb] = luma_weights(color.matrix);
  const double luma = color.full_range ? 1 : 255.0 / 219;
  const double chroma = color.full_range ? 1 : 255.0 / 224;
  const auto to_fixed_point = [](double v) {
    return static_cast<int32_t>(std::lround(v * (1 << YuvDecoder::kShift)));
  };
  decoder.black = color.full_range ? 0 : 16;
  decoder.luma = to_fixed_point(luma);
  decoder.red_v = to_fixed_point(2 * (1 - kr) * chroma);
  decoder.blue_u = to_fixed_point(2 * (1 - kb) * chroma);
  decoder.green_u = to_fixed_point(2 * (1 - kb) * kb / (1 - kr - kb) * chroma);
  decoder.green_v = to_fixed_point(2 * (1 - kr) * kr / (1 - kr - kb) * chroma);
  return reader;
}

SlicGrid grid_of(Size size, const SlicParams& params) {
  if (params.superpixels == 0) {
    return grid_with(size, params.region_size, params.region_size);
  }
  // Search for nearly square cells whose number is as close as possible to the requested one.
  const double cells_requested = kCellRatio * params.superpixels;
  const double area = static_cast<double>(size.area()) / cells_requested;
  const double side = std::clamp(std::sqrt(area), 2.0, 1.0 * kMaxCell);
  const auto sides_for = [](int length, int64_t cells) {
    const int64_t shared = (length + std::max<int64_t>(cells, 1) - 1) / std::max<int64_t>(cells, 1);
    return static_cast<int>(std::clamp<int64_t>(shared, 2, kMaxCell));
  };
  SlicGrid best;
  double best_error = 1e9;
  const auto end = static_cast<int64_t>(1.7 * size.width / side) + 1;
  for (auto c = static_cast<int64_t>(size.width / side / 1.3); c <= end; ++c) {
    const int width = sides_for(size.width, c);
    const int64_t rows = std::llround(cells_requested / ceil_div(size.width, width));
    const int max_height = sides_for(size.height, rows - 1);
    for (int h = std::max(sides_for(size.height, rows + 1) - 1, 2); h <= max_height; ++h) {
      // Makes all rows equally high.
      const int height = sides_for(size.height, ceil_div(size.height, h));
      const SlicGrid grid = grid_with(size, width, height);
      const double ratio = static_cast<double>(grid.cells()) / cells_requested;
      const double aspect_ratio_error = std::log(1.0 * grid.width / grid.height);
      const bool is_few = ratio * kCellRatio < 0.9;
      const double error = std::abs(std::log(ratio)) + 0.1 * std::abs(aspect_ratio_error) +
                           (is_few ? kFewCellsCost : 0);
      if (error >= best_error) continue;
      best_error = error;
      best = grid;
    }
  }
  return best;
}

size_t max_cells(Size size) {
  return static_cast<size_t>(ceil_div(size.width, 2)) *
         static_cast<size_t>(ceil_div(size.height, 2));
}

SlicScale scale_of(const SlicGrid& grid, const SlicParams& params) {
  // A distance of one Lab unit adds 8 to a sixteenth of the score, or less if the compactness is so
  // high that integers would overflow. Centres are at most 2.5 cells away from a pixel's cell. So
  // slopes are at most 2047 and scores are below 2^24.
  const double area = static_cast<double>(grid.width) * grid.height;
  const double side = std::max(grid.width, grid.height);
  // slico uses only the ratio of position and colour. The value 40 gives scores enough resolution.
  const bool adapts = params.variant == SlicVariant::slico;
  const double compactness = adapts ? 40 : params.compactness;
  const double position_weight = compactness * compactness / area;
  double scale = 8;
  if (position_weight > 0) {
    scale = std::min(
        {scale, 2047 / (5 * side * position_weight), 22000 / (side * side * position_weight)});
  }
  const bool is_lab = params.color_space == ColorSpace::lab;
  SlicScale result;
  for (int c = 0; c < 3; ++c) {
    // One unit of 2 L or of a level 0..255 counts half as much as one unit of a or b, so its square
    // counts a quarter.
    result.weight[c] = is_lab && c > 0 ? 4 : 1;
    const double weight = result.weight[c] / 4.0 * scale;
    result.gain[c] = static_cast<float>(2 * weight / 16);
    result.square[c] = static_cast<float>(16 / (4 * weight));
  }
  result.slope = static_cast<float>(2 * 16 * position_weight * scale / 16);
  result.curvature = static_cast<float>(16 * position_weight * scale / 256);
  if (adapts) {
    const double first = std::max(params.compactness, 1.0);
    result.initial_max_distance = static_cast<uint32_t>(64 * first * first);
    result.adaptive = static_cast<float>(scale * compactness * compactness);
  }
  return result;
}

uint64_t movement_tolerance(const SlicGrid& grid, const SlicParams& params) {
  return static_cast<uint64_t>(16 * params.tolerance * static_cast<double>(grid.cells()));
}

RetentionRule retention_rule(const SlicGrid& grid, const SlicParams& params) {
  const int cell = grid.width * grid.height;
  const bool is_number_requested =
      params.superpixels > 0 && params.min_size > 0 && grid.size.area() < Fragment::kRetained;
  RetentionRule rule;
  // With 0.4 of the minimum area, at least the requested number of fragments remain in all
  // photographs of BSDS500.
  const double share = params.min_size * (is_number_requested ? 0.4 : 1);
  rule.min_size = static_cast<uint32_t>(std::lround(share * cell));
  if (!is_number_requested) return rule;
  rule.superpixels = params.superpixels;
  // If the grid has no more cells than requested superpixels, all fragments with the area of a cell
  // can be retained, because there cannot be more such fragments than cells.
  rule.certain =
      grid.cells() <= rule.superpixels ? static_cast<uint32_t>(cell) : Fragment::kRetained;
  // Step 0 of the merge costs begins at the cost of a fragment with 1/32 of a cell's area, whose
  // colour differs from its neighbour's colour by 1, the smallest difference.
  rule.lowest_cost = RetentionRule::eighths_of_octaves(static_cast<uint32_t>(cell)) - 5 * 8 +
                     RetentionRule::eighths_of_octaves(1) / 8;
  return rule;
}

}  // namespace regions

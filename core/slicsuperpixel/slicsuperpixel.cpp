// The parameter table of slicsuperpixel, its cells and the scale of its scores.
#include "core/slicsuperpixel/slicsuperpixel.hpp"

#include <algorithm>
#include <cmath>

#include "core/slicsuperpixel/pieces.hpp"

namespace regions {
namespace {

using P = SlicParams;

constexpr int kMaxCell = 512;  // pixels: sums over nine such cells fit in 32 bits
// Cells, of the superpixels wanted: clusters of photographs have second pieces worth keeping.
constexpr double kCellsWanted = 0.94;
constexpr double kFewCellsCost = 0.1;  // of a tenth too few, as flat pictures have no second pieces

constexpr Choice kSpaces[] = {
    {0, "lab", "CIELAB (sRGB, D65)"}, {1, "rgb", "Red, green and blue"}, {2, "luma", "Luma only"}};
constexpr Choice kVariants[] = {
    {0, "slic", "All superpixels use `compactness`"},
    {1, "slico",
     "Each superpixel adapts its own compactness, starting from `compactness` (at least 1)"}};
constexpr Choice kMethods[] = {
    {0, "fused", "One pass over the pixels per iteration"},
    {1, "report",
     "The four kernels of the ECE1782 course report \"Superpixels\" (2020), for comparison. CUDA "
     "only; cells of at least 8 pixels; without slico, warm-start, row-step and tolerance"}};
constexpr Choice kOutputs[] = {
    {0, "overlay", "The picture with the superpixels drawn on it"},
    {1, "labels", "The label of each pixel, starting from 1"},
    {2, "boundaries", "255 at the first pixels of another superpixel, 0 elsewhere"},
    {3, "mean", "The picture with each superpixel in its mean colour"},
    {4, "none", "The unchanged picture with metadata"}};

std::vector<Field> table() {
  std::vector<Field> fields = {
      field<P, &P::region_size>(
          "region-size", "Side length of the grid cells from which superpixels start (pixels).",
          {2, kMaxCell}),
      field<P, &P::superpixels>("superpixels",
                                "Desired number of superpixels (count). 0: use `region-size`. Grid "
                                "cells have sides of at most 512 pixels.",
                                {0, 1 << 24}),
      field<P, &P::compactness>(
          "compactness",
          "Weight of position against colour: the colour distance that counts as much as one cell "
          "side (Lab units). Larger values give more compact superpixels.",
          {0, 1000}),
      field<P, &P::variant>("variant", "Choice of the compactness per superpixel.", {}, kVariants),
      field<P, &P::method>("method", "Clustering algorithm.", {}, kMethods, Change::stopped),
      field<P, &P::report_step>("report-step",
                                "Number of optimisation steps that method=report applies (count).",
                                {1, 7}),
      field<P, &P::iterations>(
          "iterations", "Maximum number of rounds of assignment and averaging (count).", {0, 100}),
      field<P, &P::row_step>("row-step", "Use every Nth row in each iteration (rows).",
                             {1, kMaxRowStep}),
      field<P, &P::tolerance>("tolerance",
                              "Stop iterating when cluster centres move less than this on average "
                              "(pixels). 0: never stop early.",
                              {0, 512}),
      field<P, &P::color_space>("color-space", "Colour space in which colours are compared.", {},
                                kSpaces),
      field<P, &P::min_size>(
          "min-size",
          "Fragments smaller than this join their most similar neighbour (fraction of a grid "
          "cell's area). 0: no fragment joins. If `superpixels` is set, further fragments join "
          "until that number remains.",
          {0, 1}),
      field<P, &P::warm_start>(
          "warm-start",
          "Start from the cluster centres of the previous frame, so that superpixels keep their "
          "track ids (boolean). A scene cut starts from the grid again."),
      field<P, &P::max_regions>("max-regions",
                                "Maximum number of superpixels that are recorded in the metadata, "
                                "drawn or painted (count).",
                                {1, 1 << 16}, {}, Change::stopped),
      field<P, &P::attach_covariance>(
          "attach-covariance",
          "Add the covariance of pixel positions to the metadata of each superpixel: cov-xx, "
          "cov-xy and cov-yy in square pixels (boolean)."),
      field<P, &P::attach_adjacency>(
          "attach-adjacency",
          "Add the pairs of touching superpixels to the metadata, each with the length of the "
          "common border in pixel sides (boolean).",
          {}, {}, Change::stopped),
      field<P, &P::output>("output", "Content of the output picture.", {}, kOutputs,
                           Change::renegotiated)};
  for (const Field& drawing : drawing_fields<P>()) fields.push_back(drawing);
  return fields;
}

int ceil_div(int a, int b) { return (a + b - 1) / b; }

SlicGrid grid_with(Size size, int width, int height) {
  return {size, width, height, ceil_div(size.width, width), ceil_div(size.height, height)};
}

}  // namespace

std::span<const Field> fields_of(const SlicParams&) {
  static const std::vector<Field> fields = table();
  return fields;
}

Output output_of(const SlicParams& params) {
  switch (params.output) {
    case SlicOutput::labels:
      return Output::labels;
    case SlicOutput::boundaries:
      return Output::mask;
    case SlicOutput::none:
      return Output::untouched;
    case SlicOutput::overlay:
    case SlicOutput::mean:
      break;
  }
  return Output::drawn_on;
}

void plan(const SlicParams& params, Setup& setup) {
  setup.max_regions = static_cast<uint32_t>(params.max_regions);
}

void expects_superpixels(const Setup& setup) {
  const auto within = [](int n) { return n >= 1 && n <= 65535; };
  expects(within(setup.size.width) && within(setup.size.height),
          "pictures must have sides of 1 to 65535 pixels; this one has " +
              std::to_string(setup.size.width) + "x" + std::to_string(setup.size.height));
  expects(setup.in.model != ColorModel::labels, "a label image has no colours for superpixels");
}

SlicGrid grid_of(Size size, const SlicParams& params) {
  if (params.superpixels == 0) {
    const auto side = static_cast<int>(params.region_size);
    return grid_with(size, side, side);
  }
  // Near squares of the wanted area, as many as wanted if that can be.
  const double wanted = kCellsWanted * static_cast<double>(params.superpixels);
  const double area = static_cast<double>(size.area()) / wanted;
  const double side = std::clamp(std::sqrt(area), 2.0, 1.0 * kMaxCell);
  const auto sides_for = [](int length, int64_t cells) {
    const int64_t shared = (length + std::max<int64_t>(cells, 1) - 1) / std::max<int64_t>(cells, 1);
    return static_cast<int>(std::clamp<int64_t>(shared, 2, kMaxCell));
  };
  SlicGrid best;
  double least = 1e9;
  const auto end = static_cast<int64_t>(1.7 * size.width / side) + 1;
  for (auto c = static_cast<int64_t>(size.width / side / 1.3); c <= end; ++c) {
    const int width = sides_for(size.width, c);
    const int64_t rows = std::llround(wanted / ceil_div(size.width, width));
    const int most = sides_for(size.height, rows - 1);
    for (int h = std::max(sides_for(size.height, rows + 1) - 1, 2); h <= most; ++h) {
      const int height = sides_for(size.height, ceil_div(size.height, h));  // of even rows
      const SlicGrid grid = grid_with(size, width, height);
      const double ratio = static_cast<double>(grid.cells()) / wanted;
      const double skew = std::log(1.0 * grid.width / grid.height);
      const bool is_few = ratio * kCellsWanted < 0.9;
      const double miss =
          std::abs(std::log(ratio)) + 0.1 * std::abs(skew) + (is_few ? kFewCellsCost : 0);
      if (miss >= least) continue;
      least = miss;
      best = grid;
    }
  }
  return best;
}

size_t most_cells(Size size) {
  return static_cast<size_t>(ceil_div(size.width, 2)) *
         static_cast<size_t>(ceil_div(size.height, 2));
}

SlicScale scale_of(const SlicGrid& grid, const SlicParams& params) {
  // Squared distances count 8 a Lab unit, less where compactness would leave the range: places lie
  // at most 2.5 cells from a pixel's cell, which bounds slopes to 2047 and scores below 2^24.
  const double area = static_cast<double>(grid.width) * grid.height;
  const double side = std::max(grid.width, grid.height);
  // Of slico only the ratio of place and colour matters; 40 leaves scores many steps.
  const bool adapts = params.variant == SlicVariant::slico;
  const double compactness = adapts ? 40 : params.compactness;
  const double place = compactness * compactness / area;
  double scale = 8;
  if (place > 0) {
    scale = std::min({scale, 2047 / (5 * side * place), 22000 / (side * side * place)});
  }
  const bool is_lab = params.color_space == ColorSpace::lab;
  SlicScale result;
  for (int c = 0; c < 3; ++c) {
    // 2 L and levels of 255 count half.
    result.weight[c] = is_lab && c > 0 ? 4 : 1;
    const double weight = result.weight[c] / 4.0 * scale;
    result.gain[c] = static_cast<float>(2 * weight / 16);
    result.square[c] = static_cast<float>(16 / (4 * weight));
  }
  result.slope = static_cast<float>(2 * 16 * place * scale / 16);
  result.bow = static_cast<float>(16 * place * scale / 256);
  if (adapts) {
    const double first = std::max(params.compactness, 1.0);
    result.reach = static_cast<uint32_t>(64 * first * first);
    result.adaptive = static_cast<float>(scale * compactness * compactness);
  }
  return result;
}

uint64_t movement_limit(const SlicGrid& grid, const SlicParams& params) {
  return static_cast<uint64_t>(16 * params.tolerance * static_cast<double>(grid.cells()));
}

StayRule stay_rule(const SlicGrid& grid, const SlicParams& params) {
  const int cell = grid.width * grid.height;
  const bool is_number_wanted =
      params.superpixels > 0 && params.min_size > 0 && grid.size.area() < Piece::kStays;
  StayRule rule;
  // So much of it leaves as many as are wanted of all photographs of BSDS500.
  const double share = params.min_size * (is_number_wanted ? 0.4 : 1);
  rule.least = static_cast<uint32_t>(std::lround(share * cell));
  if (!is_number_wanted) return rule;
  rule.wanted = static_cast<uint32_t>(params.superpixels);
  // No more than cells can be as large as one.
  rule.certain = grid.cells() <= rule.wanted ? static_cast<uint32_t>(cell) : Piece::kStays;
  // Colours differ by 1 at least: a 32nd of a cell has the first step.
  rule.lowest = StayRule::eighths_of_octaves(static_cast<uint32_t>(cell)) - 5 * 8 +
                StayRule::eighths_of_octaves(1) / 8;
  return rule;
}

Verdict verdict_of(const SlicParams& params, uint32_t total, const Layout& out) {
  expects(params.output != SlicOutput::labels || total <= label_limit(out),
          too_many(total, "superpixels", out));
  return {total, {}};
}

}  // namespace regions

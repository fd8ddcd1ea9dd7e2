// The parameter table of slicsuperpixel, its cells and the scale of its scores.
#include "core/slicsuperpixel/slicsuperpixel.hpp"

#include <algorithm>
#include <cmath>

#include "core/slicsuperpixel/pieces.hpp"

namespace regions {
namespace {

using P = SlicParams;

constexpr int kMostCell = 512;  // pixels: sums over nine such cells fit in 32 bits
// Cells, of the superpixels wanted: clusters of photographs have second pieces worth keeping.
constexpr double kCellsWanted = 0.94;
constexpr double kFewCellsCost = 0.1;  // of a tenth too few, as flat pictures have no second pieces

constexpr Choice kSpaces[] = {
    {0, "lab", "CIELAB (sRGB, D65)"}, {1, "rgb", "Red, green and blue"}, {2, "luma", "Luma alone"}};
constexpr Choice kVariants[] = {
    {0, "slic", "`compactness` holds for all superpixels"},
    {1, "slico", "Each superpixel finds its own: it begins with `compactness` (at least 1)"}};
constexpr Choice kMethods[] = {{0, "fused", "One pass over the pixels an iteration"},
                               {1, "report",
                                "The four kernels of ECE1782's \"Superpixels\" (2020), to compare "
                                "with: CUDA alone, cells of 8 "
                                "pixels or more; no slico, warm-start, row-step or tolerance"}};
constexpr Choice kOutputs[] = {{0, "overlay", "The picture with the superpixels drawn on it"},
                               {1, "labels", "The label of each pixel, from 1"},
                               {2, "boundaries", "255 where another superpixel begins, else 0"},
                               {3, "mean", "The picture with each superpixel in its mean colour"},
                               {4, "none", "The picture untouched, with metadata"}};

std::vector<Field> table() {
  std::vector<Field> fields = {
      field<P, &P::region_size>(
          "region-size", "Side of the cells that superpixels grow from (pixels)", {2, kMostCell}),
      field<P, &P::superpixels>(
          "superpixels",
          "Superpixels wanted; 0 goes by region-size. Cells have at most 512 pixels a side (count)",
          {0, 1 << 24}),
      field<P, &P::compactness>(
          "compactness",
          "Weight of place against colour: the colour distance that counts as much "
          "as one cell's side (Lab units)",
          {0, 1000}),
      field<P, &P::variant>("variant", "How place is weighed against colour", {}, kVariants),
      field<P, &P::method>("method", "How clusters are found", {}, kMethods, Change::stopped),
      field<P, &P::report_step>(
          "report-step", "Of method=report: how many steps of its optimisation are taken (count)",
          {1, 7}),
      field<P, &P::iterations>("iterations", "Most rounds of assignment and averaging (count)",
                               {0, 100}),
      field<P, &P::row_step>("row-step",
                             "Of every so many rows one takes part in an iteration (rows)",
                             {1, kMostRowStep}),
      field<P, &P::tolerance>(
          "tolerance", "Iterations end when centres move less on average (pixels)", {0, 512}),
      field<P, &P::color_space>("color-space", "Where colours are compared", {}, kSpaces),
      field<P, &P::min_size>("min-size",
                             "Smaller pieces join their most similar neighbour, and with "
                             "`superpixels` all but so many "
                             "that stand out most; 0 joins none (fraction of a cell's area)",
                             {0, 1}),
      field<P, &P::warm_start>("warm-start",
                               "Begin with the last frame's centres, so that superpixels keep "
                               "their track; a cut of the scene begins afresh (true or false)"),
      field<P, &P::max_regions>(
          "max-regions",
          "Most superpixels recorded in a frame's metadata, drawn and painted (count)",
          {1, 1 << 16}, {}, Change::stopped),
      field<P, &P::attach_covariance>("attach-covariance",
                                      "Say in the metadata how each superpixel's places vary: "
                                      "cov-xx, cov-xy and cov-yy (square "
                                      "pixels)"),
      field<P, &P::attach_adjacency>("attach-adjacency",
                                     "Say in the metadata which of the recorded superpixels touch, "
                                     "and along how many sides of "
                                     "pixels (true or false)",
                                     {}, {}, Change::stopped),
      field<P, &P::output>("output", "What the output picture shows", {}, kOutputs,
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
          "pictures are 1..65535 pixels each way, not " + std::to_string(setup.size.width) + "x" +
              std::to_string(setup.size.height));
  expects(setup.in.model != ColorModel::labels, "a label image has no colours to compare");
}

SlicGrid grid_of(Size size, const SlicParams& params) {
  if (params.superpixels == 0) {
    const auto side = static_cast<int>(params.region_size);
    return grid_with(size, side, side);
  }
  // Near squares of the wanted area, as many as wanted if that can be.
  const double wanted = kCellsWanted * static_cast<double>(params.superpixels);
  const double area = static_cast<double>(size.area()) / wanted;
  const double side = std::clamp(std::sqrt(area), 2.0, 1.0 * kMostCell);
  const auto sides_for = [](int length, int64_t cells) {
    const int64_t shared = (length + std::max<int64_t>(cells, 1) - 1) / std::max<int64_t>(cells, 1);
    return static_cast<int>(std::clamp<int64_t>(shared, 2, kMostCell));
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

// The parameter table of slicsuperpixel, and validation of its setups.
#include "core/slicsuperpixel/slicsuperpixel.hpp"

#include "core/slicsuperpixel/clusters.hpp"

namespace regions {
namespace {

using P = SlicParams;

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

void plan(const SlicParams& params, Setup& setup) { setup.max_regions = params.max_regions; }

void expects_superpixels(const Setup& setup) {
  const auto within = [](int n) { return n >= 1 && n <= 65535; };
  expects(within(setup.size.width) && within(setup.size.height),
          "pictures must have sides of 1 to 65535 pixels, not " + std::to_string(setup.size.width) +
              "x" + std::to_string(setup.size.height));
  expects(setup.in.model != ColorModel::labels, "a label image has no colours for superpixels");
}

LabelCapacity label_capacity(const SlicParams& params, uint32_t total, const Layout& out) {
  expects(params.output != SlicOutput::labels || total <= max_label_of(out),
          capacity_message(total, "superpixels", out));
  return {total, {}};
}

}  // namespace regions

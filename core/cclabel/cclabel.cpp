// What the parameters of cclabel make of a stream, what is refused, and thresholds as integers.
#include "core/cclabel/cclabel.hpp"

#include <algorithm>
#include <cmath>

namespace regions {
namespace {

void expects_combinable(const Setup& setup) {
  expects_setting(!setup.slides || (setup.depth > 1 && setup.layers == 1 && !setup.has_background),
                  "sliding=true requires a depth of at least 2, no thresholds and "
                  "label-background=false");
  expects_setting(!setup.tracks || ((setup.depth == 1 || setup.slides) && setup.layers == 1 &&
                                    !setup.has_background),
                  "track=true requires depth=1 or sliding=true, no thresholds and "
                  "label-background=false");
}

}  // namespace

Output output_of(const CcLabelParams& params) {
  switch (params.output) {
    case CcOutput::labels:
      return Output::labels;
    case CcOutput::colors:
      return Output::colors;
    case CcOutput::mask:
      return Output::mask;
    case CcOutput::none:
      return Output::untouched;
    case CcOutput::overlay:
      break;
  }
  return Output::drawn_on;
}

void plan(const CcLabelParams& params, Setup& setup) {
  setup.depth = static_cast<int>(params.depth);
  setup.layers = layers_of(params);
  setup.slides = params.sliding;
  setup.tracks = params.track || params.sliding;
  setup.has_background = params.label_background;
  setup.max_regions = static_cast<uint32_t>(params.max_regions);
}

int layers_of(const CcLabelParams& params) { return std::max(params.thresholds.count, 1); }

double threshold_of(const CcLabelParams& params, int layer) {
  return params.thresholds.count > 0 ? params.thresholds.number[layer] : params.threshold;
}

Seeds seeds_of(const CcLabelParams& params, Size picture) {
  Seeds seeds;
  for (int i = 0; i + 1 < params.seeds.count; i += 2) {
    const double x = params.seeds.number[i], y = params.seeds.number[i + 1];
    if (x >= picture.width || y >= picture.height) continue;
    seeds.x[seeds.count] = static_cast<uint16_t>(x);
    seeds.y[seeds.count++] = static_cast<uint16_t>(y);
  }
  return seeds;
}

void expects_agreeing(const Setup& setup, const CcLabelParams& params) {
  expects_combinable(setup);
  const bool is_volume = setup.depth > 1;
  expects_setting(is_spatial(params.connectivity) == is_volume, [&] {
    return "connectivity " + std::to_string(static_cast<int>(params.connectivity)) +
           (is_volume ? " is for pictures; with depth above 1 it must be 6, 18 or 26"
                      : " is for volumes; with depth=1 it must be 4 or 8");
  });
  expects_setting(
      params.fill_holes == 0 || !params.label_background,
      "fill-holes cannot be used with label-background=true, because holes are regions then");
  expects_setting(params.seeds.count % 2 == 0, [&] {
    return "seeds must be pairs of x and y; the list has " + std::to_string(params.seeds.count) +
           " numbers";
  });
  expects_setting(
      params.seeds.count == 0 || (!is_volume && setup.layers == 1 && !setup.has_background),
      "seeds require depth=1, no thresholds and label-background=false");
  expects_setting(setup.layers == 1 || params.criterion == Criterion::binary,
                  "thresholds require criterion=binary");
  expects_setting(
      setup.layers == 1 || params.source != Source::mask,
      "source=mask cannot be used with thresholds: nonzero pixels of the mask are foreground");
}

Stack stack_of(const Setup& setup, const Job& job) {
  return {setup.size, job.slices, setup.layers};
}

void expects_stackable(const Setup& setup) {
  const std::string what = std::to_string(setup.size.width) + "x" +
                           std::to_string(setup.size.height) + ", depth " +
                           std::to_string(setup.depth);
  expects(setup.depth >= 1 && setup.layers >= 1,
          "depth and the number of layers must be at least 1");
  expects(setup.in.model != ColorModel::labels,
          "a label image cannot be labelled as a picture; use it as a mask (source=mask)");
  // Both counts are below 2^32, their product fits.
  const uint64_t slices = static_cast<uint64_t>(setup.depth) * static_cast<uint64_t>(setup.layers);
  expects(slices <= UINT32_MAX / setup.size.area() &&
              slices * static_cast<uint64_t>(setup.size.height) <= INT32_MAX,
          what + " and " + std::to_string(setup.layers) +
              " thresholds have more voxels than labels can count (2^32)");
  const bool halves = setup.in.component[1].y_shift > 0;
  expects(
      !halves || setup.depth == 1 || setup.size.height % 2 == 0,
      std::string(name_of(setup.in.format)) +
          " pictures of odd height cannot form volumes, because slices would share rows of chroma");
  expects_combinable(setup);
}

void expects_stackable(const Setup& setup, const Job& job, const CcLabelParams& params) {
  const bool is_volume = setup.depth > 1;
  expects(params.sliding == setup.slides, "sliding differs from the configured value");
  expects_agreeing(setup, params);
  expects(job.slices >= 1 && job.slices <= (setup.slides ? 1 : setup.depth), [&] {
    return "a volume of " + std::to_string(job.slices) + " slices; configured for " +
           std::to_string(setup.depth);
  });
  expects(job.in.width == setup.size.width && job.in.height == setup.size.height * job.slices &&
              job.in.layout.format == setup.in.format,
          "the frame differs from the configured size or format");
  expects(job.table.run_capacity <= setup.max_runs, "max-runs is larger than configured");
  expects(layers_of(params) == setup.layers,
          "the number of thresholds differs from the configured one");
  expects(params.label_background == setup.has_background,
          "label-background differs from the configured value");
  if (!is_volume && setup.layers == 1) return;
  expects_setting(params.output != CcOutput::overlay || setup.slides || job.out.empty(),
                  "output=overlay requires depth=1 and no thresholds; choose another output");
}

void expects_source(const Setup& setup, const Job& job, const CcLabelParams& params) {
  expects(params.source != Source::mask ||
              (!job.mask.empty() && (job.mask_is_small || job.mask.size() == job.in.size())),
          "source=mask, but no mask of the frame's size is attached to the frame");
  expects(params.source != Source::alpha || setup.in.alpha, [&] {
    return "source=alpha, but " + std::string(name_of(setup.in.format)) + " has no alpha channel";
  });
}

void expects_method(const Setup& setup, const CcLabelParams& params, BackendKind backend) {
  if (!is_historic(params.method)) return;
  const bool sweeps = params.method == Method::sweep;
  const std::string method = sweeps ? "method=sweep" : "method=propagation";
  expects_setting(backend == BackendKind::cuda,
                  method + " runs on CUDA only; the CPU supports method=union-find");
  expects_setting(!sweeps || (params.criterion == Criterion::binary &&
                              params.connectivity == Connectivity::twenty_six),
                  "method=sweep requires criterion=binary and connectivity=26");
  expects_setting(!sweeps || setup.size.width <= 1024,
                  "method=sweep supports widths up to 1024 pixels; the width is " +
                      std::to_string(setup.size.width));
  expects_setting(!params.track && params.fill_holes == 0 && params.seeds.count == 0,
                  method + " supports no track, fill-holes and seeds");
  expects_setting(params.output != CcOutput::overlay || !setup.has_output,
                  method + " does not support output=overlay; choose labels, mask, colors or none");
}

void expects_trackable(const Setup& setup) {
  expects_setting(!setup.tracks || setup.max_regions <= TrackMemory::kMaxRegions,
                  "track=true supports max-regions up to " +
                      std::to_string(TrackMemory::kMaxRegions) + ", not " +
                      std::to_string(setup.max_regions));
}

void expects_trackable(const Setup& setup, const Job& job, const CcLabelParams& params) {
  expects(!params.track || setup.tracks, "track=true, but tracking was not configured");
  expects(!params.track || !job.table.regions || job.table.capacity > 0,
          "track=true requires a table with a capacity above 0");
}

int foreground_level(double threshold, const Layout& layout, const Colorimetry& color) {
  if (threshold <= 0) return 0;
  const double scale = layout.depth > 8 ? 1 << (layout.depth - 8) : 1;
  const bool limited = layout.model == ColorModel::yuv && !color.full_range;
  const double black = limited ? 16 * scale : 0;
  const double white = limited ? 235 * scale : layout.max_value();
  return static_cast<int>(std::ceil(black + threshold * (white - black)));
}

int difference_level(double tolerance, const Layout& layout) {
  return static_cast<int>(std::ceil(tolerance * layout.max_value()));
}

TrackRules track_rules(const CcLabelParams& params, const Layout& in) {
  return {.birth = static_cast<uint32_t>(params.track_birth),
          .memory = static_cast<uint32_t>(params.track_memory),
          .color_bits = in.depth};
}

uint32_t limit_of(const Job& job, const CcLabelParams& params) {
  const bool writes_labels = params.output == CcOutput::labels && !job.out.empty();
  return writes_labels ? label_limit(job.out.layout) : UINT32_MAX;
}

Verdict verdict_of(const CcLabelParams& params, uint32_t total, const Layout& out) {
  if (params.output != CcOutput::labels || total <= label_limit(out)) return {total, {}};
  const std::string what = too_many(total, "regions", out);
  expects(params.overflow != Overflow::error, what);
  expects(!params.sliding || params.overflow == Overflow::saturate,
          what + "; sliding=true requires overflow=saturate or overflow=error");
  return {params.overflow == Overflow::drop_smallest ? label_limit(out) : total, what};
}

}  // namespace regions

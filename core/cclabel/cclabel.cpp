// The parameter table of cclabel and its thresholds as integers.
#include "core/cclabel/cclabel.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace regions {
namespace {

using P = CcLabelParams;

constexpr double kMostArea = 65535.0 * 65535.0;
constexpr double kMostTrackMemory = 1000;  // places are 32 bits: 1000 frames at 65535 pixels each

constexpr Choice kCriteria[] = {
    {0, "binary", "Foreground is what is at least `threshold`; the rest is background, label 0"},
    {1, "equal", "Neighbours of equal value (all channels of RGB) are linked; all pixels labelled"},
    {2, "difference",
     "Neighbours whose channels differ by less than `tolerance` in sum are linked"}};
constexpr Choice kConnectivities[] = {{4, "4", "Neighbours share an edge"},
                                      {8, "8", "Neighbours share an edge or a corner"},
                                      {6, "6", "Voxels share a face"},
                                      {18, "18", "Voxels share a face or an edge"},
                                      {26, "26", "Voxels share a face, an edge or a corner"}};
constexpr Choice kSources[] = {
    {0, "image", "The picture's gray value, luma or colour"},
    {1, "alpha", "The picture's alpha channel"},
    {2, "mask", "The label map or mask attached upstream; nonzero is foreground"}};
constexpr Choice kOutputs[] = {{0, "overlay", "The picture with the regions drawn on it"},
                               {1, "labels", "The label of each pixel"},
                               {2, "colors", "Each region in a colour of its own"},
                               {3, "mask", "255 in regions, 0 elsewhere"},
                               {4, "none", "The picture untouched, with metadata"}};
constexpr Choice kOverflows[] = {
    {0, "drop-smallest", "Only the largest regions that fit keep a label; ties go to the first"},
    {1, "saturate", "Labels that do not fit are written as the greatest one"},
    {2, "error", "Stop with an error"}};
constexpr Choice kLabelValues[] = {
    {0, "dense", "1, 2, … in raster order of each frame's regions"},
    {1, "track",
     "With `track`, the id that stays with a region; one that does not fit is 0 unless `overflow` "
     "says otherwise"}};

constexpr Choice kMethods[] = {
    {0, "auto", "The fastest: union-find"},
    {1, "union-find", "Trees of runs, joined where runs touch"},
    {2, "propagation",
     "The largest label spreads along links until none changes (GTC 2010 and 2013); CUDA only"},
    {3, "sweep",
     "The smallest label sweeps along x, y and z until none changes (GTC 2015); CUDA only, binary, "
     "26-connected volumes"}};

std::vector<Field> table() {
  std::vector<Field> fields = {
      field<P, &P::criterion>("criterion", "Which pixels belong together", {}, kCriteria),
      field<P, &P::threshold>("threshold",
                              "Least value of foreground (fraction of the way from black to white)",
                              {0, 1}),
      field<P, &P::tolerance>(
          "tolerance",
          "Linked neighbours differ by less, summed over channels (1 = full scale of one)", {0, 3}),
      field<P, &P::connectivity>(
          "connectivity",
          "Which pixels are neighbours: 4 or 8; with `depth`, which voxels: 6, 18 or 26 (count)",
          {}, kConnectivities),
      field<P, &P::source>("source", "What is labelled", {}, kSources),
      field<P, &P::min_area>("min-area", "Smaller regions become background (pixels)",
                             {0, kMostArea}),
      field<P, &P::max_area>("max-area", "Larger regions become background; 0 keeps all (pixels)",
                             {0, kMostArea}),
      field<P, &P::fill_holes>(
          "fill-holes",
          "Enclosed background up to this area becomes foreground, binary only; of volumes, what "
          "touches none of their six sides; connected 26 where foreground is 6, else 6 (pixels)",
          {0, kMostArea}),
      field<P, &P::max_regions>("max-regions",
                                "Most regions recorded in a frame's metadata (count)", {1, 1 << 16},
                                {}, Change::stopped),
      field<P, &P::output>("output", "What the output picture shows", {}, kOutputs,
                           Change::renegotiated),
      field<P, &P::overflow>(
          "overflow", "What happens to labels that the output format cannot hold", {}, kOverflows),
      field<P, &P::track>("track", "Follow regions from frame to frame (true or false)", {}, {},
                          Change::stopped),
      field<P, &P::track_memory>("track-memory", "How long a lost region is waited for (frames)",
                                 {0, kMostTrackMemory}),
      field<P, &P::label_values>("label-values", "Which numbers `labels` shows", {}, kLabelValues),
      field<P, &P::depth>("depth",
                          "So many successive frames are the slices of a volume that is labelled "
                          "as one; they leave when it is full or the stream ends (frames)",
                          {1, 65535}, {}, Change::stopped),
      field<P, &P::sliding>(
          "sliding",
          "Every frame is labelled with the `depth` - 1 before it and leaves at once: its regions "
          "are what is connected through those frames, and are followed as with `track` by the "
          "pixels that two such windows share (true or false)",
          {}, {}, Change::stopped),
      field<P, &P::thresholds>(
          "thresholds",
          "Label at each of these in place of `threshold`; outputs have a layer for each, one "
          "below another, in this order; empty takes `threshold` (fractions)",
          {0, 1}, {}, Change::renegotiated),
      field<P, &P::label_background>(
          "label-background",
          "Background has regions too, connected as foreground is, binary only (true or false)", {},
          {}, Change::stopped),
      field<P, &P::seeds>(
          "seeds",
          "Only regions that hold one of these points are kept: x, y, x, y, …; a point outside the "
          "picture keeps none; empty keeps all (pixels)",
          {0, 65535}),
      field<P, &P::click_seeds>(
          "click-seeds",
          "A click or touch into the picture downstream makes its place the only seed, one of the "
          "right button one more, one of the middle button none (true or false)"),
      field<P, &P::method>("method", "How regions are found; all give the same labels", {},
                           kMethods, Change::stopped),
      field<P, &P::attach_runs>(
          "attach-runs",
          "Say in the metadata which pixels each recorded region has, as runs of a row "
          "(true or false)",
          {}, {}, Change::stopped),
      field<P, &P::max_runs>("max-runs",
                             "Most runs recorded of a frame or volume; of more, the first in "
                             "raster order (count)",
                             {1, 1 << 24}, {}, Change::stopped)};
  for (const Field& drawing : drawing_fields<P>()) fields.push_back(drawing);
  return fields;
}

void expects_combinable(const Setup& setup) {
  expects_setting(!setup.slides || (setup.depth > 1 && setup.layers == 1 && !setup.has_background),
                  "sliding=true takes a depth of at least 2, no thresholds and no "
                  "label-background");
  expects_setting(!setup.tracks || ((setup.depth == 1 || setup.slides) && setup.layers == 1 &&
                                    !setup.has_background),
                  "track=true follows regions of pictures: it takes no depth (unless sliding), no "
                  "thresholds and no label-background");
}

}  // namespace

std::span<const Field> fields_of(const CcLabelParams&) {
  static const std::vector<Field> fields = table();
  return fields;
}

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
  const std::string connectivity = std::to_string(static_cast<int>(params.connectivity));
  expects_setting(
      is_spatial(params.connectivity) == is_volume,
      is_volume
          ? "connectivity " + connectivity + " is one of pictures; with depth it is 6, 18 or 26"
          : "connectivity " + connectivity + " is one of volumes; without depth it is 4 or 8");
  expects_setting(params.fill_holes == 0 || !params.label_background,
                  "with label-background, holes are regions: fill-holes is of no use");
  expects_setting(params.seeds.count % 2 == 0, "seeds are pairs of x and y, not " +
                                                   std::to_string(params.seeds.count) + " numbers");
  expects_setting(
      params.seeds.count == 0 || (!is_volume && setup.layers == 1 && !setup.has_background),
      "seeds take pictures: no depth, no thresholds, no label-background");
  expects_setting(setup.layers == 1 || params.criterion == Criterion::binary,
                  "thresholds are of criterion=binary");
  expects_setting(setup.layers == 1 || params.source != Source::mask,
                  "source=mask has no use for thresholds: what is not 0 is foreground");
}

Stack stack_of(const Setup& setup, const Job& job) {
  return {setup.size, job.slices, setup.layers};
}

void expects_stackable(const Setup& setup) {
  const std::string what = std::to_string(setup.size.width) + "x" +
                           std::to_string(setup.size.height) + ", depth " +
                           std::to_string(setup.depth);
  expects(setup.depth >= 1 && setup.layers >= 1, "depth and layers count from 1");
  expects(setup.in.model != ColorModel::labels,
          "a label image is no picture to label: as a mask it is");
  // Both counts are below 2^32, their product fits.
  const uint64_t slices = static_cast<uint64_t>(setup.depth) * static_cast<uint64_t>(setup.layers);
  expects(slices <= UINT32_MAX / setup.size.area() &&
              slices * static_cast<uint64_t>(setup.size.height) <= INT32_MAX,
          what + " and " + std::to_string(setup.layers) +
              " thresholds are more voxels than labels can count (2^32)");
  const bool halves = setup.in.component[1].y_shift > 0;
  expects(!halves || setup.depth == 1 || setup.size.height % 2 == 0,
          std::string(name_of(setup.in.format)) +
              " pictures of odd height have no volumes: their rows of chroma would be shared");
  expects_combinable(setup);
}

void expects_stackable(const Setup& setup, const Job& job, const CcLabelParams& params) {
  const bool is_volume = setup.depth > 1;
  expects(params.sliding == setup.slides, "sliding is not as configured");
  expects_agreeing(setup, params);
  expects(job.slices >= 1 && job.slices <= (setup.slides ? 1 : setup.depth),
          "a volume of " + std::to_string(job.slices) + " slices, configured for " +
              std::to_string(setup.depth));
  expects(job.in.width == setup.size.width && job.in.height == setup.size.height * job.slices &&
              job.in.layout.format == setup.in.format,
          "the frame is not as configured");
  expects(job.table.run_capacity <= setup.max_runs, "there are more runs than configured");
  expects(layers_of(params) == setup.layers, "thresholds are not as configured");
  expects(params.label_background == setup.has_background, "label-background is not as configured");
  if (!is_volume && setup.layers == 1) return;
  expects_setting(params.output != CcOutput::overlay || setup.slides || job.out.empty(),
                  "output=overlay draws on pictures; with depth or thresholds choose another");
}

void expects_method(const Setup& setup, const CcLabelParams& params, BackendKind backend) {
  if (!is_historic(params.method)) return;
  const bool sweeps = params.method == Method::sweep;
  const std::string method = sweeps ? "method=sweep" : "method=propagation";
  expects_setting(backend == BackendKind::cuda,
                  method + " runs on CUDA alone; the CPU's method is union-find");
  expects_setting(!sweeps || (params.criterion == Criterion::binary &&
                              params.connectivity == Connectivity::twenty_six),
                  "method=sweep takes criterion=binary and connectivity=26");
  expects_setting(!sweeps || setup.size.width <= 1024,
                  "method=sweep holds a row in a warp's registers: up to 1024 pixels, not " +
                      std::to_string(setup.size.width));
  expects_setting(!params.track && params.fill_holes == 0 && params.seeds.count == 0,
                  method + " finds regions and measures them: no track, no fill-holes, no seeds");
  expects_setting(params.output != CcOutput::overlay || !setup.has_output,
                  method + " does not draw: choose output labels, mask, colors or none");
}

void expects_trackable(const Setup& setup) {
  expects_setting(!setup.tracks || setup.max_regions <= TrackMemory::kMostRegions,
                  "track=true takes max-regions up to " +
                      std::to_string(TrackMemory::kMostRegions) + ", not " +
                      std::to_string(setup.max_regions));
}

void expects_trackable(const Setup& setup, const Job& job, const CcLabelParams& params) {
  expects(!params.track || setup.tracks, "track=true, but configured without");
  expects(!params.track || !job.table.regions || job.table.capacity > 0,
          "track=true needs a table with room");
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

Verdict verdict_of(const CcLabelParams& params, uint32_t total, const Layout& out) {
  if (params.output != CcOutput::labels || total <= label_limit(out)) return {total, {}};
  const std::string what = too_many(total, "regions", out);
  expects(params.overflow != Overflow::error, what);
  expects(!params.sliding || params.overflow == Overflow::saturate,
          what + "; sliding=true takes overflow=saturate, not drop-smallest");
  return {params.overflow == Overflow::drop_smallest ? label_limit(out) : total, what};
}

}  // namespace regions

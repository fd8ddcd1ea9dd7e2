// The parameter table of cclabel, validation of setups and frames, and conversion of thresholds to
// integers.
#include "core/cclabel/cclabel.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace regions {

namespace {

using P = CcLabelParams;

constexpr double kMaxArea = 65535.0 * 65535.0;
// Limit in frames. Predicted positions fit in 32 bits even if a track moves by 65535 pixels in each
// of these frames.
constexpr double kMaxTrackMemory = 1000;

constexpr Choice kCriteria[] = {
    {0, "binary",
     "Foreground pixels are at least `threshold`. Other pixels are background with label 0"},
    {1, "equal",
     "Neighbours with equal values in all channels are linked. All pixels are labelled"},
    {2, "difference",
     "Neighbours are linked if their channel differences sum to less than `tolerance`. All pixels "
     "are labelled"}};
constexpr Choice kConnectivities[] = {{4, "4", "Neighbours share an edge"},
                                      {8, "8", "Neighbours share an edge or a corner"},
                                      {6, "6", "Voxels share a face"},
                                      {18, "18", "Voxels share a face or an edge"},
                                      {26, "26", "Voxels share a face, an edge or a corner"}};
constexpr Choice kSources[] = {
    {0, "image", "The picture: its gray value, luma or colour"},
    {1, "alpha", "The alpha channel of the picture"},
    {2, "mask",
     "The label map or mask that an upstream element attached. Nonzero pixels are foreground"}};
constexpr Choice kOutputs[] = {{0, "overlay", "The picture with the regions drawn on it"},
                               {1, "labels", "The label of each pixel"},
                               {2, "colors", "Each region in its own colour"},
                               {3, "mask", "255 in regions, 0 elsewhere"},
                               {4, "none", "The unchanged picture with metadata"}};
constexpr Choice kOverflows[] = {
    {0, "drop-smallest",
     "Only the largest regions that fit keep a label. Of equal regions the first one is kept"},
    {1, "saturate", "Labels that do not fit are written as the largest label of the format"},
    {2, "error", "The element stops with an error"}};
constexpr Choice kLabelValues[] = {
    {0, "dense", "The numbers 1, 2, … in raster order of the regions of each frame"},
    {1, "track",
     "The track id of each region. `overflow` applies to ids that do not fit; drop-smallest writes "
     "0"}};

constexpr Choice kMethods[] = {{0, "auto", "The fastest algorithm: union-find"},
                               {1, "union-find", "Union-find on runs of linked pixels"},
                               {2, "propagation",
                                "Label propagation: the largest label spreads along links until "
                                "nothing changes (GTC 2010 and 2013). CUDA only"},
                               {3, "sweep",
                                "Label propagation along x, y and z in turn (GTC 2015). CUDA only, "
                                "binary volumes with 26 neighbours only"}};

std::vector<Field> segmentation_fields() {
  return {
      field<P, &P::criterion>("criterion", "Rule that decides which pixels belong to one region.",
                              {}, kCriteria),
      field<P, &P::threshold>(
          "threshold",
          "Smallest value of foreground pixels (fraction of full scale; 0 is black, 1 is white).",
          {0, 1}),
      field<P, &P::tolerance>("tolerance",
                              "Neighbours are linked if their summed channel differences are below "
                              "this (fraction of one channel's full scale).",
                              {0, 3}),
      field<P, &P::connectivity>("connectivity",
                                 "Number of neighbours of a pixel: 4 or 8. With `depth` above 1, "
                                 "number of neighbours of a voxel: 6, 18 or 26 (count).",
                                 {}, kConnectivities),
      field<P, &P::source>("source", "Input that is labelled.", {}, kSources),
      field<P, &P::min_area>("min-area", "Regions with fewer pixels become background (pixels).",
                             {0, kMaxArea}),
      field<P, &P::max_area>("max-area",
                             "Regions with more pixels become background (pixels). 0: no limit.",
                             {0, kMaxArea}),
      field<P, &P::fill_holes>("fill-holes",
                               "Holes of at most this area become foreground (pixels). A hole is "
                               "background that foreground encloses. Only with criterion=binary.",
                               {0, kMaxArea}),
      field<P, &P::max_regions>("max-regions",
                                "Maximum number of regions in the metadata of a frame (count).",
                                {1, 1 << 16}, {}, Change::stopped)};
}

std::vector<Field> result_fields() {
  return {
      field<P, &P::output>("output", "Content of the output picture.", {}, kOutputs,
                           Change::renegotiated),
      field<P, &P::overflow>("overflow",
                             "Treatment of labels that are too large for the output format.", {},
                             kOverflows),
      field<P, &P::track>(
          "track", "Follow regions from frame to frame and give each a lasting id (boolean).", {},
          {}, Change::stopped),
      field<P, &P::track_birth>("track-birth",
                                "Number of consecutive frames in which a region must appear before "
                                "it gets a track id (frames). Its id is 0 until then.",
                                {1, kMaxTrackMemory}),
      field<P, &P::track_memory>(
          "track-memory", "Time for which a track waits for a region that disappeared (frames).",
          {0, kMaxTrackMemory}),
      field<P, &P::label_values>("label-values",
                                 "Numbers that output=labels and the attached label map contain.",
                                 {}, kLabelValues),
      field<P, &P::depth>("depth",
                          "Number of consecutive frames labelled together as one volume (frames). "
                          "Frames are held until the volume is complete.",
                          {1, 65535}, {}, Change::stopped),
      field<P, &P::sliding>(
          "sliding",
          "Label each frame together with the previous `depth` - 1 frames and output it at once "
          "(boolean). Regions that are connected through these frames keep one track id.",
          {}, {}, Change::stopped),
      field<P, &P::thresholds>(
          "thresholds",
          "List of thresholds that replaces `threshold` (fractions of full scale). The output has "
          "one layer per threshold, stacked from top to bottom. Empty: use `threshold`.",
          {0, 1}, {}, Change::renegotiated),
      field<P, &P::label_background>("label-background",
                                     "Label the background too: its connected parts are regions "
                                     "(boolean). Only with criterion=binary.",
                                     {}, {}, Change::stopped),
      field<P, &P::seeds>("seeds",
                          "List of points x1, y1, x2, y2, … (pixels). Only regions that contain a "
                          "point are kept. Empty: keep all regions.",
                          {0, 65535}),
      field<P, &P::click_seeds>(
          "click-seeds",
          "Let mouse clicks and touches in a window downstream set `seeds` (boolean). The left "
          "button sets one point, the right button adds one, the middle button removes all."),
      field<P, &P::method>("method", "Labelling algorithm. All algorithms give the same labels.",
                           {}, kMethods, Change::stopped),
      field<P, &P::attach_runs>(
          "attach-runs",
          "Add the pixels of each recorded region to the metadata, as horizontal runs (boolean).",
          {}, {}, Change::stopped),
      field<P, &P::max_runs>("max-runs",
                             "Maximum number of runs in the metadata of a frame or volume (count). "
                             "The first runs in raster order are kept.",
                             {1, 1 << 24}, {}, Change::stopped)};
}

std::vector<Field> table() {
  std::vector<Field> fields = segmentation_fields();
  for (const Field& field : result_fields()) fields.push_back(field);
  for (const Field& field : drawing_fields<P>()) fields.push_back(field);
  return fields;
}

}  // namespace

std::span<const Field> fields_of(const CcLabelParams&) {
  static const std::vector<Field> fields = table();
  return fields;
}

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
  setup.depth = params.depth;
  setup.layers = layers_of(params);
  setup.slides = params.sliding;
  setup.tracks = params.track || params.sliding;
  setup.has_background = params.label_background;
  setup.max_regions = params.max_regions;
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

void expects_consistent(const Setup& setup, const CcLabelParams& params) {
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

VolumeLayout volume_layout_of(const Setup& setup, const FrameTask& task) {
  return {setup.size, task.slices, setup.layers};
}

void expects_labellable(const Setup& setup) {
  const std::string what = std::to_string(setup.size.width) + "x" +
                           std::to_string(setup.size.height) + ", depth " +
                           std::to_string(setup.depth);
  expects(setup.depth >= 1 && setup.layers >= 1,
          "depth and the number of layers must be at least 1");
  expects(setup.in.model != ColorModel::labels,
          "a label image cannot be labelled as a picture; use it as a mask (source=mask)");
  // `depth` and `layers` are below 2^32, so their product fits in 64 bits.
  const uint64_t slices = static_cast<uint64_t>(setup.depth) * static_cast<uint64_t>(setup.layers);
  expects(slices <= UINT32_MAX / setup.size.area() &&
              slices * static_cast<uint64_t>(setup.size.height) <= INT32_MAX,
          what + " and " + std::to_string(setup.layers) +
              " thresholds have more voxels than labels can count (2^32)");
  const bool has_subsampled_rows = setup.in.component[1].y_shift > 0;
  expects(
      !has_subsampled_rows || setup.depth == 1 || setup.size.height % 2 == 0,
      std::string(name_of(setup.in.format)) +
          " pictures of odd height cannot form volumes, because slices would share rows of chroma");
  expects_combinable(setup);
}

void expects_labellable(const Setup& setup, const FrameTask& task, const CcLabelParams& params) {
  const bool is_volume = setup.depth > 1;
  expects(params.sliding == setup.slides, "sliding differs from the configured value");
  expects_consistent(setup, params);
  expects(task.slices >= 1 && task.slices <= (setup.slides ? 1 : setup.depth), [&] {
    return "a volume of " + std::to_string(task.slices) + " slices; configured for " +
           std::to_string(setup.depth);
  });
  expects(task.in.width == setup.size.width && task.in.height == setup.size.height * task.slices &&
              task.in.layout.format == setup.in.format,
          "the frame differs from the configured size or format");
  expects(task.table.run_capacity <= setup.max_runs, "max-runs is larger than configured");
  expects(layers_of(params) == setup.layers,
          "the number of thresholds differs from the configured one");
  expects(params.label_background == setup.has_background,
          "label-background differs from the configured value");
  if (!is_volume && setup.layers == 1) return;
  expects_setting(params.output != CcOutput::overlay || setup.slides || task.out.empty(),
                  "output=overlay requires depth=1 and no thresholds; choose another output");
}

void expects_source(const Setup& setup, const FrameTask& task, const CcLabelParams& params) {
  expects(params.source != Source::mask ||
              (!task.mask.empty() && (task.mask_is_small || task.mask.size() == task.in.size())),
          "source=mask, but no mask of the frame's size is attached to the frame");
  expects(!task.excluded_value ||
              (params.criterion == Criterion::equal && params.source == Source::image &&
               setup.in.channels == 1 && setup.in.sample_bytes <= 2),
          "a value is excluded only with criterion=equal and one value of 1 or 2 bytes per pixel");
  expects(params.source != Source::alpha || setup.in.alpha, [&] {
    return "source=alpha, but " + std::string(name_of(setup.in.format)) + " has no alpha channel";
  });
}

void expects_method(const Setup& setup, const CcLabelParams& params, BackendKind backend) {
  if (!uses_propagation(params.method)) return;
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

void expects_trackable(const Setup& setup, const FrameTask& task, const CcLabelParams& params) {
  expects(!params.track || setup.tracks, "track=true, but tracking was not configured");
  expects(!params.track || !task.table.regions || task.table.capacity > 0,
          "track=true requires a table with a capacity above 0");
}

AreaBounds area_bounds_of(const CcLabelParams& params) {
  return {params.min_area, params.max_area > 0 ? params.max_area : UINT32_MAX};
}

int threshold_level(double threshold, const Layout& layout, const Colorimetry& color) {
  if (threshold <= 0) return 0;
  const double scale = layout.sample_bits > 8 ? 1 << (layout.sample_bits - 8) : 1;
  const bool limited = layout.model == ColorModel::yuv && !color.full_range;
  const double black = limited ? 16 * scale : 0;
  const double white = limited ? 235 * scale : layout.max_value();
  return static_cast<int>(std::ceil(black + threshold * (white - black)));
}

int tolerance_level(double tolerance, const Layout& layout) {
  return static_cast<int>(std::ceil(tolerance * layout.max_value()));
}

TrackRules track_rules(const CcLabelParams& params, const Layout& in) {
  return {params.track_birth, params.track_memory, in.sample_bits};
}

uint32_t max_output_label(const FrameTask& task, const CcLabelParams& params) {
  const bool writes_labels = params.output == CcOutput::labels && !task.out.empty();
  return writes_labels ? max_label_of(task.out.layout) : UINT32_MAX;
}

LabelCapacity label_capacity(const CcLabelParams& params, uint32_t total, const Layout& out) {
  if (params.output != CcOutput::labels || total <= max_label_of(out)) return {total, {}};
  const std::string what = capacity_message(total, "regions", out);
  expects(params.overflow != Overflow::error, what);
  expects(!params.sliding || params.overflow == Overflow::saturate,
          what + "; sliding=true requires overflow=saturate or overflow=error");
  return {params.overflow == Overflow::drop_smallest ? max_label_of(out) : total, what};
}

}  // namespace regions

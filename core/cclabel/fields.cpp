// The parameter table of cclabel.
#include <vector>

#include "core/cclabel/cclabel.hpp"

namespace regions {
namespace {

using P = CcLabelParams;

constexpr double kMaxArea = 65535.0 * 65535.0;
constexpr double kMaxTrackMemory = 1000;  // places are 32 bits: 1000 frames at 65535 pixels each

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

// NOLINTNEXTLINE(readability-function-size): a table, not an algorithm
std::vector<Field> table() {
  std::vector<Field> fields = {
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
                                {1, 1 << 16}, {}, Change::stopped),
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
  for (const Field& drawing : drawing_fields<P>()) fields.push_back(drawing);
  return fields;
}

}  // namespace

std::span<const Field> fields_of(const CcLabelParams&) {
  static const std::vector<Field> fields = table();
  return fields;
}

}  // namespace regions

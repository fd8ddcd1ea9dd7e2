// The parameter table of cclabel.
#include <vector>

#include "core/cclabel/cclabel.hpp"

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

// NOLINTNEXTLINE(readability-function-size): a table, not an algorithm
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
      field<P, &P::track_birth>("track-birth",
                                "In how many frames on end a region is seen before it has a track; "
                                "until then its track is 0 (frames)",
                                {1, kMostTrackMemory}),
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

}  // namespace

std::span<const Field> fields_of(const CcLabelParams&) {
  static const std::vector<Field> fields = table();
  return fields;
}

}  // namespace regions

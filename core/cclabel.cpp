// The parameter table of cclabel and its thresholds as integers.
#include "core/cclabel.hpp"

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
                                      {8, "8", "Neighbours share an edge or a corner"}};
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

std::vector<Field> table() {
  std::vector<Field> fields = {
      field<P, &P::criterion>("criterion", "Which pixels belong together", {}, kCriteria),
      field<P, &P::threshold>("threshold",
                              "Least value of foreground (fraction of the way from black to white)",
                              {0, 1}),
      field<P, &P::tolerance>(
          "tolerance",
          "Linked neighbours differ by less, summed over channels (1 = full scale of one)", {0, 3}),
      field<P, &P::connectivity>("connectivity", "Which pixels are neighbours (count)", {},
                                 kConnectivities),
      field<P, &P::source>("source", "What is labelled", {}, kSources),
      field<P, &P::min_area>("min-area", "Smaller regions become background (pixels)",
                             {0, kMostArea}),
      field<P, &P::max_area>("max-area", "Larger regions become background; 0 keeps all (pixels)",
                             {0, kMostArea}),
      field<P, &P::fill_holes>(
          "fill-holes",
          "Enclosed background up to this area becomes foreground, binary only (pixels)",
          {0, kMostArea}),
      field<P, &P::max_regions>("max-regions",
                                "Most regions recorded in a frame's metadata (count)", {1, 1 << 16},
                                {}, Change::stopped),
      field<P, &P::output>("output", "What the output picture shows", {}, kOutputs,
                           Change::stopped),
      field<P, &P::overflow>(
          "overflow", "What happens to labels that the output format cannot hold", {}, kOverflows),
      field<P, &P::track>("track", "Follow regions from frame to frame (true or false)", {}, {},
                          Change::stopped),
      field<P, &P::track_memory>("track-memory", "How long a lost region is waited for (frames)",
                                 {0, kMostTrackMemory}),
      field<P, &P::label_values>("label-values", "Which numbers `labels` shows", {}, kLabelValues)};
  for (const Field& drawing : drawing_fields<P>()) fields.push_back(drawing);
  return fields;
}

}  // namespace

std::span<const Field> fields_of(const CcLabelParams&) {
  static const std::vector<Field> fields = table();
  return fields;
}

void expects_trackable(const Setup& setup) {
  expects(!setup.tracks || setup.max_regions <= TrackMemory::kMostRegions,
          "track=true takes max-regions up to " + std::to_string(TrackMemory::kMostRegions) +
              ", not " + std::to_string(setup.max_regions));
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

uint32_t label_limit(const Layout& layout) {
  if (layout.sample_bytes == 4) return UINT32_MAX;
  return static_cast<uint32_t>(layout.max_value());
}

}  // namespace regions

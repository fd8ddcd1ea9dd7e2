// The parameter table of graphcutbg, and what it refuses.
#include "core/graphcutbg.hpp"

namespace regions {
namespace {

using P = GraphCutBgParams;

constexpr double kMostPixels = 65535;
constexpr double kWhite = 0xFFFFFF;

constexpr Choice kOutputs[] = {
    {0, "overlay", "The picture with the foreground tinted"},
    {1, "mask", "255 in the foreground, 0 elsewhere, graded by `feather`"},
    {2, "cutout", "The picture as RGBA with the mask as alpha"},
    {3, "replace", "The picture with its background replaced, see `replace-with`"},
    {4, "none", "The picture untouched, with the mask attached"}};
constexpr Choice kSources[] = {
    {0, "image", "The picture against the background model"},
    {1, "mask", "The mask attached upstream, refined along the picture's edges"},
    {2, "both", "The background model; the attached mask, where there is one, pins sure pixels"}};
constexpr Choice kNeighbours[] = {{4, "4", "Neighbours share an edge"},
                                  {8, "8", "Neighbours share an edge or a corner"}};
constexpr Choice kReplacements[] = {{0, "color", "`replace-color`"},
                                    {1, "image", "`replace-image`"},
                                    {2, "blur", "The background itself, blurred by `blur`"}};

std::vector<Field> table() {
  return {
      field<P, &P::output>("output", "What the output picture shows", {}, kOutputs,
                           Change::stopped),
      field<P, &P::source>("source", "What tells foreground from background", {}, kSources),
      field<P, &P::lambda>(
          "lambda", "Cost of a border between equal neighbours (log-likelihood, nats)", {0, 32}),
      field<P, &P::sigma>(
          "sigma", "Contrast at which a border costs 0.6 of that; 0 measures the frame (levels)",
          {0, 255}),
      field<P, &P::neighbours>("neighbours", "Which pixels are neighbours in the cut (count)", {},
                               kNeighbours, Change::stopped),
      field<P, &P::var_threshold>("var-threshold",
                                  "Squared distance from the model at which foreground and "
                                  "background are equally likely (variances)",
                                  {1, 200}),
      field<P, &P::shadow>("shadow",
                           "Evidence taken from pixels that look like background in shadow "
                           "(fraction; below 1 a shadow never decides alone)",
                           {0, 1}),
      field<P, &P::shadow_darkest>(
          "shadow-darkest", "Darkest shadow (fraction of the background's brightness)", {0.05, 1}),
      field<P, &P::foreground_colors>("foreground-colors",
                                      "Learn the foreground's colours too (true or false)"),
      field<P, &P::learning_rate>(
          "learning-rate", "Weight of a frame in the background's colours (fraction)", {0, 1}),
      field<P, &P::history>("history",
                            "Foreground that stands still so long becomes background (frames)",
                            {1, 30000}),
      field<P, &P::freeze>("freeze", "Keep the background model as it is (true or false)"),
      field<P, &P::model_location>("model-location",
                                   "File the model is read from at the start, if it exists, and "
                                   "written to at the end (path)",
                                   {}, {}, Change::stopped),
      field<P, &P::background_image>("background-image",
                                     "Picture without foreground that the model starts from, of "
                                     "the frames' size (path)",
                                     {}, {}, Change::stopped),
      field<P, &P::left>("left", "Left side of the rectangle that is looked at (pixels)",
                         {0, kMostPixels}),
      field<P, &P::top>("top", "Upper side of the rectangle that is looked at (pixels)",
                        {0, kMostPixels}),
      field<P, &P::width>("width", "Width of that rectangle; 0 goes to the right side (pixels)",
                          {0, kMostPixels}),
      field<P, &P::height>("height", "Height of that rectangle; 0 goes to the lower side (pixels)",
                           {0, kMostPixels}),
      field<P, &P::exclusion_image>("exclusion-image",
                                    "Picture whose pixels, where not black, are always background, "
                                    "of the frames' size (path)",
                                    {}, {}, Change::stopped),
      field<P, &P::mask_foreground>(
          "mask-foreground", "Attached mask: surely foreground from here on (of 255)", {1, 256}),
      field<P, &P::mask_background>(
          "mask-background", "Attached mask: surely background up to here (of 255)", {-1, 254}),
      field<P, &P::warm_start>("warm-start",
                               "Start each cut from the last frame's, as exact (true or false)"),
      field<P, &P::max_iterations>("max-iterations",
                                   "Stop a cut after so many rounds; 0 ends when exact (count)",
                                   {0, 1000000}),
      field<P, &P::time_budget>("time-budget",
                                "Stop a cut after so long; 0 ends when exact (microseconds)",
                                {0, 10000000}),
      field<P, &P::verify>("verify",
                           "Compare the flow with the value of the mask's cut (true or false)"),
      field<P, &P::feather>("feather", "Softness of the mask's edge (pixels)", {0, 64}),
      field<P, &P::color>("color", "Tint of the overlay (0xRRGGBB)", {0, kWhite}),
      field<P, &P::opacity>("opacity", "Strength of the tint (0 invisible, 1 opaque)", {0, 1}),
      field<P, &P::replace_with>("replace-with", "What takes the background's place", {},
                                 kReplacements),
      field<P, &P::replace_color>("replace-color", "Colour in place of the background (0xRRGGBB)",
                                  {0, kWhite}),
      field<P, &P::replace_image>("replace-image",
                                  "Picture in place of the background, of the frames' size (path)",
                                  {}, {}, Change::stopped),
      field<P, &P::blur>("blur", "How far the background is blurred (pixels)", {2, 256})};
}

std::string text_of(Size size) {
  return std::to_string(size.width) + "x" + std::to_string(size.height);
}

}  // namespace

std::span<const Field> fields_of(const GraphCutBgParams&) {
  static const std::vector<Field> fields = table();
  return fields;
}

void expects_cuttable(const Setup& setup) {
  expects(setup.size.width > 0 && setup.size.height > 0 && setup.slots > 0,
          "a cut needs pixels and a slot");
  expects(setup.in.model != ColorModel::labels, "labels are not a picture to cut");
}

void expects_cuttable(const Setup& setup, const Job& job, const GraphCutBgParams& params) {
  expects(job.slot >= 0 && job.slot < setup.slots, "no slot " + std::to_string(job.slot));
  expects(job.in.size() == setup.size && job.in.layout.format == setup.in.format,
          "the frame is not as configured");
  expects(params.source != GraphCutSource::mask || !job.mask.empty(),
          "source=mask, but the frame has no mask");
  const bool reads_mask = params.source != GraphCutSource::image && !job.mask.empty();
  expects(!reads_mask || job.mask.size() == setup.size,
          "the mask is " + text_of(job.mask.size()) + ", the frame " + text_of(setup.size));
  expects(job.foreground.empty() || job.foreground.size() == setup.size,
          "the attached mask has another size than the frame");
  expects(params.left < setup.size.width && params.top < setup.size.height,
          "the rectangle begins at " + std::to_string(params.left) + ", " +
              std::to_string(params.top) + ", outside the frame");
}

}  // namespace regions

// The element cclabel: labels connected components of each frame.
#include "core/cclabel/cclabel.hpp"

#include <algorithm>
#include <cmath>

#include "plugin/stream/element_algorithm.hpp"

namespace regions {
namespace {

class CcLabelElement final : public ElementAlgorithmOf<CcLabelParams> {
 public:
  const char* name() const override { return "cclabel"; }
  void describe(const CcLabelParams& params, ElementTraits& traits) const override {
    traits.makes_regions = true;
    traits.reads_mask = traits.needs_mask = params.source == Source::mask;
    traits.reads_small_masks = backend() == BackendKind::cpu && !params.sliding;
    traits.tracks = params.track || params.sliding;
    traits.details.runs = params.attach_runs ? static_cast<uint32_t>(params.max_runs) : 0;
  }

  // A left click replaces all seeds, a right click adds a seed, and other buttons remove all seeds.
  const char* handle_click(int button, double x, double y) override {
    const Field& seeds_field = find(fields(), "seeds");
    if (!std::get<bool>(get(find(fields(), "click-seeds")))) return nullptr;
    constexpr int kLeftButton = 1, kRightButton = 3;
    auto seeds = button == kRightButton ? std::get<std::vector<double>>(get(seeds_field))
                                        : std::vector<double>();
    if (button == kLeftButton || button == kRightButton) {
      // At most Seeds::kMax clicks are stored. A further click replaces the oldest click.
      if (seeds.size() >= 2 * Seeds::kMax) seeds.erase(seeds.begin(), seeds.begin() + 2);
      seeds.push_back(std::floor(std::clamp(x, seeds_field.min, seeds_field.max)));
      seeds.push_back(std::floor(std::clamp(y, seeds_field.min, seeds_field.max)));
    }
    set(seeds_field, seeds);
    return seeds_field.name;
  }

  // Converts the user's seeds from pixel coordinates of the whole picture to coordinates of the
  // working picture. A seed outside of the work area gets coordinates outside of the working
  // picture, so that it selects no region.
  void prepare_frame_params(CcLabelParams& params) const override {
    if (work_area().is_identity()) return;
    double* const seed = params.seeds.number;  // x, y, x, y, …
    for (int i = 0; i + 1 < params.seeds.count; i += 2) {
      auto x = static_cast<int>(seed[i]), y = static_cast<int>(seed[i + 1]);
      const bool is_inside = reduce(work_area(), x, y);
      seed[i] = is_inside ? x : work_area().work.width;
      seed[i + 1] = is_inside ? y : work_area().work.height;
    }
  }

  void expects_runnable(const CcLabelParams& params, const Setup* running_setup) const override {
    Setup setup = running_setup ? *running_setup : Setup{};
    plan(params, setup);
    setup.has_output = params.output != CcOutput::none;
    expects_setting(
        params.output != CcOutput::overlay ||
            ((setup.depth == 1 || setup.slides) && setup.layers == 1),
        "output=overlay requires depth=1 and no thresholds; choose labels, colors, mask or none");
    expects_consistent(setup, params);
    expects_trackable(setup);
    expects_method(setup, params, backend());
    if (!running_setup) return;
    expects(params.source != Source::alpha || setup.in.alpha,
            std::string(name_of(setup.in.format)) + " pictures have no alpha channel to label");
    expects_setting(params.source != Source::mask || setup.depth == 1 || setup.has_mask,
                    "with depth above 1, source can change to mask only in READY or NULL");
  }
  std::vector<Fact> facts(int slot) override {
    const CcLabelParams& params = session().params_of(slot);
    if (!params.track && !params.sliding) return {};
    const TrackEvents events = static_cast<CcLabel&>(session().algorithm()).track_events(slot);
    const bool shows_tracks =
        params.output == CcOutput::labels && params.label_values == LabelValues::track;
    const uint32_t max_label = max_label_of(session().setup().out);
    expects(!shows_tracks || params.overflow != Overflow::error || events.last_id <= max_label,
            "track " + std::to_string(events.last_id) + ", but the output holds ids up to " +
                std::to_string(max_label));
    return {{"births", int64_t{events.births}},    {"deaths", int64_t{events.deaths}},
            {"splits", int64_t{events.splits}},    {"merges", int64_t{events.merges}},
            {"tracks-lost", int64_t{events.lost}}, {"last-track", int64_t{events.last_id}}};
  }
};

}  // namespace

const ElementSpec& cclabel_element() {
  static const ElementSpec spec = element_spec<CcLabelElement>(
      "cclabel", "Connected-component labeller", "Filter/Analyzer/Video",
      "Labels the connected components of each frame and describes them in metadata");
  return spec;
}

}  // namespace regions

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
  bool makes_regions() const override { return true; }
  bool reads_mask() override { return params_in_use().source == Source::mask; }
  bool needs_mask_with(const CcLabelParams& params) const override {
    return params.source == Source::mask;
  }
  bool reads_small_masks() override {
    return backend() == BackendKind::cpu && !has_sliding_window();
  }
  bool tracks() override {
    const CcLabelParams params = params_in_use();
    return params.track || params.sliding;
  }
  RegionDetails details() override {
    const CcLabelParams params = params_in_use();
    return {.runs = params.attach_runs ? static_cast<uint32_t>(params.max_runs) : 0};
  }

  // A left click replaces all seeds, a right click adds a seed, and other buttons remove all seeds.
  const char* handle_click(int button, double x, double y) override {
    const Field& seeds_field = find(fields(), "seeds");
    if (!std::get<bool>(get(find(fields(), "click-seeds")))) return nullptr;
    constexpr int kLeftButton = 1, kRightButton = 3;
    auto seeds = button == kRightButton ? std::get<std::vector<double>>(get(seeds_field))
                                        : std::vector<double>();
    if (button == kLeftButton || button == kRightButton) {
      // Seeds::kMax clicks are stored. A further click replaces the oldest.
      if (seeds.size() >= 2 * Seeds::kMax) seeds.erase(seeds.begin(), seeds.begin() + 2);
      seeds.push_back(std::floor(std::clamp(x, seeds_field.min, seeds_field.max)));
      seeds.push_back(std::floor(std::clamp(y, seeds_field.min, seeds_field.max)));
    }
    set(seeds_field, seeds);
    return seeds_field.name;
  }

  void set_work_area(const WorkArea& area) override { work_area_ = area; }
  // The user's seeds are pixel coordinates of the whole picture. The algorithm needs coordinates of
  // the working picture.
  void prepare_frame_params(CcLabelParams& params) const override {
    if (!work_area_.is_identity()) params.seeds = seeds_in_work_area(work_area_, params.seeds);
  }

  void expects_runnable(const CcLabelParams& params, const Setup* running_setup) const override {
    Setup setup = planned_setup(params, running_setup ? *running_setup : Setup{});
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
    const CcLabelParams& params = params_of(slot);
    if (!params.track && !params.sliding) return {};
    const TrackEvents events = static_cast<CcLabel&>(*algorithm()).track_events(slot);
    const bool shows_tracks =
        params.output == CcOutput::labels && params.label_values == LabelValues::track;
    expects(
        !shows_tracks || params.overflow != Overflow::error || events.last_id <= max_output_label_,
        "track " + std::to_string(events.last_id) + ", but the output holds ids up to " +
            std::to_string(max_output_label_));
    return {{"births", int64_t{events.births}},    {"deaths", int64_t{events.deaths}},
            {"splits", int64_t{events.splits}},    {"merges", int64_t{events.merges}},
            {"tracks-lost", int64_t{events.lost}}, {"last-track", int64_t{events.last_id}}};
  }

  LabelCapacity check_result(int slot, uint32_t total, const Layout& out) override {
    max_output_label_ = max_label_of(out);
    return label_capacity(params_of(slot), total, out);
  }

 private:
  // Converts the seeds to coordinates of the working picture. A seed outside of the work area gets
  // coordinates outside of the working picture, so that it selects no region.
  static std::vector<double> seeds_in_work_area(const WorkArea& area, std::vector<double> seeds) {
    for (size_t i = 0; i + 1 < seeds.size(); i += 2) {
      auto x = static_cast<int>(seeds[i]), y = static_cast<int>(seeds[i + 1]);
      const bool inside = reduce(area, x, y);
      seeds[i] = inside ? x : area.work.width;
      seeds[i + 1] = inside ? y : area.work.height;
    }
    return seeds;
  }

  WorkArea work_area_;
  // The largest label that the output format can hold. check_result() sets it.
  uint32_t max_output_label_ = UINT32_MAX;
};

}  // namespace

const ElementSpec& cclabel_element() {
  static const ElementSpec spec = {
      "cclabel", "Connected-component labeller", "Filter/Analyzer/Video",
      "Labels the connected components of each frame and describes them in metadata",
      []() -> std::unique_ptr<ElementAlgorithm> { return std::make_unique<CcLabelElement>(); }};
  return spec;
}

}  // namespace regions

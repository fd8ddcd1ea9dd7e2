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

  const char* handle_click(int button, double x, double y) override {
    const Field& field = find(fields(), "seeds");
    if (!std::get<bool>(get(find(fields(), "click-seeds")))) return nullptr;
    constexpr int kLeftButton = 1, kRightButton = 3;
    auto seeds =
        button == kRightButton ? std::get<std::vector<double>>(get(field)) : std::vector<double>();
    if (button == kLeftButton || button == kRightButton) {
      // Only the last Seeds::kMax clicks are stored.
      if (seeds.size() >= 2 * Seeds::kMax) seeds.erase(seeds.begin(), seeds.begin() + 2);
      seeds.push_back(std::floor(std::clamp(x, field.min, field.max)));
      seeds.push_back(std::floor(std::clamp(y, field.min, field.max)));
    }
    set(field, seeds);
    return field.name;
  }

  void set_work_area(const WorkArea& area) override { work_area_ = area; }
  // The user's seeds are pixel coordinates of the whole picture.
  void prepare_frame_params(CcLabelParams& params) const override {
    if (!work_area_.is_identity()) params.seeds = seeds_in_work_area(work_area_, params.seeds);
  }

  void expects_runnable(const CcLabelParams& params, const Setup* current) const override {
    Setup setup = planned_setup(params, current ? *current : Setup{});
    setup.has_output = params.output != CcOutput::none;
    expects_setting(
        params.output != CcOutput::overlay ||
            ((setup.depth == 1 || setup.slides) && setup.layers == 1),
        "output=overlay requires depth=1 and no thresholds; choose labels, colors, mask or none");
    expects_consistent(setup, params);
    expects_trackable(setup);
    expects_method(setup, params, backend());
    if (!current) return;
    expects(params.source != Source::alpha || setup.in.alpha,
            std::string(name_of(setup.in.format)) + " pictures have no alpha channel to label");
    expects_setting(params.source != Source::mask || setup.depth == 1 || setup.has_mask,
                    "with depth above 1, source can change to mask only in READY or NULL");
  }
  std::vector<Fact> facts(int slot) override {
    const CcLabelParams& params = params_of(slot);
    if (!params.track && !params.sliding) return {};
    const TrackEvents report = static_cast<CcLabel&>(*algorithm()).track_events(slot);
    const bool shows_tracks =
        params.output == CcOutput::labels && params.label_values == LabelValues::track;
    expects(!shows_tracks || params.overflow != Overflow::error || report.last_id <= label_limit_,
            "track " + std::to_string(report.last_id) + ", but the output holds ids up to " +
                std::to_string(label_limit_));
    return {{"births", int64_t{report.births}},    {"deaths", int64_t{report.deaths}},
            {"splits", int64_t{report.splits}},    {"merges", int64_t{report.merges}},
            {"tracks-lost", int64_t{report.lost}}, {"last-track", int64_t{report.last_id}}};
  }

  LabelCapacity check_result(int slot, uint32_t total, const Layout& out) override {
    label_limit_ = max_label_of(out);
    return label_capacity(params_of(slot), total, out);
  }

 private:
  // Converts the seeds to coordinates of the working picture. A seed outside of the rectangle gets
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
  // The largest label that the output can hold; set by check_result().
  uint32_t label_limit_ = UINT32_MAX;
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

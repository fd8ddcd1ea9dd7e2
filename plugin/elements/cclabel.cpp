// The element cclabel: labels connected components of each frame.
#include "core/cclabel/cclabel.hpp"

#include <algorithm>
#include <cmath>

#include "plugin/stream/engine.hpp"

namespace regions {
namespace {

class CcLabelEngine final : public EngineOf<CcLabelParams> {
 public:
  const char* name() const override { return "cclabel"; }
  bool makes_regions() const override { return true; }
  bool reads_mask() override { return params_in_use().source == Source::mask; }
  bool needs_mask_with(const CcLabelParams& params) const override {
    return params.source == Source::mask;
  }
  bool reads_small_masks() override { return backend() == BackendKind::cpu && !has_window(); }
  bool tracks() override {
    const CcLabelParams params = params_in_use();
    return params.track || params.sliding;
  }
  Details details() override {
    const CcLabelParams params = params_in_use();
    return {.runs = params.attach_runs ? static_cast<uint32_t>(params.max_runs) : 0};
  }

  const char* click(int button, double x, double y) override {
    const Field& field = find(fields(), "seeds");
    if (!std::get<bool>(get(find(fields(), "click-seeds")))) return nullptr;
    constexpr int kLeft = 1, kRight = 3;
    auto seeds =
        button == kRight ? std::get<std::vector<double>>(get(field)) : std::vector<double>();
    if (button == kLeft || button == kRight) {
      // The last Seeds::kMax clicks count.
      if (seeds.size() >= 2 * Seeds::kMax) seeds.erase(seeds.begin(), seeds.begin() + 2);
      seeds.push_back(std::floor(std::clamp(x, field.min, field.max)));
      seeds.push_back(std::floor(std::clamp(y, field.min, field.max)));
    }
    set(field, seeds);
    return field.name;
  }

  void take_work_area(const WorkArea& area) override { work_area_ = area; }
  // Seeds count the picture's pixels.
  void prepare_frame(CcLabelParams& params) const override {
    if (!work_area_.is_whole()) params.seeds = seeds_in(work_area_, params.seeds);
  }

  void expects_runnable(const CcLabelParams& params, const Setup* now) const override {
    Setup setup = planned(params, now ? *now : Setup{});
    setup.has_output = params.output != CcOutput::none;
    expects_setting(
        params.output != CcOutput::overlay ||
            ((setup.depth == 1 || setup.slides) && setup.layers == 1),
        "output=overlay requires depth=1 and no thresholds; choose labels, colors, mask or none");
    expects_agreeing(setup, params);
    expects_trackable(setup);
    expects_method(setup, params, backend());
    if (!now) return;
    expects(params.source != Source::alpha || setup.in.alpha,
            std::string(name_of(setup.in.format)) + " pictures have no alpha channel to label");
    expects_setting(params.source != Source::mask || setup.depth == 1 || setup.has_mask,
                    "with depth above 1, source can change to mask only in READY or NULL");
  }
  std::vector<Fact> facts(int slot) override {
    const CcLabelParams& now = params_of(slot);
    if (!now.track && !now.sliding) return {};
    const TrackReport report = static_cast<CcLabel&>(*algorithm()).track_report(slot);
    const bool shows_tracks =
        now.output == CcOutput::labels && now.label_values == LabelValues::track;
    expects(!shows_tracks || now.overflow != Overflow::error || report.last_id <= limit_,
            "track " + std::to_string(report.last_id) + ", but the output holds ids up to " +
                std::to_string(limit_));
    return {{"births", int64_t{report.births}},    {"deaths", int64_t{report.deaths}},
            {"splits", int64_t{report.splits}},    {"merges", int64_t{report.merges}},
            {"tracks-lost", int64_t{report.lost}}, {"last-track", int64_t{report.last_id}}};
  }

  Verdict judge(int slot, uint32_t total, const Layout& out) override {
    limit_ = label_limit(out);
    return verdict_of(params_of(slot), total, out);
  }

 private:
  // The seeds in coordinates of the working picture. A seed outside of it stays outside, so that it
  // keeps no region.
  static std::vector<double> seeds_in(const WorkArea& area, std::vector<double> seeds) {
    for (size_t i = 0; i + 1 < seeds.size(); i += 2) {
      auto x = static_cast<int>(seeds[i]), y = static_cast<int>(seeds[i + 1]);
      const bool inside = reduce(area, x, y);
      seeds[i] = inside ? x : area.work.width;
      seeds[i + 1] = inside ? y : area.work.height;
    }
    return seeds;
  }

  WorkArea work_area_;
  uint32_t limit_ = UINT32_MAX;  // of the output's labels, since the last judge()
};

}  // namespace

const ElementSpec& cclabel_element() {
  static const ElementSpec spec = {
      "cclabel", "Connected-component labeller", "Filter/Analyzer/Video",
      "Labels the connected components of each frame and describes them in metadata",
      []() -> std::unique_ptr<Engine> { return std::make_unique<CcLabelEngine>(); }};
  return spec;
}

}  // namespace regions

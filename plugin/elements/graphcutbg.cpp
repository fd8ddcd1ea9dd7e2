// The element graphcutbg: separates foreground from background by an exact graph cut.
#include "core/graphcutbg/graphcutbg.hpp"

#include <atomic>
#include <stop_token>
#include <utility>

#include "core/graphcutbg/state.hpp"
#include "core/packed.hpp"
#include "plugin/files/picture_file.hpp"
#include "plugin/files/regular_file.hpp"
#include "plugin/stream/engine.hpp"

namespace regions {
namespace {

class GraphCutBgEngine final : public EngineOf<GraphCutBgParams> {
 public:
  const char* name() const override { return "graphcutbg"; }
  bool makes_regions() const override { return false; }
  bool makes_mask() const override { return true; }
  bool reads_mask() override { return params_in_use().source != GraphCutSource::image; }
  bool needs_mask_with(const GraphCutBgParams& params) const override {
    return params.source == GraphCutSource::mask;
  }
  bool draws_tints() override { return params_in_use().output == GraphCutOutput::overlay; }

  std::span<const Implied> implied(const Field& field) override {
    if (field.name != std::string_view("preset")) return {};
    return implied_by(static_cast<Preset>(std::get<int64_t>(get(field))));
  }

  void take_work_area(const WorkArea& area) override { work_area_ = area; }

  void expects_runnable(const GraphCutBgParams& params, const Setup* now) const override {
    expects_setting(params.output != GraphCutOutput::replace ||
                        params.replace_with != Replacement::image || !params.replace_image.empty(),
                    "replace-with=image requires replace-image, the path of a picture");
    if (now) return;  // files are read once
    for (const auto* path :
         {&params.background_image, &params.exclusion_image, &params.replace_image}) {
      if (!path->empty()) expect_picture(*path);
    }
    if (params.model_location.empty()) return;
    read_file(params.model_location, 1);
    // At the end of a stream many applications no longer read the bus.
    expect_writable(params.model_location);
  }
  void configure(const Setup& setup) override {
    const GraphCutBgParams now = params_in_use();
    EngineOf::configure(setup);
    configured_ = true;
    show_all();
    if (now.model_location.empty()) return;
    // A file that is longer than a model is not a model.
    const size_t most = graphcut::state_bytes(setup.size) + 1;
    if (const auto model = read_file(now.model_location, most)) cut().restore(*model);
  }
  std::vector<std::byte> learnt() override { return cut().state(); }
  void recall(std::span<const std::byte> learnt) override {
    if (!learnt.empty()) cut().restore(learnt);
  }
  void may_wait(bool may) override {
    if (may) {
      stop_ = std::stop_source();
    } else {
      stop_.request_stop();
    }
  }
  void move(const WorkArea& area) override {
    EngineOf::move(area);
    show_all();
  }
  void finish() override {
    const std::string path = params_in_use().model_location;
    const bool learnt = std::exchange(configured_, false);
    if (path.empty() || !learnt) return;
    // The state is empty if no frame came.
    if (const auto model = cut().state(); !model.empty()) write_file(path, model);
  }

  void tell_pace(int64_t us) override {
    constexpr int64_t kFrames = 8, kOtherwise = 1000000;
    live_budget_ = us < 0 ? 0 : us == 0 ? kOtherwise : kFrames * us;
  }
  void prepare_frame(GraphCutBgParams& params) const override {
    if (params.time_budget < 0) params.time_budget = live_budget_;
  }
  Verdict judge(int slot, uint32_t total, const Layout&) override {
    const CutReport report = cut().report(slot).cut;
    if (report.exact) return {total, {}};
    return {total, "a cut was stopped early and is not exact: it costs at most " +
                       std::to_string(report.gap) + " more than the minimum, which is at least " +
                       std::to_string(report.flow) + " (time-budget, max-iterations)"};
  }

  std::vector<Fact> facts(int slot) override {
    const GraphCutReport report = cut().report(slot);
    expects(report.cut_value < 0 || !report.cut.exact || report.cut_value == report.cut.flow,
            "the cut is not the minimum: flow " + std::to_string(report.cut.flow) + ", cut " +
                std::to_string(report.cut_value));
    return {{"exact", report.cut.exact},
            {"flow", report.cut.flow},
            {"gap", report.cut.gap},
            {"cut-value", report.cut_value},  // -1 unless `verify`
            {"iterations", static_cast<int64_t>(report.cut.iterations)},
            {"foreground-pixels", static_cast<int64_t>(report.foreground)},
            {"restarted", report.restarted}};
  }

 private:
  // make_algorithm() makes a GraphCutBg on both backends.
  GraphCutBg& cut() { return static_cast<GraphCutBg&>(*algorithm()); }

  void show_all() {
    const GraphCutBgParams now = params_in_use();
    show(GraphCutPicture::background, now.background_image, {});
    show(GraphCutPicture::exclusion, now.exclusion_image, {});
    show(GraphCutPicture::replacement, now.replace_image, work_area_.picture);
  }
  void show(GraphCutPicture which, const std::string& path, Size fit) {
    if (path.empty()) return;
    const PictureFile picture = load_picture(path, fit, stop_.get_token());
    const Size size = work_area_.picture;
    expects(picture.size == size,
            "the picture '" + path + "' has " + std::to_string(picture.size.width) + "x" +
                std::to_string(picture.size.height) + " pixels, the video " +
                std::to_string(size.width) + "x" + std::to_string(size.height));
    if (work_area_.is_whole()) return cut().set_picture(which, picture.frame());
    const ConstFrame part = part_of(picture.frame(), work_area_);
    std::vector<std::byte> bytes(packed_bytes(part.layout, work_area_.work));
    const Frame small =
        packed_frame(part.layout, work_area_.work, part.color, Memory::host, bytes.data());
    const auto queue = make_cpu_backend(1)->make_queue();
    queue->shrink(part, small);
    queue->record();
    queue->wait();
    cut().set_picture(which, small);
  }

  WorkArea work_area_;
  std::stop_source stop_;                // of waiting for a picture
  bool configured_ = false;              // and not yet finished
  std::atomic<int64_t> live_budget_{0};  // us
};

}  // namespace

const ElementSpec& graphcutbg_element() {
  static const ElementSpec spec = {
      "graphcutbg", "Graph-cut background remover", "Filter/Effect/Video",
      "Separates the foreground from the background by an exact minimum cut",
      []() -> std::unique_ptr<Engine> { return std::make_unique<GraphCutBgEngine>(); }};
  return spec;
}

}  // namespace regions

// The element graphcutbg: separates foreground from background by an exact graph cut.
#include "core/graphcutbg/graphcutbg.hpp"

#include <atomic>
#include <stop_token>
#include <utility>

#include "core/frame.hpp"
#include "core/graphcutbg/stored_model.hpp"
#include "plugin/files/property_files.hpp"
#include "plugin/stream/element_algorithm.hpp"

namespace regions {
namespace {

class GraphCutBgElement final : public ElementAlgorithmOf<GraphCutBgParams> {
 public:
  const char* name() const override { return "graphcutbg"; }
  void describe(const GraphCutBgParams& params, ElementTraits& traits) const override {
    traits.makes_mask = true;
    traits.reads_mask = params.source != GraphCutSource::image;
    traits.needs_mask =
        params.source == GraphCutSource::mask && params.mask_from == MaskFrom::automatic;
    traits.draws_tints = params.output == GraphCutOutput::overlay;
  }

  std::span<const PresetValue> preset_values(const Field& field) override {
    if (field.name != std::string_view("preset")) return {};
    return preset_values_of(static_cast<Preset>(std::get<int64_t>(get(field))));
  }

  void expects_runnable(const GraphCutBgParams& params, const Setup* running_setup) const override {
    expects_setting(params.output != GraphCutOutput::replace ||
                        params.replace_with != Replacement::image || !params.replace_image.empty(),
                    "replace-with=image requires replace-image, the path of a picture");
    numbers_in(params.mask_values);
    // A scaled work area changes only samples whose value at the lower resolution changes. Details
    // of hidden pixels could remain visible.
    const bool needs_all_pixels =
        params.output == GraphCutOutput::background ||
        (params.output == GraphCutOutput::replace && params.replace == Replaced::foreground);
    expects_setting(!needs_all_pixels || !running_setup || !is_scaled_,
                    "replace=foreground and output=background require process-scale=1");
    if (running_setup) return;  // files are checked once, before the stream starts
    for (const auto* path :
         {&params.background_image, &params.exclusion_image, &params.replace_image}) {
      if (!path->empty()) expect_picture(*path);
    }
    if (params.model_location.empty()) return;
    read_file(params.model_location, 1);
    // The file is written at the end of the stream, when many applications no longer read error
    // messages. Therefore the path is checked now.
    expect_writable(params.model_location);
  }
  void configure(const Setup& setup) override {
    const std::string path = session().active().model_location;
    is_scaled_ = work_area().is_scaled();
    ElementAlgorithmOf::configure(setup);
    is_configured_ = true;
    load_pictures();
    if (path.empty()) return;
    // Reads one byte more than a model has, so that restore() can refuse a file that is too long.
    const size_t max_bytes = graphcutbg::state_bytes(setup.size) + 1;
    if (const auto model = read_file(path, max_bytes)) graph_cut().restore(*model);
  }
  std::vector<std::byte> save_model() override { return graph_cut().state(); }
  void restore_model(std::span<const std::byte> model) override {
    if (!model.empty()) graph_cut().restore(model);
  }
  ForeignMask foreign_mask(GstBuffer* frame, Size picture) override {
    const GraphCutBgParams params = session().active();
    if (params.source == GraphCutSource::image || params.mask_from == MaskFrom::alpha) return {};
    const std::vector<uint32_t> chosen = numbers_in(params.mask_values);
    ForeignMask mask = read_segmentations(frame, picture, chosen);
    const bool is_optional =
        params.mask_from == MaskFrom::segmentation && params.source == GraphCutSource::mask;
    if (!mask.pixels && is_optional) {  // no object was found in this frame
      const uint8_t background = 0;
      mask.pixels.reset(gst_buffer_new_memdup(&background, 1));
      mask.size = {1, 1};
    }
    return mask;
  }
  void set_flushing(bool is_flushing) override {
    if (is_flushing) {
      stop_.request_stop();
    } else {
      stop_ = std::stop_source();
    }
  }
  void move_work_area(const WorkArea& area) override {
    ElementAlgorithmOf::move_work_area(area);
    load_pictures();
  }
  void end_stream() override {
    const std::string path = session().active().model_location;
    const bool was_configured = std::exchange(is_configured_, false);
    if (path.empty() || !was_configured) return;
    // The state is empty if no frame was processed.
    if (const auto model = graph_cut().state(); !model.empty()) write_file(path, model);
  }

  // In a live stream a cut may take the duration of 8 frames, or 1 s if the frame rate is unknown.
  void set_frame_duration(int64_t microseconds) override {
    constexpr int64_t kBudgetFrames = 8, kUnknownDurationBudget = 1000000;
    live_budget_ = microseconds < 0    ? 0
                   : microseconds == 0 ? kUnknownDurationBudget
                                       : kBudgetFrames * microseconds;
  }
  void prepare_frame_params(GraphCutBgParams& params) const override {
    if (params.time_budget < 0) params.time_budget = live_budget_;
  }
  LabelCapacity check_result(int slot, uint32_t total, const Layout&) override {
    const CutResult cut = graph_cut().result(slot).cut;
    if (cut.exact) return {total, {}};
    return {total, "a cut was stopped early and is not exact: it costs at most " +
                       std::to_string(cut.gap) + " more than the minimum, which is at least " +
                       std::to_string(cut.flow) + " (time-budget, max-iterations)"};
  }

  std::vector<Fact> facts(int slot) override {
    const GraphCutResult result = graph_cut().result(slot);
    return {{"exact", result.cut.exact},
            {"flow", result.cut.flow},
            {"gap", result.cut.gap},
            {"iterations", static_cast<int64_t>(result.cut.iterations)},
            {"foreground-pixels", static_cast<int64_t>(result.foreground)},
            {"restarted", result.restarted},
            {kSceneChangeField, std::string(name_of(result.change))}};
  }

 private:
  // The cast is valid because make_algorithm() creates a GraphCutBg on both backends.
  GraphCutBg& graph_cut() { return static_cast<GraphCutBg&>(session().algorithm()); }

  void load_pictures() {
    const GraphCutBgParams params = session().active();
    load(GraphCutPicture::background_image, params.background_image, {});
    load(GraphCutPicture::exclusion_image, params.exclusion_image, {});
    load(GraphCutPicture::replace_image, params.replace_image, work_area().picture);
  }
  // Loads a picture file and passes the part inside the work area to the algorithm. If
  // `target_size` is not empty, the picture is first scaled to this size.
  void load(GraphCutPicture kind, const std::string& path, Size target_size) {
    if (path.empty()) return;
    const PictureFile picture = load_picture(path, target_size, stop_.get_token());
    const Size size = work_area().picture;
    expects(picture.size == size,
            "the picture '" + path + "' has " + std::to_string(picture.size.width) + "x" +
                std::to_string(picture.size.height) + " pixels, the video " +
                std::to_string(size.width) + "x" + std::to_string(size.height));
    if (work_area().is_identity()) return graph_cut().set_picture(kind, picture.frame());
    const ConstFrame part = crop_to(picture.frame(), work_area());
    std::vector<std::byte> bytes(packed_bytes(part.layout, work_area().work));
    const Frame working_picture =
        packed_frame(part.layout, work_area().work, part.color, Memory::host, bytes.data());
    const auto queue = make_cpu_backend(1)->make_queue();
    queue->shrink(part, working_picture);
    queue->record();
    queue->wait();
    graph_cut().set_picture(kind, working_picture);
  }

  std::stop_source stop_;               // ends the wait for a picture file
  std::atomic<bool> is_scaled_{false};  // whether the running stream has a scaled work area
  bool is_configured_ = false;          // true between configure() and end_stream()
  // Time limit of a cut if the property time-budget is negative, µs; 0: unlimited.
  std::atomic<int64_t> live_budget_{0};
};

}  // namespace

const ElementSpec& graphcutbg_element() {
  static const ElementSpec spec = element_spec<GraphCutBgElement>(
      "graphcutbg", "Graph-cut background remover", "Filter/Effect/Video",
      "Separates the foreground from the background by an exact minimum cut");
  return spec;
}

}  // namespace regions

// The element graphcutbg: separates foreground from background by an exact graph cut.
#include "core/graphcutbg/graphcutbg.hpp"

#include <algorithm>
#include <atomic>
#include <functional>
#include <iterator>
#include <stop_token>
#include <utility>

#include "core/frame.hpp"
#include "core/graphcutbg/stored_model.hpp"
#include "plugin/files/property_files.hpp"
#include "plugin/stream/element_algorithm.hpp"

namespace regions {
namespace {

// A confidence that is not a number counts as 0.
double confidence_of(const DetectedObject& object) {
  return object.confidence > 0 ? object.confidence : 0;
}

// Returns the regions of this plugin's metadata as objects with the label "region".
std::vector<DetectedObject> regions_as_objects(const AttachedRegions& attached) {
  std::vector<DetectedObject> objects;
  for (const Region& region : attached.regions) {
    DetectedObject& object = objects.emplace_back();
    object.left = region.left;
    object.top = region.top;
    object.right = region.right + 1.0;
    object.bottom = region.bottom + 1.0;
    object.track = attached.is_tracked ? region.track : 0;
    object.label = kRegionName;
  }
  return objects;
}

// Whether the box of the object has pixels of a rectangle of this size.
bool overlaps(const DetectedObject& object, int left, int top, Size size) {
  return std::max<double>(object.left, left) < std::min<double>(object.right, left + size.width) &&
         std::max<double>(object.top, top) < std::min<double>(object.bottom, top + size.height);
}

// Keeps as many objects as the algorithm accepts. They keep their order.
void keep_most_confident(std::vector<DetectedObject>& objects) {
  std::vector<double> confidences;
  for (const DetectedObject& object : objects) confidences.push_back(confidence_of(object));
  const auto last = confidences.begin() + (kMaxBoxes - 1);
  std::ranges::nth_element(confidences, last, std::greater());
  const double lowest = *last;
  auto ties = kMaxBoxes - std::ranges::count_if(confidences, [&](double c) { return c > lowest; });
  std::erase_if(objects, [&](const DetectedObject& object) {
    const double confidence = confidence_of(object);
    return confidence < lowest || (confidence == lowest && ties-- <= 0);
  });
}

class GraphCutBgElement final : public ElementAlgorithmOf<GraphCutBgParams> {
 public:
  const char* name() const override { return "graphcutbg"; }
  void describe(const GraphCutBgParams& params, ElementTraits& traits) const override {
    traits.makes_regions = traits.tracks = traits.skips_empty =
        params.source == GraphCutSource::boxes;
    traits.makes_mask = !traits.makes_regions;
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
    names_in(params.box_labels);
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
    has_found_label_ = false;
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
  FrameNotes read_foreign(GstBuffer* frame, Size picture, AttachedRegions& attached) override {
    const GraphCutBgParams params = session().active();
    if (params.source == GraphCutSource::boxes) return read_boxes(frame, picture, params, attached);
    if (attached.labels || params.source == GraphCutSource::image ||
        params.mask_from == MaskFrom::alpha) {
      return {};
    }
    const std::vector<uint32_t> chosen = numbers_in(params.mask_values);
    ForeignMask mask = read_segmentations(frame, picture, chosen);
    const bool is_optional =
        params.mask_from == MaskFrom::segmentation && params.source == GraphCutSource::mask;
    if (!mask.pixels && is_optional) {  // no object was found in this frame
      const uint8_t background = 0;
      mask.pixels.reset(gst_buffer_new_memdup(&background, 1));
      mask.size = {1, 1};
    }
    attached.made = std::move(mask.pixels);
    attached.labels = attached.made.get();
    attached.labels_format = PixelFormat::gray8;
    attached.labels_size = mask.size;
    return {mask.problem, {}};
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

  // Sets the attached regions to the boxes that the parameters select, and removes the label map.
  // Warns of boxes that are left out although the user may expect them.
  FrameNotes read_boxes(GstBuffer* frame, Size picture, const GraphCutBgParams& params,
                        AttachedRegions& attached) {
    std::vector<DetectedObject> objects = regions_as_objects(attached);
    std::ranges::copy(read_objects(frame), std::back_inserter(objects));
    attached.regions.clear();
    attached.labels = nullptr;
    FrameNotes notes = {choose_objects(params, objects), {}};
    const size_t chosen = objects.size();
    std::erase_if(objects,
                  [&](const DetectedObject& object) { return !overlaps(object, 0, 0, picture); });
    if (objects.size() < chosen) {
      notes.warning = std::to_string(chosen - objects.size()) + " of " + std::to_string(chosen) +
                      " boxes are empty or outside the picture of " +
                      std::to_string(picture.width) + "x" + std::to_string(picture.height) +
                      " pixels and are left out";
    }
    // Boxes outside the rectangle of the work area have no number.
    std::erase_if(objects, [&area = work_area()](const DetectedObject& object) {
      return !overlaps(object, area.left, area.top, area.area);
    });
    if (objects.size() > kMaxBoxes) {
      notes.warning = "a frame has " + std::to_string(objects.size()) + " boxes; only the " +
                      std::to_string(kMaxBoxes) + " with the highest confidence are cut";
      keep_most_confident(objects);
    }
    std::string labels;
    for (const DetectedObject& object : objects) {
      attached.regions.push_back(record_of(object));
      labels += (attached.regions.size() > 1 ? "," : "") + std::string(object.label);
    }
    notes.facts = {{kBoxesField, static_cast<int64_t>(objects.size())}, {kBoxLabelsField, labels}};
    return notes;
  }

  // Removes objects that the parameters exclude. Returns a warning if the stream had no object yet
  // with a label in `box-labels`, so that a misspelt label is noticed.
  std::string choose_objects(const GraphCutBgParams& params, std::vector<DetectedObject>& objects) {
    const std::vector<std::string> labels = names_in(params.box_labels);
    const std::string first = objects.empty() ? "" : objects.front().label;
    if (!labels.empty()) {
      std::erase_if(objects, [&](const DetectedObject& object) {
        return std::ranges::find(labels, object.label) == labels.end();
      });
    }
    has_found_label_ |= !objects.empty();
    std::string warning;
    if (!has_found_label_ && !first.empty()) {
      warning = "no object has a label of box-labels='" + params.box_labels +
                "'; this frame has the label '" + first + "'";
    }
    std::erase_if(objects, [&](const DetectedObject& object) {
      return object.is_lost || confidence_of(object) < params.box_confidence;
    });
    return warning;
  }

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
  bool has_found_label_ = false;        // an object of this stream had a label in `box-labels`
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

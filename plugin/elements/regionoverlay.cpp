// The element regionoverlay: draws the regions that upstream elements found.
#include "core/drawing/regionoverlay.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>

#include "core/drawing/marks.hpp"
#include "plugin/events/shape_marks.hpp"
#include "plugin/stream/element_algorithm.hpp"

namespace regions {
namespace {

// The label and the confidence, such as "person .87".
std::string text_of(const DetectedObject& object) {
  // A confidence that is not a number counts as 0.
  const double confidence = object.confidence > 0 ? std::min(object.confidence, 1.0) : 0;
  const auto percent = static_cast<int>(std::lround(confidence * 100));
  const std::string digits = std::to_string(percent % 100);
  return std::string(object.label) + (percent == 100 ? " 1." : " .") +
         (digits.size() < 2 ? "0" : "") + digits;
}

void append_objects(std::span<const DetectedObject> objects, const StampPlan& plan, bool has_labels,
                    std::vector<Region>& records) {
  for (const DetectedObject& object : objects) {
    records.push_back(record_of(object));
    records.back().layer = kObjectLayer;
  }
  for (const DetectedObject& object : objects) {
    if (!has_labels) return;
    const Region box = record_of(object);
    const Rgb color = track_color(box.track);
    const bool has_id = box.track != 0 && (plan.style & static_cast<uint32_t>(Style::ids));
    const auto digits = static_cast<int>(std::to_string(box.track).size());
    append(LabelMark{{box.left, box.top, box.right, box.bottom},
                     has_id ? plan.tag_width(digits) : 0,
                     text_of(object),
                     static_cast<uint32_t>(color.red << 16 | color.green << 8 | color.blue)},
           plan, records);
  }
}

class RegionOverlayElement final : public ElementAlgorithmOf<RegionOverlayParams> {
 public:
  const char* name() const override { return "regionoverlay"; }
  void describe(const RegionOverlayParams&, ElementTraits& traits) const override {
    traits.reads_mask = true;
  }
  void expects_runnable(const RegionOverlayParams& params,
                        const Setup* running_setup) const override {
    if (!running_setup || !params.hides()) return;
    expects_setting(!is_scaled_, "style=pixelate and style=blur require process-scale=1");
    expects_setting(can_hide_,
                    "style=pixelate and style=blur must be chosen before the stream starts");
  }
  void configure(const Setup& setup) override {
    is_scaled_ = work_area().is_scaled();
    can_hide_ = session().active().hides();
    ElementAlgorithmOf::configure(setup);
  }
  FrameNotes read_foreign(GstBuffer* frame, Size picture, AttachedRegions& attached) override {
    const RegionOverlayParams params = session().active();
    const StampPlan plan = stamp_plan(picture, params);
    if (params.objects != ObjectDrawing::none || params.hides()) {
      append_objects(read_objects(frame), plan, params.objects == ObjectDrawing::labels,
                     attached.regions);
    }
    events::read_marks(frame, picture, plan, attached.regions);
    return {};
  }

 private:
  // Properties of the running stream: whether its work area is scaled, and whether the algorithm
  // has the memory to hide regions.
  std::atomic<bool> is_scaled_{false}, can_hide_{false};
};

}  // namespace

const ElementSpec& regionoverlay_element() {
  static const ElementSpec spec = element_spec<RegionOverlayElement>(
      "regionoverlay", "Region overlay", "Filter/Effect/Video",
      "Draws boxes, outlines, tints and ids of the regions in the frame's metadata, and zones and "
      "lines of regionevents");
  return spec;
}

}  // namespace regions

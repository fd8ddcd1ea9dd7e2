// The element regionoverlay: draws the regions that upstream elements found.
#include "core/drawing/regionoverlay.hpp"

#include "plugin/events/shape_marks.hpp"
#include "plugin/stream/element_algorithm.hpp"

namespace regions {
namespace {

class RegionOverlayElement final : public ElementAlgorithmOf<RegionOverlayParams> {
 public:
  const char* name() const override { return "regionoverlay"; }
  void describe(const RegionOverlayParams&, ElementTraits& traits) const override {
    traits.reads_mask = true;
  }
  void add_marks(GstBuffer* frame, Size picture, std::vector<Region>& records) override {
    events::read_marks(frame, picture, stamp_plan(picture, session().active()), records);
  }
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

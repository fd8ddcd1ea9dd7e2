// The element regionoverlay: draws the regions that upstream elements found.
#include "core/drawing/regionoverlay.hpp"

#include "plugin/stream/element_algorithm.hpp"

namespace regions {
namespace {

class RegionOverlayElement final : public ElementAlgorithmOf<RegionOverlayParams> {
 public:
  const char* name() const override { return "regionoverlay"; }
  bool makes_regions() const override { return false; }
  bool reads_mask() override { return true; }
};

}  // namespace

const ElementSpec& regionoverlay_element() {
  static const ElementSpec spec = {
      "regionoverlay", "Region overlay", "Filter/Effect/Video",
      "Draws boxes, outlines, tints and ids of the regions in the frame's metadata",
      []() -> std::unique_ptr<ElementAlgorithm> {
        return std::make_unique<RegionOverlayElement>();
      }};
  return spec;
}

}  // namespace regions

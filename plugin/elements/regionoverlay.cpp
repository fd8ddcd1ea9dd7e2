// The element regionoverlay: draws the regions that elements upstream have found.
#include "core/drawing/regionoverlay.hpp"

#include "plugin/stream/engine.hpp"

namespace regions {
namespace {

class RegionOverlayEngine final : public EngineOf<RegionOverlayParams> {
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
      []() -> std::unique_ptr<Engine> { return std::make_unique<RegionOverlayEngine>(); }};
  return spec;
}

}  // namespace regions

// The element slicsuperpixel: divides each frame into superpixels.
#include "core/slicsuperpixel/slicsuperpixel.hpp"

#include "plugin/stream/element_algorithm.hpp"

namespace regions {
namespace {

class SlicSuperpixelElement final : public ElementAlgorithmOf<SlicParams> {
 public:
  const char* name() const override { return "slicsuperpixel"; }
  void describe(const SlicParams& params, ElementTraits& traits) const override {
    traits.makes_regions = true;
    traits.tracks = params.warm_start;
    traits.details = {true, params.attach_covariance, params.attach_adjacency, 0};
  }
};

}  // namespace

const ElementSpec& slicsuperpixel_element() {
  static const ElementSpec spec = [] {
    FilterSettings settings;
    settings.describe =
        kTableForm;  // the other forms of thousands of superpixels take milliseconds
    return element_spec<SlicSuperpixelElement>(
        "slicsuperpixel", "Superpixels", "Filter/Analyzer/Effect/Video",
        "Cuts each frame into connected superpixels and describes them in metadata", settings);
  }();
  return spec;
}

}  // namespace regions

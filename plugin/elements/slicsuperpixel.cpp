// The element slicsuperpixel: divides each frame into superpixels.
#include "core/slicsuperpixel/slicsuperpixel.hpp"

#include "core/cclabel/cclabel.hpp"
#include "plugin/stream/element_algorithm.hpp"

namespace regions {
namespace {

class SlicSuperpixelElement final : public ElementAlgorithmOf<SlicParams> {
 public:
  const char* name() const override { return "slicsuperpixel"; }
  bool makes_regions() const override { return true; }
  bool reads_mask() override { return false; }
  bool tracks() override { return params_in_use().warm_start; }

  RegionDetails details() override {
    const SlicParams params = params_in_use();
    return {true, params.attach_covariance, params.attach_adjacency, 0};
  }

  LabelCapacity check_result(int slot, uint32_t total, const Layout& out) override {
    return label_capacity(params_of(slot), total, out);
  }
};

}  // namespace

const ElementSpec& slicsuperpixel_element() {
  static const ElementSpec spec = {
      "slicsuperpixel", "Superpixels", "Filter/Analyzer/Effect/Video",
      "Cuts each frame into connected superpixels and describes them in metadata",
      []() -> std::unique_ptr<ElementAlgorithm> {
        return std::make_unique<SlicSuperpixelElement>();
      }};
  return spec;
}

}  // namespace regions

// Connected components of arrays on a device, by their addresses: what depends on their shape alone
// is done once, so that a call has little left to do.
#include <nanobind/stl/optional.h>

#include "python/bindings.hpp"
#include "python/interpreter.hpp"
#include "python/label.hpp"

namespace regions::python {
namespace {

using Shape = std::vector<int64_t>;
using Strides = Shape;  // in elements

Strides packed(const Shape& shape) {
  Strides strides(shape.size());
  int64_t stride = 1;
  for (size_t axis = shape.size(); axis-- > 0; stride *= shape[axis]) strides[axis] = stride;
  return strides;
}

// Labels bool, int8 to uint16 of one shape, whose `leading` axes count pictures or volumes, each
// labelled for itself: by each of the levels that values are to reach, or, without any, by equal
// values but those of `background`. Arrays lie on the device, or on the CPU if that is Place::kCpu.
class DeviceLabelling {
 public:
  DeviceLabelling(const Shape& shape, size_t leading, int bits, const std::vector<int>& levels,
                  std::optional<uint32_t> background, const Settings& settings, bool counts,
                  int device)
      : device_(device), bits_(bits), counts_(counts), background_(background) {
    expects(leading < shape.size(), "a batch has pictures or volumes");
    expects(bits == 8 || bits == 16, "elements of this type are not supported on a device");
    const auto item = shape.begin() + static_cast<ptrdiff_t>(leading);
    outer_.assign(shape.begin(), item);
    inner_.assign(item, shape.end());
    packed_ = packed(shape);
    // Says what is beyond the limits before labels of such a shape are made.
    static_cast<void>(Voxels(nullptr, type(), inner_, inner(packed_), Memory::device));
    for (const int64_t side : outer_) items_ *= side;
    for (const int64_t side : inner_) pixels_ *= side;
    auto params = parameters<CcLabelParams>(settings);
    if (levels.empty()) {
      params.criterion = Criterion::equal;
      passes_.push_back(params);
    }
    for (const int level : levels) {
      params.threshold = (level - 0.5) / (bits == 8 ? 255 : 65535);
      passes_.push_back(params);
    }
  }

  // Labels of the batch's first picture lie first, those of all its levels. Without `strides`
  // images have no gaps. Returns how many regions there are of each, if that counts.
  std::vector<uint32_t> run(uintptr_t images, const Strides& strides, uintptr_t labels,
                            uintptr_t stream) const {
    expects(strides.empty() || strides.size() == packed_.size(), "strides go with the shape");
    const Unlocked unlocked;
    const Place place{.device = device_, .stream = stream};
    const Strides& steps = strides.empty() ? packed_ : strides;
    const auto format = bits_ == 8 ? PixelFormat::gray8 : PixelFormat::gray16;
    auto* to = reinterpret_cast<int32_t*>(labels);
    std::vector<uint32_t> found;
    for (int64_t index = 0; index < items_; ++index) {
      const auto* from = reinterpret_cast<const std::byte*>(images) + offset_of(index, steps);
      const Voxels voxels(from, type(), inner_, inner(steps), place.memory());
      for (const CcLabelParams& params : passes_) {
        const auto total =
            python::run(voxels, voxels.frame(format), params,
                        {.labels = to, .counts = counts_, .background = background_}, place);
        if (total) found.push_back(*total);
        to += pixels_;
      }
    }
    return found;
  }

 private:
  nb::dlpack::dtype type() const {
    return {static_cast<uint8_t>(nb::dlpack::dtype_code::UInt), static_cast<uint8_t>(bits_), 1};
  }
  // Of an item.
  std::span<const int64_t> inner(const Strides& strides) const {
    return std::span(strides).subspan(outer_.size());
  }
  // Bytes to one of the items.
  int64_t offset_of(int64_t index, const Strides& strides) const {
    int64_t elements = 0;
    for (size_t axis = outer_.size(); axis-- > 0; index /= outer_[axis]) {
      elements += index % outer_[axis] * strides[axis];
    }
    return elements * (bits_ / 8);
  }

  const int device_, bits_;
  const bool counts_;
  const std::optional<uint32_t> background_;
  Shape outer_, inner_;
  Strides packed_;
  int64_t items_ = 1, pixels_ = 1;  // of an item
  std::vector<CcLabelParams> passes_;
};

}  // namespace

void bind_label_device(nb::module_& module) {
  nb::class_<DeviceLabelling>(module, "DeviceLabelling")
      .def(nb::init<const Shape&, size_t, int, const std::vector<int>&, std::optional<uint32_t>,
                    const Settings&, bool, int>(),
           nb::arg("shape"), nb::arg("leading"), nb::arg("bits"), nb::arg("levels"),
           nb::arg("background").none(), nb::arg("settings"), nb::arg("counts"), nb::arg("device"))
      .def("run", &DeviceLabelling::run);
}

}  // namespace regions::python

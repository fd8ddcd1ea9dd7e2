// Connected components of arrays on a device, which are passed by address. Everything that depends
// only on the shape is prepared once, so that a call does little work.
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

// Labels arrays of bool or 8 or 16-bit integers, all of one shape. The first `leading` axes are a
// batch of pictures or volumes, which are labelled separately. With `levels`, each level gives one
// labelling of the values that reach it. Without levels, equal values are connected, and regions
// with the value `background` get label 0. Arrays are on `device`, which may be Place::kCpu.
class DeviceLabelling {
 public:
  DeviceLabelling(const Shape& shape, size_t leading, int bits, const std::vector<int>& levels,
                  std::optional<uint32_t> background, const Settings& settings, bool counts,
                  int device)
      : device_(device), bits_(bits), counts_(counts), background_(background) {
    expects(leading < shape.size(), "leading must be less than the number of axes");
    expects(bits == 8 || bits == 16, [&] {
      return "array elements have " + std::to_string(bits) + " bits, must have 8 or 16 on a device";
    });
    const auto item = shape.begin() + static_cast<ptrdiff_t>(leading);
    outer_.assign(shape.begin(), item);
    inner_.assign(item, shape.end());
    packed_ = packed(shape);
    // Checks the limits before the caller allocates labels of this shape.
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

  // The labels are in order of pictures, then levels. Empty `strides` mean that the images are
  // contiguous. Returns the number of regions of each label map, if it is counted.
  std::vector<uint32_t> run(uintptr_t images, const Strides& strides, uintptr_t labels,
                            uintptr_t stream) const {
    expects(strides.empty() || strides.size() == packed_.size(),
            "strides must have one value per axis");
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
  // The axes of one picture or volume.
  std::span<const int64_t> inner(const Strides& strides) const {
    return std::span(strides).subspan(outer_.size());
  }
  // Offset of a picture or volume of the batch (bytes).
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
  int64_t items_ = 1, pixels_ = 1;  // pictures or volumes; elements of each
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

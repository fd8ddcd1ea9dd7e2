// Removal of small regions from masks, and filling of holes.
#include "python/bindings.hpp"
#include "python/interpreter.hpp"
#include "python/label.hpp"

namespace regions::python {
namespace {

using Bools = HostArray<nb::ro, bool>;
using Mask = HostArray<bool, nb::c_contig>;

// Sets `mask` to the regions of `image` that the settings keep.
void select(const Bools& image, const Mask& mask, const Settings& settings, int threads) {
  const Voxels voxels{AnyArray(image)};
  expects(mask.size() == image.size(), "mask must have as many elements as the image");
  const Unlocked unlocked;
  run(voxels, voxels.frame(PixelFormat::gray8), parameters_of_mask(settings), {.mask = mask.data()},
      Place{threads});
  auto* bytes = reinterpret_cast<uint8_t*>(mask.data());
  for (size_t i = 0; i < mask.size(); ++i) bytes[i] &= 1;  // 255 becomes 1
}

// Sets `mask` to the image with its holes filled. A hole is a background region that does not touch
// the border. The settings contain the connectivity of the background.
void fill_holes(const Bools& image, const Mask& mask, const Settings& settings, int threads) {
  const Voxels voxels{AnyArray(image)};
  expects(mask.size() == image.size(), "mask must have as many elements as the image");
  const bool is_volume = image.ndim() == 3;
  const Unlocked unlocked;
  Made made{std::vector<std::byte>(mask.size()), PixelFormat::gray8};
  const int width = voxels.slice.width;
  auto* inverted = reinterpret_cast<uint8_t*>(made.bytes.data());
  for (int row = 0; row < voxels.rows(); ++row, inverted += width) {
    const auto* value = reinterpret_cast<const uint8_t*>(voxels.row(row));
    for (int x = 0; x < width; ++x) inverted[x] = value[x] == 0;
  }
  Picture picture;
  picture.take(std::move(made), voxels);
  std::vector<int32_t> labels(mask.size());
  const uint32_t count = *run(voxels, picture.frame, parameters_of_mask(settings),
                              {.labels = labels.data()}, Place{threads});
  std::vector<uint8_t> fills(size_t{count} + 1, 1);
  const int32_t* label = labels.data();
  const auto is_end = [](int index, int indices) { return index == 0 || index == indices - 1; };
  for (int row = 0; row < voxels.rows(); ++row, label += width) {
    const int height = voxels.slice.height;
    const bool is_side =
        is_end(row % height, height) || (is_volume && is_end(row / height, voxels.slices));
    const int step = is_side ? 1 : std::max(width - 1, 1);  // else only the first and last element
    for (int x = 0; x < width; x += step) {
      if (label[x] != 0) fills[static_cast<size_t>(label[x])] = 0;
    }
  }
  for (size_t i = 0; i < labels.size(); ++i) mask.data()[i] = fills[static_cast<size_t>(labels[i])];
}

}  // namespace

void bind_masks(nb::module_& module) {
  module.def("select", select);
  module.def("fill_holes", fill_holes);
}

}  // namespace regions::python

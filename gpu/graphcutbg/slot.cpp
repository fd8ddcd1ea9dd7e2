// Workspaces of graphcutbg on CUDA.
#include "gpu/graphcutbg/slot.hpp"

#include <cstring>

namespace regions::graphcut {

void SharedArrays::allocate(Backend& backend, Size size, Neighbours neighbours) {
  size_ = size;
  neighbours_ = neighbours;
  arrays_ = {};
  arrays_.width = size.width;
  arrays_.height = size.height;
  const size_t pixels = size.area();
  memory_ = {};
  memory_.reserve(arrays_.now, pixels);
  memory_.reserve(arrays_.background, pixels);
  memory_.reserve(arrays_.model, Canvas::plane_stride(pixels) * Model::kWords);
  for (int32_t** weights : {&arrays_.terminal, &arrays_.right, &arrays_.down}) {
    memory_.reserve(*weights, pixels);
  }
  if (neighbours == Neighbours::eight) {
    memory_.reserve(arrays_.down_right, pixels);
    memory_.reserve(arrays_.down_left, pixels);
  }
  memory_.reserve(arrays_.colors, 1);
  memory_.reserve(scene_, 1);
  memory_.allocate(backend);
}

Canvas SharedArrays::canvas(const uint8_t* excluded) const {
  Canvas canvas = arrays_;
  canvas.excluded = excluded;
  return canvas;
}

GridGraph SharedArrays::graph() const {
  const auto image = [&](const int32_t* weights) {
    if (!weights) return Image<const int32_t>();
    return Image<const int32_t>{weights, size_.width, size_.height,
                                static_cast<ptrdiff_t>(sizeof(int32_t)) * size_.width};
  };
  return {image(arrays_.terminal),   image(arrays_.right),     image(arrays_.down),
          image(arrays_.down_right), image(arrays_.down_left), neighbours_};
}

void SlotArrays::allocate(Backend& backend, Size size, bool paints) {
  size_ = size;
  const size_t pixels = size.area();
  memory_ = {};
  memory_.reserve(mask_, pixels);
  if (paints) {
    const size_t cells = Cells::count(size, 1);  // `blur` may make cells of a pixel
    for (uint8_t** picture : {&counts_, &alpha_}) memory_.reserve(*picture, pixels);
    memory_.reserve(sums_, 3 * cells);
    memory_.reserve(weights_, cells);
    for (uint16_t*& component : smooth_) memory_.reserve(component, cells);
  }
  memory_.reserve(report_, 1);
  memory_.allocate(backend);
  host_ = backend.allocate_pinned(kReportStart + sizeof(DeviceReport));
  std::memset(host_.data(), 0, host_.bytes());
}

}  // namespace regions::graphcut

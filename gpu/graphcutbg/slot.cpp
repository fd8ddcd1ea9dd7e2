// Workspaces of graphcutbg on CUDA.
#include "gpu/graphcutbg/slot.hpp"

namespace regions::graphcut {

void SharedArrays::reserve(Workspace& memory, Size size, Neighbours neighbours) {
  size_ = size;
  neighbours_ = neighbours;
  arrays_ = {};
  arrays_.width = size.width;
  arrays_.height = size.height;
  const size_t pixels = size.area();
  memory.reserve(arrays_.now, pixels);
  memory.reserve(arrays_.background, pixels);
  memory.reserve(arrays_.model, Canvas::plane_stride(pixels) * Model::kWords);
  for (int32_t** weights : {&arrays_.terminal, &arrays_.right, &arrays_.down}) {
    memory.reserve(*weights, pixels);
  }
  if (neighbours == Neighbours::eight) {
    memory.reserve(arrays_.down_right, pixels);
    memory.reserve(arrays_.down_left, pixels);
  }
  memory.reserve(arrays_.colors, 1);
  memory.reserve(scene_, 1);
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

void SlotArrays::reserve(Workspace& memory, Size size, bool paints, std::byte* host) {
  size_ = size;
  host_ = host;
  const size_t pixels = size.area();
  memory.reserve(mask_, pixels);
  if (paints) {
    const size_t cells = Cells::count(size, 1);  // `blur` may make cells of a pixel
    for (uint8_t** picture : {&counts_, &alpha_}) memory.reserve(*picture, pixels);
    memory.reserve(sums_, 3 * cells);
    memory.reserve(weights_, cells);
    for (uint16_t*& component : smooth_) memory.reserve(component, cells);
  }
  memory.reserve(report_, 1);
}

}  // namespace regions::graphcut

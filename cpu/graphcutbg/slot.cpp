// Workspaces of graphcutbg on the CPU.
#include "cpu/graphcutbg/slot.hpp"

namespace regions::graphcut {
namespace {

constexpr int kMinCell = 1;  // pixels, the smallest cells that `blur` makes

}  // namespace

void Shared::allocate(Size picture, Neighbours wanted, int pieces) {
  size = picture;
  neighbours = wanted;
  const size_t pixels = picture.area();
  now.assign(pixels, 0);
  background.assign(pixels, 0);
  model.assign(Canvas::plane_stride(pixels) * Model::kWords, 0);
  for (auto* weights : {&terminal, &right, &down}) weights->assign(pixels, 0);
  const bool eight = wanted == Neighbours::eight;
  for (auto* weights : {&down_right, &down_left}) weights->assign(eight ? pixels : 0, 0);
  colors.assign(1, Colors());
  const auto count = static_cast<size_t>(pieces);
  surveys.assign(count, Survey());
  foreground.assign(count, 0);
  values.assign(count, 0);
  scene = {};
  last_foreground = last_pixels = 0;
}

Canvas Shared::canvas(const uint8_t* excluded) {
  Canvas canvas;
  canvas.width = size.width;
  canvas.height = size.height;
  canvas.now = now.data();
  canvas.background = background.data();
  canvas.model = model.data();
  canvas.terminal = terminal.data();
  canvas.right = right.data();
  canvas.down = down.data();
  if (neighbours == Neighbours::eight) {
    canvas.down_right = down_right.data();
    canvas.down_left = down_left.data();
  }
  canvas.colors = colors.data();
  canvas.excluded = excluded;
  return canvas;
}

GridGraph Shared::graph(const LinkSource* links) const {
  const auto image = [&](const std::vector<int32_t>& weights) {
    if (weights.empty()) return Image<const int32_t>();
    return Image<const int32_t>{weights.data(), size.width, size.height,
                                static_cast<ptrdiff_t>(sizeof(int32_t)) * size.width};
  };
  return {image(terminal),  image(right), image(down), image(down_right),
          image(down_left), neighbours,   kMaxWeight,  links};
}

void Slot::allocate(Size picture) {
  // A new vector checks the size, which lets g++ 14 know that it is possible.
  for (auto* pixels : {&mask, &counts, &alpha}) *pixels = std::vector<uint8_t>(picture.area());
  const size_t cells = Cells::count(picture, kMinCell);
  cell_sums.assign(3 * cells, 0);
  cell_weights.assign(cells, 0);
  for (auto& component : smooth) component.assign(cells, 0);
  report = {};
}

}  // namespace regions::graphcut

// The drawing workspace, cut out of one piece of memory.
#include "core/drawing/drawing.hpp"

namespace regions {
namespace {

// Rows of whole 128-byte lines, so that tiles do not share them.
ptrdiff_t pitch_of(int words) { return (static_cast<ptrdiff_t>(words) * 4 + 127) / 128 * 128; }

// Takes the next `width` x `height` words of the memory from `offset` on.
Image<uint32_t> cut(std::byte* memory, size_t& offset, int width, int height) {
  auto* data = memory ? reinterpret_cast<uint32_t*>(memory + offset) : nullptr;
  const ptrdiff_t pitch = pitch_of(width);
  offset += static_cast<size_t>(pitch) * static_cast<size_t>(height);
  return {data, width, height, pitch};
}

size_t cut_all(std::byte* memory, Size picture, Ink& ink) {
  const auto up = [](int n, int step) { return (n + step - 1) / step; };
  size_t offset = 0;
  ink.codes = cut(memory, offset, picture.width, picture.height);
  ink.tiles =
      cut(memory, offset, up(picture.width, Ink::kTileWidth), up(picture.height, Ink::kTileHeight));
  ink.edges = cut(memory, offset, up(picture.width, 32), picture.height);
  ink.crowded = cut(memory, offset, 1, 1);
  const int nodes = up(picture.height, Ink::kBandHeight) * Ink::kBandHeight * 2;
  ink.taken = cut(memory, offset, up(picture.width, 32), nodes);
  ink.full = cut(memory, offset, up(picture.width, 1024), nodes);
  return offset;
}

}  // namespace

size_t ink_bytes(Size picture) {
  Ink unused;
  return cut_all(nullptr, picture, unused);
}

Ink ink_in(void* memory, Size picture) {
  Ink ink;
  cut_all(static_cast<std::byte*>(memory), picture, ink);
  return ink;
}

}  // namespace regions

// Frames in one piece of memory.
#include "core/packed.hpp"

namespace regions {
namespace {

// Bytes. Wide loads want 16. No more, so that rows lie as GStreamer's own do for most widths: a
// copy between equal pitches is one transfer, between others one a row, several times slower.
constexpr size_t kRowAlignment = 16;
constexpr size_t kPlaneAlignment = 256;

size_t rounded_up(size_t bytes, size_t alignment) {
  return (bytes + alignment - 1) / alignment * alignment;
}

size_t packed_pitch(const Layout& layout, int plane, Size size) {
  return rounded_up(row_bytes(layout, plane, size), kRowAlignment);
}

size_t packed_plane_bytes(const Layout& layout, int plane, Size size) {
  return rounded_up(
      packed_pitch(layout, plane, size) * static_cast<size_t>(row_count(layout, plane, size)),
      kPlaneAlignment);
}

}  // namespace

Frame packed_frame(const Layout& layout, Size size, const Colorimetry& color, Memory memory,
                   void* data) {
  Frame frame;
  frame.width = size.width;
  frame.height = size.height;
  frame.layout = layout;
  frame.color = color;
  frame.memory = memory;
  auto* next = static_cast<std::byte*>(data);
  for (int p = 0; p < layout.planes; ++p) {
    const size_t pitch = packed_pitch(layout, p, size);
    frame.plane[p] = next;
    frame.pitch[p] = static_cast<ptrdiff_t>(pitch);
    next += packed_plane_bytes(layout, p, size);
  }
  return frame;
}

size_t packed_bytes(const Layout& layout, Size size) {
  size_t bytes = 0;
  for (int p = 0; p < layout.planes; ++p) {
    bytes += packed_plane_bytes(layout, p, size);
  }
  return bytes;
}

}  // namespace regions

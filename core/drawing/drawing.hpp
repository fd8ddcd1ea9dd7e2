// How regions are drawn on a picture: the parameters every drawing element shares, the colour of a
// track, and the workspace of one drawing. The arithmetic stands in stamp.hpp and paint.hpp.
#pragma once

#include <span>
#include <vector>

#include "core/argb.hpp"
#include "core/field.hpp"
#include "core/region.hpp"

namespace regions {

enum class Style : uint8_t { boxes = 1, outlines = 2, fill = 4, ids = 8 };

struct DrawingParams {
  uint32_t style = 1 | 2 | 8;  // Style bits
  double opacity = 0.4;
  int thickness = 2;
};

inline constexpr Choice kStyles[] = {
    {1, "boxes", "The bounding box"},
    {2, "outlines", "The inner border of the region. Needs a label map"},
    {4, "fill", "A tint over the region. Needs a label map"},
    {8, "ids", "The track id next to the box"}};

// The drawing lines of an element's table; P derives from DrawingParams.
template <class P>
std::vector<Field> drawing_fields() {
  return {
      field<P, &P::style>("style", "Parts of a region that are drawn.", {1, 15}, kStyles),
      field<P, &P::opacity>(
          "opacity", "Opacity of style=fill (fraction; 0 is invisible, 1 is opaque).", {0, 1}),
      field<P, &P::thickness>("thickness", "Line width of boxes and outlines (pixels).", {1, 64})};
}

// The colour of a track: bright, and far in hue from the next ids' colours.
REGIONS_HD constexpr Rgb track_color(uint32_t track) {
  // Fibonacci hashing: multiples of the golden ratio stay apart on the hue circle.
  const uint32_t turn = track * 2654435769u;
  const auto hue = static_cast<int>((static_cast<uint64_t>(turn) * 1536) >> 32);
  const int sector = hue >> 8;
  const int rise = hue & 255;
  const int fall = 255 - rise;
  const int floor = track & 8 ? 104 : 40;  // every other eight are paler
  const int wheel[6] = {255, fall, 0, 0, rise, 255};
  int color[3] = {wheel[sector], wheel[(sector + 4) % 6], wheel[(sector + 2) % 6]};
  for (int& c : color) c = floor + c * (255 - floor) / 255;
  // Blue and red at full strength are dark: lift them towards white until their luma is 136.
  const int luma = (77 * color[0] + 150 * color[1] + 29 * color[2] + 128) >> 8;
  if (luma < 136) {
    for (int& c : color) c += (255 - c) * (136 - luma) / (255 - luma);
  }
  return {static_cast<uint8_t>(color[0]), static_cast<uint8_t>(color[1]),
          static_cast<uint8_t>(color[2])};
}

// A label image as drawing reads it: dense labels of 1, 2 or 4 bytes, of any size, stretched over
// the picture by the nearest pixel. Empty if nothing is known but boxes.
struct LabelView {
  const std::byte* data = nullptr;
  ptrdiff_t pitch = 0;  // bytes
  int bytes = 4;        // of a label
  int width = 0;        // pixels
  int height = 0;       // pixels

  LabelView() = default;
  LabelView(ConstLabelMap map)
      : data(reinterpret_cast<const std::byte*>(map.data)),
        pitch(map.pitch),
        width(map.width),
        height(map.height) {}
  LabelView(LabelMap map) : LabelView(ConstLabelMap(map)) {}
  // Of a gray8, gray16 or labels32 frame.
  explicit LabelView(const ConstFrame& frame)
      : data(frame.plane[0]),
        pitch(frame.pitch[0]),
        bytes(frame.layout.sample_bytes),
        width(frame.width),
        height(frame.height) {}

  REGIONS_HD bool empty() const { return data == nullptr; }
};

// Workspace of drawing, one a slot, in the backend's memory: all zero when it is made; draw()
// leaves it so.
struct Ink {
  // Tiles are what a backend skips when nothing is drawn there.
  static constexpr int kTileWidth = 64;
  static constexpr int kTileHeight = 16;
  static constexpr int kBandHeight = 64;  // whole tiles and whole chroma samples

  Image<uint32_t> codes;    // [height][width], see stamp.hpp
  Image<uint32_t> tiles;    // [height / 16][width / 64], nonzero: some code of the tile is nonzero
  Image<uint32_t> edges;    // [height][width / 32], a bit a pixel, see paint.hpp
  Image<uint32_t> crowded;  // [1][1], nonzero: not all regions are stamped yet, on the GPU
  // What crowds of regions have taken, on the CPU, see cpu/drawing/stamping.hpp.
  Image<uint32_t> taken;  // [height / 64 * 128][width / 32], a bit a pixel
  Image<uint32_t> full;   // [height / 64 * 128][width / 1024], a bit a word of `taken`
};

// Bytes of a workspace for pictures of this size, and the workspace cut out of so much memory
// (aligned to 256 bytes).
size_t ink_bytes(Size picture);
Ink ink_in(void* memory, Size picture);

}  // namespace regions

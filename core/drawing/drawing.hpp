// Drawing of regions on a picture: shared parameters, track colours and the workspace. stamp.hpp
// draws boxes and ids into the workspace; paint.hpp writes the result to the picture.
#pragma once

#include <span>
#include <vector>

#include "core/field.hpp"
#include "core/frame.hpp"
#include "core/region.hpp"

namespace regions {

// pixelate and blur hide the region; only regionoverlay has them.
enum class Style : uint8_t { boxes = 1, outlines = 2, fill = 4, ids = 8, pixelate = 16, blur = 32 };

// Properties of all elements that draw regions; drawing_fields() documents them.
struct DrawingParams {
  uint32_t style = 1 | 2 | 8;  // bits of Style
  double opacity = 0.4;
  int thickness = 2;
};

inline constexpr Choice kStyles[] = {
    {1, "boxes", "The bounding box"},
    {2, "outlines", "The inner border of the region. Needs a label map"},
    {4, "fill", "A tint over the region. Needs a label map"},
    {8, "ids", "The track id next to the box"}};

// The entries of the parameter table for DrawingParams. P derives from DrawingParams. `styles` are
// flags.
template <class P>
std::vector<Field> drawing_fields(std::span<const Choice> styles = kStyles) {
  const double all = static_cast<double>(2 * styles.back().value - 1);
  return {
      field<P, &P::style>("style", "Parts of a region that are drawn.", {1, all}, styles),
      field<P, &P::opacity>(
          "opacity", "Opacity of style=fill (fraction; 0 is invisible, 1 is opaque).", {0, 1}),
      field<P, &P::thickness>("thickness", "Line width of boxes and outlines (pixels).", {1, 64})};
}

// The colour of a track: bright, with a hue that differs clearly from the hues of the next ids.
REGIONS_HD constexpr Rgb track_color(uint32_t track) {
  // Fibonacci hashing: multiples of the golden ratio are spread over the hue circle.
  const uint32_t hash = track * 2654435769u;
  const auto hue = static_cast<int>((static_cast<uint64_t>(hash) * 1536) >> 32);
  const int sector = hue >> 8;
  const int rising = hue & 255;
  const int falling = 255 - rising;
  // Half of the ids (8..15 of every 16) have paler colours.
  const int darkest = track & 8 ? 104 : 40;
  const int hue_wheel[6] = {255, falling, 0, 0, rising, 255};
  int color[3] = {hue_wheel[sector], hue_wheel[(sector + 4) % 6], hue_wheel[(sector + 2) % 6]};
  for (int& c : color) c = darkest + c * (255 - darkest) / 255;
  // Saturated blue and red are dark: mix in white until luma is 136.
  const int luma = (77 * color[0] + 150 * color[1] + 29 * color[2] + 128) >> 8;
  if (luma < 136) {
    for (int& c : color) c += (255 - c) * (136 - luma) / (255 - luma);
  }
  return {static_cast<uint8_t>(color[0]), static_cast<uint8_t>(color[1]),
          static_cast<uint8_t>(color[2])};
}

// The `layer` of a record that is a mark (see marks.hpp) instead of a region. Its `first_x` is a
// colour, 0xRRGGBB. With the track 0 it is a filled rectangle, else a tag: with `area` 0, of the
// number track - 1; otherwise of a word of `area` glyphs, whose TagWord is `sum_x`.
inline constexpr uint32_t kMarkLayer = 0xFFFFFFFF;
REGIONS_HD constexpr bool is_mark(const Region& record) { return record.layer == kMarkLayer; }
// The `layer` of a record that is an object of another element: it has a box, but no label.
inline constexpr uint32_t kObjectLayer = 0xFFFFFFFE;
REGIONS_HD constexpr bool has_label(const Region& record) { return record.layer < kObjectLayer; }
// Whether there are marks among the records. Marks follow all regions.
constexpr bool have_marks(std::span<const Region> records) {
  return !records.empty() && is_mark(records.back());
}

// A label image for drawing: dense labels of 1, 2 or 4 bytes. The image may have any size; each
// pixel of the picture uses the nearest label. Empty if only the boxes of the regions are known.
struct LabelView {
  const std::byte* data = nullptr;
  ptrdiff_t pitch = 0;  // bytes
  int bytes = 4;        // bytes per label
  int width = 0;        // pixels
  int height = 0;       // pixels

  LabelView() = default;
  LabelView(ConstLabelMap map)
      : data(reinterpret_cast<const std::byte*>(map.data)),
        pitch(map.pitch),
        width(map.width),
        height(map.height) {}
  LabelView(LabelMap map) : LabelView(ConstLabelMap(map)) {}
  // Makes a view of a gray8, gray16 or labels32 frame.
  explicit LabelView(const ConstFrame& frame)
      : data(frame.plane[0]),
        pitch(frame.pitch[0]),
        bytes(frame.layout.sample_bytes),
        width(frame.width),
        height(frame.height) {}

  REGIONS_HD bool empty() const { return data == nullptr; }
};

// The workspace of drawing in the backend's memory. Each slot has its own workspace. All values are
// zero initially and after each draw().
struct Ink {
  // Size of a tile in pixels. Backends skip tiles without ink.
  static constexpr int kTileWidth = 64;
  static constexpr int kTileHeight = 16;
  // Height of a band, pixels. A band consists of the rows that one CPU thread draws at a time.
  // Bands contain whole tiles and whole chroma samples.
  static constexpr int kBandHeight = 64;

  Image<uint32_t> codes;  // [height][width], ink code of each pixel, see stamp.hpp
  Image<uint32_t> tiles;  // [height / 16][width / 64], nonzero if the tile contains a nonzero code
  // [height][width / 32], one bit per pixel: the inner borders of regions, see paint.hpp.
  Image<uint32_t> edges;
  Image<uint32_t> crowded;  // [1][1], GPU only: nonzero if stamp_tiles_kernel() must draw regions
  // Pixels that stamps have already covered, for pictures with many overlapping regions. CPU only,
  // see cpu/drawing/drawing.hpp. Each band has a segment tree over its rows, whose nodes 0 .. 2 *
  // kBandHeight - 1 have one row each in `taken` and `full`.
  Image<uint32_t> taken;  // [bands * 2 * kBandHeight][width / 32], one bit per column
  Image<uint32_t> full;   // [bands * 2 * kBandHeight][width / 1024], one bit per word of `taken`:
                          // all bits of the word are set
};

// ink_bytes() returns the size of the workspace for pictures of this size, in bytes. ink_in()
// returns the workspace in a block of that size, which must be aligned to 256 bytes.
size_t ink_bytes(Size picture);
Ink ink_in(void* memory, Size picture);

}  // namespace regions

// Prepares drawing: divides the memory of Ink, selects the glyph size, and computes colour
// encoders. Also contains the parameter table of regionoverlay.
#include "core/drawing/drawing.hpp"

#include <cmath>
#include <string_view>

#include "core/drawing/glyph_table.hpp"
#include "core/drawing/paint.hpp"
#include "core/drawing/regionoverlay.hpp"

namespace regions {

namespace {

constexpr Choice kOverlayStyles[] = {
    kStyles[0],
    kStyles[1],
    kStyles[2],
    kStyles[3],
    {16, "pixelate",
     "Hides the region, or its box without a label map, with blocks of one colour each, see "
     "`pixelate`. Also hides objects of other elements"},
    {32, "blur", "As `pixelate`, but with a blur, see `blur`"}};
constexpr Choice kObjects[] = {{0, "none", "Nothing"},
                               {1, "boxes", "Like a region without a label map"},
                               {2, "labels", "Like `boxes`, with the label and the confidence"}};

std::vector<Field> regionoverlay_table() {
  using P = RegionOverlayParams;
  std::vector<Field> fields = drawing_fields<P>(kOverlayStyles);
  fields.push_back(field<P, &P::objects>(
      "objects",
      "Parts that are drawn of objects that other elements detected (GstAnalyticsODMtd and "
      "GstVideoRegionOfInterestMeta).",
      {}, kObjects));
  fields.push_back(field<P, &P::pixelate>(
      "pixelate", "Side of the blocks of style=pixelate (pixels). Odd values are rounded up.",
      {2, 256}));
  fields.push_back(
      field<P, &P::blur>("blur", "Size of the blur of style=blur (pixels).", {4, 256}));
  fields.push_back(field<P, &P::grow>(
      "grow",
      "Width of the margin around a region that style=pixelate and style=blur also hide (pixels).",
      {0, 128}));
  return fields;
}

// Returns the pitch in bytes of a row of 32-bit words. Rows consist of whole 128-byte cache lines,
// so that two tiles of Ink never share a cache line.
ptrdiff_t pitch_of(int words) { return (static_cast<ptrdiff_t>(words) * 4 + 127) / 128 * 128; }

// Takes `width` x `height` words from `memory` at `offset`, and advances `offset`.
Image<uint32_t> take_words(std::byte* memory, size_t& offset, int width, int height) {
  auto* data = memory ? reinterpret_cast<uint32_t*>(memory + offset) : nullptr;
  const ptrdiff_t pitch = pitch_of(width);
  offset += static_cast<size_t>(pitch) * static_cast<size_t>(height);
  return {data, width, height, pitch};
}

size_t divide_memory(std::byte* memory, Size picture, Ink& ink) {
  const auto divide_up = [](int n, int step) { return (n + step - 1) / step; };
  size_t offset = 0;
  ink.codes = take_words(memory, offset, picture.width, picture.height);
  ink.tiles = take_words(memory, offset, divide_up(picture.width, Ink::kTileWidth),
                         divide_up(picture.height, Ink::kTileHeight));
  ink.edges = take_words(memory, offset, divide_up(picture.width, 32), picture.height);
  ink.crowded = take_words(memory, offset, 1, 1);
  const int nodes = divide_up(picture.height, Ink::kBandHeight) * Ink::kBandHeight * 2;
  ink.taken = take_words(memory, offset, divide_up(picture.width, 32), nodes);
  ink.full = take_words(memory, offset, divide_up(picture.width, 1024), nodes);
  return offset;
}

}  // namespace

size_t ink_bytes(Size picture) {
  Ink unused;
  return divide_memory(nullptr, picture, unused);
}

Ink ink_in(void* memory, Size picture) {
  Ink ink;
  divide_memory(static_cast<std::byte*>(memory), picture, ink);
  return ink;
}

GlyphSize glyphs_for(int picture_height) {
  GlyphSize best = kGlyphSizes[0];
  for (const GlyphSize& size : kGlyphSizes) {
    if (size.em * 45 <= picture_height)
      best = size;  // a picture of 1080 rows gets glyphs of 24 pixels
  }
  return best;
}

const uint8_t* glyph_coverage() { return kGlyphCoverage; }

int glyph_of(char character) {
  constexpr std::string_view kCharacters = kGlyphCharacters;
  static_assert(kCharacters.size() <= 1U << TagWord::kBits);
  const bool is_small = character >= 'a' && character <= 'z';
  const size_t found =
      kCharacters.find(is_small ? static_cast<char>(character - 'a' + 'A') : character);
  return static_cast<int>(found == kCharacters.npos ? kCharacters.find('?') : found);
}

ColorEncoder encoder_of(const Layout& layout, const Colorimetry& color) {
  constexpr double kOne = 1 << ColorEncoder::kShift;
  ColorEncoder encoder;
  encoder.max = layout.max_value();
  // Sets the weights of component `c`. `scale` is its range and `zero` its value for black, in
  // stored units.
  const auto set_weights = [&](int c, double red, double green, double blue, double scale,
                               double zero) {
    const double weights[3] = {red, green, blue};
    for (int i = 0; i < 3; ++i) {
      encoder.weight[c][i] = static_cast<int32_t>(std::lround(weights[i] * scale / 255 * kOne));
    }
    encoder.offset[c] = static_cast<int32_t>(std::lround((zero + 0.5) * kOne));
  };
  const double full = layout.max_value();
  if (layout.model == ColorModel::rgb) {
    set_weights(0, 1, 0, 0, full, 0);
    set_weights(1, 0, 1, 0, full, 0);
    set_weights(2, 0, 0, 1, full, 0);
    return encoder;
  }
  // ITU-R BT.601-7, 2.5.1: Y = Kr R + Kg G + Kb B,
  //   Cb = (B - Y) / (2 - 2 Kb),
  //   Cr = (R - Y) / (2 - 2 Kr).
  const auto [kr, kb] = luma_weights(color.matrix);
  const double kg = 1 - kr - kb;
  const bool limited = layout.model == ColorModel::yuv && !color.full_range;
  const double byte_step = 1 << (layout.sample_bits - 8);  // one 8-bit step in stored units
  set_weights(0, kr, kg, kb, limited ? 219 * byte_step : full, limited ? 16 * byte_step : 0);
  if (layout.model != ColorModel::yuv) return encoder;
  const double chroma = limited ? 224 * byte_step : full;
  const double u = 2 - 2 * kb;
  const double v = 2 - 2 * kr;
  set_weights(1, -kr / u, -kg / u, 0.5, chroma, 128 * byte_step);
  set_weights(2, 0.5, -kg / v, -kb / v, chroma, 128 * byte_step);
  return encoder;
}

Painter painter_of(const Frame& picture, const LabelView& labels, const DrawingParams& params) {
  Painter painter;
  painter.picture = picture;
  painter.labels = sampler_of(labels, picture.size());
  painter.encoder = encoder_of(picture.layout, picture.color);
  painter.encoder.encode(kDark, painter.dark);
  const bool fills = params.style & static_cast<uint32_t>(Style::fill) && !labels.empty();
  painter.fill_opacity = fills ? static_cast<int>(std::lround(params.opacity * 256)) : 0;
  return painter;
}

std::span<const Field> fields_of(const RegionOverlayParams&) {
  static const std::vector<Field> fields = regionoverlay_table();
  return fields;
}

Output output_of(const RegionOverlayParams&) { return Output::drawn_on; }

void plan(const RegionOverlayParams&, Setup& setup) { setup.max_regions = 1 << 16; }

void expects_hiding(bool has_memory) {
  expects(
      has_memory,
      "style=pixelate and style=blur must be chosen before the stream starts, because they need "
      "memory");
}

void expects_drawable(const Setup& setup) {
  const auto within = [](int n) { return n >= 1 && n <= 65535; };
  expects(within(setup.size.width) && within(setup.size.height),
          "pictures must have sides of 1 to 65535 pixels, not " + std::to_string(setup.size.width) +
              "x" + std::to_string(setup.size.height));
  expects(setup.slots >= 1, "drawing requires at least one slot");
  expects(setup.in.model != ColorModel::labels, "regions cannot be drawn on a label image");
  if (setup.has_output) expects_output(setup, Output::drawn_on);
  expects(!setup.has_mask || setup.mask.model == ColorModel::gray ||
              setup.mask.model == ColorModel::labels,
          "labels cannot be read from " + std::string(name_of(setup.mask.format)));
}

}  // namespace regions

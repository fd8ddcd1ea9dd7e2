// Scenes from a hash, and the rules of drawing.
#include "tests/regionoverlay/scene.hpp"

#include <algorithm>
#include <string>

#include "tests/pictures/pictures.hpp"

namespace regions {
namespace {

// 0..below-1
int roll(int below, uint32_t what, uint32_t index, uint32_t seed) {
  return static_cast<int>(hash(what, index, seed) % static_cast<uint32_t>(below));
}

uint32_t track_for(uint32_t index, uint32_t seed) {
  uint32_t track = hash(5, index, seed);
  for (int digits = roll(10, 6, index, seed); digits > 0; --digits) track /= 10;
  return track;
}

constexpr Touch kShadow{12, 12, 16, 150 / 256.0};
constexpr Touch kPlate{12, 12, 16, 205 / 256.0, true};

Touch colored(uint32_t track, double alpha) {
  const Rgb c = track_color(track);
  return {double(c.red), double(c.green), double(c.blue), alpha};
}

// The colour of a region's box and tag. A mark has its own colour.
Touch colored(const Region& r) {
  if (r.layer != 0xFFFFFFFF) return colored(r.track, 1);
  return {double(r.first_x >> 16 & 255), double(r.first_x >> 8 & 255), double(r.first_x & 255), 1};
}

bool inside(int x, int y, int left, int top, int width, int height) {
  return x >= left && y >= top && x < left + width && y < top + height;
}

// The tag of an id: above the box, else below it, else at the top of the box in the picture. The
// margin is a fifth of the glyph height.
struct Tag {
  std::vector<int> glyphs;  // empty: no tag
  Touch color;
  bool is_mark = false;
  int left = 0, top = 0, width = 0, height = 0, margin = 0;
};

Tag tag_of(const Region& r, Size size) {
  if (r.track == 0) return {};
  if (r.right < 0 || r.bottom < 0 || r.left >= size.width || r.top >= size.height) return {};
  const GlyphSize g = glyphs_for(size.height);
  const bool is_mark = r.layer == 0xFFFFFFFF;  // shows the number track - 1, in any style
  Tag tag{.glyphs = {}, .color = colored(r), .is_mark = is_mark};
  if (is_mark && r.area > 0) {  // a word of `area` glyphs of six bits
    for (uint64_t i = 0; i < r.area; ++i) tag.glyphs.push_back(int(r.sum_x / (1ULL << 6 * i) % 64));
  } else {
    for (const char digit : std::to_string(r.track - is_mark)) tag.glyphs.push_back(digit - '0');
  }
  tag.margin = std::max(2, g.height / 5);
  tag.width = int(tag.glyphs.size()) * g.width + 2 * tag.margin;
  tag.height = g.height + 2 * tag.margin;
  tag.left = std::max(0, std::min(r.left, size.width - tag.width));
  tag.top = std::max(0, std::min(r.top, size.height - tag.height));
  if (r.bottom + tag.height < size.height) tag.top = r.bottom + 1;
  if (r.top - tag.height >= 0) tag.top = r.top - tag.height;
  return tag;
}

bool touch_tag(const Tag& tag, Size size, int x, int y, Touch& touch) {
  if (tag.glyphs.empty() || !inside(x, y, tag.left, tag.top, tag.width, tag.height)) return false;
  const GlyphSize g = glyphs_for(size.height);
  touch = kPlate;
  const int column = x - tag.left - tag.margin;
  const int row = y - tag.top - tag.margin;
  if (!inside(column, row, 0, 0, int(tag.glyphs.size()) * g.width, g.height)) return true;
  const uint8_t* cell =
      glyph_coverage() + g.start + tag.glyphs[size_t(column / g.width)] * g.width * g.height;
  const double cover = cell[row * g.width + column % g.width] / 255.0;
  const Touch bright = tag.color;
  const auto mix = [cover](double a, double b) { return a + (b - a) * cover; };
  touch = {mix(kPlate.red, bright.red), mix(kPlate.green, bright.green),
           mix(kPlate.blue, bright.blue), mix(kPlate.alpha, 1), true};
  return true;
}

// Chebyshev distance from a labelled pixel to the next other label, if at most `most`.
int distance_to_other(const std::vector<uint32_t>& labels, Size size, int x, int y, int most) {
  int best = most + 1;
  for (int v = std::max(0, y - most); v <= std::min(size.height - 1, y + most); ++v) {
    for (int u = std::max(0, x - most); u <= std::min(size.width - 1, x + most); ++u) {
      if (labels[size_t(v) * size.width + u] == labels[size_t(y) * size.width + x]) continue;
      best = std::min(best, std::max(std::abs(u - x), std::abs(v - y)));
    }
  }
  return best;
}

// Distance of a pixel from the border of the box; 0 on the border, negative outside.
int depth_in(const Region& r, int x, int y) {
  return std::min(std::min(x - r.left, r.right - x), std::min(y - r.top, r.bottom - y));
}

Touch touch_of(int x, int y, Size size, const std::vector<uint32_t>& labels,
               const std::vector<Region>& regions, const std::vector<Tag>& tags,
               const DrawingParams& params) {
  Touch touch;
  const auto draws = [&](Style s) { return (params.style & uint32_t(s)) != 0; };
  for (size_t i = regions.size(); i-- > 0;) {
    if (!draws(Style::ids) && !tags[i].is_mark) continue;
    if (touch_tag(tags[i], size, x, y, touch)) return touch;
  }
  bool shadow = false;
  for (size_t i = regions.size(); i-- > 0;) {
    const bool is_mark = regions[i].layer == 0xFFFFFFFF;
    if (is_mark ? regions[i].track != 0 : !draws(Style::boxes)) continue;
    const int depth = depth_in(regions[i], x, y);
    if (depth >= 0 && depth < params.thickness) return colored(regions[i]);
    shadow |= depth == params.thickness;
  }
  const uint32_t label = labels.empty() ? 0 : labels[size_t(y) * size.width + x];
  const bool has_record =
      label && label <= regions.size() && regions[label - 1].layer != 0xFFFFFFFF;
  const uint32_t track = has_record ? regions[label - 1].track : label;
  if (label && draws(Style::outlines)) {
    const int distance = distance_to_other(labels, size, x, y, params.thickness + 1);
    if (distance <= params.thickness) return colored(track, 1);
    shadow |= distance == params.thickness + 1;
  }
  if (shadow) return kShadow;
  return label && draws(Style::fill) ? colored(track, params.opacity) : touch;
}

}  // namespace

ConstLabelMap Scene::label_map() const {
  return {labels.data(), size.width, size.height, static_cast<ptrdiff_t>(size.width) * 4};
}

Scene make_scene(Size size, int count, uint32_t seed) {
  Scene scene{size, {}, std::vector<uint32_t>(size.area())};
  for (int i = 0; i < count; ++i) {
    const auto index = static_cast<uint32_t>(i);
    Region r;
    r.id = index + 1;
    r.track = track_for(index, seed);
    r.left = roll(size.width + 40, 1, index, seed) - 20;
    r.top = roll(size.height + 40, 2, index, seed) - 20;
    r.right = r.left + roll(size.width / 2 + 4, 3, index, seed);
    r.bottom = r.top + roll(size.height / 2 + 4, 4, index, seed);
    scene.regions.push_back(r);
  }
  // Patches of 7x5 pixels with ragged ends; labels up to twice the records.
  for (int y = 0; y < size.height; ++y) {
    for (int x = 0; x < size.width; ++x) {
      const uint32_t patch =
          hash(static_cast<uint32_t>((x + y % 3) / 17), static_cast<uint32_t>(y / 11), seed + 77);
      const uint32_t label = patch % 3 ? 0 : patch / 3 % static_cast<uint32_t>(2 * count + 2);
      scene.labels[static_cast<size_t>(y) * static_cast<size_t>(size.width) +
                   static_cast<size_t>(x)] = label;
    }
  }
  return scene;
}

GuardedFrame noisy_picture(PixelFormat format, Size size, int padding, Colorimetry color) {
  return convert(make_picture("clouds", size).frame(), format, color, padding, Tint::noise);
}

std::vector<PixelFormat> drawable_formats() {
  std::vector<PixelFormat> formats;
  for (int f = 0; f < kPixelFormats; ++f) {
    const auto format = static_cast<PixelFormat>(f);
    if (format != PixelFormat::labels32) formats.push_back(format);
  }
  return formats;
}

std::vector<Size> scene_sizes() {
  return {{1, 1},   {1, 9},    {9, 1},    {2, 2},    {31, 17},  {33, 15}, {63, 16},
          {65, 33}, {131, 97}, {40, 200}, {257, 19}, {600, 70}, {1100, 5}};
}

std::vector<DrawingParams> scene_params() {
  return {{1, 0.4, 1}, {2, 0.4, 1},  {2, 0.4, 2},  {4, 0.4, 1}, {8, 0.4, 1},  {4, 0, 2},
          {4, 1, 2},   {15, 0.7, 2}, {3, 0.4, 14}, {3, 0.4, 5}, {7, 0.3, 33}, {15, 0.5, 64}};
}

std::string describe(PixelFormat format, Size size, const DrawingParams& params) {
  return std::string(name_of(format)) + " " + std::to_string(size.width) + "x" +
         std::to_string(size.height) + " style " + std::to_string(params.style) + " thickness " +
         std::to_string(params.thickness) + " opacity " + std::to_string(params.opacity);
}

std::vector<Touch> draw_slowly(Size size, const std::vector<uint32_t>& labels,
                               const std::vector<Region>& regions, const DrawingParams& params) {
  std::vector<Touch> picture;
  std::vector<Tag> tags;
  for (const Region& region : regions) tags.push_back(tag_of(region, size));
  for (int y = 0; y < size.height; ++y) {
    for (int x = 0; x < size.width; ++x) {
      picture.push_back(touch_of(x, y, size, labels, regions, tags, params));
    }
  }
  return picture;
}

double mixed_slowly(const Touch& touch, double old, int c, const Layout& layout,
                    const Colorimetry& color) {
  const double max = layout.max_value();
  const double rgb[3] = {touch.red, touch.green, touch.blue};
  double wanted = c < 3 ? rgb[c] / 255 * max : max;  // alpha: drawn pixels are opaque
  if (layout.model != ColorModel::rgb) {
    const double kr[] = {0.299, 0.2126, 0.2627}, kb[] = {0.114, 0.0722, 0.0593};
    const double r = kr[int(color.matrix)], b = kb[int(color.matrix)];
    const double luma = r * rgb[0] + (1 - r - b) * rgb[1] + b * rgb[2];
    const double chroma =
        c == 1 ? (rgb[2] - luma) / (2 * (1 - b)) : (rgb[0] - luma) / (2 * (1 - r));
    const double one = layout.sample_bits > 8 ? 1 << (layout.sample_bits - 8) : 1;
    const bool limited = layout.model == ColorModel::yuv && !color.full_range;
    if (c == 0) wanted = limited ? one * (16 + luma * 219 / 255) : luma / 255 * max;
    if (c > 0) wanted = 128 * one + chroma * (limited ? one * 224 / 255 : max / 255);
  }
  return old + (wanted - old) * touch.alpha;
}

}  // namespace regions

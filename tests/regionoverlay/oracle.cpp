// The rules, each spelt out once, slowly.
#include "tests/regionoverlay/oracle.hpp"

#include <algorithm>
#include <string>

namespace regions {
namespace {

constexpr Touch kShadow{12, 12, 16, 150 / 256.0};
constexpr Touch kPlate{12, 12, 16, 205 / 256.0, true};

Touch colored(uint32_t track, double alpha) {
  const Rgb c = track_color(track);
  return {double(c.red), double(c.green), double(c.blue), alpha};
}

bool inside(int x, int y, int left, int top, int width, int height) {
  return x >= left && y >= top && x < left + width && y < top + height;
}

// Tag of what has a track: above the box, else below, else at the top of the box in the picture;
// margin a fifth.
bool touch_tag(const Region& r, Size size, int x, int y, Touch& touch) {
  if (r.track == 0) return false;
  if (r.right < 0 || r.bottom < 0 || r.left >= size.width || r.top >= size.height) return false;
  const GlyphSize g = glyphs_for(size.height);
  const std::string id = std::to_string(r.track);
  const int margin = std::max(2, g.height / 5);
  const int width = int(id.size()) * g.width + 2 * margin;
  const int height = g.height + 2 * margin;
  const int left = std::max(0, std::min(r.left, size.width - width));
  int top = std::max(0, std::min(r.top, size.height - height));
  if (r.bottom + height < size.height) top = r.bottom + 1;
  if (r.top - height >= 0) top = r.top - height;
  if (!inside(x, y, left, top, width, height)) return false;
  touch = kPlate;
  const int column = x - left - margin;
  const int row = y - top - margin;
  if (!inside(column, row, 0, 0, int(id.size()) * g.width, g.height)) return true;
  const uint8_t* cell =
      glyph_coverage() + g.start + (id[column / g.width] - '0') * g.width * g.height;
  const double cover = cell[row * g.width + column % g.width] / 255.0;
  const Touch bright = colored(r.track, 1);
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

// How far inside the box's border a pixel lies; 0 on it, negative outside.
int depth_in(const Region& r, int x, int y) {
  return std::min(std::min(x - r.left, r.right - x), std::min(y - r.top, r.bottom - y));
}

Touch touch_of(int x, int y, Size size, const std::vector<uint32_t>& labels,
               const std::vector<Region>& regions, const DrawingParams& params) {
  Touch touch;
  const auto draws = [&](Style s) { return (params.style & uint32_t(s)) != 0; };
  for (size_t i = regions.size(); draws(Style::ids) && i-- > 0;) {
    if (touch_tag(regions[i], size, x, y, touch)) return touch;
  }
  bool shadow = false;
  for (size_t i = regions.size(); draws(Style::boxes) && i-- > 0;) {
    const int depth = depth_in(regions[i], x, y);
    if (depth >= 0 && depth < params.thickness) return colored(regions[i].track, 1);
    shadow |= depth == params.thickness;
  }
  const uint32_t label = labels.empty() ? 0 : labels[size_t(y) * size.width + x];
  const uint32_t track = label && label <= regions.size() ? regions[label - 1].track : label;
  if (label && draws(Style::outlines)) {
    const int distance = distance_to_other(labels, size, x, y, params.thickness + 1);
    if (distance <= params.thickness) return colored(track, 1);
    shadow |= distance == params.thickness + 1;
  }
  if (shadow) return kShadow;
  return label && draws(Style::fill) ? colored(track, params.opacity) : touch;
}

}  // namespace

std::vector<Touch> draw_slowly(Size size, const std::vector<uint32_t>& labels,
                               const std::vector<Region>& regions, const DrawingParams& params) {
  std::vector<Touch> picture;
  for (int y = 0; y < size.height; ++y) {
    for (int x = 0; x < size.width; ++x) {
      picture.push_back(touch_of(x, y, size, labels, regions, params));
    }
  }
  return picture;
}

double mixed_slowly(const Touch& touch, double old, int c, const Layout& layout,
                    const Colorimetry& color) {
  const double max = layout.max_value();
  const double rgb[3] = {touch.red, touch.green, touch.blue};
  double wanted = c < 3 ? rgb[c] / 255 * max : max;  // alpha: what is drawn is opaque
  if (layout.model != ColorModel::rgb) {
    const double kr[] = {0.299, 0.2126, 0.2627}, kb[] = {0.114, 0.0722, 0.0593};
    const double r = kr[int(color.matrix)], b = kb[int(color.matrix)];
    const double luma = r * rgb[0] + (1 - r - b) * rgb[1] + b * rgb[2];
    const double chroma =
        c == 1 ? (rgb[2] - luma) / (2 * (1 - b)) : (rgb[0] - luma) / (2 * (1 - r));
    const double one = layout.depth > 8 ? 1 << (layout.depth - 8) : 1;
    const bool limited = layout.model == ColorModel::yuv && !color.full_range;
    if (c == 0) wanted = limited ? one * (16 + luma * 219 / 255) : luma / 255 * max;
    if (c > 0) wanted = 128 * one + chroma * (limited ? one * 224 / 255 : max / 255);
  }
  return old + (wanted - old) * touch.alpha;
}

}  // namespace regions

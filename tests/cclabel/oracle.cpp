// Labelling by flood fill with a stack.
#include "tests/cclabel/oracle.hpp"

#include <algorithm>
#include <cmath>
#include <set>

namespace regions {
namespace {

using Point = std::pair<int, int>;

// Labels 1, 2, … of all pixels that are members; linked(ax, ay, bx, by) joins two of them.
template <class Member, class Linked>
Labelling flood(Size size, int connectivity, Member is_member, Linked linked) {
  Labelling result{std::vector<uint32_t>(size.area()), {}};
  const auto label = [&](int x, int y) -> uint32_t& {
    return result
        .labels[static_cast<size_t>(y) * static_cast<size_t>(size.width) + static_cast<size_t>(x)];
  };
  for (int y0 = 0; y0 < size.height; ++y0) {
    for (int x0 = 0; x0 < size.width; ++x0) {
      if (!is_member(x0, y0) || label(x0, y0)) continue;
      Region r{.first_x = x0, .first_y = y0, .left = x0, .top = y0, .right = x0, .bottom = y0};
      r.id = r.track = label(x0, y0) = static_cast<uint32_t>(result.regions.size() + 1);
      std::vector<Point> stack = {{x0, y0}};
      while (!stack.empty()) {
        const auto [x, y] = stack.back();
        stack.pop_back();
        r.left = std::min(r.left, x), r.right = std::max(r.right, x);
        r.top = std::min(r.top, y), r.bottom = std::max(r.bottom, y);
        r.area += 1;
        r.sum_x += static_cast<uint64_t>(x);
        r.sum_y += static_cast<uint64_t>(y);
        for (int ny = y - 1; ny <= y + 1; ++ny) {
          for (int nx = x - 1; nx <= x + 1; ++nx) {
            if (nx < 0 || ny < 0 || nx >= size.width || ny >= size.height) continue;
            if (connectivity == 4 && nx != x && ny != y) continue;
            if (label(nx, ny) || !is_member(nx, ny) || !linked(x, y, nx, ny)) continue;
            label(nx, ny) = r.id;
            stack.emplace_back(nx, ny);
          }
        }
      }
      result.regions.push_back(r);
    }
  }
  return result;
}

}  // namespace

Labelling label_slowly(const ConstFrame& in, const ConstFrame& mask, const CcLabelParams& p) {
  const bool is_binary = p.criterion == Criterion::binary;
  const bool is_mask = p.source == Source::mask, is_alpha = p.source == Source::alpha;
  const bool is_rgb = in.layout.model == ColorModel::rgb && p.source == Source::image;
  const bool names = is_mask && mask.layout.format == PixelFormat::labels32;
  const double full = (1 << (is_mask ? mask : in).layout.depth % 32) - 1.0;
  const double step = full > 255 ? (full + 1) / 256 : 1;  // one code of 8 bits
  const bool limited = in.layout.model == ColorModel::yuv && !in.color.full_range && !is_mask;
  const double black = limited ? 16 * step : 0, white = limited ? 235 * step : full;
  const double level = is_mask ? 1 : p.threshold > 0 ? black + p.threshold * (white - black) : 0;
  const auto value = [&](int c, int x, int y) {
    if (names) return static_cast<double>(*reinterpret_cast<const uint32_t*>(mask.at(0, x, y)));
    if (is_mask) return static_cast<double>(mask.sample(0, x, y));
    return static_cast<double>(in.sample(is_alpha ? 3 : c, x, y));
  };
  const auto bright = [&](int x, int y) {
    if (!is_rgb) return value(0, x, y) >= level;  // BT.601 luma in 1/256, rounded
    const double sum = 77 * value(0, x, y) + 150 * value(1, x, y) + 29 * value(2, x, y);
    return std::floor((sum + 128) / 256) >= level;
  };
  const auto similar = [&](int ax, int ay, int bx, int by) {
    double sum = 0;
    for (int c = 0; c < (is_rgb ? 3 : 1); ++c) sum += std::abs(value(c, ax, ay) - value(c, bx, by));
    return p.criterion == Criterion::equal || names ? sum == 0 : sum < p.tolerance * full;
  };
  const auto always = [](int, int, int, int) { return true; };

  const Size size = in.size();
  const auto at = [&](int x, int y) {
    return static_cast<size_t>(y) * static_cast<size_t>(size.width) + static_cast<size_t>(x);
  };
  const auto dark = [&](int x, int y) { return is_binary && !bright(x, y); };
  const int connectivity = static_cast<int>(p.connectivity);
  const auto holes = flood(size, 12 - connectivity, dark, always);
  const auto is_member = [&](int x, int y) {
    if (!dark(x, y)) return true;
    const Region& hole = holes.regions[holes.labels[at(x, y)] - 1];
    return hole.area <= static_cast<uint64_t>(p.fill_holes) && hole.left > 0 && hole.top > 0 &&
           hole.right < size.width - 1 && hole.bottom < size.height - 1;
  };
  Labelling found = is_binary ? flood(size, connectivity, is_member, always)
                              : flood(size, connectivity, is_member, similar);
  std::set<uint32_t> chosen;
  for (int i = 0; i < p.seeds.count; i += 2) {
    const auto x = static_cast<int>(p.seeds.number[i]), y = static_cast<int>(p.seeds.number[i + 1]);
    if (x < size.width && y < size.height) chosen.insert(found.labels[at(x, y)]);
  }
  std::vector<uint32_t> renamed(found.regions.size() + 1);
  std::vector<Region> kept;
  for (Region& r : found.regions) {
    if (r.area < static_cast<uint64_t>(p.min_area)) continue;
    if (p.max_area > 0 && r.area > static_cast<uint64_t>(p.max_area)) continue;
    if (p.seeds.count > 0 && chosen.count(r.id) == 0) continue;
    renamed[r.id] = static_cast<uint32_t>(kept.size() + 1);
    r.id = r.track = renamed[r.id];
    kept.push_back(r);
  }
  for (uint32_t& label : found.labels) label = renamed[label];
  for (int y = 0; y < size.height; ++y) {
    for (int x = 0; x < size.width; ++x) {
      for (int c = 0; c < in.layout.channels && found.labels[at(x, y)]; ++c) {
        const int sample = in.sample(c, x, y);
        kept[found.labels[at(x, y)] - 1].sum_value[c] += static_cast<uint64_t>(sample);
      }
    }
  }
  return {found.labels, kept};
}

}  // namespace regions

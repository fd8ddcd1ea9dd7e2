// The slow way. Of the code it checks it uses the parameters' scale, the grid and the colour tables
// alone.
#include "tests/slicsuperpixel/oracle.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "core/pieces.hpp"

namespace regions {
namespace {

using Color = std::array<int, 3>;

struct Cluster {
  int64_t color[3] = {}, x = 0, y = 0, count = 0;  // colours + 128, places in the picture
  int64_t reach = 0;  // of slico: 64 times the greatest squared Lab distance of the last iteration
};

// Rounded sixteenths, from the quotient of floats.
int64_t sixteenths(int64_t sum, int64_t count) {
  const float q = static_cast<float>(sum) / static_cast<float>(count) * 32.0f;
  return (static_cast<int64_t>(q) + 1) / 2;
}
int64_t times(int64_t value, float factor) {
  volatile float product = static_cast<float>(value) * factor;
  return static_cast<int64_t>(product);
}

int gradient(const std::vector<Color>& pixels, Size size, const SlicScale& scale, int x, int y) {
  const auto at = [&](int px, int py) {
    return pixels[static_cast<size_t>(std::clamp(py, 0, size.height - 1) * size.width +
                                      std::clamp(px, 0, size.width - 1))];
  };
  int sum = 0;
  for (size_t c = 0; c < 3; ++c) {
    sum += scale.weight[c] * static_cast<int>(std::pow(at(x + 1, y)[c] - at(x - 1, y)[c], 2) +
                                              std::pow(at(x, y + 1)[c] - at(x, y - 1)[c], 2));
  }
  return sum;
}

// 64 times the squared Lab distance.
int64_t squared(const Cluster& k, const Color& p, const SlicScale& scale) {
  int64_t sum = 0;
  for (size_t c = 0; c < 3; ++c) {
    const int64_t mean = k.count > 0 ? (sixteenths(k.color[c], k.count) + 2) / 4 : 0;
    sum += scale.weight[c] * (4 * (p[c] + 128) - mean) * (4 * (p[c] + 128) - mean);
  }
  return sum;
}

// 16 times the score, with the place in the lower bits.
int64_t score(const Cluster& k, int place, const Color& p, int x, int y, const SlicGrid& grid,
              const SlicScale& scale) {
  const int cell_x = x / grid.width * grid.width, cell_y = y / grid.height * grid.height;
  const int dx = (place % 3 - 1) * grid.width, dy = (place / 3 - 1) * grid.height;
  // From the middle of the pixel's cell; means are taken from a cell before the cluster's own.
  const int64_t from_x = cell_x + dx - grid.width, from_y = cell_y + dy - grid.height;
  const int64_t kx =
      sixteenths(k.x - k.count * from_x, k.count) + 16 * (dx - grid.width - grid.width / 2);
  const int64_t ky =
      sixteenths(k.y - k.count * from_y, k.count) + 16 * (dy - grid.height - grid.height / 2);
  const int u = x - cell_x - grid.width / 2, patch = (y - cell_y) / 16 * 16, v = y - cell_y - patch;
  const int64_t right = -times(kx, scale.slope), down = -times(ky, scale.slope);
  int64_t start = times(kx * kx + ky * ky, scale.bow), rest = 0;
  const bool adapts = scale.adaptive > 0;
  for (size_t c = 0; c < 3 && !adapts; ++c) {
    const int64_t factor = std::clamp<int64_t>(
        -times(sixteenths(k.color[c], k.count) - 2048, scale.gain[c]), -2047, 2047);
    start += times(factor * factor, scale.square[c]);
    rest += factor * p[c];
  }
  if (adapts) {
    volatile float unit = scale.adaptive / static_cast<float>(std::max<int64_t>(k.reach, 64));
    rest = std::min<int64_t>(times(squared(k, p, scale), unit), 1 << 26);
  }
  start += right * u + down * (patch - grid.height / 2);
  const auto steep = static_cast<int64_t>(std::floor((static_cast<double>(down) + 8) / 16));
  return static_cast<int64_t>(std::floor(static_cast<double>(start) / 16)) * 16 + place +
         16 * (rest + steep * v);
}

std::vector<uint32_t> join(std::vector<uint32_t> pieces, uint32_t count,
                           const std::vector<Color>& pixels, Size size, const SlicScale& scale,
                           uint32_t least) {
  for (bool changes = true; changes;) {
    changes = false;
    std::vector<Cluster> sums(count);
    for (size_t i = 0; i < pieces.size(); ++i) {
      for (size_t c = 0; c < 3; ++c) sums[pieces[i]].color[c] += pixels[i][c] + 128;
      ++sums[pieces[i]].count;
    }
    std::map<uint32_t, std::pair<int64_t, uint32_t>> choice;
    const auto look = [&](size_t i, size_t j) {
      const uint32_t a = pieces[i], b = pieces[j];
      if (a == b || sums[a].count >= least) return;
      int64_t d = 0;
      for (size_t c = 0; c < 3; ++c) {
        d += scale.weight[c] *
             static_cast<int64_t>(std::pow(sixteenths(sums[a].color[c], sums[a].count) -
                                               sixteenths(sums[b].color[c], sums[b].count),
                                           2));
      }
      const auto [at, is_new] = choice.try_emplace(a, d, b);
      if (!is_new) at->second = std::min(at->second, {d, b});
    };
    const auto width = static_cast<size_t>(size.width);
    for (size_t i = 0; i < pieces.size(); ++i) {
      if (i % width > 0) look(i, i - 1), look(i - 1, i);
      if (i >= width) look(i, i - width), look(i - width, i);
    }
    std::vector<uint32_t> name(count);
    for (uint32_t p = 0; p < count; ++p) name[p] = p;
    for (const auto& [from, best] : choice) {
      const uint32_t a = name[from], b = name[best.second];
      for (uint32_t& n : name) n = n == a || n == b ? std::min(a, b) : n;
      changes = true;
    }
    for (uint32_t& piece : pieces) piece = name[piece];
  }
  return pieces;
}

// Moments and borders, from labels.
void describe(const ConstFrame& in, Superpixels& result) {
  const ColorReader reader = reader_of(in.layout, in.color, ColorSpace::lab);
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> sides;
  const auto label = [&](int x, int y) {
    return result
        .labels[static_cast<size_t>(y) * static_cast<size_t>(in.width) + static_cast<size_t>(x)];
  };
  result.moments.resize(result.regions.size());
  for (int y = 0; y < in.height; ++y) {
    for (int x = 0; x < in.width; ++x) {
      Moments& m = result.moments[label(x, y) - 1];
      const uint32_t lab = reader.at(lab_tables(), in, x, y);
      for (int c = 0; c < 3; ++c) {
        m.sum_lab[c] += static_cast<uint64_t>(color_component(lab, c) + 128);
      }
      const auto wide_x = static_cast<uint64_t>(x), wide_y = static_cast<uint64_t>(y);
      m.sum_xx += wide_x * wide_x;
      m.sum_xy += wide_x * wide_y;
      m.sum_yy += wide_y * wide_y;
      if (x > 0) ++sides[std::minmax(label(x, y), label(x - 1, y))];
      if (y > 0) ++sides[std::minmax(label(x, y), label(x, y - 1))];
    }
  }
  for (const auto& [pair, length] : sides) {
    if (pair.first != pair.second) result.borders.push_back({pair.first, pair.second, length});
  }
}

}  // namespace

std::vector<uint32_t> pieces_of(const std::vector<uint32_t>& values, Size size, uint32_t* count) {
  std::vector<uint32_t> piece(values.size(), UINT32_MAX);
  *count = 0;
  for (size_t first = 0; first < values.size(); ++first) {
    if (piece[first] != UINT32_MAX) continue;
    std::vector<size_t> open = {first};
    piece[first] = *count;
    while (!open.empty()) {
      const size_t i = open.back(), width = static_cast<size_t>(size.width);
      open.pop_back();
      const auto visit = [&](bool inside, size_t j) {
        if (!inside || piece[j] != UINT32_MAX || values[j] != values[i]) return;
        piece[j] = *count;
        open.push_back(j);
      };
      visit(i % width > 0, i - 1);
      visit(i % width + 1 < width, i + 1);
      visit(i >= width, i - width);
      visit(i + width < values.size(), i + width);
    }
    ++*count;
  }
  return piece;
}

Superpixels superpixels_slowly(const ConstFrame& in, const SlicParams& params) {
  const Size size = in.size();
  const SlicGrid grid = grid_of(size, params);
  const SlicScale scale = scale_of(grid, params);
  const ColorReader reader = reader_of(in.layout, in.color, params.color_space);
  std::vector<Color> pixels;
  for (int y = 0; y < size.height; ++y) {
    for (int x = 0; x < size.width; ++x) {
      const uint32_t color = reader.at(lab_tables(), in, x, y);
      pixels.push_back(
          {color_component(color, 0), color_component(color, 1), color_component(color, 2)});
    }
  }
  const auto pixel = [&](int x, int y) -> const Color& {
    return pixels[static_cast<size_t>(y) * static_cast<size_t>(size.width) +
                  static_cast<size_t>(x)];
  };
  const auto add = [&](Cluster& k, int x, int y) {
    for (size_t c = 0; c < 3; ++c) k.color[c] += pixel(x, y)[c] + 128;
    k.x += x;
    k.y += y;
    ++k.count;
  };
  std::vector<Cluster> clusters(grid.cells());
  for (size_t k = 0; k < clusters.size(); ++k) {
    const int left = static_cast<int>(k) % grid.columns * grid.width;
    const int top = static_cast<int>(k) / grid.columns * grid.height;
    const int right = std::min(left + grid.width, size.width);
    const int bottom = std::min(top + grid.height, size.height);
    const int mx = left + (right - left) / 2, my = top + (bottom - top) / 2;
    std::pair<int, int> best;
    int least = INT32_MAX;
    for (int y = std::max(top, my - 1); y <= std::min(bottom - 1, my + 1); ++y) {
      for (int x = std::max(left, mx - 1); x <= std::min(right - 1, mx + 1); ++x) {
        const int g = gradient(pixels, size, scale, x, y);
        if (g < least) least = g, best = {x, y};
      }
    }
    add(clusters[k], best.first, best.second);
    clusters[k].reach = scale.reach;
  }
  const auto choose = [&](int x, int y) {
    const int column = x / grid.width, row = y / grid.height;
    int64_t best = INT64_MAX;
    for (int place = 0; place < 9; ++place) {
      const int cx = column + place % 3 - 1, cy = row + place / 3 - 1;
      if (cx < 0 || cy < 0 || cx >= grid.columns || cy >= grid.rows) continue;
      const Cluster& k = clusters[static_cast<size_t>(cy * grid.columns + cx)];
      if (k.count > 0) best = std::min(best, score(k, place, pixel(x, y), x, y, grid, scale));
    }
    const int place = best == INT64_MAX ? 4 : static_cast<int>(best & 15);
    return static_cast<uint32_t>((row + place / 3 - 1) * grid.columns + column + place % 3 - 1);
  };
  const int step = grid.height < 16 || size.height < 16 ? 1 : static_cast<int>(params.row_step);
  for (int i = 0; i < params.iterations; ++i) {
    std::vector<Cluster> sums(clusters.size());
    for (int y = 0; y < size.height; ++y) {
      if (y % grid.height % 16 % step != i % step) continue;
      for (int x = 0; x < size.width; ++x) {
        const uint32_t k = choose(x, y);
        add(sums[k], x, y);
        sums[k].reach = std::max(sums[k].reach, squared(clusters[k], pixel(x, y), scale));
      }
    }
    int64_t moved = 0;
    for (size_t k = 0; k < sums.size(); ++k) {
      const Cluster &a = clusters[k], &b = sums[k];
      if (a.count == 0 || b.count == 0) continue;
      const int64_t x0 = (static_cast<int>(k) % grid.columns - 1) * grid.width;
      const int64_t y0 = (static_cast<int>(k) / grid.columns - 1) * grid.height;
      moved += std::abs(sixteenths(a.x - a.count * x0, a.count) -
                        sixteenths(b.x - b.count * x0, b.count)) +
               std::abs(sixteenths(a.y - a.count * y0, a.count) -
                        sixteenths(b.y - b.count * y0, b.count));
    }
    clusters = sums;
    if (params.tolerance > 0 &&
        static_cast<double>(moved) <= 16 * params.tolerance * static_cast<double>(grid.cells())) {
      break;
    }
  }
  std::vector<uint32_t> chosen;
  for (int y = 0; y < size.height; ++y) {
    for (int x = 0; x < size.width; ++x) chosen.push_back(choose(x, y));
  }
  uint32_t count = 0;
  const auto pieces = pieces_of(chosen, size, &count);
  const auto least = static_cast<uint32_t>(
      std::lround(params.min_size * static_cast<double>(grid.width) * grid.height));
  Superpixels result;
  result.labels = pieces_of(join(pieces, count, pixels, size, scale, least), size, &count);
  result.regions.resize(count);
  for (size_t i = 0; i < result.labels.size(); ++i) {
    const int x = static_cast<int>(i) % size.width, y = static_cast<int>(i) / size.width;
    const uint32_t label = ++result.labels[i];
    Region& r = result.regions[label - 1];
    if (r.area++ == 0) {
      r.id = r.track = label;
      r.first_x = r.left = r.right = x;
      r.first_y = r.top = y;
    }
    r.left = std::min(r.left, x);
    r.right = std::max(r.right, x);
    r.bottom = y;
    r.sum_x += static_cast<uint64_t>(x);
    r.sum_y += static_cast<uint64_t>(y);
    for (int c = 0; c < in.layout.channels; ++c) {
      r.sum_value[c] += static_cast<uint64_t>(in.sample(c, x, y));
    }
  }
  describe(in, result);
  return result;
}

}  // namespace regions

// The slow way. Of the code it checks it uses the parameters' scale, the grid and the colour tables
// alone.
#include "tests/slicsuperpixel/oracle.hpp"

#include <algorithm>
#include <cmath>

namespace regions {
namespace {

using Color = std::array<int, 3>;

struct Cluster {
  int64_t color[3] = {}, x = 0, y = 0, count = 0;  // colours + 128, places in the picture
  int64_t reach = 0;  // of slico: 64 times the greatest squared Lab distance of the last iteration
};

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
    const int64_t mean = k.count > 0 ? (sixteenths_slowly(k.color[c], k.count) + 2) / 4 : 0;
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
      sixteenths_slowly(k.x - k.count * from_x, k.count) + 16 * (dx - grid.width - grid.width / 2);
  const int64_t ky = sixteenths_slowly(k.y - k.count * from_y, k.count) +
                     16 * (dy - grid.height - grid.height / 2);
  const int u = x - cell_x - grid.width / 2, patch = (y - cell_y) / 16 * 16, v = y - cell_y - patch;
  const int64_t right = -times(kx, scale.slope), down = -times(ky, scale.slope);
  int64_t start = times(kx * kx + ky * ky, scale.curvature), rest = 0;
  const bool adapts = scale.adaptive > 0;
  for (size_t c = 0; c < 3 && !adapts; ++c) {
    const int64_t factor = std::clamp<int64_t>(
        -times(sixteenths_slowly(k.color[c], k.count) - 2048, scale.gain[c]), -2047, 2047);
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

}  // namespace

std::vector<Color> colors_slowly(const ConstFrame& in, ColorSpace space) {
  const ColorReader reader = reader_of(in.layout, in.color, space);
  std::vector<Color> pixels;
  for (int y = 0; y < in.height; ++y) {
    for (int x = 0; x < in.width; ++x) {
      const uint32_t color = reader.at(lab_tables(), in, x, y);
      pixels.push_back(
          {color_component(color, 0), color_component(color, 1), color_component(color, 2)});
    }
  }
  return pixels;
}

Superpixels superpixels_slowly(const ConstFrame& in, const SlicParams& params) {
  const Size size = in.size();
  const SlicGrid grid = grid_of(size, params);
  const SlicScale scale = scale_of(grid, params);
  const std::vector<Color> pixels = colors_slowly(in, params.color_space);
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
      moved += std::abs(sixteenths_slowly(a.x - a.count * x0, a.count) -
                        sixteenths_slowly(b.x - b.count * x0, b.count)) +
               std::abs(sixteenths_slowly(a.y - a.count * y0, a.count) -
                        sixteenths_slowly(b.y - b.count * y0, b.count));
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
  return connect_slowly(in, params, chosen);
}

}  // namespace regions

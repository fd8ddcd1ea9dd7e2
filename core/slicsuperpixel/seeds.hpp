// Where clusters begin, on both backends.
#pragma once

#include "core/slicsuperpixel/slicsuperpixel.hpp"

namespace regions {

// The sums of one pixel at (x, y), from which cluster (column, row) begins.
REGIONS_HD inline ClusterSums seed_at(int x, int y, uint32_t color, int column, int row,
                                      const SlicGrid& grid) {
  ClusterSums sums;
  for (int c = 0; c < 3; ++c) {
    sums.color[c] = static_cast<uint32_t>(color_component(color, c) + kColorBias);
  }
  sums.x = static_cast<uint32_t>(x - (column - 1) * grid.width);
  sums.y = static_cast<uint32_t>(y - (row - 1) * grid.height);
  sums.count = 1;
  return sums;
}

// Where a cluster begins (section 2, initialisation): at the least gradient of the 3x3 pixels round
// the middle of what the picture has of its cell, the first of equal ones. Those outside the cell
// have none. color_at(x, y) gives packed colours.
struct SeedPlaces {
  static constexpr int kCount = 9;
  static constexpr int kNone = INT32_MAX;
  SlicGrid grid;
  int column, row, x0, y0;

  REGIONS_HD SeedPlaces(int at_column, int at_row, const SlicGrid& of)
      : grid(of), column(at_column), row(at_row) {
    const auto smaller = [](int a, int b) { return a < b ? a : b; };
    x0 = column * grid.width + smaller(grid.width, grid.size.width - column * grid.width) / 2;
    y0 = row * grid.height + smaller(grid.height, grid.size.height - row * grid.height) / 2;
  }
  REGIONS_HD int x(int place) const { return x0 + place % 3 - 1; }
  REGIONS_HD int y(int place) const { return y0 + place / 3 - 1; }
  REGIONS_HD bool has(int place) const {
    const int dx = x(place) - column * grid.width, dy = y(place) - row * grid.height;
    return place < kCount && dx >= 0 && dy >= 0 && dx < grid.width && dy < grid.height &&
           x(place) < grid.size.width && y(place) < grid.size.height;
  }
  template <class ColorAt>
  REGIONS_HD int gradient(int place, const SlicScale& scale, ColorAt color_at) const {
    if (!has(place)) return kNone;
    const auto clamped = [](int v, int end) { return v < 0 ? 0 : v >= end ? end - 1 : v; };
    const int px = x(place), py = y(place);
    const uint32_t around[4] = {color_at(clamped(px + 1, grid.size.width), py),
                                color_at(clamped(px - 1, grid.size.width), py),
                                color_at(px, clamped(py + 1, grid.size.height)),
                                color_at(px, clamped(py - 1, grid.size.height))};
    int sum = 0;
    for (int c = 0; c < 3; ++c) {
      const int dx = color_component(around[0], c) - color_component(around[1], c);
      const int dy = color_component(around[2], c) - color_component(around[3], c);
      sum += scale.weight[c] * (dx * dx + dy * dy);  // all below 2^21
    }
    return sum;
  }
};
template <class ColorAt>
REGIONS_HD ClusterSums seed_of(int column, int row, const SlicGrid& grid, const SlicScale& scale,
                               ColorAt color_at) {
  const SeedPlaces places(column, row, grid);
  int best = SeedPlaces::kNone, place = 0;
  for (int p = 0; p < SeedPlaces::kCount; ++p) {
    const int gradient = places.gradient(p, scale, color_at);
    if (gradient >= best) continue;
    best = gradient;
    place = p;
  }
  const int x = places.x(place), y = places.y(place);
  return seed_at(x, y, color_at(x, y), column, row, grid);
}

}  // namespace regions

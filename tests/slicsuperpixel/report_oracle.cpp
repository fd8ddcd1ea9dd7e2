// The report's method the slow way: pixels own, superpixels average, pixels choose again.
#include <algorithm>
#include <map>
#include <utility>

#include "tests/slicsuperpixel/oracle.hpp"

namespace regions {
namespace {

struct Mean {
  int64_t color[3], x, y;  // cut off
};

}  // namespace

Superpixels report_slowly(const ConstFrame& in, const SlicParams& params) {
  const SlicGrid grid = grid_of(in.size(), params);
  const auto pixels = colors_slowly(in, params.color_space);
  const float factor = static_cast<float>(4 * params.compactness * params.compactness /
                                          (1.0 * grid.width * grid.height));
  using Cell = std::pair<int, int>;  // row, column
  std::vector<Cell> owner;
  for (int y = 0; y < in.height; ++y) {
    for (int x = 0; x < in.width; ++x) owner.emplace_back(y / grid.height, x / grid.width);
  }
  for (int i = 0; i < params.iterations; ++i) {
    std::map<Cell, Mean> sums;
    std::map<Cell, int64_t> counts;
    for (size_t p = 0; p < owner.size(); ++p) {
      Mean& sum = sums[owner[p]];
      for (size_t c = 0; c < 3; ++c) sum.color[c] += pixels[p][c] + 128;
      sum.x += static_cast<int64_t>(p) % in.width;
      sum.y += static_cast<int64_t>(p) / in.width;
      ++counts[owner[p]];
    }
    for (auto& [cell, mean] : sums) {
      for (int64_t* value : {&mean.color[0], &mean.color[1], &mean.color[2], &mean.x, &mean.y}) {
        *value /= counts[cell];
      }
    }
    for (size_t p = 0; p < owner.size(); ++p) {
      const int x = static_cast<int>(p) % in.width, y = static_cast<int>(p) / in.width;
      std::vector<std::pair<float, Cell>> found;
      for (int row = y / grid.height - 1; row <= y / grid.height + 1; ++row) {
        for (int column = x / grid.width - 1; column <= x / grid.width + 1; ++column) {
          const auto mean = sums.find({row, column});
          if (mean == sums.end()) continue;
          int64_t colors = 0;
          for (size_t c = 0; c < 3; ++c) {
            const int64_t d = pixels[p][c] + 128 - mean->second.color[c];
            colors += d * d;
          }
          const int64_t dx = x - mean->second.x, dy = y - mean->second.y;
          volatile float places = static_cast<float>(dx * dx + dy * dy) * factor;
          volatile float both = static_cast<float>(colors) + places;
          found.emplace_back(both, Cell{row, column});
        }
      }
      owner[p] = std::min_element(found.begin(), found.end())->second;
    }
  }
  std::vector<uint32_t> chosen;
  for (const auto& [row, column] : owner) {
    chosen.push_back(static_cast<uint32_t>(grid.index(column, row)));
  }
  return connect_slowly(in, params, chosen);
}

}  // namespace regions

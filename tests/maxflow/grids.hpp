// Weights of frames for minimum cuts, as plain arrays, and what a mask's cut is worth.
#pragma once

#include <array>
#include <cstdint>
#include <cstdlib>
#include <random>
#include <vector>

#include "core/maxflow/maxflow.hpp"

namespace regions {

inline constexpr int kStep[5][2] = {
    {0, 0}, {1, 0}, {0, 1}, {1, 1}, {-1, 1}};  // of each array's links

// Weights of a frame: terminal, right, down, down_right, down_left.
struct Grid {
  Size size;
  std::array<std::vector<int32_t>, 5> weights;

  explicit Grid(Size picture) : size(picture) {
    for (auto& weight : weights) weight.resize(picture.area());
  }
  int32_t& at(int array, int x, int y) {
    return weights[static_cast<size_t>(
        array)][static_cast<size_t>(y) * static_cast<size_t>(size.width) + static_cast<size_t>(x)];
  }
  int32_t at(int array, int x, int y) const { return const_cast<Grid*>(this)->at(array, x, y); }
};

// Noise up to `most`, with ties, and with zeros everywhere.
inline Grid random_grid(Size size, int32_t most, unsigned seed) {
  Grid grid(size);
  std::mt19937 random(seed);
  std::uniform_int_distribution<int32_t> terminal(-most, most), link(0, most / 4 + 1), die(0, 3);
  for (size_t i = 0; i < size.area(); ++i) {
    grid.weights[0][i] = die(random) == 0 ? terminal(random) : 0;
    for (size_t k = 1; k < 5; ++k) grid.weights[k][i] = die(random) != 0 ? link(random) : 0;
  }
  return grid;
}

// One corridor that runs to and fro through the whole picture from source to sink.
inline Grid corridor(Size size) {
  Grid grid(size);
  const int last = (size.height - 1) / 2 * 2;
  for (int y = 0; y <= last; y += 2) {
    for (int x = 0; x + 1 < size.width; ++x) grid.at(1, x, y) = 50;
    if (y == last) break;
    const int turn = y / 2 % 2 ? 0 : size.width - 1;
    grid.at(2, turn, y) = grid.at(2, turn, y + 1) = 50;
  }
  grid.at(0, 0, 0) = 70;
  grid.at(0, last / 2 % 2 ? 0 : size.width - 1, last) = -40;
  return grid;
}

// Sinks everywhere, but for a square of sources: most tiles need no other, and flow goes from tile
// to tile. Links from column `wide` on need more than 16 bits.
inline Grid island(Size size, int left, int top, int wide) {
  constexpr int kSide = 24;
  Grid grid(size);
  for (int y = 0; y < size.height; ++y) {
    for (int x = 0; x < size.width; ++x) {
      const bool inside = x >= left && x < left + kSide && y >= top && y < top + kSide;
      grid.at(0, x, y) = inside ? 200 : -3;
      for (int k = 1; k < 5; ++k) grid.at(k, x, y) = x < wide ? 50 : 40000;
    }
  }
  return grid;
}

inline int64_t cut_value(const Grid& grid, Neighbours neighbours,
                         const std::vector<uint8_t>& mask) {
  int64_t value = 0;
  const auto foreground = [&](int x, int y) {
    return mask[static_cast<size_t>(y) * static_cast<size_t>(grid.size.width) +
                static_cast<size_t>(x)] != 0;
  };
  for (int y = 0; y < grid.size.height; ++y) {
    for (int x = 0; x < grid.size.width; ++x) {
      const int64_t terminal = grid.at(0, x, y);
      if (foreground(x, y) ? terminal < 0 : terminal > 0) value += std::abs(terminal);
      for (int k = 1; k <= static_cast<int>(neighbours) / 2; ++k) {
        const int to_x = x + kStep[k][0], to_y = y + kStep[k][1];
        if (to_x < 0 || to_x >= grid.size.width || to_y >= grid.size.height) continue;
        if (foreground(x, y) != foreground(to_x, to_y)) value += grid.at(k, x, y);
      }
    }
  }
  return value;
}

}  // namespace regions

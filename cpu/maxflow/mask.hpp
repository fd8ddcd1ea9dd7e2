// Mask: reads the cut off a lattice whose forest has stopped growing.
#pragma once

#include "core/maxflow.hpp"
#include "cpu/maxflow/lattice.hpp"

namespace regions::maxflow {

// Writes row y of the mask as far as the labels tell, and returns the excess left in it: flow that
// found no way to the sink.
template <class L>
int64_t write_row(const L& lattice, int y, Image<uint8_t> foreground) {
  const auto nodes = lattice.row(y);
  uint8_t* mask = foreground.row(y);
  int64_t excess = 0;
  for (int x = 0; x < foreground.width; ++x) {
    excess += std::max<int64_t>(nodes[x].excess, 0);
    mask[x] = nodes[x].label < 0 ? GridCut::kBackground : GridCut::kForeground;
  }
  return excess;
}

// Pixels in no tree from which flow could still reach the sink belong to the background: so the
// foreground is the largest source side. `places` holds a node each.
template <class L>
void reach_sink(const L& lattice, Image<uint8_t> foreground, int32_t* places) {
  struct Pixel {
    int x;
    int y;
  };
  constexpr int kNeighbours = L::kNeighbours;
  const int width = foreground.width;
  int32_t count = 0;
  const auto take = [&](int x, int y) {
    lattice.row(y)[x].label = -1;
    foreground(x, y) = GridCut::kBackground;
    places[count++] = y * width + x;
  };
  const auto spread = [&] {
    while (count != 0) {
      const Pixel at{places[--count] % width, places[count] / width};
      for (int k = 0; k < kNeighbours; ++k) {
        const Pixel next{at.x + kStepX[k], at.y + kStepY[k]};
        const auto& node = lattice.row(next.y)[next.x];
        if (node.label == 0 && node.residual[k ^ 1] != 0) take(next.x, next.y);
      }
    }
  };
  for (int y = 0; y < foreground.height; ++y) {
    const auto nodes = lattice.row(y);
    for (int x = 0; x < width; ++x) {
      if (nodes[x].label != 0) continue;
      const int32_t index = lattice.index(x, y);
      for (int k = 0; k < kNeighbours; ++k) {
        if (nodes[x].residual[k] == 0 || lattice[lattice.neighbour(index, k)].label >= 0) continue;
        take(x, y);
        spread();
        break;
      }
    }
  }
}

// What the mask's cut exceeds the flow by: the capacity left from row y's foreground to the
// background.
template <class L>
int64_t gap_of_row(const L& lattice, int y, Image<const uint8_t> foreground) {
  const auto nodes = lattice.row(y);
  int64_t gap = 0;
  for (int x = 0; x < foreground.width; ++x) {
    if (foreground(x, y) == GridCut::kBackground) continue;
    for (int k = 0; k < L::kNeighbours; ++k) {
      if (nodes[x].residual[k] == 0) continue;
      if (foreground(x + kStepX[k], y + kStepY[k]) == GridCut::kBackground) {
        gap += static_cast<int64_t>(nodes[x].residual[k]);
      }
    }
  }
  return gap;
}

}  // namespace regions::maxflow

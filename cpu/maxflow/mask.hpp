// Mask: reads the cut off a lattice whose forest has stopped growing.
#pragma once

#include <algorithm>
#include <cstring>

#include "cpu/maxflow/weights.hpp"

namespace regions::maxflow {

// Writes a tile of the mask as far as the labels tell, and returns the flow that left it: what came
// from the source, without what found no way to the sink.
template <ResidualLattice L>
int64_t write_tile(const L& lattice, int32_t tile, const GridGraph& graph,
                   Image<uint8_t> foreground) {
  int64_t flow = 0;
  lattice.for_each(tile, [&](int x, int y, const typename L::Node& node) {
    flow += std::max(graph.terminal(x, y), 0) - std::max<int64_t>(node.excess, 0);
    foreground(x, y) = node.label > 0 ? kInSource : node.label < 0 ? kInSink : kFree;
  });
  return flow;
}

// Pixels in no tree from which flow could still reach the sink belong to the background, the others
// to the foreground: so that is the largest source side. `pixels` has an entry a pixel.
template <ResidualLattice L>
void share_out_free(const L& lattice, Image<uint8_t> mask, int32_t* pixels) {
  constexpr int kNeighbours = L::kNeighbours;
  int32_t count = 0;
  const auto take = [&](int x, int y) {
    mask(x, y) = kInSink;
    pixels[count++] = y * mask.width + x;
  };
  const auto node_at = [&](int x, int y) -> auto& {
    lattice.require(lattice.index(x, y));
    return lattice[lattice.index(x, y)];
  };
  const auto reaches_sink = [&](int x, int y) {
    const auto& node = node_at(x, y);
    for (int k = 0; k < kNeighbours; ++k) {
      if (node.residual[k] != 0 && mask(x + step_x(k), y + step_y(k)) == kInSink) return true;
    }
    return false;
  };
  const auto spread = [&] {
    while (count != 0) {
      const int32_t pixel = pixels[--count];
      const int x = pixel % mask.width;
      const int y = pixel / mask.width;
      for (int k = 0; k < kNeighbours; ++k) {
        const int next_x = x + step_x(k);
        const int next_y = y + step_y(k);
        if (mask.contains(next_x, next_y) && mask(next_x, next_y) == kFree &&
            node_at(next_x, next_y).residual[opposite(k)] != 0) {
          take(next_x, next_y);
        }
      }
    }
  };
  const auto for_each_free = [&](auto f) {
    for (int y = 0; y < mask.height; ++y) {
      const uint8_t* row = mask.row(y);
      const auto find = [&](int x) {
        return static_cast<const uint8_t*>(
            std::memchr(row + x, kFree, static_cast<size_t>(mask.width - x)));
      };
      for (const uint8_t* at = find(0); at; at = find(static_cast<int>(at - row) + 1)) {
        f(static_cast<int>(at - row), y);
      }
    }
  };
  for_each_free([&](int x, int y) {
    if (!reaches_sink(x, y)) return;
    take(x, y);
    spread();
  });
  for_each_free([&](int x, int y) { mask(x, y) = kInSource; });
}

// What the mask's cut exceeds the flow by: the capacity left from a tile's foreground to the
// background.
template <ResidualLattice L>
int64_t gap_of_tile(const L& lattice, int32_t tile, Image<const uint8_t> foreground) {
  int64_t gap = 0;
  lattice.for_each(tile, [&](int x, int y, const typename L::Node& node) {
    if (foreground(x, y) == GridCut::kBackground) return;
    for (int k = 0; k < L::kNeighbours; ++k) {
      if (node.residual[k] == 0) continue;
      if (foreground(x + step_x(k), y + step_y(k)) == GridCut::kBackground) {
        gap += static_cast<int64_t>(node.residual[k]);
      }
    }
  });
  return gap;
}

}  // namespace regions::maxflow

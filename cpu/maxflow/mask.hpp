// Mask: reads the cut off a lattice whose forest has stopped growing.
#pragma once

#include <algorithm>

#include "cpu/maxflow/weights.hpp"

namespace regions::maxflow {

// Writes row y of the mask as far as the labels tell, and returns the excess left in it: flow that
// found no way to the sink.
template <ResidualLattice L>
int64_t write_row(const L& lattice, int y, Image<uint8_t> foreground) {
  uint8_t* mask = foreground.row(y);
  int64_t excess = 0;
  lattice.for_each(y, [&](int x, const typename L::Node& node) {
    excess += std::max<int64_t>(node.excess, 0);
    mask[x] = node.label > 0 ? kInSource : node.label < 0 ? kInSink : kFree;
  });
  return excess;
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
  const auto reaches_sink = [&](int x, int y) {
    const auto& node = lattice.row(y)[x];
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
        if (lattice.row(next_y)[next_x].residual[opposite(k)] != 0 &&
            mask(next_x, next_y) == kFree) {
          take(next_x, next_y);
        }
      }
    }
  };
  const auto for_each_free = [&](auto f) {
    for (int y = 0; y < mask.height; ++y) {
      const uint8_t* row = mask.row(y);
      for (int x = 0; x < mask.width; ++x) {
        x = static_cast<int>(std::find(row + x, row + mask.width, kFree) - row);
        if (x < mask.width) f(x, y);
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

// What the mask's cut exceeds the flow by: the capacity left from row y's foreground to the
// background.
template <ResidualLattice L>
int64_t gap_of_row(const L& lattice, int y, Image<const uint8_t> foreground) {
  const auto nodes = lattice.row(y);
  int64_t gap = 0;
  for (int x = 0; x < foreground.width; ++x) {
    if (foreground(x, y) == GridCut::kBackground) continue;
    for (int k = 0; k < L::kNeighbours; ++k) {
      if (nodes[x].residual[k] == 0) continue;
      if (foreground(x + step_x(k), y + step_y(k)) == GridCut::kBackground) {
        gap += static_cast<int64_t>(nodes[x].residual[k]);
      }
    }
  }
  return gap;
}

}  // namespace regions::maxflow

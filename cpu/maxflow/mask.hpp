// Mask: reads the cut off a lattice whose forest has stopped growing.
#pragma once

#include "core/maxflow.hpp"
#include "cpu/maxflow/lattice.hpp"

namespace regions::maxflow {

// Writes row y of the mask as far as the labels tell, and returns the excess left in it: flow that
// found no way to the sink.
template <class L>
int64_t write_row(const L& lattice, int y, Image<uint8_t> foreground) {
  const typename L::Node* nodes = lattice.row(y);
  uint8_t* mask = foreground.row(y);
  int64_t excess = 0;
  for (int x = 0; x < foreground.width; ++x) {
    excess += std::max<int64_t>(nodes[x].excess, 0);
    mask[x] = nodes[x].label == kSink ? GridCut::kBackground : GridCut::kForeground;
  }
  return excess;
}

// Pixels outside the forest from which flow could still reach the sink belong to the background:
// so the foreground is the largest source side. `places` holds a node each.
template <class L>
void reach_sink(const L& lattice, Image<uint8_t> foreground, int32_t* places) {
  using Node = typename L::Node;
  constexpr int kNeighbours = L::kNeighbours;
  Node* const first = lattice.row(0);
  const ptrdiff_t stride = lattice.step(2);
  int32_t count = 0;
  const auto take = [&](Node* node) {
    node->label = kSink;
    const ptrdiff_t at = node - first;
    foreground(static_cast<int>(at % stride), static_cast<int>(at / stride)) = GridCut::kBackground;
    places[count++] = static_cast<int32_t>(at);
  };
  const auto spread = [&] {
    while (count != 0) {
      Node* node = first + places[--count];
      for (int k = 0; k < kNeighbours; ++k) {
        Node* other = lattice.neighbour(node, k);
        if (other->label == kFree && other->residual[k ^ 1] != 0) take(other);
      }
    }
  };
  for (int y = 0; y < foreground.height; ++y) {
    Node* nodes = lattice.row(y);
    for (int x = 0; x < foreground.width; ++x) {
      if (nodes[x].label != kFree) continue;
      for (int k = 0; k < kNeighbours; ++k) {
        if (nodes[x].residual[k] == 0 || lattice.neighbour(nodes + x, k)->label != kSink) continue;
        take(nodes + x);
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
  const typename L::Node* nodes = lattice.row(y);
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

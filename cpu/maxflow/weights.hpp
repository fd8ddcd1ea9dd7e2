// Weights: a frame's weights become a residual graph, either without flow or with as much of the
// last frame's flow as they allow.
#pragma once

#include <algorithm>

#include "core/maxflow.hpp"
#include "cpu/maxflow/lattice.hpp"

namespace regions::maxflow {

// What is known of the weights after reading rows of them.
struct WeightSums {
  int64_t from_source = 0;    // of the positive terminal weights
  int64_t most = 0;           // largest |terminal| + incident capacities
  bool has_negative = false;  // capacity

  void add(const WeightSums& other) {
    from_source += other.from_source;
    most = std::max(most, other.most);
    has_negative |= other.has_negative;
  }
};

// The weights around one row of pixels.
template <int kNeighbours>
class WeightRow {
 public:
  // `nothing` is a row of zeros, for what lies outside the picture.
  WeightRow(const GridGraph& graph, int y, const int32_t* nothing)
      : width_(graph.terminal.width), terminal_(graph.terminal.row(y)) {
    const bool first = y == 0;
    const bool last = y == graph.terminal.height - 1;
    right_ = graph.right.row(y);
    down_ = last ? nothing : graph.down.row(y);
    up_ = first ? nothing : graph.down.row(y - 1);
    if constexpr (kNeighbours == 8) {
      down_right_ = last ? nothing : graph.down_right.row(y);
      up_left_ = first ? nothing : graph.down_right.row(y - 1);
      down_left_ = last ? nothing : graph.down_left.row(y);
      up_right_ = first ? nothing : graph.down_left.row(y - 1);
    }
  }

  int32_t terminal(int x) const { return terminal_[x]; }

  // In the order of directions.
  void capacities(int x, int32_t (&c)[kNeighbours]) const {
    const bool has_left = x > 0;
    const bool has_right = x + 1 < width_;
    c[0] = has_right ? right_[x] : 0;
    c[1] = has_left ? right_[x - 1] : 0;
    c[2] = down_[x];
    c[3] = up_[x];
    if constexpr (kNeighbours == 8) {
      c[4] = has_right ? down_right_[x] : 0;
      c[5] = has_left ? up_left_[x - 1] : 0;
      c[6] = has_left ? down_left_[x] : 0;
      c[7] = has_right ? up_right_[x + 1] : 0;
    }
  }

 private:
  int width_;
  const int32_t* terminal_;
  const int32_t* right_;
  const int32_t* down_;
  const int32_t* up_;
  const int32_t* down_right_ = nullptr;
  const int32_t* up_left_ = nullptr;
  const int32_t* down_left_ = nullptr;
  const int32_t* up_right_ = nullptr;
};

// Nodes outside the picture beside row y: those at its ends and, at the top and the bottom, the row
// beyond.
template <class L>
void clear_border(const L& lattice, int y) {
  const Size size = lattice.size();
  typename L::Node outside{};
  outside.parent = kNone;
  lattice.row(y)[-1] = lattice.row(y)[size.width] = outside;
  for (const int beyond : {-1, size.height}) {
    if (y != std::clamp(beyond, 0, size.height - 1)) continue;
    for (int x = -1; x <= size.width; ++x) lattice.row(beyond)[x] = outside;
  }
}

// Flow from a node over its link k in the last frame, clamped to the link's new capacity.
template <class L>
int64_t flow_kept(const L& last, int32_t index, int k, int64_t capacity) {
  // Both directions together have twice the capacity left.
  const auto there = static_cast<int64_t>(last[index].residual[k]);
  const auto back = static_cast<int64_t>(last[last.neighbour(index, k)].residual[k ^ 1]);
  return std::clamp<int64_t>((back - there) / 2, -capacity, capacity);
}

// Reads row y of the weights into the lattice. With `last`, a lattice of the frame before, its flow
// is kept as far as the new capacities allow: Kohli and Torr's re-parameterisation ("Dynamic graph
// cuts for efficient inference in Markov random fields", 2007). Numbers too large are only
// reported.
template <class L>
WeightSums read_weights(const GridGraph& graph, int y, const int32_t* nothing, const L& lattice,
                        const L* last) {
  using Residual = typename L::Numbers::Residual;
  using Excess = typename L::Numbers::Excess;
  constexpr int kNeighbours = L::kNeighbours;
  const WeightRow<kNeighbours> weights(graph, y, nothing);
  const auto nodes = lattice.row(y);
  WeightSums sums;
  int32_t signs = 0;
  for (int x = 0; x < graph.terminal.width; ++x) {
    int32_t capacity[kNeighbours];
    weights.capacities(x, capacity);
    int64_t excess = weights.terminal(x);
    int64_t sum = excess < 0 ? -excess : excess;
    sums.from_source += std::max<int64_t>(excess, 0);
    typename L::Node node;
    for (int k = 0; k < kNeighbours; ++k) {
      signs |= capacity[k];
      sum += capacity[k];
      int64_t left = capacity[k];
      if (last) {
        const int64_t flow =
            flow_kept(*last, last->index(x, y), k, std::max<int64_t>(capacity[k], 0));
        left -= flow;
        excess -= flow;
      }
      node.residual[k] = static_cast<Residual>(left);
    }
    sums.most = std::max(sums.most, sum);
    node.excess = static_cast<Excess>(excess);
    node.marks = 0;
    node.parent = excess != 0 ? kRoot : kNone;
    node.label = excess > 0 ? 1 : excess < 0 ? -1 : 0;
    nodes[x] = node;
  }
  sums.has_negative = signs < 0;
  clear_border(lattice, y);
  return sums;
}

}  // namespace regions::maxflow

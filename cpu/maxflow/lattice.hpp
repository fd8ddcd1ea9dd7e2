// Lattice: the residual graph of a pixel grid. Links are implicit: a node holds what is left of the
// capacity towards each neighbour and finds the neighbours by fixed steps in memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

#include "core/image.hpp"

namespace regions::maxflow {

// Direction k and k ^ 1 are opposite. Four neighbours take the first four.
inline constexpr int kStepX[8] = {1, -1, 0, 0, 1, -1, -1, 1};
inline constexpr int kStepY[8] = {0, 0, 1, -1, 1, -1, 1, -1};

// Numbers that hold a frame whose |terminal| + incident capacities nowhere exceed `most`. Both
// directions of a link share its capacity, so one can have twice of it left: hence unsigned.
template <class Signed>
struct Numbers {
  using Excess = Signed;
  using Residual = std::make_unsigned_t<Signed>;
  static constexpr int64_t most = std::numeric_limits<Signed>::max();
};

// Values of Node::parent beside directions.
inline constexpr uint8_t kRoot = 8;
inline constexpr uint8_t kOrphan = 9;
inline constexpr uint8_t kNone = 10;

// Values of Node::label beside levels of the source's forest (1, 2, ...).
inline constexpr int32_t kFree = 0;
inline constexpr int32_t kSink = -1;  // can take flow, or reaches a node that can

template <class N, int kDirections>
struct Node {
  typename N::Residual residual[kDirections];  // towards each neighbour
  typename N::Excess excess;                   // > 0: came from the source and can go on; < 0: the
                                               // sink still takes that much
  uint8_t parent;                              // direction, or one of the above
  uint8_t marks;                               // of Forest
  int32_t label;
};

// Rows lie one node apart, and a row of nodes lies above and below: so every pixel has all its
// neighbours in memory. Those nodes have no residual capacity in or out, and label kFree.
template <class N, int kDirections>
class Lattice {
 public:
  using Numbers = N;
  using Node = maxflow::Node<N, kDirections>;
  static constexpr int kNeighbours = kDirections;

  Lattice() = default;
  Lattice(Node* nodes, Size size) : nodes_(nodes), size_(size), stride_(size.width + 1) {
    for (int k = 0; k < kDirections; ++k) step_[k] = kStepY[k] * stride_ + kStepX[k];
  }

  static size_t count(Size size) {
    return (static_cast<size_t>(size.width) + 1) * (static_cast<size_t>(size.height) + 2) + 1;
  }

  Size size() const { return size_; }
  Node* nodes() const { return nodes_; }
  Node* row(int y) const { return nodes_ + (y + 1) * stride_ + 1; }
  ptrdiff_t step(int k) const { return step_[k]; }
  Node* neighbour(Node* node, int k) const { return node + step_[k]; }

 private:
  Node* nodes_ = nullptr;  // [count(size)]
  Size size_;
  ptrdiff_t stride_ = 0;
  ptrdiff_t step_[kDirections] = {};
};

}  // namespace regions::maxflow

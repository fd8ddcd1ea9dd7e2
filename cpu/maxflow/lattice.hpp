// Lattice: the residual graph of a pixel grid. Links are implicit: a node holds what is left of the
// capacity towards each neighbour and finds the neighbours by fixed steps in memory.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "core/maxflow/directions.hpp"

namespace regions::maxflow {

// Numbers that hold a frame whose |terminal| + incident capacities nowhere exceed `most`. Both
// directions of a link share its capacity, so one can have twice of it left: hence unsigned.
template <class Signed>
struct Numbers {
  using Excess = Signed;
  using Residual = std::make_unsigned_t<Signed>;
  using Amount = std::conditional_t<sizeof(Signed) == 2, int32_t, int64_t>;  // holds either
  static constexpr int64_t most = std::numeric_limits<Signed>::max();
};

// Values of Node::parent beside those of Direction.
inline constexpr uint8_t kRoot = 8;
inline constexpr uint8_t kOrphan = 9;
inline constexpr uint8_t kNone = 10;

template <class N, int kDirections>
struct Node {
  typename N::Residual residual[kDirections];  // towards each neighbour
  typename N::Excess excess;                   // > 0: came from the source and can go on; < 0: the
                                               // sink still takes that much
  uint8_t parent;                              // direction, or one of the above
  uint8_t marks;                               // of Trees
  int32_t label;  // levels of the source's trees (1, 2, ...), of the sink's (-1, -2, ...); 0: free
};

// Nodes lie in tiles, row by row in each and tile by tile: paths run in all directions, and so stay
// longer in the same lines and pages of memory. A ring of nodes lies around the picture: so every
// pixel has all its neighbours in memory. Those nodes have no residual capacity in or out.
template <class N, int kDirections>
class Lattice {
 public:
  using Numbers = N;
  using Node = maxflow::Node<N, kDirections>;
  static constexpr int kNeighbours = kDirections;
  static constexpr int kTile = 8;

  // The nodes of one row of pixels, from -1 to the width.
  class Row {
   public:
    explicit Row(Node* first) : first_(first) {}
    Node& operator[](int x) const { return first_[column(x)]; }

   private:
    Node* first_;
  };

  Lattice() = default;
  Lattice(Node* nodes, Size size) : nodes_(nodes), size_(size), row_of_tiles_(tiles(size.width)) {
    row_of_tiles_ *= kTile * kTile;
    for (int y = 0; y < kTile; ++y) {
      for (int x = 0; x < kTile; ++x) {
        // Seen from the second tile of the second row, so that no coordinate is negative.
        const int32_t here = index(kTile + x, kTile + y);
        for (int k = 0; k < kDirections; ++k) {
          step_[here % (kTile * kTile)][k] =
              index(kTile + x + step_x(k), kTile + y + step_y(k)) - here;
        }
      }
    }
  }

  static size_t count(Size size) {
    return static_cast<size_t>(tiles(size.width)) * static_cast<size_t>(tiles(size.height)) *
           (kTile * kTile);
  }
  // Rows of tiles.
  static int tile_rows(Size size) { return tiles(size.height); }
  // The first row of pixels in a row of tiles, at most the height.
  static int first_row(Size size, int tile_row) {
    return tile_row == 0 ? 0 : std::min(tile_row * kTile - 1, size.height);
  }
  // The nodes before a row of tiles.
  int32_t nodes_before(int tile_row) const { return tile_row * row_of_tiles_; }

  Size size() const { return size_; }
  Node& operator[](int32_t node) const { return nodes_[node]; }
  Row row(int y) const { return Row(nodes_ + index(-1, y)); }
  // Calls f(x, node) for each pixel of row y. Only a few nodes of a tile are in a row: the CPU does
  // not see by itself where the next ones are.
  template <std::invocable<int, Node&> F>
  void for_each(int y, F f) const {
    constexpr int kAhead = 8 * kTile;
    const Row nodes = row(y);
    for (int x = 0; x < size_.width;) {
      const int end = std::min(x + kTile - (x + 1) % kTile, size_.width);
      const auto* ahead = reinterpret_cast<const std::byte*>(&nodes[x + kAhead]);
      for (size_t line = 0; line < sizeof(Node) * kTile; line += 64) {
        __builtin_prefetch(ahead + line, 1);
      }
      for (Node* node = &nodes[x]; x < end; ++x, ++node) f(x, *node);
    }
  }
  int32_t index(int x, int y) const {
    return (y + 1) / kTile * row_of_tiles_ + (y + 1) % kTile * kTile + column(x);
  }
  int32_t neighbour(int32_t node, int k) const {
    return node + step_[static_cast<uint32_t>(node) % (kTile * kTile)][k];
  }

 private:
  static int tiles(int pixels) {
    return static_cast<int>((static_cast<int64_t>(pixels) + 2 + kTile - 1) / kTile);
  }
  static int32_t column(int x) {
    const auto at = static_cast<uint32_t>(x + 1);
    return static_cast<int32_t>(at / kTile * (kTile * kTile) + at % kTile);
  }

  Node* nodes_ = nullptr;  // [count(size)]
  Size size_;
  int32_t row_of_tiles_ = 0;  // nodes
  int32_t step_[kTile * kTile][kDirections] = {};
};

// What solvers need of a lattice.
template <class L>
concept ResidualLattice = requires(const L& lattice, int32_t node, int k, int y) {
  typename L::Numbers;
  { L::kNeighbours } -> std::convertible_to<int>;
  { lattice[node] } -> std::same_as<typename L::Node&>;
  { lattice.neighbour(node, k) } -> std::same_as<int32_t>;
  { lattice.row(y)[0] } -> std::same_as<typename L::Node&>;
};

}  // namespace regions::maxflow

// Lattice: the residual graph of a pixel grid. Links are implicit: a node holds what is left of the
// capacity towards each neighbour and finds the neighbours by fixed steps in memory.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
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
//
// A tile is read when a node of it is first asked for as a neighbour, or by require(): most of a
// picture is far from any flow, and stays as its weights are.
template <class N, int kDirections>
class Lattice {
 public:
  using Numbers = N;
  using Node = maxflow::Node<N, kDirections>;
  static constexpr int kNeighbours = kDirections;
  static constexpr int kTile = 8;

  // Reads the tiles of one frame.
  class Reader {
   public:
    virtual void read(const Lattice& lattice, int32_t tile) const = 0;

   protected:
    ~Reader() = default;
  };

  // `is_read` has an entry a tile, 0 where it is yet to be read; the reader is not asked for
  // others.
  Lattice(Node* nodes, Size size, uint8_t* is_read, const Reader* reader)
      : nodes_(nodes),
        size_(size),
        row_of_tiles_(tiles(size.width)),
        is_read_(is_read),
        reader_(reader) {
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

  static size_t count_tiles(Size size) {
    return static_cast<size_t>(tiles(size.width)) * static_cast<size_t>(tiles(size.height));
  }
  static size_t count(Size size) { return count_tiles(size) * (kTile * kTile); }
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
  // The pixels of a tile: left <= x < right, top <= y < bottom.
  struct Pixels {
    int left, top, right, bottom;
  };
  Pixels pixels(int32_t tile) const {
    const int columns = tiles(size_.width);
    const int left = tile % columns * kTile - 1, top = tile / columns * kTile - 1;
    return {std::max(left, 0), std::max(top, 0), std::min(left + kTile, size_.width),
            std::min(top + kTile, size_.height)};
  }
  // Calls f(x, y, node) for each pixel of a tile.
  template <std::invocable<int, int, Node&> F>
  void for_each(int32_t tile, F f) const {
    const Pixels of = pixels(tile);
    for (int y = of.top; y < of.bottom; ++y) {
      Node* node = nodes_ + index(of.left, y);
      for (int x = of.left; x < of.right; ++x) f(x, y, *node++);
    }
  }
  // All nodes of a tile, outside the picture too.
  std::span<Node> nodes(int32_t tile) const {
    return {nodes_ + static_cast<ptrdiff_t>(tile) * (kTile * kTile), kTile * kTile};
  }
  int32_t index(int x, int y) const {
    return (y + 1) / kTile * row_of_tiles_ + (y + 1) % kTile * kTile + column(x);
  }
  // The neighbour in direction k, whether its tile has been read or not.
  int32_t beside(int32_t node, int k) const {
    return node + step_[static_cast<uint32_t>(node) % (kTile * kTile)][k];
  }
  int32_t neighbour(int32_t node, int k) const {
    const int32_t next = beside(node, k);
    require(next);
    return next;
  }
  int32_t tile_of(int32_t node) const {
    return static_cast<int32_t>(static_cast<uint32_t>(node) / (kTile * kTile));
  }
  bool is_read(int32_t tile) const { return is_read_[tile] != 0; }
  // Sees to it that the node's tile has been read.
  void require(int32_t node) const { require_tile(tile_of(node)); }
  void require_tile(int32_t tile) const {
    if (is_read_[tile]) [[likely]]
      return;
    is_read_[tile] = 1;
    reader_->read(*this, tile);
  }
  // The same for all tiles of rows first..last - 1 of tiles.
  void require_rows(int first, int last) const {
    const int columns = tiles(size_.width);
    for (int32_t tile = first * columns; tile < last * columns; ++tile) require_tile(tile);
  }

 private:
  static int tiles(int pixels) {
    return static_cast<int>((static_cast<int64_t>(pixels) + 2 + kTile - 1) / kTile);
  }
  static int32_t column(int x) {
    const auto at = static_cast<uint32_t>(x + 1);
    return static_cast<int32_t>(at / kTile * (kTile * kTile) + at % kTile);
  }

  Node* nodes_;  // [count(size)]
  Size size_;
  int32_t row_of_tiles_ = 0;  // nodes
  int32_t step_[kTile * kTile][kDirections] = {};
  uint8_t* is_read_;  // [count_tiles(size)]
  const Reader* reader_;
};

// What solvers need of a lattice.
template <class L>
concept ResidualLattice = requires(const L& lattice, int32_t node, int k) {
  typename L::Numbers;
  { L::kNeighbours } -> std::convertible_to<int>;
  { lattice[node] } -> std::same_as<typename L::Node&>;
  { lattice.neighbour(node, k) } -> std::same_as<int32_t>;
  lattice.require(node);
  lattice.require_rows(k, k);
};

}  // namespace regions::maxflow

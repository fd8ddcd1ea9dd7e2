// Stores the residual graph of a grid. Links are implicit: a node stores the residual capacity
// towards each neighbour, and the neighbours are at constant distances in memory. ResidualGrid is
// the graph of a frame. It is loaded in tiles of 8x8 pixels: a tile is loaded when a search visits
// one of its nodes for the first time. ResidualVolume is the graph of a grid with any number of
// axes.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>

#include "core/maxflow/maxflow.hpp"
#include "cpu/simd.hpp"

namespace regions::maxflow {

// The number types of a graph. They are wide enough if, for each pixel, the sum of |terminal| and
// the capacities of all its links is at most kMaxSum. Residual is unsigned, because flow in one
// direction can double the residual capacity of the other direction.
template <class Signed>
struct NumberTypes {
  using Excess = Signed;
  using Residual = std::make_unsigned_t<Signed>;
  // A type that can represent all values of Excess and of Residual.
  using Amount = std::conditional_t<sizeof(Signed) == 2, int32_t, int64_t>;
  static constexpr int64_t kMaxSum = std::numeric_limits<Signed>::max();
};

// Values of Node::parent in addition to directions.
inline constexpr uint8_t kRoot = 253;
inline constexpr uint8_t kOrphan = 254;
inline constexpr uint8_t kNoParent = 255;

template <class N, int kDirections>
struct Node {
  typename N::Residual residual[kDirections];  // residual capacity towards each neighbour
  typename N::Excess excess;  // > 0: flow that came from the source and can continue
                              // < 0: flow that the sink can still receive
  uint8_t parent;             // direction of the parent, or kRoot, kOrphan or kNoParent
  uint8_t marks;              // set of bits: kActiveInSource, kActiveInSink, kDetached
  // Level in the trees of the source (1, 2, ...) or the sink (-1, -2, ...); 0: in no tree.
  int32_t label;
};

// A grid whose nodes are stored tile by tile, and row by row in a tile. Paths run in all
// directions, so they stay longer in the same cache lines and pages than if whole rows were stored.
// The picture is surrounded by a border of nodes without residual capacity, so that each pixel has
// all its neighbours in memory.
//
// A tile is loaded when neighbour() first returns one of its nodes, or by ensure_loaded(). In most
// frames, the search visits only few tiles, and the other tiles are never loaded.
template <class N, int kDirections>
class ResidualGrid {
 public:
  using Numbers = N;
  using Node = maxflow::Node<N, kDirections>;
  static constexpr int kNeighbours = kDirections;
  static constexpr int kTileSize = 8;  // pixels per side of a tile

  // Loads the tiles of one frame.
  class TileLoader {
   public:
    virtual void load(const ResidualGrid& grid, int32_t tile) const = 0;

   protected:
    ~TileLoader() = default;
  };

  // `is_loaded` has one entry per tile, 0 if the tile must be loaded. `loader` may be null if all
  // tiles that are accessed have been loaded.
  ResidualGrid(Node* nodes, Size size, uint8_t* is_loaded, const TileLoader* loader)
      : nodes_(nodes),
        size_(size),
        nodes_per_tile_row_(tiles_along(size.width)),
        is_loaded_(is_loaded),
        loader_(loader) {
    nodes_per_tile_row_ *= kTileSize * kTileSize;
    for (int y = 0; y < kTileSize; ++y) {
      for (int x = 0; x < kTileSize; ++x) {
        // The offsets are computed for the second tile of the second row of tiles, so that no
        // coordinate is negative.
        const int32_t here = index(kTileSize + x, kTileSize + y);
        for (int k = 0; k < kDirections; ++k) {
          neighbour_offset_[here % (kTileSize * kTileSize)][k] =
              index(kTileSize + x + step_x(k), kTileSize + y + step_y(k)) - here;
        }
      }
    }
  }

  static size_t count_tiles(Size size) {
    return static_cast<size_t>(tiles_along(size.width)) *
           static_cast<size_t>(tiles_along(size.height));
  }
  // Returns the number of nodes, including the border of the picture and the padding to whole
  // tiles.
  static size_t count_nodes(Size size) { return count_tiles(size) * (kTileSize * kTileSize); }
  // Returns the number of rows of tiles.
  static int tile_rows(Size size) { return tiles_along(size.height); }
  // Returns the first row of pixels in a row of tiles; at most the height of the picture.
  static int first_row(Size size, int tile_row) {
    return tile_row == 0 ? 0 : std::min(tile_row * kTileSize - 1, size.height);
  }
  // Returns the number of nodes in all rows of tiles above `tile_row`.
  int32_t nodes_before(int tile_row) const { return tile_row * nodes_per_tile_row_; }

  Size size() const { return size_; }
  Node& operator[](int32_t node) const { return nodes_[node]; }
  // The pixels of a tile: left <= x < right, top <= y < bottom.
  struct Pixels {
    int left, top, right, bottom;
  };
  Pixels pixels(int32_t tile) const {
    const int columns = tiles_along(size_.width);
    const int left = tile % columns * kTileSize - 1, top = tile / columns * kTileSize - 1;
    return {std::max(left, 0), std::max(top, 0), std::min(left + kTileSize, size_.width),
            std::min(top + kTileSize, size_.height)};
  }
  // Calls f(x, y, node) for each pixel of a tile.
  template <std::invocable<int, int, Node&> F>
  void for_each_pixel(int32_t tile, F f) const {
    const Pixels area = pixels(tile);
    for (int y = area.top; y < area.bottom; ++y) {
      Node* node = nodes_ + index(area.left, y);
      for (int x = area.left; x < area.right; ++x) f(x, y, *node++);
    }
  }
  // Returns all nodes of a tile, including nodes outside the picture.
  std::span<Node> nodes(int32_t tile) const {
    return {nodes_ + static_cast<ptrdiff_t>(tile) * (kTileSize * kTileSize), kTileSize * kTileSize};
  }
  int32_t index(int x, int y) const {
    return (y + 1) / kTileSize * nodes_per_tile_row_ + (y + 1) % kTileSize * kTileSize + column(x);
  }
  // Returns the neighbour in direction k, without loading its tile.
  int32_t neighbour_index(int32_t node, int k) const {
    return node + neighbour_offset_[static_cast<uint32_t>(node) % (kTileSize * kTileSize)][k];
  }
  // Returns the neighbour in direction k, and loads the neighbour's tile unless it is loaded
  // already.
  int32_t neighbour(int32_t node, int k) const {
    const int32_t next = neighbour_index(node, k);
    ensure_loaded(next);
    return next;
  }
  int32_t tile_of(int32_t node) const {
    return static_cast<int32_t>(static_cast<uint32_t>(node) / (kTileSize * kTileSize));
  }
  bool is_loaded(int32_t tile) const { return is_loaded_[tile] != 0; }
  // Loads the node's tile unless it is loaded already.
  void ensure_loaded(int32_t node) const { ensure_tile_loaded(tile_of(node)); }
  void ensure_tile_loaded(int32_t tile) const {
    if (is_loaded_[tile]) [[likely]]
      return;
    is_loaded_[tile] = 1;
    loader_->load(*this, tile);
  }
  // Loads all tiles in the rows of tiles first..last - 1.
  void ensure_rows_loaded(int first, int last) const {
    const int columns = tiles_along(size_.width);
    for (int32_t tile = first * columns; tile < last * columns; ++tile) ensure_tile_loaded(tile);
  }

 private:
  // Returns the number of tiles along a side of the picture. `pixels` is the length of the side;
  // the border is added.
  static int tiles_along(int pixels) {
    return static_cast<int>((static_cast<int64_t>(pixels) + 2 + kTileSize - 1) / kTileSize);
  }
  static int32_t column(int x) {
    const auto at = static_cast<uint32_t>(x + 1);
    return static_cast<int32_t>(at / kTileSize * (kTileSize * kTileSize) + at % kTileSize);
  }

  Node* nodes_;  // [count_nodes(size)], tile by tile
  Size size_;
  int32_t nodes_per_tile_row_ = 0;
  // [position of a node in its tile][direction]: index of the neighbour minus index of the node.
  int32_t neighbour_offset_[kTileSize * kTileSize][kDirections] = {};
  uint8_t* is_loaded_;  // [count_tiles(size)], 0 if the tile must be loaded
  const TileLoader* loader_;
};

// A grid with any number of axes. Its nodes are stored in raster order, and all of them are loaded
// before the search. The caller surrounds the grid by nodes without residual capacity, so that each
// node has all its neighbours in memory. Directions come in opposite pairs, as in the enum
// Direction.
template <class N, int kDirections>
class ResidualVolume {
 public:
  using Numbers = N;
  using Node = maxflow::Node<N, kDirections>;
  static constexpr int kNeighbours = kDirections;

  // `steps` are the distances in memory to the neighbours, one per pair of directions. The
  // remaining directions are not used: their residual capacities must be 0.
  ResidualVolume(std::span<Node> nodes, std::span<const int32_t> steps) : nodes_(nodes) {
    for (size_t pair = 0; pair < steps.size(); ++pair) {
      step_[2 * pair] = steps[pair];
      step_[2 * pair + 1] = -steps[pair];
    }
  }

  static size_t count_nodes(size_t size) { return size; }
  size_t size() const { return nodes_.size(); }
  Node& operator[](int32_t node) const { return nodes_[static_cast<size_t>(node)]; }
  int32_t neighbour(int32_t node, int k) const { return node + step_[k]; }

 private:
  std::span<Node> nodes_;
  int32_t step_[kDirections] = {};  // [direction], index of the neighbour minus index of the node
};

// The operations that CutSearch requires from a graph.
template <class Grid>
concept ResidualGraph = requires(const Grid& grid, int32_t node, int k) {
  typename Grid::Numbers;
  { Grid::kNeighbours } -> std::convertible_to<int>;
  { grid[node] } -> std::same_as<typename Grid::Node&>;
  { grid.neighbour(node, k) } -> std::same_as<int32_t>;
};
// A graph that is loaded in tiles.
template <class Grid>
concept TiledGraph = ResidualGraph<Grid> && requires(const Grid& grid, int32_t node, int k) {
  grid.ensure_loaded(node);
  grid.ensure_rows_loaded(k, k);
};

// Statistics of the weights of several rows.
struct WeightSums {
  // Maximum over all pixels: sum of |terminal| and the capacities of all links of the pixel.
  int64_t max_sum = 0;
  bool has_negative = false;  // whether any capacity is negative

  void add(const WeightSums& other) {
    max_sum = std::max(max_sum, other.max_sum);
    has_negative |= other.has_negative;
  }
};

// The capacities of all links of a tile's pixels, computed by a LinkSource.
template <TiledGraph Grid>
class TileLinks {
 public:
  TileLinks(const LinkSource& source, const Grid& grid, int32_t tile)
      : first_x_(std::max(grid.pixels(tile).left - 1, 0)),
        first_y_(std::max(grid.pixels(tile).top - 1, 0)) {
    const auto area = grid.pixels(tile);
    const int last = std::min(area.right + 1, grid.size().width);
    for (int y = first_y_; y < area.bottom; ++y) source.write(y, first_x_, last, row(y));
  }
  int first_x() const { return first_x_; }
  LinkRow row(int y) {
    auto& row = capacity_[y - first_y_];
    return {row[0], row[1], row[2], row[3]};
  }

 private:
  int first_x_, first_y_;
  int32_t capacity_[Grid::kTileSize + 1][4][Grid::kTileSize + 2];
};

// The weights of one row of pixels and of its links.
template <int kNeighbours>
class WeightRow {
 public:
  // `zeros` is a row of zeros: the capacities of links to pixels outside the picture.
  WeightRow(const GridGraph& graph, int y, const int32_t* zeros)
      : WeightRow(graph, y, zeros, 0, [&](int row) -> Capacities {
          if constexpr (kNeighbours == 4) return {graph.right.row(row), graph.down.row(row)};
          return {graph.right.row(row), graph.down.row(row), graph.down_right.row(row),
                  graph.down_left.row(row)};
        }) {}
  template <class Grid>
  WeightRow(const GridGraph& graph, int y, const int32_t* zeros, TileLinks<Grid>& links)
      : WeightRow(graph, y, zeros, links.first_x(), [&](int row) -> Capacities {
          const LinkRow link = links.row(row);
          return {link.right, link.down, link.down_right, link.down_left};
        }) {}

  int32_t terminal(int x) const { return terminal_[x]; }

  // Writes the capacities of the links to all neighbours of pixel x, indexed by Direction.
  // kIsInside means that pixel x is neither the first nor the last pixel of the row.
  template <bool kIsInside = false>
  REGIONS_INLINE void capacities(int x, int32_t (&c)[kNeighbours]) const {
    const bool has_left = kIsInside || x > 0;
    const bool has_right = kIsInside || x + 1 < width_;
    const int i = x - first_x_;
    c[kRight] = has_right ? here_.right[i] : 0;
    c[kLeft] = has_left ? here_.right[i - 1] : 0;
    c[kDown] = here_.down[i];
    c[kUp] = above_.down[i];
    if constexpr (kNeighbours == 8) {
      c[kDownRight] = has_right ? here_.down_right[i] : 0;
      c[kUpLeft] = has_left ? above_.down_right[i - 1] : 0;
      c[kDownLeft] = has_left ? here_.down_left[i] : 0;
      c[kUpRight] = has_right ? above_.down_left[i + 1] : 0;
    }
  }

  REGIONS_INLINE WeightSums sums() const {
    // The sum of nine numbers below this limit fits into an int32. Few frames need 64 bits.
    constexpr uint32_t kNarrowLimit = uint32_t{1} << 27;
    const RowStatistics<int32_t> narrow = row_statistics<int32_t>();
    if (narrow.bits < kNarrowLimit) return {narrow.max_sum, false};
    const RowStatistics<int64_t> wide = row_statistics<int64_t>();
    return {wide.max_sum, wide.signs < 0};
  }

 private:
  // Statistics of a row. max_sum overflows if the type Wide is too narrow.
  template <class Wide>
  struct RowStatistics {
    uint32_t bits = 0;  // bitwise OR of all capacities and all |terminal|
    int32_t signs = 0;  // bitwise OR of all capacities; negative if any capacity is negative
    Wide max_sum = 0;
  };

  template <class Wide>
  REGIONS_INLINE RowStatistics<Wide> row_statistics() const {
    RowStatistics<Wide> all;
    add_pixels<false>(all, 0, 1);
    add_pixels<true>(all, 1, width_ - 1);
    add_pixels<false>(all, std::max(width_ - 1, 1), width_);
    return all;
  }

  template <bool kIsInside, class Wide>
  REGIONS_INLINE void add_pixels(RowStatistics<Wide>& all, int first, int last) const {
    using Sum = std::make_unsigned_t<Wide>;
    RowStatistics<Wide> here = all;
    for (int x = first; x < last; ++x) {
      int32_t capacity[kNeighbours];
      capacities<kIsInside>(x, capacity);
      const int32_t terminal = terminal_[x];
      const uint32_t magnitude =
          terminal < 0 ? 0 - static_cast<uint32_t>(terminal) : static_cast<uint32_t>(terminal);
      Sum sum = magnitude;
      here.bits |= magnitude;
      for (const int32_t c : capacity) {
        here.bits |= static_cast<uint32_t>(c);
        here.signs |= c;
        sum += static_cast<Sum>(c);
      }
      here.max_sum = std::max(here.max_sum, static_cast<Wide>(sum));
    }
    all = here;
  }

  // Rows of capacities, from pixel first_x_ on.
  struct Capacities {
    const int32_t* right = nullptr;
    const int32_t* down = nullptr;
    const int32_t* down_right = nullptr;
    const int32_t* down_left = nullptr;
  };

  template <std::invocable<int> Row>
  WeightRow(const GridGraph& graph, int y, const int32_t* zeros, int first_x, Row row)
      : width_(graph.terminal.width),
        first_x_(first_x),
        terminal_(graph.terminal.row(y)),
        here_(row(y)) {
    const Capacities none = {zeros, zeros, zeros, zeros};
    above_ = y == 0 ? none : row(y - 1);
    if (y == graph.terminal.height - 1) {
      here_.down = here_.down_right = here_.down_left = zeros;
    }
  }

  int width_;
  int first_x_;
  const int32_t* terminal_;
  Capacities here_, above_;  // capacities that are stored for this row and for the row above
};

// Returns the last frame's flow from a node over the link in direction k, clamped to the link's new
// capacity. The flow in tiles that were not loaded is 0.
template <TiledGraph Grid>
int64_t last_flow(const Grid& last, int32_t index, int k, int64_t capacity) {
  const int32_t neighbour = last.neighbour_index(index, k);
  if (!last.is_loaded(last.tile_of(index)) || !last.is_loaded(last.tile_of(neighbour))) return 0;
  // The residual capacities are capacity - flow and capacity + flow.
  const auto forward = static_cast<int64_t>(last[index].residual[k]);
  const auto backward = static_cast<int64_t>(last[neighbour].residual[opposite(k)]);
  return std::clamp<int64_t>((backward - forward) / 2, -capacity, capacity);
}

// Values of a mask while the frame is solved: whether a pixel is in a source tree, in a sink tree,
// or in no tree.
inline constexpr uint8_t kInSource = GridCut::kForeground;
inline constexpr uint8_t kInSink = GridCut::kBackground;
inline constexpr uint8_t kFree = 1;

// Returns the mask value of a pixel with this excess or terminal weight.
constexpr uint8_t root_mark(int64_t excess) {
  return excess > 0 ? kInSource : excess < 0 ? kInSink : kFree;
}

// Loads tiles from the weights of a frame. If kWarm is true, the loader keeps the flow of the last
// frame, whose grid is `last`, as far as the new capacities allow. This is the re-parameterisation
// of Kohli and Torr, "Dynamic graph cuts for efficient inference in Markov random fields", 2007.
// Weights that exceed the grid's number types are truncated.
template <bool kWarm, TiledGraph Grid>
class WeightLoader final : public Grid::TileLoader {
 public:
  WeightLoader(const GridGraph& graph, const int32_t* zeros, const Grid* last)
      : graph_(graph), zeros_(zeros), last_(last) {}

  void load(const Grid& grid, int32_t tile) const override {
    typename Grid::Node outside{};
    outside.parent = kNoParent;
    const auto nodes = grid.nodes(tile);
    std::fill(nodes.begin(), nodes.end(), outside);
    std::optional<TileLinks<Grid>> links;
    if (graph_.links) links.emplace(*graph_.links, grid, tile);
    int row = -1;
    std::optional<WeightRow<Grid::kNeighbours>> weights;
    grid.for_each_pixel(tile, [&](int x, int y, typename Grid::Node& node) {
      if (std::exchange(row, y) != y) {
        if (links) {
          weights.emplace(graph_, y, zeros_, *links);
        } else {
          weights.emplace(graph_, y, zeros_);
        }
      }
      load_node(grid, *weights, x, y, node);
    });
  }

 private:
  void load_node(const Grid& grid, const WeightRow<Grid::kNeighbours>& weights, int x, int y,
                 typename Grid::Node& node) const {
    using Residual = typename Grid::Numbers::Residual;
    using Excess = typename Grid::Numbers::Excess;
    // Without the flow of the last frame, the excess is the terminal weight and fits into 32 bits.
    using Wide = std::conditional_t<kWarm, int64_t, int32_t>;
    int32_t capacity[Grid::kNeighbours];
    weights.capacities(x, capacity);
    Wide excess = weights.terminal(x);
    for (int k = 0; k < Grid::kNeighbours; ++k) {
      Wide flow = 0;
      if constexpr (kWarm) {
        flow = last_flow(*last_, grid.index(x, y), k, std::max(capacity[k], 0));
        excess -= flow;
      }
      node.residual[k] = static_cast<Residual>(capacity[k] - flow);
    }
    node.excess = static_cast<Excess>(excess);
    node.parent = excess != 0 ? kRoot : kNoParent;
    node.label = (excess > 0) - (excess < 0);
  }

  const GridGraph& graph_;
  const int32_t* zeros_;  // [width], a row of zeros, see WeightRow
  const Grid* last_;
};

}  // namespace regions::maxflow

// Weights: a frame's weights become a residual graph, either without flow or with as much of the
// last frame's flow as they allow; tile by tile, as they are asked for.
#pragma once

#include <algorithm>
#include <optional>
#include <utility>

#include "core/maxflow/maxflow.hpp"
#include "cpu/simd.hpp"
#include "cpu/maxflow/lattice.hpp"

namespace regions::maxflow {

// What is known of the weights after reading rows of them.
struct WeightSums {
  int64_t most = 0;           // largest |terminal| + incident capacities
  bool has_negative = false;  // capacity

  void add(const WeightSums& other) {
    most = std::max(most, other.most);
    has_negative |= other.has_negative;
  }
};

// Capacities of pixels around a tile, which a LinkSource wrote.
template <ResidualLattice L>
class TileLinks {
 public:
  TileLinks(const LinkSource& source, const L& lattice, int32_t tile)
      : first_x_(std::max(lattice.pixels(tile).left - 1, 0)),
        first_y_(std::max(lattice.pixels(tile).top - 1, 0)) {
    const auto of = lattice.pixels(tile);
    const int last = std::min(of.right + 1, lattice.size().width);
    for (int y = first_y_; y < of.bottom; ++y) source.write(y, first_x_, last, row(y));
  }
  int first_x() const { return first_x_; }
  LinkRow row(int y) {
    auto& row = capacity_[y - first_y_];
    return {row[0], row[1], row[2], row[3]};
  }

 private:
  int first_x_, first_y_;
  int32_t capacity_[L::kTile + 1][4][L::kTile + 2];
};

// The weights around one row of pixels.
template <int kNeighbours>
class WeightRow {
 public:
  // `nothing` is a row of zeros, for what lies outside the picture.
  WeightRow(const GridGraph& graph, int y, const int32_t* nothing)
      : WeightRow(graph, y, nothing, 0, [&](int row) -> Capacities {
          if constexpr (kNeighbours == 4) return {graph.right.row(row), graph.down.row(row)};
          return {graph.right.row(row), graph.down.row(row), graph.down_right.row(row),
                  graph.down_left.row(row)};
        }) {}
  template <class L>
  WeightRow(const GridGraph& graph, int y, const int32_t* nothing, TileLinks<L>& links)
      : WeightRow(graph, y, nothing, links.first_x(), [&](int row) -> Capacities {
          const LinkRow of = links.row(row);
          return {of.right, of.down, of.down_right, of.down_left};
        }) {}

  int32_t terminal(int x) const { return terminal_[x]; }

  // By Direction. `kInside`: the pixel is not at either end of the row.
  template <bool kInside = false>
  REGIONS_INLINE void capacities(int x, int32_t (&c)[kNeighbours]) const {
    const bool has_left = kInside || x > 0;
    const bool has_right = kInside || x + 1 < width_;
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
    // Nine of them stay within an int32: most frames need not be counted in 64 bits.
    constexpr uint32_t kSmall = uint32_t{1} << 27;
    const Tally<int32_t> quick = tally<int32_t>();
    if (quick.bits < kSmall) return {quick.most, false};
    const Tally<int64_t> sure = tally<int64_t>();
    return {sure.most, sure.signs < 0};
  }

 private:
  // Sums are wrong if Wide is too narrow.
  template <class Wide>
  struct Tally {
    uint32_t bits = 0;  // that any weight has, without the signs of terminals
    int32_t signs = 0;  // of capacities
    Wide most = 0;
  };

  template <class Wide>
  REGIONS_INLINE Tally<Wide> tally() const {
    Tally<Wide> all;
    add_to<false>(all, 0, 1);
    add_to<true>(all, 1, width_ - 1);
    add_to<false>(all, std::max(width_ - 1, 1), width_);
    return all;
  }

  template <bool kInside, class Wide>
  REGIONS_INLINE void add_to(Tally<Wide>& all, int first, int last) const {
    using Sum = std::make_unsigned_t<Wide>;
    Tally<Wide> here = all;
    for (int x = first; x < last; ++x) {
      int32_t capacity[kNeighbours];
      capacities<kInside>(x, capacity);
      const int32_t t = terminal_[x];
      const uint32_t size = t < 0 ? 0 - static_cast<uint32_t>(t) : static_cast<uint32_t>(t);
      Sum sum = size;
      here.bits |= size;
      for (const int32_t c : capacity) {
        here.bits |= static_cast<uint32_t>(c);
        here.signs |= c;
        sum += static_cast<Sum>(c);
      }
      here.most = std::max(here.most, static_cast<Wide>(sum));
    }
    all = here;
  }

  // From the pixel at first_x_ on.
  struct Capacities {
    const int32_t* right = nullptr;
    const int32_t* down = nullptr;
    const int32_t* down_right = nullptr;
    const int32_t* down_left = nullptr;
  };

  template <std::invocable<int> Row>
  WeightRow(const GridGraph& graph, int y, const int32_t* nothing, int first_x, Row row)
      : width_(graph.terminal.width),
        first_x_(first_x),
        terminal_(graph.terminal.row(y)),
        here_(row(y)) {
    const Capacities none = {nothing, nothing, nothing, nothing};
    above_ = y == 0 ? none : row(y - 1);
    if (y == graph.terminal.height - 1) {
      here_.down = here_.down_right = here_.down_left = nothing;
    }
  }

  int width_;
  int first_x_;
  const int32_t* terminal_;
  Capacities here_, above_;
};

// What is known of a row's weights.
WeightSums sums_of(const WeightRow<4>& row);
WeightSums sums_of(const WeightRow<8>& row);

// Flow from a node over its link k in the last frame, clamped to the link's new capacity. None came
// to tiles that were not read.
template <ResidualLattice L>
int64_t flow_kept(const L& last, int32_t index, int k, int64_t capacity) {
  const int32_t beside = last.beside(index, k);
  if (!last.is_read(last.tile_of(index)) || !last.is_read(last.tile_of(beside))) return 0;
  // Both directions together have twice the capacity left.
  const auto there = static_cast<int64_t>(last[index].residual[k]);
  const auto back = static_cast<int64_t>(last[beside].residual[opposite(k)]);
  return std::clamp<int64_t>((back - there) / 2, -capacity, capacity);
}

// Values of a mask while the frame is solved: whose tree a pixel is in.
inline constexpr uint8_t kInSource = GridCut::kForeground;
inline constexpr uint8_t kInSink = GridCut::kBackground;
inline constexpr uint8_t kFree = 1;

// By the excess of a root, or the terminal weight that it comes from.
constexpr uint8_t root_mark(int64_t excess) {
  return excess > 0 ? kInSource : excess < 0 ? kInSink : kFree;
}

// The marks of a row of pixels without flow.
void mark_roots(const int32_t* terminal, int width, uint8_t* marks);

// Reads tiles of weights. With `last`, a lattice of the frame before, its flow is kept as far as
// the new capacities allow: Kohli and Torr's re-parameterisation ("Dynamic graph cuts for efficient
// inference in Markov random fields", 2007). Numbers too large are only cut off.
template <bool kWarm, ResidualLattice L>
class TileReader final : public L::Reader {
 public:
  TileReader(const GridGraph& graph, const int32_t* nothing, const L* last)
      : graph_(graph), nothing_(nothing), last_(last) {}

  void read(const L& lattice, int32_t tile) const override {
    typename L::Node outside{};
    outside.parent = kNone;
    const auto nodes = lattice.nodes(tile);
    std::fill(nodes.begin(), nodes.end(), outside);
    std::optional<TileLinks<L>> links;
    if (graph_.links) links.emplace(*graph_.links, lattice, tile);
    int row = -1;
    std::optional<WeightRow<L::kNeighbours>> weights;
    lattice.for_each(tile, [&](int x, int y, typename L::Node& node) {
      if (std::exchange(row, y) != y) {
        if (links) {
          weights.emplace(graph_, y, nothing_, *links);
        } else {
          weights.emplace(graph_, y, nothing_);
        }
      }
      read_node(lattice, *weights, x, y, node);
    });
  }

 private:
  void read_node(const L& lattice, const WeightRow<L::kNeighbours>& weights, int x, int y,
                 typename L::Node& node) const {
    using Residual = typename L::Numbers::Residual;
    using Excess = typename L::Numbers::Excess;
    // Without an old flow the terminal weight is all there is.
    using Wide = std::conditional_t<kWarm, int64_t, int32_t>;
    int32_t capacity[L::kNeighbours];
    weights.capacities(x, capacity);
    Wide excess = weights.terminal(x);
    for (int k = 0; k < L::kNeighbours; ++k) {
      Wide flow = 0;
      if constexpr (kWarm) {
        flow = flow_kept(*last_, lattice.index(x, y), k, std::max(capacity[k], 0));
        excess -= flow;
      }
      node.residual[k] = static_cast<Residual>(capacity[k] - flow);
    }
    node.excess = static_cast<Excess>(excess);
    node.parent = excess != 0 ? kRoot : kNone;
    node.label = (excess > 0) - (excess < 0);
  }

  const GridGraph& graph_;
  const int32_t* nothing_;  // [width], zeros
  const L* last_;
};

}  // namespace regions::maxflow

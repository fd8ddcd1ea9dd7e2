// Finds a minimum cut: grows the trees of both sides until they meet, and augments the flow along
// each path between them.
//
// Incremental breadth-first search with excesses: Goldberg, Hed, Kaplan, Kohli, Tarjan and Werneck,
// "Faster and more dynamic maximum flow by incremental breadth-first search", ESA 2015. One side
// grows at a time, level by level. When it meets the other side at a link, all flow that the path
// to this link can carry is pushed across the link and on towards the root of the other side's
// tree. If a link on the way becomes full, the remaining flow stays as a surplus in the node before
// that link. If this node finds no other parent, it becomes a root of the growing side.
//
// A node is active if it must still be scanned for links out of its trees. When one side has no
// active nodes, no residual path leads from the source trees to the sink trees, so the cut is
// minimal. There are three reasons: a node becomes inactive only after all its links out of the
// trees are full; flow never returns between the sides; and if a node leaves the trees, its
// neighbours are activated again.
//
// One frame is cut by several threads in two steps. First, each thread solves chunks of rows
// without the links at the seams, which are the borders between chunks. Then the links at the seams
// are restored, and one search continues from the state of the chunks. The method follows Liu and
// Sun, "Parallel graph-cuts by adaptive bottom-up merging", CVPR 2010.
#include "cpu/maxflow/cut_search.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "cpu/maxflow/search_trees.hpp"

namespace regions::maxflow {
namespace {

// Searches the minimum cut of one chunk of rows, or of all rows.
template <ResidualGraph Grid>
class CutSearch : private OrphanAdoption<Grid> {
 public:
  using SearchTrees = maxflow::SearchTrees<Grid>;
  using Node = typename SearchTrees::Node;

  using OrphanAdoption<Grid>::OrphanAdoption;

  // Activates the roots of row y that have a neighbour with another label. `mask` marks the roots.
  void activate_row(int y, Image<const uint8_t> mask) {
    constexpr int kPixelsAtOnce = 8;  // number of pixels compared at a time
    const uint8_t* rows[3];
    for (int i = 0; i < 3; ++i) rows[i] = mask.row(std::clamp(y + i - 1, 0, mask.height - 1));
    const auto word = [&](int x, int row) {
      uint64_t pixels;
      std::memcpy(&pixels, rows[row] + x, sizeof pixels);
      return pixels;
    };
    for (int x = 0; x < mask.width;) {
      const bool inside = x > 0 && x + kPixelsAtOnce < mask.width;
      if (inside) {
        uint64_t differences = 0;
        for (int k = 0; k < kNeighbours; ++k) {
          differences |= word(x, 1) ^ word(x + step_x(k), 1 + step_y(k));
        }
        if (differences == 0) {
          x += kPixelsAtOnce;
          continue;
        }
      }
      for (const int end = inside ? x + kPixelsAtOnce : x + 1; x < end; ++x) {
        const int32_t index = grid_.index(x, y);
        grid_.ensure_loaded(index);
        if (has_neighbour_with_other_label(index)) activate(index);
      }
    }
  }

  // Activates all roots that have a neighbour with another label.
  void activate_roots() {
    for (int32_t index = 0; index < static_cast<int32_t>(grid_.size()); ++index) {
      if (grid_[index].label != 0 && has_neighbour_with_other_label(index)) activate(index);
    }
  }

  // Activates a node on its side.
  void activate(int32_t index) {
    const int32_t label = grid_[index].label;
    if (label > 0) SearchTrees::template activate<Side::source>(index);
    if (label < 0) SearchTrees::template activate<Side::sink>(index);
  }

  // Continues with trees that other CutSearch objects have grown.
  void resume(const SearchResult& result) {
    source_.level = source_.limit = result.source_level;
    sink_.level = sink_.limit = result.sink_level;
    passes_ = result.passes;
  }

  // Deactivates all nodes and returns them. The list is valid until another search runs in the same
  // memory. If the search has not finished, only nodes of the source side are returned.
  NodeList take_active_nodes() {
    NodeList nodes = new_orphans_;
    while (!source_.active.empty()) nodes.push(SearchTrees::template pop_active<Side::source>());
    // After a finished search only one side has active nodes, so all of them fit into the list.
    while (!sink_.active.empty()) {
      const int32_t index = SearchTrees::template pop_active<Side::sink>();
      if (finished_) nodes.push(index);
    }
    return nodes;
  }

  // Searches until the cut is minimal or the deadline has passed. The flow is valid in both cases.
  SearchResult run(const Deadline& deadline) {
    finished_ = grow_alternately(deadline);
    return {source_.level, sink_.level, passes_, finished_};
  }

 private:
  using SideState = typename SearchTrees::SideState;
  using Amount = typename SearchTrees::Amount;
  using SearchTrees::grid_;
  using SearchTrees::kNeighbours;
  using SearchTrees::make_orphan;
  using SearchTrees::new_orphans_;
  using SearchTrees::sink_;
  using SearchTrees::source_;
  using SearchTrees::surplus_nodes_;
  using SearchTrees::visits_;
  // The clock is read each time visits_ has increased by this number.
  static constexpr int64_t kVisitsPerClockCheck = 4096;

  // Returns whether a node has a residual link to a neighbour with another label.
  bool has_neighbour_with_other_label(int32_t index) const {
    const Node& node = grid_[index];
    const int32_t label = node.label;
    for (int k = 0; k < kNeighbours; ++k) {
      const Node& neighbour = grid_[grid_.neighbour(index, k)];
      if ((label > 0 ? node.residual[k] : neighbour.residual[opposite(k)]) != 0 &&
          neighbour.label != label) {
        return true;
      }
    }
    return false;
  }

  // Runs passes until the cut is minimal. In each pass, the side grows that will have visited fewer
  // neighbours after the pass. Therefore a small object is cut with work inside the object only,
  // and each side grows half of a long path. Returns false if the deadline has passed.
  bool grow_alternately(const Deadline& deadline) {
    while (!source_.active.empty() && !sink_.active.empty()) {
      if (passes_ >= deadline.max_iterations || Clock::now() >= deadline.time) return false;
      ++passes_;
      const auto visits_after_pass = [](const SideState& side) {
        return side.visits + int64_t{side.active.size()} * kNeighbours;
      };
      const bool in_time = visits_after_pass(source_) <= visits_after_pass(sink_)
                               ? grow_level<Side::source>(deadline)
                               : grow_level<Side::sink>(deadline);
      if (!in_time) return false;
    }
    return true;
  }

  // Runs one pass of side s: scans all active nodes. Returns false if the deadline has passed.
  template <Side s>
  bool grow_level(const Deadline& deadline) {
    SideState& side = SearchTrees::template state<s>();
    side.limit = side.level + 1;
    const int64_t visits_before = visits_;
    for (int32_t remaining = side.active.size(); remaining != 0; --remaining) {
      if (visits_ >= next_clock_check_) {
        if (Clock::now() >= deadline.time) return false;
        next_clock_check_ = visits_ + kVisitsPerClockCheck;
      }
      const int32_t index = SearchTrees::template pop_active<s>();
      scan_node<s>(index);
      if (SearchTrees::template level_of<s>(grid_[index]) > side.level) {
        SearchTrees::template activate<s>(index);
      }
    }
    side.level = side.limit;
    side.visits += visits_ - visits_before;
    return true;
  }

  // Adds the neighbours that are in no tree to the tree of a node, and augments the flow to
  // neighbours of the other side.
  template <Side s>
  void scan_node(int32_t index) {
    SideState& side = SearchTrees::template state<s>();
    Node& node = grid_[index];
    // An augmentation can make the node an orphan, which then gets a higher level or leaves the
    // trees.
    const auto is_in_scanned_levels = [&] {
      const int32_t level = SearchTrees::template level_of<s>(node);
      return level > 0 && level <= side.level;
    };
    if (!is_in_scanned_levels()) return;
    visits_ += kNeighbours;
    for (int k = 0; k < kNeighbours; ++k) {
      const int32_t neighbour = grid_.neighbour(index, k);
      Node& next = grid_[neighbour];
      const auto& capacity = SearchTrees::template outward_residual<s>(node, k, next);
      while (capacity != 0 && SearchTrees::template level_of<s>(next) < 0) {
        augment<s>(index, k, neighbour);
        if (!is_in_scanned_levels()) return;
      }
      if (capacity == 0 || next.label != 0) continue;
      SearchTrees::template set_level<s>(next, SearchTrees::template level_of<s>(node) + 1);
      next.parent = static_cast<uint8_t>(opposite(k));
      SearchTrees::template activate<s>(neighbour);
    }
  }

  // Pushes flow, in the direction from source to sink, over the link between a node of side s and
  // its neighbour in direction k. The neighbour is a child of the node or belongs to the other
  // side.
  template <Side s>
  static void push_flow(Node& node, int k, Node& neighbour, Amount amount) {
    using Residual = typename Grid::Numbers::Residual;
    Node& from = s == Side::source ? node : neighbour;
    Node& to = s == Side::source ? neighbour : node;
    const int direction = s == Side::source ? k : opposite(k);
    from.residual[direction] =
        static_cast<Residual>(from.residual[direction] - static_cast<Residual>(amount));
    to.residual[opposite(direction)] =
        static_cast<Residual>(to.residual[opposite(direction)] + static_cast<Residual>(amount));
  }

  // Increases the surplus of a node of side s; `amount` may be negative.
  template <Side s>
  static void add_surplus(Node& node, Amount amount) {
    using Excess = typename Grid::Numbers::Excess;
    node.excess =
        static_cast<Excess>(s == Side::source ? node.excess - amount : node.excess + amount);
  }

  // Augments the flow over the link in direction k from `node` to `to`, a node of the other side.
  // The amount is the flow that the path from the root of `node` to `to` can carry. Then pushes
  // this amount on towards the root of `to`.
  template <Side s>
  void augment(int32_t node, int k, int32_t to) {
    auto amount =
        static_cast<Amount>(SearchTrees::template outward_residual<s>(grid_[node], k, grid_[to]));
    int32_t root = node;
    while (grid_[root].parent != kRoot) {
      Node& child = grid_[root];
      root = grid_.neighbour(root, child.parent);
      amount = std::min(amount, static_cast<Amount>(SearchTrees::template outward_residual<s>(
                                    grid_[root], opposite(child.parent), child)));
      visits_ += 2;
    }
    amount = std::min(amount, -SearchTrees::template surplus<s>(grid_[root]));

    push_flow<s>(grid_[node], k, grid_[to], amount);
    for (int32_t index = node; index != root;) {
      Node& child = grid_[index];
      const int32_t parent = grid_.neighbour(index, child.parent);
      const int to_child = opposite(child.parent);
      push_flow<s>(grid_[parent], to_child, child, amount);
      if (SearchTrees::template outward_residual<s>(grid_[parent], to_child, child) == 0)
        make_orphan(index);
      index = parent;
    }
    add_surplus<s>(grid_[root], amount);
    if (grid_[root].excess == 0) make_orphan(root);
    this->template adopt_orphans<s>();

    add_surplus<other(s)>(grid_[to], amount);
    push_to_root<other(s)>(to);
    push_surpluses<other(s)>();
  }

  // Pushes the surpluses of nodes that have found new parents, until no such node is left.
  template <Side s>
  void push_surpluses() {
    for (this->template adopt_orphans<s>(); !surplus_nodes_.empty();
         this->template adopt_orphans<s>()) {
      while (!surplus_nodes_.empty()) push_to_root<s>(surplus_nodes_.pop());
    }
  }

  // Pushes a node's surplus towards its root as far as the links have capacity.
  template <Side s>
  void push_to_root(int32_t index) {
    for (;;) {
      Node& node = grid_[index];
      const Amount surplus = SearchTrees::template surplus<s>(node);
      if (node.parent == kRoot) {
        if (surplus >= 0) make_orphan(index);
        return;
      }
      if (surplus <= 0 || node.parent == kOrphan) return;
      const int32_t parent = grid_.neighbour(index, node.parent);
      const int to_child = opposite(node.parent);
      const auto& capacity =
          SearchTrees::template outward_residual<s>(grid_[parent], to_child, node);
      const Amount amount = std::min(surplus, static_cast<Amount>(capacity));
      push_flow<s>(grid_[parent], to_child, node, amount);
      add_surplus<s>(node, -amount);
      add_surplus<s>(grid_[parent], amount);
      if (capacity == 0) make_orphan(index);
      ++visits_;
      index = parent;
    }
  }

  int64_t next_clock_check_ = 0;  // value of visits_ at which the clock is read next
  int passes_ = 0;
  bool finished_ = true;
};

// The rows first_row..end_row - 1 of chunk i of `count` chunks. A chunk consists of whole rows of
// tiles, so chunks have no nodes in common.
template <TiledGraph Grid>
struct RowChunk {
  RowChunk(Size size, int count, int i)
      : first_tile_row(static_cast<int>(int64_t{Grid::tile_rows(size)} * i / count)),
        end_tile_row(static_cast<int>(int64_t{Grid::tile_rows(size)} * (i + 1) / count)),
        first_row(Grid::first_row(size, first_tile_row)),
        end_row(Grid::first_row(size, end_tile_row)) {}
  int first_tile_row;
  int end_tile_row;
  int first_row;
  int end_row;
};

// Calls f(upper, k, lower) for each link between the rows y - 1 and y.
template <TiledGraph Grid, std::invocable<int32_t, int, int32_t> F>
void for_each_seam_link(const Grid& grid, int y, F f) {
  for (int k = kDown; k < Grid::kNeighbours; k += 2) {  // all directions to the next row
    for (int x = 0; x < grid.size().width; ++x) {
      const int32_t upper = grid.index(x, y - 1);
      f(upper, k, grid.neighbour(upper, k));
    }
  }
}

// Solves a frame with several threads, until the cut is minimal or the deadline has passed.
template <TiledGraph Grid>
struct ParallelSearch {
  using Residual = typename Grid::Numbers::Residual;

  Grid grid;
  Image<const uint8_t> mask;  // marks the roots, see find_minimum_cut()
  SearchBuffers buffers;
  const Workers& workers;
  Deadline deadline;

  SearchResult solve() {
    const int chunks = chunk_count(grid.size(), workers);
    for (int i = 1; i < chunks; ++i) remove_seam_links(i, RowChunk<Grid>(grid.size(), chunks, i));
    std::array<ChunkResult, kMaxChunks> results;
    workers.parallel_for(chunks, [&](int i) {
      results[static_cast<size_t>(i)] = solve_chunk(RowChunk<Grid>(grid.size(), chunks, i));
    });
    return chunks == 1 ? results[0].result : solve_whole_frame(chunks, results);
  }

 private:
  struct ChunkResult {
    SearchResult result;
    NodeList active_nodes;
  };

  ChunkResult solve_chunk(const RowChunk<Grid>& chunk) {
    const int32_t first = grid.nodes_before(chunk.first_tile_row);
    CutSearch<Grid> search(grid, first, grid.nodes_before(chunk.end_tile_row) - first,
                           buffers.trees);
    for (int y = chunk.first_row; y < chunk.end_row; ++y) search.activate_row(y, mask);
    const SearchResult result = search.run(deadline);
    return {result, search.take_active_nodes()};
  }

  // Sets the residual capacities of the links at the upper seam of chunk i to 0 and stores the
  // previous values. Also loads the tiles on both sides of the seam, so that no thread loads tiles
  // of another chunk later.
  void remove_seam_links(int i, const RowChunk<Grid>& chunk) {
    grid.ensure_rows_loaded(chunk.first_tile_row - 1, chunk.first_tile_row + 1);
    int64_t* capacity =
        buffers.seam_residuals + static_cast<size_t>(i - 1) * seam_size(grid.size());
    for_each_seam_link(grid, chunk.first_row, [&](int32_t upper, int k, int32_t lower) {
      *capacity++ = static_cast<int64_t>(std::exchange(grid[upper].residual[k], Residual{}));
      *capacity++ =
          static_cast<int64_t>(std::exchange(grid[lower].residual[opposite(k)], Residual{}));
    });
  }

  // Restores the links at the seams. One search continues with the nodes that are active in the
  // chunks and with the nodes at the seams.
  SearchResult solve_whole_frame(int chunks, const std::array<ChunkResult, kMaxChunks>& results) {
    SearchResult all;
    for (int i = 0; i < chunks; ++i) all.add(results[static_cast<size_t>(i)].result);
    CutSearch<Grid> search(grid, 0, static_cast<int32_t>(Grid::count_nodes(grid.size())),
                           buffers.trees);
    search.resume(all);
    for (int i = 0; i < chunks; ++i) {
      for (const int32_t node : results[static_cast<size_t>(i)].active_nodes) search.activate(node);
    }
    for (int i = 1; i < chunks; ++i) {
      const int64_t* capacity =
          buffers.seam_residuals + static_cast<size_t>(i - 1) * seam_size(grid.size());
      for_each_seam_link(grid, RowChunk<Grid>(grid.size(), chunks, i).first_row,
                         [&](int32_t upper, int k, int32_t lower) {
                           grid[upper].residual[k] = static_cast<Residual>(*capacity++);
                           grid[lower].residual[opposite(k)] = static_cast<Residual>(*capacity++);
                           search.activate(upper);
                           search.activate(lower);
                         });
    }
    SearchResult result = search.run(deadline);
    result.finished &= all.finished;
    return result;
  }
};

}  // namespace

template <TiledGraph Grid>
SearchResult find_minimum_cut(const Grid& grid, Image<const uint8_t> mask,
                              const SearchBuffers& buffers, const Workers& workers,
                              const Deadline& deadline) {
  return ParallelSearch<Grid>{grid, mask, buffers, workers, deadline}.solve();
}

template <class N, int kDirections>
void find_minimum_cut(const ResidualVolume<N, kDirections>& volume, std::byte* trees) {
  CutSearch<ResidualVolume<N, kDirections>> search(volume, 0, static_cast<int32_t>(volume.size()),
                                                   trees);
  search.activate_roots();
  search.run({});
}

template void find_minimum_cut(const ResidualVolume<NumberTypes<int32_t>, 6>&, std::byte*);
template void find_minimum_cut(const ResidualVolume<NumberTypes<int32_t>, 8>&, std::byte*);
template void find_minimum_cut(const ResidualVolume<NumberTypes<int32_t>, 26>&, std::byte*);
template void find_minimum_cut(const ResidualVolume<NumberTypes<int64_t>, 6>&, std::byte*);
template void find_minimum_cut(const ResidualVolume<NumberTypes<int64_t>, 8>&, std::byte*);
template void find_minimum_cut(const ResidualVolume<NumberTypes<int64_t>, 26>&, std::byte*);
template SearchResult find_minimum_cut(const ResidualGrid<NumberTypes<int16_t>, 4>&,
                                       Image<const uint8_t>, const SearchBuffers&, const Workers&,
                                       const Deadline&);
template SearchResult find_minimum_cut(const ResidualGrid<NumberTypes<int16_t>, 8>&,
                                       Image<const uint8_t>, const SearchBuffers&, const Workers&,
                                       const Deadline&);
template SearchResult find_minimum_cut(const ResidualGrid<NumberTypes<int32_t>, 4>&,
                                       Image<const uint8_t>, const SearchBuffers&, const Workers&,
                                       const Deadline&);
template SearchResult find_minimum_cut(const ResidualGrid<NumberTypes<int32_t>, 8>&,
                                       Image<const uint8_t>, const SearchBuffers&, const Workers&,
                                       const Deadline&);
template SearchResult find_minimum_cut(const ResidualGrid<NumberTypes<int64_t>, 4>&,
                                       Image<const uint8_t>, const SearchBuffers&, const Workers&,
                                       const Deadline&);
template SearchResult find_minimum_cut(const ResidualGrid<NumberTypes<int64_t>, 8>&,
                                       Image<const uint8_t>, const SearchBuffers&, const Workers&,
                                       const Deadline&);

}  // namespace regions::maxflow

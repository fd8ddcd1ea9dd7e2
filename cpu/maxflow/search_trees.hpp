// The search trees of the max-flow search: two forests over the residual graph. One forest grows
// from pixels with excess (the source side), the other forest from pixels that can still send flow
// to the sink (the sink side).
//
// Labels are levels. The level of a node never exceeds its distance from a root: Goldberg, Hed,
// Kaplan, Tarjan and Werneck, "Maximum flows by incremental breadth-first search", ESA 2011. The
// terms "active", "orphan" and "adoption" come from Boykov and Kolmogorov, "An experimental
// comparison of min-cut/max-flow algorithms", PAMI 2004.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>

#include "cpu/maxflow/residual_grid.hpp"

namespace regions::maxflow {

// A first-in, first-out queue in memory that the caller provides. It cannot overflow, because a
// node is in a queue at most once.
class NodeQueue {
 public:
  void set_memory(int32_t* nodes, int32_t count) {
    nodes_ = nodes;
    capacity_ = count;
    head_ = size_ = 0;
  }
  bool empty() const { return size_ == 0; }
  int32_t size() const { return size_; }
  void push(int32_t node) {
    int32_t position = head_ + size_++;
    if (position >= capacity_) position -= capacity_;
    nodes_[position] = node;
  }
  int32_t pop() {
    const int32_t node = nodes_[head_];
    if (++head_ == capacity_) head_ = 0;
    --size_;
    return node;
  }

 private:
  int32_t* nodes_ = nullptr;
  int32_t capacity_ = 0;
  int32_t head_ = 0;
  int32_t size_ = 0;
};

// A stack in memory that the caller provides, large enough for all nodes.
class NodeList {
 public:
  void set_memory(int32_t* nodes) {
    nodes_ = nodes;
    size_ = 0;
  }
  bool empty() const { return size_ == 0; }
  int32_t size() const { return size_; }
  int32_t operator[](int32_t i) const { return nodes_[i]; }
  int32_t back() const { return nodes_[size_ - 1]; }
  int32_t* begin() const { return nodes_; }
  int32_t* end() const { return nodes_ + size_; }
  void push(int32_t node) { nodes_[size_++] = node; }
  int32_t pop() { return nodes_[--size_]; }
  void clear() { size_ = 0; }

 private:
  int32_t* nodes_ = nullptr;
  int32_t size_ = 0;
};

enum class Side : uint8_t { source, sink };

constexpr Side other(Side s) { return s == Side::source ? Side::sink : Side::source; }

// The search trees and the lists of nodes that await processing. Most functions have the side s as
// template argument.
template <ResidualGraph Grid>
class SearchTrees {
 public:
  using Node = typename Grid::Node;
  using Amount = typename Grid::Numbers::Amount;

  // An orphan that waits until all nodes of lower levels have a parent.
  struct DeferredOrphan {
    int32_t level;
    int32_t node;
    bool operator<(const DeferredOrphan& o) const {
      return level != o.level ? level > o.level : node > o.node;
    }
  };

  // Returns the size of the working memory for a grid of `nodes` nodes, in bytes.
  static constexpr size_t bytes(size_t nodes) {
    return nodes * (kNodeLists * sizeof(int32_t) + sizeof(DeferredOrphan));
  }

  // The object uses only the nodes first..first + count - 1 and the part of `memory` for these
  // nodes. Objects for other nodes may use the other parts of `memory` concurrently.
  SearchTrees(const Grid& grid, int32_t first, int32_t count, std::byte* memory) : grid_(grid) {
    const size_t all = Grid::count_nodes(grid.size());
    deferred_orphans_ = reinterpret_cast<DeferredOrphan*>(memory) + first;
    auto* lists = reinterpret_cast<int32_t*>(memory + all * sizeof(DeferredOrphan)) + first;
    const auto next = [&] { return std::exchange(lists, lists + all); };
    source_.active.set_memory(next(), count);
    sink_.active.set_memory(next(), count);
    for (NodeList* list : {&orphans_, &next_orphans_, &new_orphans_, &surplus_nodes_})
      list->set_memory(next());
  }

 protected:
  static constexpr int kNeighbours = Grid::kNeighbours;
  // Bits of Node::marks. kDetached: see detach_orphan_trees().
  static constexpr uint8_t kActiveInSource = 1;
  static constexpr uint8_t kActiveInSink = 2;
  static constexpr uint8_t kDetached = 4;

  struct SideState {
    NodeQueue active;    // nodes that must be scanned
    int32_t level = 1;   // all nodes of lower levels have been scanned
    int32_t limit = 1;   // highest level that nodes may get in the current pass
    int64_t visits = 0;  // number of neighbours visited in this side's passes so far
  };

  template <Side s>
  SideState& state() {
    return s == Side::source ? source_ : sink_;
  }
  // The level of a node in the trees of side s; 0 or less if it is not in these trees.
  template <Side s>
  static int32_t level_of(const Node& node) {
    return s == Side::source ? node.label : -node.label;
  }
  template <Side s>
  static void set_level(Node& node, int32_t level) {
    node.label = s == Side::source ? level : -level;
  }
  // Flow leaves the roots of the source side and enters the roots of the sink side. This function
  // returns the residual capacity that a tree of side s would use if the neighbour in direction k
  // were a child of the node: from the node to the neighbour on the source side, and from the
  // neighbour to the node on the sink side.
  template <Side s>
  static auto& outward_residual(Node& node, int k, Node& neighbour) {
    return s == Side::source ? node.residual[k] : neighbour.residual[opposite(k)];
  }
  // Returns whether a tree of side s could carry flow over this link if the neighbour in direction
  // k were the parent of the node.
  template <Side s>
  static bool has_inward_residual(const Node& node, int k, const Node& neighbour) {
    return (s == Side::source ? neighbour.residual[opposite(k)] : node.residual[k]) != 0;
  }
  // The flow that a node must pass towards the root of its tree: its excess on the sink side, its
  // negated excess on the source side.
  template <Side s>
  static Amount surplus(const Node& node) {
    return s == Side::source ? -node.excess : node.excess;
  }

  // Adds a node to the active nodes unless it is active already.
  template <Side s>
  void activate(int32_t index) {
    constexpr uint8_t kMark = s == Side::source ? kActiveInSource : kActiveInSink;
    Node& node = grid_[index];
    if (node.marks & kMark) return;
    node.marks |= kMark;
    state<s>().active.push(index);
  }
  template <Side s>
  int32_t pop_active() {
    constexpr uint8_t kMark = s == Side::source ? kActiveInSource : kActiveInSink;
    const int32_t index = state<s>().active.pop();
    grid_[index].marks &= static_cast<uint8_t>(~kMark);
    return index;
  }

  void make_orphan(int32_t index) {
    grid_[index].parent = kOrphan;
    new_orphans_.push(index);
  }

  void defer_orphan(int32_t level, int32_t node) {
    deferred_orphans_[deferred_orphan_count_++] = {level, node};
    std::push_heap(deferred_orphans_, deferred_orphans_ + deferred_orphan_count_);
  }
  int32_t pop_deferred() {
    std::pop_heap(deferred_orphans_, deferred_orphans_ + deferred_orphan_count_);
    return deferred_orphans_[--deferred_orphan_count_].node;
  }

  Grid grid_;
  SideState source_;
  SideState sink_;
  NodeList new_orphans_;              // orphans that adopt_orphans() has not processed yet
  NodeList surplus_nodes_;            // nodes with a surplus that have found a parent
  NodeList orphans_;                  // orphans of the current level
  NodeList next_orphans_;             // orphans of the next level
  DeferredOrphan* deferred_orphans_;  // heap of orphans of higher levels, the lowest level first
  int32_t deferred_orphan_count_ = 0;
  int64_t visits_ = 0;  // number of neighbours visited so far

 private:
  static constexpr int kNodeLists = 6;
};

// Adoption: finds new parents for orphans, which are nodes whose link to the parent has become
// full.
//
// An orphan gets a parent on a lower level if there is one. Otherwise it rises, which means that
// its level becomes one more than the level of its lowest neighbour (Goldberg et al. 2011, section
// 3). Orphans are processed in the order of their levels. All lower levels are therefore final when
// an orphan searches for a parent, and no cycles arise.
template <ResidualGraph Grid>
class OrphanAdoption : protected SearchTrees<Grid> {
 protected:
  using SearchTrees = maxflow::SearchTrees<Grid>;
  using SearchTrees::SearchTrees;
  using typename SearchTrees::Node;

  using SearchTrees::defer_orphan;
  using SearchTrees::deferred_orphan_count_;
  using SearchTrees::deferred_orphans_;
  using SearchTrees::grid_;
  using SearchTrees::kDetached;
  using SearchTrees::kNeighbours;
  using SearchTrees::new_orphans_;
  using SearchTrees::next_orphans_;
  using SearchTrees::orphans_;
  using SearchTrees::pop_deferred;
  using SearchTrees::surplus_nodes_;
  using SearchTrees::visits_;

  // Finds parents for all nodes of new_orphans_, or removes the nodes from the trees. A node with a
  // surplus is added to surplus_nodes_ if it has found a parent. Otherwise it becomes a root of the
  // other side.
  template <Side s>
  void adopt_orphans() {
    if (new_orphans_.empty()) return;
    const auto by_decreasing_level = [this](int32_t a, int32_t b) {
      return SearchTrees::template level_of<s>(grid_[a]) >
             SearchTrees::template level_of<s>(grid_[b]);
    };
    // The list must be sorted by decreasing levels. The orphans of a single augmented path already
    // are in this order.
    if (!std::is_sorted(new_orphans_.begin(), new_orphans_.end(), by_decreasing_level)) {
      std::sort(new_orphans_.begin(), new_orphans_.end(), by_decreasing_level);
    }
    rises_ = 0;
    int32_t level = 0;
    for (;;) {
      if (orphans_.empty()) {
        level = std::numeric_limits<int32_t>::max();
        if (!new_orphans_.empty())
          level = SearchTrees::template level_of<s>(grid_[new_orphans_.back()]);
        if (deferred_orphan_count_ != 0) level = std::min(level, deferred_orphans_[0].level);
        if (level == std::numeric_limits<int32_t>::max()) return;
      }
      while (!new_orphans_.empty() &&
             SearchTrees::template level_of<s>(grid_[new_orphans_.back()]) == level) {
        orphans_.push(new_orphans_.pop());
      }
      // NOLINTNEXTLINE(bugprone-infinite-loop): pop_deferred() changes the condition
      while (deferred_orphan_count_ != 0 && deferred_orphans_[0].level == level)
        orphans_.push(pop_deferred());
      while (!orphans_.empty()) find_parent<s>(orphans_.pop(), level);
      std::swap(orphans_, next_orphans_);
      ++level;
      if (rises_ > max_rises_) return rebuild_trees<s>();
    }
  }

 private:
  // The minimum of max_rises_. One call of adopt_orphans() rebuilds the trees of all orphans when
  // more than max_rises_ orphans have risen without finding a parent on their own level. Without
  // this limit, nodes that are disconnected from all roots would raise each other by one or two
  // levels at a time, up to the highest level. A rebuild sets max_rises_ to the number of nodes
  // that it connected again: if they are many, the next rebuild should come later.
  static constexpr int32_t kMinRises = 512;

  static unsigned bit(bool value, int k) { return static_cast<unsigned>(value) << k; }

  // Finds a parent for an orphan at `level`, raises the orphan, or removes it from the trees. All
  // lower levels are final. If no residual link connects a neighbour with the orphan, only the
  // neighbour's residual capacities are read, because another thread may change its other members
  // concurrently.
  template <Side s>
  void find_parent(int32_t index, int32_t level) {
    const int32_t limit = SearchTrees::template state<s>().limit;
    visits_ += kNeighbours;
    Node& orphan = grid_[index];
    unsigned same_level = 0, children = 0;  // bit k represents the neighbour in direction k
    for (int k = 0; k < kNeighbours; ++k) {
      Node& node = grid_[grid_.neighbour(index, k)];
      const bool can_be_parent = SearchTrees::template has_inward_residual<s>(orphan, k, node);
      if (!can_be_parent && SearchTrees::template outward_residual<s>(orphan, k, node) == 0)
        continue;
      const int32_t neighbour_level = SearchTrees::template level_of<s>(node);
      if (can_be_parent && neighbour_level > 0 && neighbour_level < level)
        return set_parent<s>(index, k);
      same_level |= bit(can_be_parent && neighbour_level == level && node.parent != kOrphan, k);
      children |= bit(node.parent == opposite(k), k);
    }
    if (same_level != 0 && level < limit) {
      SearchTrees::template set_level<s>(orphan, level + 1);
      set_parent<s>(index, __builtin_ctz(same_level));
      return make_children_orphans<s>(index, children, level, level + 1);
    }
    const int32_t lowest = lowest_level_of_neighbours<s>(index);
    if (lowest < limit) {
      ++rises_;
      SearchTrees::template set_level<s>(orphan, lowest + 1);
      defer_to_level(index, lowest + 1, level);
      return make_children_orphans<s>(index, children, level, lowest + 1);
    }
    make_children_orphans<s>(index, children, level, limit);
    free_node<s>(index);
  }

  template <Side s>
  void set_parent(int32_t index, int parent) {
    Node& node = grid_[index];
    node.parent = static_cast<uint8_t>(parent);
    if (SearchTrees::template surplus<s>(node) > 0) surplus_nodes_.push(index);
  }

  // Returns the lowest level of all possible parents of a node. Returns SideState::limit if no
  // neighbour can be its parent.
  template <Side s>
  int32_t lowest_level_of_neighbours(int32_t index) {
    int32_t lowest = SearchTrees::template state<s>().limit;
    for (int k = 0; k < kNeighbours; ++k) {
      const Node& node = grid_[grid_.neighbour(index, k)];
      if (!SearchTrees::template has_inward_residual<s>(grid_[index], k, node)) continue;
      const int32_t neighbour_level = SearchTrees::template level_of<s>(node);
      if (neighbour_level > 0 && neighbour_level < lowest) lowest = neighbour_level;
    }
    return lowest;
  }

  // Schedules an orphan for processing at `level`, which is above the current level.
  void defer_to_level(int32_t index, int32_t level, int32_t current_level) {
    if (level == current_level + 1) {
      next_orphans_.push(index);
    } else {
      defer_orphan(level, index);
    }
  }

  // Makes each child an orphan whose level is not above the new level of its parent. The child may
  // find the same parent again.
  template <Side s>
  void make_children_orphans(int32_t index, unsigned children, int32_t current_level,
                             int32_t new_level) {
    for (; children != 0; children &= children - 1) {
      const int32_t child = grid_.neighbour(index, __builtin_ctz(children));
      const int32_t child_level = SearchTrees::template level_of<s>(grid_[child]);
      if (child_level > new_level) continue;
      grid_[child].parent = kOrphan;
      defer_to_level(child, child_level, current_level);
    }
  }

  // Removes a node from the trees. All neighbours that could become its parent are at the limit;
  // they are activated and may add the node again in the next pass.
  template <Side s>
  void free_node(int32_t index) {
    Node& node = grid_[index];
    node.label = 0;
    node.parent = kNoParent;
    for (int k = 0; k < kNeighbours; ++k) {
      const int32_t neighbour = grid_.neighbour(index, k);
      if (SearchTrees::template has_inward_residual<s>(node, k, grid_[neighbour]) &&
          SearchTrees::template level_of<s>(grid_[neighbour]) > 0) {
        SearchTrees::template activate<s>(neighbour);
      }
    }
    if (SearchTrees::template surplus<s>(node) <= 0) return;
    node.parent = kRoot;
    SearchTrees::template set_level<other(s)>(node, SearchTrees::template state<other(s)>().limit);
    SearchTrees::template activate<other(s)>(index);
  }

  // Removes all orphans and their descendants from the trees, marks them with kDetached and adds
  // them to orphans_.
  template <Side s>
  void detach_orphan_trees() {
    while (!next_orphans_.empty()) orphans_.push(next_orphans_.pop());
    while (!new_orphans_.empty()) orphans_.push(new_orphans_.pop());
    while (deferred_orphan_count_ != 0)
      orphans_.push(deferred_orphans_[--deferred_orphan_count_].node);
    for (int32_t i = 0; i < orphans_.size(); ++i) {
      Node& node = grid_[orphans_[i]];
      for (int k = 0; k < kNeighbours; ++k) {
        const int32_t child = grid_.neighbour(orphans_[i], k);
        if (SearchTrees::template outward_residual<s>(node, k, grid_[child]) == 0 ||
            grid_[child].parent != opposite(k))
          continue;
        grid_[child].parent = kOrphan;
        orphans_.push(child);
      }
      node.label = 0;
      node.parent = kNoParent;
      node.marks |= kDetached;
    }
  }

  // Removes all orphans and their descendants from the trees. Then adds the removed nodes to the
  // remaining trees again as far as residual links exist. The order is breadth first, so that each
  // node gets its final level immediately.
  template <Side s>
  void rebuild_trees() {
    const int32_t limit = SearchTrees::template state<s>().limit;
    detach_orphan_trees<s>();
    visits_ += orphans_.size() * int64_t{3 * kNeighbours};
    for (const int32_t index : orphans_) {
      const int32_t level = lowest_level_of_neighbours<s>(index) + 1;
      if (level <= limit) deferred_orphans_[deferred_orphan_count_++] = {level, index};
    }
    std::make_heap(deferred_orphans_, deferred_orphans_ + deferred_orphan_count_);
    int32_t head = 0;  // start of the queue of added nodes, which uses the memory of new_orphans_
    for (;;) {
      const bool has_queued_node = head != new_orphans_.size();
      if (deferred_orphan_count_ != 0 &&
          (!has_queued_node || deferred_orphans_[0].level <=
                                   SearchTrees::template level_of<s>(grid_[new_orphans_[head]]))) {
        const int32_t level = deferred_orphans_[0].level;
        const int32_t index = pop_deferred();
        if (grid_[index].label == 0) add_to_tree<s>(index, level);
      } else if (has_queued_node) {
        const int32_t index = new_orphans_[head++];
        Node& node = grid_[index];
        if (SearchTrees::template level_of<s>(node) == limit) continue;
        for (int k = 0; k < kNeighbours; ++k) {
          const int32_t neighbour = grid_.neighbour(index, k);
          Node& next = grid_[neighbour];
          if (SearchTrees::template outward_residual<s>(node, k, next) != 0 && next.label == 0 &&
              (next.marks & kDetached)) {
            add_to_tree<s>(neighbour, SearchTrees::template level_of<s>(node) + 1);
          }
        }
      } else {
        break;
      }
    }
    new_orphans_.clear();
    for (const int32_t index : orphans_) grid_[index].marks &= static_cast<uint8_t>(~kDetached);
    int32_t reconnected = orphans_.size();
    for (const int32_t index : orphans_) {
      if (grid_[index].label != 0) continue;
      free_node<s>(index);
      --reconnected;
    }
    max_rises_ = std::max(kMinRises, reconnected);
    orphans_.clear();
  }

  // Adds a detached node at `level` to the tree of a neighbour at a lower level.
  template <Side s>
  void add_to_tree(int32_t index, int32_t level) {
    Node& node = grid_[index];
    SearchTrees::template set_level<s>(node, level);
    for (int k = 0; k < kNeighbours; ++k) {
      const Node& neighbour = grid_[grid_.neighbour(index, k)];
      if (!SearchTrees::template has_inward_residual<s>(node, k, neighbour)) continue;
      const int32_t neighbour_level = SearchTrees::template level_of<s>(neighbour);
      if (neighbour_level <= 0 || neighbour_level >= level) continue;
      set_parent<s>(index, k);
      break;
    }
    new_orphans_.push(index);
  }

  int32_t rises_ = 0;
  int32_t max_rises_ = kMinRises;
};

}  // namespace regions::maxflow

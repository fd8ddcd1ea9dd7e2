// Trees: two forests over a lattice, one from the pixels with excess, one from those that still
// feed the sink. Labels are levels, and never exceed the distance from a root (Goldberg, Hed,
// Kaplan, Tarjan and Werneck, "Maximum flows by incremental breadth-first search", ESA 2011).
#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <utility>

#include "cpu/maxflow/lattice.hpp"
#include "cpu/maxflow/node_queue.hpp"

namespace regions::maxflow {

enum class Side : uint8_t { source, sink };

constexpr Side other(Side s) { return s == Side::source ? Side::sink : Side::source; }

template <ResidualLattice L>
class Trees {
 public:
  using Node = typename L::Node;
  using Amount = typename L::Numbers::Amount;

  // An orphan that waits until the levels below its own are settled.
  struct Waiting {
    int32_t level;
    int32_t node;
    bool operator<(const Waiting& o) const {
      return level != o.level ? level > o.level : node > o.node;
    }
  };

  // Bytes of working memory for a lattice of `nodes` nodes.
  static constexpr size_t bytes(size_t nodes) {
    return nodes * (kLists * sizeof(int32_t) + sizeof(Waiting));
  }

  // `first` and `count` name the nodes that may come up; others use the memory of other nodes.
  Trees(const L& lattice, int32_t first, int32_t count, std::byte* memory) : lattice_(lattice) {
    const size_t all = L::count(lattice.size());
    waiting_ = reinterpret_cast<Waiting*>(memory) + first;
    auto* lists = reinterpret_cast<int32_t*>(memory + all * sizeof(Waiting)) + first;
    const auto next = [&] { return std::exchange(lists, lists + all); };
    source_.active.use(next(), count);
    sink_.active.use(next(), count);
    for (NodeList* list : {&now_, &next_, &broken_, &loaded_}) list->use(next());
  }

 protected:
  static constexpr int kNeighbours = L::kNeighbours;
  // Bits of Node::marks.
  static constexpr uint8_t kActiveInSource = 1;
  static constexpr uint8_t kActiveInSink = 2;
  static constexpr uint8_t kLost = 4;

  struct State {
    NodeQueue active;   // have yet to look around
    int32_t level = 1;  // nodes on lower levels have looked around
    int32_t limit = 1;  // the highest level that may be given
    int64_t work = 0;   // of its passes so far
  };

  template <Side s>
  State& state() {
    return s == Side::source ? source_ : sink_;
  }
  // Above 0 in the trees of side s.
  template <Side s>
  static int32_t depth(const Node& node) {
    return s == Side::source ? node.label : -node.label;
  }
  template <Side s>
  static void set_depth(Node& node, int32_t depth) {
    node.label = s == Side::source ? depth : -depth;
  }
  // What a tree of side s carries from a node over its link k to its neighbour, away from the root:
  // flow runs from the source's roots, and to the sink's.
  template <Side s>
  static auto& outward(Node& node, int k, Node& neighbour) {
    return s == Side::source ? node.residual[k] : neighbour.residual[opposite(k)];
  }
  template <Side s>
  static bool leads_in(const Node& node, int k, const Node& neighbour) {
    return (s == Side::source ? neighbour.residual[opposite(k)] : node.residual[k]) != 0;
  }
  // What a node holds that its tree's root has to take: excess on the sink's side, its opposite on
  // the source's.
  template <Side s>
  static Amount load(const Node& node) {
    return s == Side::source ? -node.excess : node.excess;
  }

  // Lets a node look around, in this pass or in the next.
  template <Side s>
  void activate(int32_t index) {
    constexpr uint8_t kMark = s == Side::source ? kActiveInSource : kActiveInSink;
    Node& node = lattice_[index];
    if (node.marks & kMark) return;
    node.marks |= kMark;
    state<s>().active.push(index);
  }
  template <Side s>
  int32_t pop_active() {
    constexpr uint8_t kMark = s == Side::source ? kActiveInSource : kActiveInSink;
    const int32_t index = state<s>().active.pop();
    lattice_[index].marks &= static_cast<uint8_t>(~kMark);
    return index;
  }

  void cut_off(int32_t index) {
    lattice_[index].parent = kOrphan;
    broken_.push(index);
  }

  void push_waiting(int32_t level, int32_t node) {
    waiting_[waiting_count_++] = {level, node};
    std::push_heap(waiting_, waiting_ + waiting_count_);
  }
  int32_t pop_waiting() {
    std::pop_heap(waiting_, waiting_ + waiting_count_);
    return waiting_[--waiting_count_].node;
  }

  L lattice_;
  State source_;
  State sink_;
  NodeList broken_;  // orphans not yet looked at
  NodeList loaded_;  // nodes that have to pass on a load
  NodeList now_;     // orphans of one level, and of the next
  NodeList next_;
  Waiting* waiting_;  // a heap of orphans on higher levels, the lowest first
  int32_t waiting_count_ = 0;
  int64_t work_ = 0;  // neighbours looked at so far

 private:
  static constexpr int kLists = 6;
};

}  // namespace regions::maxflow

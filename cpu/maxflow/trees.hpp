// Trees: two forests over a lattice, one from the pixels with excess, one from those that still
// feed the sink, and how they mend when links of theirs run full.
//
// Goldberg, Hed, Kaplan, Tarjan and Werneck, "Maximum flows by incremental breadth-first search"
// (ESA 2011), section 3: labels are levels, and never exceed the distance from a root. An orphan
// takes a parent one level below its own if there is one, otherwise it rises just over its lowest
// neighbour. Orphans are taken in the order of their levels: so the levels below are settled when
// one asks for a parent, and the trees stay free of cycles.
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

template <class L>
class Trees {
 public:
  using Node = typename L::Node;
  using Amount = typename L::Numbers::Amount;

  // Bytes of working memory for a lattice of `nodes` nodes.
  static constexpr size_t bytes(size_t nodes) {
    return nodes * (kLists * sizeof(int32_t) + sizeof(Place));
  }

  // `first` and `count` name the nodes that may come up; others use the memory of other nodes.
  Trees(const L& lattice, int32_t first, int32_t count, std::byte* memory) : lattice_(lattice) {
    const size_t all = L::count(lattice.size());
    places_ = reinterpret_cast<Place*>(memory) + first;
    auto* lists = reinterpret_cast<int32_t*>(memory + all * sizeof(Place)) + first;
    const auto next = [&] { return std::exchange(lists, lists + all); };
    source_.active.use(next(), count);
    sink_.active.use(next(), count);
    for (NodeList* list : {&now_, &next_, &broken_, &loaded_}) list->use(next());
  }

 protected:
  static constexpr int kNeighbours = L::kNeighbours;
  static constexpr uint8_t kLost = 4;  // a mark beside the two below

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
    return s == Side::source ? node.residual[k] : neighbour.residual[k ^ 1];
  }
  template <Side s>
  static bool leads_in(const Node& node, int k, const Node& neighbour) {
    return (s == Side::source ? neighbour.residual[k ^ 1] : node.residual[k]) != 0;
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
    constexpr uint8_t kMark = s == Side::source ? 1 : 2;
    Node& node = lattice_[index];
    if (node.marks & kMark) return;
    node.marks |= kMark;
    state<s>().active.push(index);
  }
  template <Side s>
  int32_t pop_active() {
    constexpr uint8_t kMark = s == Side::source ? 1 : 2;
    const int32_t index = state<s>().active.pop();
    lattice_[index].marks &= static_cast<uint8_t>(~kMark);
    return index;
  }

  void cut_off(int32_t index) {
    lattice_[index].parent = kOrphan;
    broken_.push(index);
  }

  // Finds parents for all of broken_, or frees them. Nodes with a load that found one are in
  // loaded_ then; those that did not are roots of the other side.
  template <Side s>
  void adopt_orphans() {
    if (broken_.empty()) return;
    const auto lower_last = [this](int32_t a, int32_t b) {
      return depth<s>(lattice_[a]) > depth<s>(lattice_[b]);
    };
    // A single path breaks at falling levels, which is the order wanted.
    if (!std::is_sorted(broken_.begin(), broken_.end(), lower_last)) {
      std::sort(broken_.begin(), broken_.end(), lower_last);
    }
    rises_ = 0;
    int32_t level = 0;
    for (;;) {
      if (now_.empty()) {
        level = std::numeric_limits<int32_t>::max();
        if (!broken_.empty()) level = depth<s>(lattice_[broken_.back()]);
        if (place_count_ != 0) level = std::min(level, places_[0].level);
        if (level == std::numeric_limits<int32_t>::max()) return;
      }
      while (!broken_.empty() && depth<s>(lattice_[broken_.back()]) == level) {
        now_.push(broken_.pop());
      }
      while (place_count_ != 0 && places_[0].level == level) now_.push(pop_place());
      while (!now_.empty()) find_parent<s>(now_.pop(), level);
      std::swap(now_, next_);
      ++level;
      if (rises_ > kMostRises) return regrow<s>();
    }
  }

  L lattice_;
  State source_;
  State sink_;
  NodeList broken_;   // orphans not yet looked at
  NodeList loaded_;   // nodes that have to pass on a load
  int64_t work_ = 0;  // neighbours looked at so far

 private:
  static constexpr int kLists = 6;
  // Rises by more than a level, in one mending. Nodes cut off from all roots lift each other a
  // level or two at a time, up to the limit: past this number they are taken apart instead.
  static constexpr int kMostRises = 512;

  struct Place {
    int32_t level;
    int32_t node;
    bool operator<(const Place& o) const {
      return level != o.level ? level > o.level : node > o.node;
    }
  };

  static unsigned bit(bool value, int k) { return static_cast<unsigned>(value) << k; }

  void push_place(int32_t level, int32_t node) {
    places_[place_count_++] = {level, node};
    std::push_heap(places_, places_ + place_count_);
  }
  int32_t pop_place() {
    std::pop_heap(places_, places_ + place_count_);
    return places_[--place_count_].node;
  }

  // An orphan at `level`, where all lower levels are settled. Nothing but the residual capacities
  // is read of nodes that no link leads to: they may be another thread's.
  template <Side s>
  void find_parent(int32_t index, int32_t level) {
    const int32_t limit = state<s>().limit;
    work_ += kNeighbours;
    Node& orphan = lattice_[index];
    unsigned below = 0, beside = 0, children = 0;
    for (int k = 0; k < kNeighbours; ++k) {
      Node& node = lattice_[lattice_.neighbour(index, k)];
      const bool leads = leads_in<s>(orphan, k, node);
      if (!leads && outward<s>(orphan, k, node) == 0) continue;
      const int32_t at = depth<s>(node);
      below |= bit(leads && at > 0 && at < level, k);
      beside |= bit(leads && at == level && node.parent != kOrphan, k);
      children |= bit(node.parent == (k ^ 1), k);
    }
    if (below != 0) return hang<s>(index, below);
    if (beside != 0 && level < limit) {
      set_depth<s>(orphan, level + 1);
      hang<s>(index, beside);
      return cut_off_children<s>(index, children, level, level + 1);
    }
    const int32_t lowest = lowest_beside<s>(index);
    if (lowest < limit) {
      ++rises_;
      set_depth<s>(orphan, lowest + 1);
      wait_for_level(index, lowest + 1, level);
      return cut_off_children<s>(index, children, level, lowest + 1);
    }
    cut_off_children<s>(index, children, level, limit);
    set_free<s>(index);
  }

  template <Side s>
  void hang(int32_t index, unsigned parents) {
    Node& node = lattice_[index];
    node.parent = static_cast<uint8_t>(__builtin_ctz(parents));
    if (load<s>(node) > 0) loaded_.push(index);
  }

  template <Side s>
  int32_t lowest_beside(int32_t index) {
    int32_t lowest = state<s>().limit;
    for (int k = 0; k < kNeighbours; ++k) {
      const Node& node = lattice_[lattice_.neighbour(index, k)];
      if (!leads_in<s>(lattice_[index], k, node)) continue;
      const int32_t at = depth<s>(node);
      if (at > 0 && at < lowest) lowest = at;
    }
    return lowest;
  }

  void wait_for_level(int32_t index, int32_t level, int32_t now) {
    if (level == now + 1) {
      next_.push(index);
    } else {
      push_place(level, index);
    }
  }

  // Children not above their risen parent look for another one, though they may come back to it.
  template <Side s>
  void cut_off_children(int32_t index, unsigned children, int32_t now, int32_t risen) {
    for (; children != 0; children &= children - 1) {
      const int32_t child = lattice_.neighbour(index, __builtin_ctz(children));
      const int32_t at = depth<s>(lattice_[child]);
      if (at > risen) continue;
      lattice_[child].parent = kOrphan;
      wait_for_level(child, at, now);
    }
  }

  // Neighbours that could take the node in again are at the limit: they look around once more.
  template <Side s>
  void set_free(int32_t index) {
    Node& node = lattice_[index];
    node.label = 0;
    node.parent = kNone;
    for (int k = 0; k < kNeighbours; ++k) {
      const int32_t beside = lattice_.neighbour(index, k);
      if (leads_in<s>(node, k, lattice_[beside]) && depth<s>(lattice_[beside]) > 0) {
        activate<s>(beside);
      }
    }
    if (load<s>(node) <= 0) return;
    node.parent = kRoot;
    set_depth<other(s)>(node, state<other(s)>().limit);
    activate<other(s)>(index);
  }

  // Takes the trees of all orphans apart, then takes in again what the rest of the forest reaches,
  // breadth first: each node gets its right level at once.
  template <Side s>
  void regrow() {
    const int32_t limit = state<s>().limit;
    while (!next_.empty()) now_.push(next_.pop());
    while (!broken_.empty()) now_.push(broken_.pop());
    while (place_count_ != 0) now_.push(places_[--place_count_].node);
    for (int32_t i = 0; i < now_.size(); ++i) {
      Node& node = lattice_[now_[i]];
      for (int k = 0; k < kNeighbours; ++k) {
        const int32_t child = lattice_.neighbour(now_[i], k);
        if (outward<s>(node, k, lattice_[child]) == 0 || lattice_[child].parent != (k ^ 1))
          continue;
        lattice_[child].parent = kOrphan;
        now_.push(child);
      }
      node.label = 0;
      node.parent = kNone;
      node.marks |= kLost;
    }
    work_ += now_.size() * int64_t{3 * kNeighbours};
    for (const int32_t index : now_) {
      const int32_t level = lowest_beside<s>(index) + 1;
      if (level <= limit) places_[place_count_++] = {level, index};
    }
    std::make_heap(places_, places_ + place_count_);
    int32_t head = 0;  // of broken_, a queue of nodes taken in
    for (;;) {
      const bool queued = head != broken_.size();
      if (place_count_ != 0 && (!queued || places_[0].level <= depth<s>(lattice_[broken_[head]]))) {
        const int32_t level = places_[0].level;
        const int32_t index = pop_place();
        if (lattice_[index].label == 0) take_in<s>(index, level);
      } else if (queued) {
        const int32_t index = broken_[head++];
        Node& node = lattice_[index];
        if (depth<s>(node) == limit) continue;
        for (int k = 0; k < kNeighbours; ++k) {
          const int32_t beside = lattice_.neighbour(index, k);
          Node& next = lattice_[beside];
          if (outward<s>(node, k, next) != 0 && next.label == 0 && (next.marks & kLost)) {
            take_in<s>(beside, depth<s>(node) + 1);
          }
        }
      } else {
        break;
      }
    }
    broken_.clear();
    for (const int32_t index : now_) lattice_[index].marks &= static_cast<uint8_t>(~kLost);
    for (const int32_t index : now_) {
      if (lattice_[index].label == 0) set_free<s>(index);
    }
    now_.clear();
  }

  template <Side s>
  void take_in(int32_t index, int32_t level) {
    Node& node = lattice_[index];
    set_depth<s>(node, level);
    unsigned below = 0;
    for (int k = 0; k < kNeighbours; ++k) {
      const Node& beside = lattice_[lattice_.neighbour(index, k)];
      if (!leads_in<s>(node, k, beside)) continue;
      const int32_t at = depth<s>(beside);
      if (at > 0 && at < level) below |= 1u << k;
    }
    hang<s>(index, below);
    broken_.push(index);
  }

  NodeList now_;  // orphans of one level, and of the next
  NodeList next_;
  Place* places_;  // a heap of orphans on higher levels, the lowest first
  int32_t place_count_ = 0;
  int rises_ = 0;
};

}  // namespace regions::maxflow

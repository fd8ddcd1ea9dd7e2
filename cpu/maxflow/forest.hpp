// Forest: finds a minimum cut of a lattice by growing trees from the pixels that hold excess.
//
// The search is that of Goldberg, Hed, Kaplan, Tarjan and Werneck, "Maximum flows by incremental
// breadth-first search" (ESA 2011), with excesses as in Goldberg, Hed, Kaplan, Kohli, Tarjan and
// Werneck, "Faster and more dynamic maximum flow by incremental breadth-first search" (ESA 2015),
// from one side alone: the trees grow level by level towards the pixels that the sink still takes
// flow from. Where a tree meets one, all that its path can carry is pushed across; what the pixel
// cannot pass to the sink stays there and makes it a root. So the sink's side only ever shrinks,
// and the search ends. Labels grow along each path from a root, which keeps the trees free of
// cycles.
#pragma once

#include <algorithm>
#include <chrono>

#include "cpu/maxflow/lattice.hpp"
#include "cpu/maxflow/node_queue.hpp"

namespace regions::maxflow {

using Clock = std::chrono::steady_clock;

struct Deadline {
  int passes = std::numeric_limits<int>::max();
  Clock::time_point time = Clock::time_point::max();
};

template <class L>
class Forest {
 public:
  using Node = typename L::Node;

  // Bytes of working memory for a lattice of `nodes` nodes.
  static size_t bytes(size_t nodes) { return nodes * (5 * sizeof(int32_t) + sizeof(Place)); }

  // `first` and `count` name the nodes that may come up.
  Forest(const L& lattice, int32_t first, int32_t count, std::byte* memory)
      : lattice_(lattice), nodes_(lattice.nodes()) {
    places_ = reinterpret_cast<Place*>(memory + static_cast<size_t>(first) * sizeof(Place));
    memory += lattice.count(lattice.size()) * sizeof(Place);
    auto* lists = reinterpret_cast<int32_t*>(memory) + static_cast<size_t>(first) * 5;
    active_[0].use(lists, count);
    active_[1].use(lists + count, count);
    fifo_.use(lists + 2 * static_cast<size_t>(count), count);
    broken_ = lists + 3 * static_cast<size_t>(count);
    lost_ = lists + 4 * static_cast<size_t>(count);
  }

  int level() const { return level_; }
  int passes() const { return passes_; }

  // Goes on from trees made by others, whose levels are at most `level`.
  void resume(int level, int passes) {
    level_ = level;
    limit_ = level + 1;
    passes_ = passes;
  }

  // Lets `node`, which is in the forest, look for new neighbours in the next pass.
  void activate(Node* node) { activate(node, current_); }

  // Returns false if the deadline came first. The flow is valid either way.
  bool run(const Deadline& deadline) {
    while (!active_[current_].empty()) {
      if (passes_ >= deadline.passes) return false;
      ++passes_;
      if (!grow(deadline)) return false;
    }
    return true;
  }

 private:
  static constexpr int kNeighbours = L::kNeighbours;
  static constexpr uint8_t kLost = 4;      // a mark beside those of the two lists, 1 and 2
  static constexpr int kClockEvery = 512;  // nodes between looks at the clock

  struct Place {
    int32_t label;
    int32_t node;
    bool operator<(const Place& other) const {
      return label != other.label ? label < other.label : node < other.node;
    }
  };

  int32_t index(const Node* node) const { return static_cast<int32_t>(node - nodes_); }

  void activate(Node* node, int list) {
    const auto mark = static_cast<uint8_t>(1 << list);
    if (node->marks & mark) return;
    node->marks = static_cast<uint8_t>(node->marks | mark);
    active_[list].push(index(node));
  }

  // One pass: the nodes at the frontier take in their free neighbours and push across to the sink.
  bool grow(const Deadline& deadline) {
    NodeQueue& frontier = active_[current_];
    growing_ = true;
    limit_ = level_ + 1;
    int left = kClockEvery;
    while (!frontier.empty()) {
      if (--left == 0) {
        if (Clock::now() >= deadline.time) return false;
        left = kClockEvery;
      }
      Node* node = nodes_ + frontier.pop();
      node->marks = static_cast<uint8_t>(node->marks & ~(1 << current_));
      // A node moved to the next level meanwhile is in that list too.
      if (node->label > 0 && node->label <= level_) look_around(node);
    }
    growing_ = false;
    level_ = limit_;
    current_ ^= 1;
    return true;
  }

  void look_around(Node* node) {
    // A push may cost the node its place; at the next level it is in a list again.
    const auto here = [&] { return node->label > 0 && node->label <= level_; };
    for (int k = 0; k < kNeighbours && here(); ++k) {
      if (node->residual[k] == 0) continue;
      Node* next = lattice_.neighbour(node, k);
      while (next->label == kSink && node->residual[k] != 0 && here()) push_across(node, k, next);
      if (next->label == kFree && node->residual[k] != 0 && here()) {
        next->label = node->label + 1;
        next->parent = static_cast<uint8_t>(k ^ 1);
        activate(next, current_ ^ 1);
      }
    }
  }

  // Pushes all that the path from node's root carries over the link k to `to`.
  void push_across(Node* node, int k, Node* to) {
    auto amount = node->residual[k];
    Node* root = node;
    while (root->parent != kRoot) {
      Node* parent = lattice_.neighbour(root, root->parent);
      amount = std::min(amount, parent->residual[root->parent ^ 1]);
      root = parent;
    }
    using Residual = typename L::Numbers::Residual;
    using Excess = typename L::Numbers::Excess;
    amount = std::min(amount, static_cast<Residual>(root->excess));

    move(node, k, to, amount);
    to->excess = static_cast<Excess>(to->excess + static_cast<Excess>(amount));
    for (Node* child = node; child != root;) {
      const int up = child->parent;
      Node* parent = lattice_.neighbour(child, up);
      move(parent, up ^ 1, child, amount);
      if (parent->residual[up ^ 1] == 0) cut_off(child);
      child = parent;
    }
    root->excess = static_cast<Excess>(root->excess - static_cast<Excess>(amount));
    if (root->excess == 0) cut_off(root);

    if (to->excess >= 0) to->label = kFree;
    if (to->excess > 0) {
      to->parent = kRoot;
      settle(to, limit_);
    }
    adopt_orphans();
  }

  template <class Residual>
  static void move(Node* from, int k, Node* to, Residual amount) {
    from->residual[k] = static_cast<Residual>(from->residual[k] - amount);
    to->residual[k ^ 1] = static_cast<Residual>(to->residual[k ^ 1] + amount);
  }

  void cut_off(Node* node) {
    node->parent = kOrphan;
    broken_[broken_count_++] = index(node);
  }

  // A node that gets a label at the frontier has yet to look around.
  void settle(Node* node, int32_t label) {
    node->label = label;
    if (label == limit_) {
      activate(node, growing_ ? current_ ^ 1 : current_);
    } else if (growing_ && label == level_) {
      activate(node, current_);
    }
  }

  // Orphans find new parents on lower levels; the trees of those that cannot are taken apart, and
  // what still can be reached from the rest of the forest is taken in again, breadth first, each
  // node on its right level at once.
  void adopt_orphans() {
    lost_count_ = 0;
    // A path breaks at falling labels, and children come up at rising ones: merging both keeps to
    // rising labels, so that parents are settled before their children ask.
    while (broken_count_ != 0 || !fifo_.empty()) {
      Node* orphan;
      if (fifo_.empty() || (broken_count_ != 0 && nodes_[broken_[broken_count_ - 1]].label <=
                                                      nodes_[fifo_.front()].label)) {
        orphan = nodes_ + broken_[--broken_count_];
      } else {
        orphan = nodes_ + fifo_.pop();
      }
      if (!find_parent(orphan)) lose(orphan);
    }
    if (lost_count_ != 0) take_in();
  }

  bool find_parent(Node* orphan) {
    for (int k = 0; k < kNeighbours; ++k) {
      const Node* other = lattice_.neighbour(orphan, k);
      if (other->label > 0 && other->label < orphan->label && other->parent != kOrphan &&
          other->residual[k ^ 1] != 0) {
        orphan->parent = static_cast<uint8_t>(k);
        return true;
      }
    }
    return false;
  }

  void lose(Node* node) {
    for (int k = 0; k < kNeighbours; ++k) {
      Node* child = lattice_.neighbour(node, k);
      if (child->label <= 0 || child->parent != (k ^ 1)) continue;
      child->parent = kOrphan;
      fifo_.push(index(child));
    }
    node->label = kFree;
    node->parent = kNone;
    node->marks |= kLost;
    lost_[lost_count_++] = index(node);
  }

  // The lost nodes beside the forest come first, by their level; the others through them.
  void take_in() {
    int32_t count = 0;
    for (int32_t i = 0; i < lost_count_; ++i) {
      const int32_t label = lowest_beside(nodes_ + lost_[i]) + 1;
      if (label <= limit_) places_[count++] = {label, lost_[i]};
    }
    std::sort(places_, places_ + count);
    int32_t next = 0;
    while (next < count || !fifo_.empty()) {
      if (fifo_.empty() || (next < count && places_[next].label <= nodes_[fifo_.front()].label)) {
        Node* node = nodes_ + places_[next].node;
        if (node->label == kFree) hang(node, places_[next].label);
        ++next;
        continue;
      }
      Node* node = nodes_ + fifo_.pop();
      if (node->label == limit_) continue;
      for (int k = 0; k < kNeighbours; ++k) {
        Node* other = lattice_.neighbour(node, k);
        if (other->label == kFree && (other->marks & kLost) && node->residual[k] != 0) {
          hang(other, node->label + 1);
        }
      }
    }
    for (int32_t i = 0; i < lost_count_; ++i) {
      Node* node = nodes_ + lost_[i];
      node->marks = static_cast<uint8_t>(node->marks & ~kLost);
    }
  }

  int32_t lowest_beside(const Node* node) const {
    int32_t lowest = limit_;
    for (int k = 0; k < kNeighbours; ++k) {
      const Node* other = node + lattice_.step(k);
      if (other->label > 0 && other->label < lowest && other->residual[k ^ 1] != 0) {
        lowest = other->label;
      }
    }
    return lowest;
  }

  void hang(Node* node, int32_t label) {
    settle(node, label);
    [[maybe_unused]] const bool found = find_parent(node);
    fifo_.push(index(node));
  }

  L lattice_;
  Node* nodes_;
  NodeQueue active_[2];  // the frontier and the next one; current_ says which
  NodeQueue fifo_;       // orphans, then taken-in nodes
  int32_t* broken_;      // of a path, from the sink's end
  int32_t* lost_;
  Place* places_;
  int32_t broken_count_ = 0;
  int32_t lost_count_ = 0;
  int current_ = 0;
  int32_t level_ = 1;
  int32_t limit_ = 2;  // the highest label that may be given
  int passes_ = 0;
  bool growing_ = false;
};

}  // namespace regions::maxflow

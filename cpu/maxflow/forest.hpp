// Forest: finds a minimum cut of a lattice by growing trees from both ends until they meet.
//
// Incremental breadth-first search with excesses: Goldberg, Hed, Kaplan, Kohli, Tarjan and Werneck,
// "Faster and more dynamic maximum flow by incremental breadth-first search" (ESA 2015). One side
// grows at a time, level by level. Where it meets the other, all that its path carries is pushed
// across and on towards the other's root; what finds a link full stays where it is, and if that
// node finds no other parent, it becomes a root of the growing side. When one side has nothing left
// to look at, no residual path leads from its trees to the other's, and the cut is minimal: a node
// is only skipped for good once its links out of the trees are full, flow never runs back between
// the sides, and a node that borders on one that is set free looks again.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstring>

#include "cpu/maxflow/adoption.hpp"

namespace regions::maxflow {

using Clock = std::chrono::steady_clock;

struct Deadline {
  int passes = std::numeric_limits<int>::max();
  Clock::time_point time = Clock::time_point::max();
};

// How far a forest got. Its nodes that have yet to look around are those of one side alone if it
// has finished.
struct Growth {
  int32_t source_level = 1;
  int32_t sink_level = 1;
  int passes = 0;
  bool finished = true;

  void add(const Growth& other) {
    source_level = std::max(source_level, other.source_level);
    sink_level = std::max(sink_level, other.sink_level);
    passes = std::max(passes, other.passes);
    finished &= other.finished;
  }
};

template <ResidualLattice L>
class Forest : private Adoption<L> {
 public:
  using Trees = maxflow::Trees<L>;
  using Node = typename Trees::Node;
  using Trees::bytes;
  using Adoption<L>::Adoption;

  // Lets the roots of row y look around that border on anything else. `mask` marks the roots.
  void activate_row(int y, Image<const uint8_t> mask) {
    constexpr int kStep = 8;  // pixels looked at together
    const uint8_t* rows[3];
    for (int i = 0; i < 3; ++i) rows[i] = mask.row(std::clamp(y + i - 1, 0, mask.height - 1));
    const auto word = [&](int x, int row) {
      uint64_t pixels;
      std::memcpy(&pixels, rows[row] + x, sizeof pixels);
      return pixels;
    };
    for (int x = 0; x < mask.width;) {
      const bool inside = x > 0 && x + kStep < mask.width;
      if (inside) {
        uint64_t others = 0;
        for (int k = 0; k < kNeighbours; ++k) {
          others |= word(x, 1) ^ word(x + step_x(k), 1 + step_y(k));
        }
        if (others == 0) {
          x += kStep;
          continue;
        }
      }
      for (const int end = inside ? x + kStep : x + 1; x < end; ++x) {
        const int32_t index = lattice_.index(x, y);
        lattice_.require(index);
        if (borders_on_others(index)) activate(index);
      }
    }
  }

  // Lets a node look around, whichever side it is on.
  void activate(int32_t index) {
    const int32_t label = lattice_[index].label;
    if (label > 0) Trees::template activate<Side::source>(index);
    if (label < 0) Trees::template activate<Side::sink>(index);
  }

  // Goes on from trees made by others.
  void resume(const Growth& growth) {
    source_.level = source_.limit = growth.source_level;
    sink_.level = sink_.limit = growth.sink_level;
    passes_ = growth.passes;
  }

  // Takes the nodes that have yet to look around out of the forest; returns where they are listed,
  // until this memory's next forest runs.
  NodeList leave() {
    NodeList left = broken_;
    while (!source_.active.empty()) left.push(Trees::template pop_active<Side::source>());
    // One side alone if the forest has finished, so the list has room for all.
    while (!sink_.active.empty()) {
      const int32_t index = Trees::template pop_active<Side::sink>();
      if (finished_) left.push(index);
    }
    return left;
  }

  // The flow is valid even if the deadline came first.
  Growth run(const Deadline& deadline) {
    finished_ = grow_in_turn(deadline);
    return {source_.level, sink_.level, passes_, finished_};
  }

 private:
  using State = typename Trees::State;
  using Amount = typename Trees::Amount;
  using Trees::broken_;
  using Trees::cut_off;
  using Trees::kNeighbours;
  using Trees::lattice_;
  using Trees::loaded_;
  using Trees::sink_;
  using Trees::source_;
  using Trees::work_;
  static constexpr int64_t kClockEvery = 4096;  // neighbours looked at between looks at the clock

  bool borders_on_others(int32_t index) const {
    const Node& node = lattice_[index];
    const int32_t label = node.label;
    for (int k = 0; k < kNeighbours; ++k) {
      const Node& beside = lattice_[lattice_.neighbour(index, k)];
      if ((label > 0 ? node.residual[k] : beside.residual[opposite(k)]) != 0 &&
          beside.label != label) {
        return true;
      }
    }
    return false;
  }

  // The side that would have done less work after its pass is next: frames of small objects are cut
  // from the objects alone, and long ways are gone half by each.
  bool grow_in_turn(const Deadline& deadline) {
    while (!source_.active.empty() && !sink_.active.empty()) {
      if (passes_ >= deadline.passes || Clock::now() >= deadline.time) return false;
      ++passes_;
      const auto expected = [](const State& side) {
        return side.work + int64_t{side.active.size()} * kNeighbours;
      };
      const bool in_time = expected(source_) <= expected(sink_) ? grow<Side::source>(deadline)
                                                                : grow<Side::sink>(deadline);
      if (!in_time) return false;
    }
    return true;
  }

  // One pass: the nodes at the frontier take in their free neighbours and push to the other side.
  template <Side s>
  bool grow(const Deadline& deadline) {
    State& side = Trees::template state<s>();
    side.limit = side.level + 1;
    const int64_t work_before = work_;
    for (int32_t left = side.active.size(); left != 0; --left) {
      if (work_ >= next_look_) {
        if (Clock::now() >= deadline.time) return false;
        next_look_ = work_ + kClockEvery;
      }
      const int32_t index = Trees::template pop_active<s>();
      look_around<s>(index);
      if (Trees::template depth<s>(lattice_[index]) > side.level) {
        Trees::template activate<s>(index);
      }
    }
    side.level = side.limit;
    side.work += work_ - work_before;
    return true;
  }

  template <Side s>
  void look_around(int32_t index) {
    State& side = Trees::template state<s>();
    Node& node = lattice_[index];
    // A push may cut the node off, which then rises or leaves the tree.
    const auto here = [&] {
      const int32_t depth = Trees::template depth<s>(node);
      return depth > 0 && depth <= side.level;
    };
    if (!here()) return;
    work_ += kNeighbours;
    for (int k = 0; k < kNeighbours; ++k) {
      const int32_t beside = lattice_.neighbour(index, k);
      Node& next = lattice_[beside];
      const auto& capacity = Trees::template outward<s>(node, k, next);
      while (capacity != 0 && Trees::template depth<s>(next) < 0) {
        push_across<s>(index, k, beside);
        if (!here()) return;
      }
      if (capacity == 0 || next.label != 0) continue;
      Trees::template set_depth<s>(next, Trees::template depth<s>(node) + 1);
      next.parent = static_cast<uint8_t>(opposite(k));
      Trees::template activate<s>(beside);
    }
  }

  // Moves flow over the link between a node of side s and its neighbour away from the root.
  template <Side s>
  static void move(Node& node, int k, Node& away, Amount amount) {
    using Residual = typename L::Numbers::Residual;
    Node& from = s == Side::source ? node : away;
    Node& to = s == Side::source ? away : node;
    const int way = s == Side::source ? k : opposite(k);
    from.residual[way] = static_cast<Residual>(from.residual[way] - static_cast<Residual>(amount));
    to.residual[opposite(way)] =
        static_cast<Residual>(to.residual[opposite(way)] + static_cast<Residual>(amount));
  }

  // Gives a node of side s a load, or takes one away.
  template <Side s>
  static void add_load(Node& node, Amount amount) {
    using Excess = typename L::Numbers::Excess;
    node.excess =
        static_cast<Excess>(s == Side::source ? node.excess - amount : node.excess + amount);
  }

  // Pushes all that the path from the node's root carries over the link k to `to` and on from
  // there.
  template <Side s>
  void push_across(int32_t node, int k, int32_t to) {
    auto amount = static_cast<Amount>(Trees::template outward<s>(lattice_[node], k, lattice_[to]));
    int32_t root = node;
    while (lattice_[root].parent != kRoot) {
      Node& child = lattice_[root];
      root = lattice_.neighbour(root, child.parent);
      amount = std::min(amount, static_cast<Amount>(Trees::template outward<s>(
                                    lattice_[root], opposite(child.parent), child)));
      work_ += 2;
    }
    amount = std::min(amount, -Trees::template load<s>(lattice_[root]));

    move<s>(lattice_[node], k, lattice_[to], amount);
    for (int32_t at = node; at != root;) {
      Node& child = lattice_[at];
      const int32_t above = lattice_.neighbour(at, child.parent);
      const int down = opposite(child.parent);
      move<s>(lattice_[above], down, child, amount);
      if (Trees::template outward<s>(lattice_[above], down, child) == 0) cut_off(at);
      at = above;
    }
    add_load<s>(lattice_[root], amount);
    if (lattice_[root].excess == 0) cut_off(root);
    this->template adopt_orphans<s>();

    add_load<other(s)>(lattice_[to], amount);
    pass_on<other(s)>(to);
    unload<other(s)>();
  }

  // Nodes that found new parents pass on their loads.
  template <Side s>
  void unload() {
    for (this->template adopt_orphans<s>(); !loaded_.empty(); this->template adopt_orphans<s>()) {
      while (!loaded_.empty()) pass_on<s>(loaded_.pop());
    }
  }

  // Moves a node's load towards its root, as far as links carry it.
  template <Side s>
  void pass_on(int32_t index) {
    for (;;) {
      Node& node = lattice_[index];
      const Amount load = Trees::template load<s>(node);
      if (node.parent == kRoot) {
        if (load >= 0) cut_off(index);
        return;
      }
      if (load <= 0 || node.parent == kOrphan) return;
      const int32_t above = lattice_.neighbour(index, node.parent);
      const int down = opposite(node.parent);
      const auto& capacity = Trees::template outward<s>(lattice_[above], down, node);
      const Amount amount = std::min(load, static_cast<Amount>(capacity));
      move<s>(lattice_[above], down, node, amount);
      add_load<s>(node, -amount);
      add_load<s>(lattice_[above], amount);
      if (capacity == 0) cut_off(index);
      ++work_;
      index = above;
    }
  }

  int64_t next_look_ = 0;  // at the clock, when so much work is done
  int passes_ = 0;
  bool finished_ = true;
};

}  // namespace regions::maxflow

// Adoption: how trees mend when links of theirs run full.
//
// An orphan takes a parent on a level below its own if there is one, otherwise it rises just over
// its lowest neighbour (Goldberg et al. 2011, section 3). Orphans are taken in the order of their
// levels: so the levels below are settled when one asks for a parent, and the trees stay free of
// cycles.
#pragma once

#include <algorithm>

#include "cpu/maxflow/trees.hpp"

namespace regions::maxflow {

template <ResidualLattice L>
class Adoption : protected Trees<L> {
 protected:
  using Trees = maxflow::Trees<L>;
  using Trees::Trees;
  using typename Trees::Node;

  using Trees::broken_;
  using Trees::kLost;
  using Trees::kNeighbours;
  using Trees::lattice_;
  using Trees::loaded_;
  using Trees::next_;
  using Trees::now_;
  using Trees::pop_waiting;
  using Trees::push_waiting;
  using Trees::waiting_;
  using Trees::waiting_count_;
  using Trees::work_;

  // Finds parents for all of broken_, or frees them. Nodes with a load that found one are in
  // loaded_ then; those that did not are roots of the other side.
  template <Side s>
  void adopt_orphans() {
    if (broken_.empty()) return;
    const auto lower_last = [this](int32_t a, int32_t b) {
      return Trees::template depth<s>(lattice_[a]) > Trees::template depth<s>(lattice_[b]);
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
        if (!broken_.empty()) level = Trees::template depth<s>(lattice_[broken_.back()]);
        if (waiting_count_ != 0) level = std::min(level, waiting_[0].level);
        if (level == std::numeric_limits<int32_t>::max()) return;
      }
      while (!broken_.empty() && Trees::template depth<s>(lattice_[broken_.back()]) == level) {
        now_.push(broken_.pop());
      }
      // NOLINTNEXTLINE(bugprone-infinite-loop): pop_waiting() changes what is asked for
      while (waiting_count_ != 0 && waiting_[0].level == level) now_.push(pop_waiting());
      while (!now_.empty()) find_parent<s>(now_.pop(), level);
      std::swap(now_, next_);
      ++level;
      if (rises_ > most_rises_) return regrow<s>();
    }
  }

 private:
  // Rises by more than a level, in one mending. Nodes cut off from all roots lift each other a
  // level or two at a time, up to the limit: past most_rises_ they are taken apart instead. Where
  // many of them came back, as many rises may come before the next time.
  static constexpr int32_t kMinRises = 512;

  static unsigned bit(bool value, int k) { return static_cast<unsigned>(value) << k; }

  // An orphan at `level`, where all lower levels are settled. Nothing but the residual capacities
  // is read of nodes that no link leads to: they may be another thread's.
  template <Side s>
  void find_parent(int32_t index, int32_t level) {
    const int32_t limit = Trees::template state<s>().limit;
    work_ += kNeighbours;
    Node& orphan = lattice_[index];
    unsigned beside = 0, children = 0;
    for (int k = 0; k < kNeighbours; ++k) {
      Node& node = lattice_[lattice_.neighbour(index, k)];
      const bool leads = Trees::template leads_in<s>(orphan, k, node);
      if (!leads && Trees::template outward<s>(orphan, k, node) == 0) continue;
      const int32_t at = Trees::template depth<s>(node);
      if (leads && at > 0 && at < level) return link<s>(index, k);
      beside |= bit(leads && at == level && node.parent != kOrphan, k);
      children |= bit(node.parent == opposite(k), k);
    }
    if (beside != 0 && level < limit) {
      Trees::template set_depth<s>(orphan, level + 1);
      link<s>(index, __builtin_ctz(beside));
      return cut_off_children<s>(index, children, level, level + 1);
    }
    const int32_t lowest = lowest_beside<s>(index);
    if (lowest < limit) {
      ++rises_;
      Trees::template set_depth<s>(orphan, lowest + 1);
      wait_for_level(index, lowest + 1, level);
      return cut_off_children<s>(index, children, level, lowest + 1);
    }
    cut_off_children<s>(index, children, level, limit);
    set_free<s>(index);
  }

  template <Side s>
  void link(int32_t index, int parent) {
    Node& node = lattice_[index];
    node.parent = static_cast<uint8_t>(parent);
    if (Trees::template load<s>(node) > 0) loaded_.push(index);
  }

  template <Side s>
  int32_t lowest_beside(int32_t index) {
    int32_t lowest = Trees::template state<s>().limit;
    for (int k = 0; k < kNeighbours; ++k) {
      const Node& node = lattice_[lattice_.neighbour(index, k)];
      if (!Trees::template leads_in<s>(lattice_[index], k, node)) continue;
      const int32_t at = Trees::template depth<s>(node);
      if (at > 0 && at < lowest) lowest = at;
    }
    return lowest;
  }

  void wait_for_level(int32_t index, int32_t level, int32_t now) {
    if (level == now + 1) {
      next_.push(index);
    } else {
      push_waiting(level, index);
    }
  }

  // Children not above their risen parent look for another one, though they may come back to it.
  template <Side s>
  void cut_off_children(int32_t index, unsigned children, int32_t now, int32_t risen) {
    for (; children != 0; children &= children - 1) {
      const int32_t child = lattice_.neighbour(index, __builtin_ctz(children));
      const int32_t at = Trees::template depth<s>(lattice_[child]);
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
      if (Trees::template leads_in<s>(node, k, lattice_[beside]) &&
          Trees::template depth<s>(lattice_[beside]) > 0) {
        Trees::template activate<s>(beside);
      }
    }
    if (Trees::template load<s>(node) <= 0) return;
    node.parent = kRoot;
    Trees::template set_depth<other(s)>(node, Trees::template state<other(s)>().limit);
    Trees::template activate<other(s)>(index);
  }

  // Takes the trees of all orphans apart, then takes in again what the rest of the forest reaches,
  // breadth first: each node gets its right level at once.
  template <Side s>
  void regrow() {
    const int32_t limit = Trees::template state<s>().limit;
    while (!next_.empty()) now_.push(next_.pop());
    while (!broken_.empty()) now_.push(broken_.pop());
    while (waiting_count_ != 0) now_.push(waiting_[--waiting_count_].node);
    for (int32_t i = 0; i < now_.size(); ++i) {
      Node& node = lattice_[now_[i]];
      for (int k = 0; k < kNeighbours; ++k) {
        const int32_t child = lattice_.neighbour(now_[i], k);
        if (Trees::template outward<s>(node, k, lattice_[child]) == 0 ||
            lattice_[child].parent != opposite(k))
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
      if (level <= limit) waiting_[waiting_count_++] = {level, index};
    }
    std::make_heap(waiting_, waiting_ + waiting_count_);
    int32_t head = 0;  // of broken_, a queue of nodes taken in
    for (;;) {
      const bool queued = head != broken_.size();
      if (waiting_count_ != 0 &&
          (!queued || waiting_[0].level <= Trees::template depth<s>(lattice_[broken_[head]]))) {
        const int32_t level = waiting_[0].level;
        const int32_t index = pop_waiting();
        if (lattice_[index].label == 0) take_in<s>(index, level);
      } else if (queued) {
        const int32_t index = broken_[head++];
        Node& node = lattice_[index];
        if (Trees::template depth<s>(node) == limit) continue;
        for (int k = 0; k < kNeighbours; ++k) {
          const int32_t beside = lattice_.neighbour(index, k);
          Node& next = lattice_[beside];
          if (Trees::template outward<s>(node, k, next) != 0 && next.label == 0 &&
              (next.marks & kLost)) {
            take_in<s>(beside, Trees::template depth<s>(node) + 1);
          }
        }
      } else {
        break;
      }
    }
    broken_.clear();
    for (const int32_t index : now_) lattice_[index].marks &= static_cast<uint8_t>(~kLost);
    int32_t kept = now_.size();
    for (const int32_t index : now_) {
      if (lattice_[index].label != 0) continue;
      set_free<s>(index);
      --kept;
    }
    most_rises_ = std::max(kMinRises, kept);
    now_.clear();
  }

  template <Side s>
  void take_in(int32_t index, int32_t level) {
    Node& node = lattice_[index];
    Trees::template set_depth<s>(node, level);
    for (int k = 0; k < kNeighbours; ++k) {
      const Node& beside = lattice_[lattice_.neighbour(index, k)];
      if (!Trees::template leads_in<s>(node, k, beside)) continue;
      const int32_t at = Trees::template depth<s>(beside);
      if (at <= 0 || at >= level) continue;
      link<s>(index, k);
      break;
    }
    broken_.push(index);
  }

  int32_t rises_ = 0;
  int32_t most_rises_ = kMinRises;
};

}  // namespace regions::maxflow

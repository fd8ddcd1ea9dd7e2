// Tracking on the CPU.
#include "cpu/tracking/tracking.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/tracking/step.hpp"

namespace regions {
namespace {

// A team of one: a step is far shorter than the labelling before it.
struct TeamOfOne {
  template <class F>
  void for_each(uint32_t count, F f) const {
    for (uint32_t i = 0; i < count; ++i) f(i);
  }
  template <class IsActive, class F>
  void for_each_pair(uint32_t rows, uint32_t columns, IsActive is_active, F f) const {
    for (uint32_t row = 0; row < rows; ++row) {
      if (!is_active(row)) continue;
      for (uint32_t column = 0; column < columns; ++column) f(row, column);
    }
  }
  template <class F>
  void once(F f) const {
    f();
  }
  template <class F>
  uint32_t count(uint32_t count, F f) const {
    uint32_t found = 0;
    for (uint32_t i = 0; i < count; ++i) found += f(i);
    return found;
  }
  template <class Wanted, class Take>
  uint32_t compact(uint32_t count, Wanted wanted, Take take) const {
    uint32_t rank = 0;
    for (uint32_t i = 0; i < count; ++i) {
      if (wanted(i)) take(i, rank++);
    }
    return rank;
  }
  template <class Wanted, class Take, class AlsoWanted, class AlsoTake>
  Two compact_two(uint32_t count, Wanted wanted, Take take, AlsoWanted also_wanted,
                  AlsoTake also_take) const {
    Two rank;
    for (uint32_t i = 0; i < count; ++i) {
      if (wanted(i)) take(i, rank.first++);
      if (also_wanted(i)) also_take(i, rank.second++);
    }
    return rank;
  }
  static void raise(uint64_t* at, uint64_t value) { *at = std::max(*at, value); }
  static void lower(uint64_t* at, uint64_t value) { *at = std::min(*at, value); }
  static void add(uint32_t* at, uint32_t more) { *at += more; }
};

}  // namespace

void Tracker::allocate(Backend& backend, const Setup& setup) {
  const bool goes_on = memory_.counts && forgets_ <= past_bytes(Ids::go_on);
  const uint32_t last_id = goes_on ? memory_.counts->last_id : 0;
  reports_.assign(static_cast<size_t>(setup.slots), {});
  block_ = backend.allocate(tracking_bytes(setup.size, setup.max_regions));
  memory_ = tracking_in(block_.data(), setup.size, setup.max_regions);
  memory_.counts->last_id = last_id;
  known_.assign(
      static_cast<size_t>(setup.size.height) * static_cast<size_t>(words_for(setup.size.width)), 0);
  spans_ = {setup.size.height, setup.size.height};
  forgets_ = past_bytes(Ids::go_on);
}

bool Tracker::takes(const RowSpans& spans) {
  const RowSpans before = std::exchange(spans_, spans);
  if (before == spans) return true;
  for (int span = 0; span < before.spans; ++span) {
    const int first = before.begin(span);
    for (int y = first + 1; y < before.end(span); ++y) {
      std::copy_n(memory_.labels.row(first), memory_.labels.width, memory_.labels.row(y));
      std::copy_n(known().row(first), known().words, known().row(y));
    }
  }
  return false;
}

void Tracker::forget(Ids ids) { forgets_ = std::max(forgets_, past_bytes(ids)); }

void Tracker::begin(const Ticket& ticket) {
  begun_ = ticket.number + 1;
  std::memset(block_.data(), 0, ticket.forgets);
}

void Tracker::step(const TrackRules& rules, const RegionTable& table, uint32_t count, int slot) {
  const TeamOfOne team;
  const TrackCounts before = *memory_.counts;
  const TrackStep step(team, memory_, rules, table.regions, count, before);
  step.see();
  step.match();
  step.finish(table, &reports_[static_cast<size_t>(slot)]);
}

}  // namespace regions

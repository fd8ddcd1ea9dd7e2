// Tracking on the CPU: runs the steps of core/tracking in one thread.
#include "cpu/cclabel/region_tracker.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/tracking/tracking_step.hpp"

namespace regions {
namespace {

// The parallel primitives that TrackStep uses, executed by one thread. One thread suffices, because
// a tracking step takes much less time than the labelling of the frame.
struct SingleThread {
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
    uint32_t sum = 0;
    for (uint32_t i = 0; i < count; ++i) sum += f(i);
    return sum;
  }
  // Calls store(i, rank) for each i with is_selected(i). `rank` is the number of smaller selected
  // i. Returns the number of selected i.
  template <class IsSelected, class Store>
  uint32_t compact(uint32_t count, IsSelected is_selected, Store store) const {
    uint32_t rank = 0;
    for (uint32_t i = 0; i < count; ++i) {
      if (is_selected(i)) store(i, rank++);
    }
    return rank;
  }
  // Like compact(), for two selections at once. Returns the number of selected i of each selection.
  template <class IsFirst, class StoreFirst, class IsSecond, class StoreSecond>
  TwoCounts compact_two(uint32_t count, IsFirst is_first, StoreFirst store_first,
                        IsSecond is_second, StoreSecond store_second) const {
    TwoCounts rank;
    for (uint32_t i = 0; i < count; ++i) {
      if (is_first(i)) store_first(i, rank.first++);
      if (is_second(i)) store_second(i, rank.second++);
    }
    return rank;
  }
  static void raise(uint64_t* maximum, uint64_t value) { *maximum = std::max(*maximum, value); }
  static void lower(uint64_t* minimum, uint64_t value) { *minimum = std::min(*minimum, value); }
  static void add(uint32_t* sum, uint32_t amount) { *sum += amount; }
};

}  // namespace

void Tracker::allocate(Backend& backend, const Setup& setup) {
  const bool continues_ids =
      memory_.counts && bytes_to_clear_ <= reset_bytes(IdNumbering::continued);
  const uint32_t last_id = continues_ids ? memory_.counts->last_id : 0;
  reports_.assign(static_cast<size_t>(setup.slots), {});
  block_ = backend.allocate(tracking_bytes(setup.size, setup.max_regions));
  memory_ = tracking_in(block_.data(), setup.size, setup.max_regions);
  memory_.counts->last_id = last_id;
  labelled_pixels_.assign(
      static_cast<size_t>(setup.size.height) * static_cast<size_t>(words_for(setup.size.width)), 0);
  spans_ = {setup.size.height, setup.size.height};
  bytes_to_clear_ = reset_bytes(IdNumbering::continued);
}

bool Tracker::set_row_spans(const RowSpans& spans) {
  const RowSpans before = std::exchange(spans_, spans);
  if (before == spans) return true;
  // Copies the first row of each span to the span's other rows, which earlier frames did not write.
  for (int span = 0; span < before.spans; ++span) {
    const int first = before.begin(span);
    for (int y = first + 1; y < before.end(span); ++y) {
      std::copy_n(memory_.labels.row(first), memory_.labels.width, memory_.labels.row(y));
      std::copy_n(labelled_pixels().row(first), labelled_pixels().words, labelled_pixels().row(y));
    }
  }
  return false;
}

void Tracker::forget(IdNumbering ids) {
  bytes_to_clear_ = std::max(bytes_to_clear_, reset_bytes(ids));
}

void Tracker::begin(const Ticket& ticket) {
  next_to_begin_ = ticket.number + 1;
  std::memset(block_.data(), 0, ticket.bytes_to_clear);
}

void Tracker::assign_tracks(const TrackRules& rules, const RegionTable& table, TrackState* states,
                            uint32_t count, int slot) {
  const SingleThread team;
  const TrackCounts before = *memory_.counts;
  const TrackStep step(team, memory_, rules, table.regions, count, before);
  step.collect_pairs();
  step.match();
  step.finish(table, states, &reports_[static_cast<size_t>(slot)]);
}

}  // namespace regions

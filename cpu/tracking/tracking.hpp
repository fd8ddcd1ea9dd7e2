// Tracking on the CPU: the memory of one stream, and frames taking turns at it.
#pragma once

#include <vector>

#include "core/algorithm.hpp"
#include "core/tracking/tracking.hpp"
#include "cpu/bits.hpp"
#include "cpu/row_spans.hpp"
#include "cpu/turns.hpp"

namespace regions {

// PairTable's atomics.
struct CpuAtomics {
  static uint32_t read(const uint32_t* at) { return __atomic_load_n(at, __ATOMIC_RELAXED); }
  static uint32_t add(uint32_t* at, uint32_t more) {
    return __atomic_fetch_add(at, more, __ATOMIC_RELAXED);
  }
  static uint32_t exchange_if(uint32_t* at, uint32_t expected, uint32_t wanted) {
    __atomic_compare_exchange_n(at, &expected, wanted, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    return expected;
  }
};

class Tracker {
 public:
  // No frame may be under way. Ids go on.
  void allocate(Backend& backend, const Setup& setup);

  // The next frame has no past. Called in order with the frames' enqueuing.
  void forget(Ids ids);

  // What a frame carries from enqueuing to its work.
  struct Ticket {
    uint64_t number = 0;
    size_t forgets = 0;  // bytes
  };
  Ticket next() { return {turns_.take(), std::exchange(forgets_, 0)}; }
  // Blocks until the frames before have finished.
  void await(const Ticket& ticket) { turns_.await(ticket.number); }
  // After a frame's work, whether it succeeded or not: the next frame's turn.
  void finish(const Ticket& ticket) {
    await(ticket);
    if (begun_ != ticket.number + 1) begin(ticket);  // else its forgetting would be lost
    turns_.pass();
  }

  // In a frame's turn: first begin(), then the pixels into memory().pairs and labels, then step().
  void begin(const Ticket& ticket);
  const TrackMemory& memory() const { return memory_; }
  // Before the pixels: which rows of theirs are alike. Whether the last frame's were so, too: then
  // memory().labels and known() have but the first row of each span, before and after.
  bool takes(const RowSpans& spans);
  // A bit for every one of memory().labels that is not 0; pixels without need not be looked at.
  BitImage known() { return {known_.data(), words_for(memory_.labels.width)}; }
  void step(const TrackRules& rules, const RegionTable& table, uint32_t count, int slot);

  const TrackReport& report(int slot) const { return reports_.at(static_cast<size_t>(slot)); }

 private:
  size_t past_bytes(Ids ids) const {
    return tracking_past_bytes(memory_.labels.size(), memory_.capacity, ids);
  }

  Block block_;
  TrackMemory memory_;
  std::vector<Word> known_;           // [height][words]
  RowSpans spans_;                    // of the last frame's pixels
  std::vector<TrackReport> reports_;  // of slots
  Turns turns_;
  size_t forgets_ = 0;  // bytes that the next frame clears first
  uint64_t begun_ = 0;  // frames that began; in their turns
};

}  // namespace regions

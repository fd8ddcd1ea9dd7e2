// Tracking on the CPU: the memory of one stream, and frames taking turns at it.
#pragma once

#include <condition_variable>
#include <mutex>
#include <vector>

#include "core/algorithm.hpp"
#include "core/tracking.hpp"

namespace regions {

// One thread at a time, in the order in which turns were given.
class Turns {
 public:
  // Taken when a frame is enqueued; its work waits for it and, when it ends, passes it on.
  class Turn {
   public:
    Turn(Turns& turns, uint64_t number) : turns_(turns), number_(number) {}
    ~Turn() {
      wait();  // also of work that failed early: the next one is not before this one's turn
      const std::lock_guard lock(turns_.mutex_);
      ++turns_.served_;
      turns_.changed_.notify_all();
    }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;
    void wait() const {
      std::unique_lock lock(turns_.mutex_);
      turns_.changed_.wait(lock, [&] { return turns_.served_ == number_; });
    }

   private:
    Turns& turns_;
    const uint64_t number_;
  };
  uint64_t give() { return given_++; }
  // At a frame's end: passes its turn, in order, if its work never ran.
  void finish(uint64_t number) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return served_ >= number; });
    if (served_ > number) return;
    ++served_;
    changed_.notify_all();
  }

 private:
  uint64_t given_ = 0;  // by the enqueuing thread
  std::mutex mutex_;    // guards served_
  std::condition_variable changed_;
  uint64_t served_ = 0;
};

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
  // No frame may be under way.
  void allocate(Backend& backend, const Setup& setup);

  // The next frame has no past. Called in order with the frames' enqueuing.
  void forget() { forgets_ = true; }

  // What a frame carries from enqueuing to its work.
  struct Ticket {
    uint64_t number = 0;
    bool forgets = false;
  };
  Ticket next() { return {turns_.give(), std::exchange(forgets_, false)}; }
  Turns& turns() { return turns_; }
  // Behind a frame's work, whatever became of it.
  void finish(const Ticket& ticket) { turns_.finish(ticket.number); }

  // In a frame's turn: first begin(), then the pixels into memory().pairs and labels, then step().
  void begin(const Ticket& ticket) const;
  const TrackMemory& memory() const { return memory_; }
  void step(const TrackRules& rules, Region* regions, uint32_t count, int slot);

  const TrackReport& report(int slot) const { return reports_.at(static_cast<size_t>(slot)); }

 private:
  Block block_;
  size_t reset_bytes_ = 0;
  TrackMemory memory_;
  std::vector<TrackReport> reports_;  // of slots
  Turns turns_;
  bool forgets_ = true;
};

}  // namespace regions

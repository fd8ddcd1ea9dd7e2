// A ticket lock that lets the frames of several queues use shared state one after another, in the
// order in which they were enqueued.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace regions {

class FrameSequencer {
 public:
  // Returns the next frame's ticket. Called only by the thread that enqueues frames.
  uint64_t take_ticket() { return next_ticket_++; }

  // Blocks until all frames with earlier tickets have ended their turns.
  void wait_for_turn(uint64_t ticket) {
    std::unique_lock lock(mutex_);
    turn_changed_.wait(lock, [&] { return current_ == ticket; });
  }

  // Ends the turn of the current frame.
  void advance() {
    {
      const std::lock_guard lock(mutex_);
      ++current_;
    }
    turn_changed_.notify_all();
  }

  // Must be called at the end of every frame, also after a failure. If advance() has not been
  // called for the frame, finish() waits for the frame's turn, calls on_missed_turn() and ends the
  // turn.
  template <class F>
  void finish(uint64_t ticket, F on_missed_turn) {
    std::unique_lock lock(mutex_);
    turn_changed_.wait(lock, [&] { return current_ >= ticket; });
    if (current_ > ticket) return;
    on_missed_turn();
    ++current_;
    turn_changed_.notify_all();
  }

 private:
  uint64_t next_ticket_ = 0;
  std::mutex mutex_;  // guards current_; held while finish() calls on_missed_turn()
  std::condition_variable turn_changed_;
  uint64_t current_ = 0;  // ticket of the frame whose turn it is
};

}  // namespace regions

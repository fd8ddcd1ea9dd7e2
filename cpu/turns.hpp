// Turns: frames of several queues take turns at shared state, in the order they were given.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace regions {

class Turns {
 public:
  // By the thread that gives the frames out.
  uint64_t take() { return given_++; }
  // Blocks until all turns before this one have passed.
  void await(uint64_t turn) {
    std::unique_lock lock(mutex_);
    passed_changed_.wait(lock, [&] { return passed_ == turn; });
  }
  // At a frame's end: passes its turn, in order, if its work failed to, after calling missed().
  template <class F>
  void finish(uint64_t turn, F missed) {
    std::unique_lock lock(mutex_);
    passed_changed_.wait(lock, [&] { return passed_ >= turn; });
    if (passed_ > turn) return;
    missed();
    ++passed_;
    passed_changed_.notify_all();
  }
  void pass() {
    {
      const std::lock_guard lock(mutex_);
      ++passed_;
    }
    passed_changed_.notify_all();
  }

 private:
  uint64_t given_ = 0;
  std::mutex mutex_;
  std::condition_variable passed_changed_;
  uint64_t passed_ = 0;  // guarded by mutex_
};

}  // namespace regions

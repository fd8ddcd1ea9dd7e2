// The queue of the CPU backend: a thread that runs tasks in order. A task divides its loops among
// the threads of Workers.
#pragma once

#include <chrono>
#include <concepts>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <new>
#include <thread>
#include <type_traits>

#include "core/backend.hpp"
#include "core/faults.hpp"
#include "core/workers.hpp"

namespace regions {

// Returns the workers of a CPU backend. Throws if the backend is not a CPU backend.
const Workers& workers_of(const Backend& backend);

class CpuQueue final : public Queue {
 public:
  static constexpr size_t kMaxTaskBytes = 3072;  // maximum size of a task's closure, bytes
  // Maximum number of tasks that wait or run at the same time.
  static constexpr size_t kMaxTasks = 64;

  // `background`: the queue has a thread that runs the tasks. `immediate`: submit() runs each task
  // in the calling thread before returning.
  enum class Mode : uint8_t { background, immediate };
  explicit CpuQueue(const Workers& workers, Mode mode = Mode::background);
  ~CpuQueue() override;
  CpuQueue(const CpuQueue&) = delete;
  CpuQueue& operator=(const CpuQueue&) = delete;

  // Runs f() after all earlier tasks. Stores a copy of f without allocating memory. Blocks while
  // kMaxTasks tasks are pending. The tasks of a frame, submitted between start() and record(),
  // begin only after record() or when kMaxTasks tasks are pending. If f throws, the queue skips the
  // tasks up to the next record(), and wait() throws the exception.
  template <std::invocable F>
  void submit(const F& f) {
    fail_if_injected(Fault::launch);
    add_task(f, false);
  }
  // Like submit(), but the task also runs after an earlier task has failed. f() must not throw.
  template <std::invocable F>
  void submit_always(const F& f) {
    add_task(f, true);
  }

  void copy(const ConstFrame& from, const Frame& to) override;
  void copy_bytes(const void* from, void* to, size_t bytes) override;
  void shrink(const ConstFrame& from, const Frame& to) override;
  void transfer_changes(const ConstFrame& before, const ConstFrame& after, const Frame& to,
                        bool is_tint) override;
  void pick(const ConstFrame& from, const Frame& to, const PixelMapping& picking) override;
  void start() override;
  void record() override;
  bool done() const override;
  void wait() override;
  int64_t elapsed() const override;

 private:
  struct Task {
    alignas(std::max_align_t) std::byte closure[kMaxTaskBytes];
    void (*run)(void* closure);  // null in a task that marks the end of a frame's work
    bool runs_after_failure;
  };
  template <class F>
  void add_task(const F& f, bool runs_after_failure) {
    static_assert(sizeof(F) <= kMaxTaskBytes && std::is_trivially_copyable_v<F>);
    std::unique_lock lock(mutex_);
    Task& task = wait_for_free_task(lock);
    new (task.closure) F(f);
    task.run = [](void* closure) { (*std::launder(static_cast<F*>(closure)))(); };
    task.runs_after_failure = runs_after_failure;
    publish_task(lock);
  }
  Task& wait_for_free_task(std::unique_lock<std::mutex>& lock);
  void publish_task(std::unique_lock<std::mutex>& lock);
  void run_tasks();
  void run_next_task(std::unique_lock<std::mutex>& lock);

  Workers workers_;
  std::unique_ptr<Task[]> task_ring_;  // [kMaxTasks], ring buffer of the pending tasks
  mutable std::mutex mutex_;           // guards all following members; not held while a task runs
  std::condition_variable state_changed_;
  // The four counters ..._tasks_ count tasks since the queue was created.
  uint64_t submitted_tasks_ = 0;
  uint64_t ready_tasks_ = 0;  // tasks that may begin; the tasks of a frame wait for record()
  uint64_t finished_tasks_ = 0;
  uint64_t recorded_tasks_ = 0;  // value of submitted_tasks_ immediately after the last record()
  std::exception_ptr error_;     // the first exception of a task; wait() throws it
  // The start and the end of the last frame's work.
  std::chrono::steady_clock::time_point start_time_, end_time_;
  bool is_collecting_ = false;  // between start() and record(): tasks are submitted but not ready
  bool is_skipping_ = false;    // a task has thrown; the other tasks of its frame are skipped
  bool is_stopping_ = false;
  std::thread thread_;
};

// Casts a queue of the CPU backend to CpuQueue.
inline CpuQueue& queue_of(Queue& queue) { return static_cast<CpuQueue&>(queue); }

// Submits the function f to the queue when the guard goes out of scope. A guard in enqueue() makes
// f run after all tasks of the frame, even if one of them fails or enqueue() throws.
template <std::invocable F>
class FrameGuard {
 public:
  FrameGuard(CpuQueue& queue, const F& f) : queue_(queue), last_task_(f) {}
  ~FrameGuard() { queue_.submit_always(last_task_); }
  FrameGuard(const FrameGuard&) = delete;
  FrameGuard& operator=(const FrameGuard&) = delete;

 private:
  CpuQueue& queue_;
  const F last_task_;
};

}  // namespace regions

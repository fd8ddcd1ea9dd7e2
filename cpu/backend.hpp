// The CPU as a backend: queues are threads that run tasks in order; tasks split their loops over
// Workers.
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

// The workers of a CPU backend.
const Workers& workers_of(const Backend& backend);

class CpuQueue final : public Queue {
 public:
  static constexpr size_t kTaskBytes = 3072;
  static constexpr size_t kTasks = 64;

  // With a thread of its own, or doing each task as it is given.
  enum class Runs : uint8_t { on_own_thread, at_once };
  explicit CpuQueue(const Workers& workers, Runs runs = Runs::on_own_thread);
  ~CpuQueue() override;
  CpuQueue(const CpuQueue&) = delete;
  CpuQueue& operator=(const CpuQueue&) = delete;

  // Runs f() after everything given before. The copy of f is kept without allocating; only when
  // kTasks wait already does this block. Of a frame, from its start() on, no task begins before its
  // record(), or before kTasks wait. What f throws, wait() throws; the tasks up to the next
  // record() are dropped then.
  template <std::invocable F>
  void submit(const F& f) {
    may_fail(Fault::launch);
    put(f, false);
  }
  // The same for what must be done even where the work before it failed. f() does not throw.
  template <std::invocable F>
  void submit_always(const F& f) {
    put(f, true);
  }

  void copy(const ConstFrame& from, const Frame& to) override;
  void copy_bytes(const void* from, void* to, size_t bytes) override;
  void shrink(const ConstFrame& from, const Frame& to) override;
  void carry_over(const ConstFrame& before, const ConstFrame& after, const Frame& to,
                  bool is_tint) override;
  void pick(const ConstFrame& from, const Frame& to, const PixelPicking& picking) override;
  void start() override;
  void record() override;
  bool done() const override;
  void wait() override;
  int64_t elapsed() const override;

 private:
  struct Task {
    alignas(std::max_align_t) std::byte closure[kTaskBytes];
    void (*run)(void* closure);  // null: the end of a frame's work
    bool always;
  };
  template <class F>
  void put(const F& f, bool always) {
    static_assert(sizeof(F) <= kTaskBytes && std::is_trivially_copyable_v<F>);
    std::unique_lock lock(mutex_);
    Task& task = next_place(lock);
    new (task.closure) F(f);
    task.run = [](void* closure) { (*std::launder(static_cast<F*>(closure)))(); };
    task.always = always;
    publish(lock);
  }
  Task& next_place(std::unique_lock<std::mutex>& lock);
  void publish(std::unique_lock<std::mutex>& lock);
  void serve();
  void run_next(std::unique_lock<std::mutex>& lock);

  Workers workers_;
  std::unique_ptr<Task[]> ring_;  // [kTasks]
  mutable std::mutex mutex_;      // guards what follows
  std::condition_variable changed_;
  uint64_t submitted_ = 0;
  uint64_t ready_ = 0;  // submitted, and may begin: of a frame under way none does until record()
  uint64_t finished_ = 0;
  uint64_t recorded_ = 0;  // value of submitted_ just after the last record()
  std::exception_ptr error_;
  std::chrono::steady_clock::time_point begin_, end_;  // of the last frame
  bool gathers_ = false;                               // such a frame is under way
  bool dropping_ = false;                              // a task threw; until the end of its frame
  bool ending_ = false;
  std::thread thread_;
};

// The queue by its own type; it must be of a CPU backend.
inline CpuQueue& queue_of(Queue& queue) { return static_cast<CpuQueue&>(queue); }

// In an enqueue(): f() runs behind what is submitted while this lives, whether that runs, fails, or
// is cut short by an exception.
template <std::invocable F>
class Afterwards {
 public:
  Afterwards(CpuQueue& queue, const F& f) : queue_(queue), f_(f) {}
  ~Afterwards() { queue_.submit_always(f_); }
  Afterwards(const Afterwards&) = delete;
  Afterwards& operator=(const Afterwards&) = delete;

 private:
  CpuQueue& queue_;
  const F f_;
};

}  // namespace regions

// Implements the CPU backend: memory allocation, task queues, and copies and scaling of frames.
#include "cpu/backend.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "core/workers.hpp"
#include "cpu/resampling.hpp"

namespace regions {
namespace {

// Size of a cache line and of the widest SIMD vector, in bytes.
constexpr std::align_val_t kAlignment{64};
// Larger blocks are mapped without a reservation of memory. Algorithms allocate for the worst case,
// and the system provides pages only when they are touched. With a reservation, the system refuses
// blocks that are larger than its free memory, even if most of their pages are never touched.
constexpr size_t kLargestReserved = size_t{64} << 20;
constexpr size_t kCopyBytes = 1 << 18;  // maximum number of bytes that a thread copies at a time

class CpuBackend final : public Backend {
 public:
  explicit CpuBackend(int threads) : workers_(threads) {}
  BackendKind kind() const override { return BackendKind::cpu; }
  std::string description() const override {
    const int threads = workers_.threads();
    return "cpu: " + std::to_string(threads) + (threads == 1 ? " thread" : " threads");
  }
  Memory memory() const override { return Memory::host; }
  std::unique_ptr<Queue> make_queue(int /*priority*/) override {
    return std::make_unique<CpuQueue>(workers_);
  }
  Block allocate(size_t bytes) override {
    fail_if_injected(Fault::allocation);
    if (bytes > kLargestReserved) return map(bytes);
    void* data = ::operator new(bytes, kAlignment, std::nothrow);
    if (!data) throw MemoryError("out of memory: " + std::to_string(bytes) + " bytes");
    return {data, bytes, [](void*, void* memory) { ::operator delete(memory, kAlignment); },
            nullptr};
  }
  Block allocate_pinned(size_t bytes) override { return allocate(bytes); }
  const Workers& workers() const { return workers_; }

 private:
  // Maps memory whose pages are provided when they are touched. A block may be larger than the
  // system's memory by half, because an algorithm touches only a part of it. The owner of the block
  // is its size.
  static Block map(size_t bytes) {
    static const auto memory =
        static_cast<size_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<size_t>(sysconf(_SC_PAGESIZE));
    void* data = bytes > memory + memory / 2
                     ? MAP_FAILED
                     : mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (data == MAP_FAILED) throw MemoryError("out of memory: " + std::to_string(bytes) + " bytes");
    return {data, bytes,
            [](void* size, void* block) { munmap(block, reinterpret_cast<uintptr_t>(size)); },
            reinterpret_cast<void*>(bytes)};
  }

  Workers workers_;
};

void copy_plane(const ConstFrame& from, const Frame& to, int plane, const Workers& workers) {
  const size_t bytes = row_bytes(from.layout, plane, from.size());
  const int rows = row_count(from.layout, plane, from.size());
  const auto chunk_rows = static_cast<int>(std::max<size_t>(1, kCopyBytes / bytes));
  workers.parallel_for((rows + chunk_rows - 1) / chunk_rows, [&](int chunk) {
    for (int y = chunk * chunk_rows; y < std::min(rows, (chunk + 1) * chunk_rows); ++y) {
      std::memcpy(to.plane[plane] + y * to.pitch[plane], from.plane[plane] + y * from.pitch[plane],
                  bytes);
    }
  });
}

}  // namespace

std::shared_ptr<Backend> make_cpu_backend(int threads) {
  return std::make_shared<CpuBackend>(threads);
}

const Workers& workers_of(const Backend& backend) {
  expects(backend.kind() == BackendKind::cpu,
          "this is not a CPU backend: " + backend.description());
  return static_cast<const CpuBackend&>(backend).workers();
}

std::unique_ptr<Queue> make_immediate_queue(Backend& cpu) {
  return std::make_unique<CpuQueue>(workers_of(cpu), CpuQueue::Mode::immediate);
}

CpuQueue::CpuQueue(const Workers& workers, Mode mode)
    : workers_(workers), task_ring_(new Task[kMaxTasks]) {
  if (mode == Mode::background) thread_ = start_thread([this] { run_tasks(); });
}

CpuQueue::~CpuQueue() {
  {
    const std::lock_guard lock(mutex_);
    is_stopping_ = true;
  }
  state_changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

CpuQueue::Task& CpuQueue::wait_for_free_task(std::unique_lock<std::mutex>& lock) {
  state_changed_.wait(lock, [&] { return submitted_tasks_ - finished_tasks_ < kMaxTasks; });
  return task_ring_[submitted_tasks_ % kMaxTasks];
}

// Makes the submitted task available to the queue's thread. Wakes the thread once per frame. If it
// were woken for each task, it would finish the task and sleep again before the next task is
// submitted.
void CpuQueue::publish_task(std::unique_lock<std::mutex>& lock) {
  ++submitted_tasks_;
  if (!thread_.joinable()) return run_next_task(lock);
  if (submitted_tasks_ - finished_tasks_ == kMaxTasks) is_collecting_ = false;
  if (is_collecting_) return;
  ready_tasks_ = submitted_tasks_;
  lock.unlock();
  state_changed_.notify_all();
}

void CpuQueue::copy(const ConstFrame& from, const Frame& to) {
  submit([from, to, this] {
    for (int p = 0; p < from.layout.planes; ++p) {
      if (from.plane[p] != to.plane[p]) copy_plane(from, to, p, workers_);
    }
  });
}

void CpuQueue::copy_bytes(const void* from, void* to, size_t bytes) {
  submit([=] { std::memcpy(to, from, bytes); });
}

void CpuQueue::shrink(const ConstFrame& from, const Frame& to) {
  submit([from, to, this] { regions::shrink(from, to, workers_); });
}

void CpuQueue::transfer_changes(const ConstFrame& before, const ConstFrame& after, const Frame& to,
                                bool is_tint) {
  submit([=, this] { regions::transfer_changes(before, after, to, is_tint, workers_); });
}

void CpuQueue::pick(const ConstFrame& from, const Frame& to, const PixelMapping& picking) {
  submit([=, this] { regions::pick(from, to, picking, workers_); });
}

void CpuQueue::start() {
  {
    const std::lock_guard lock(mutex_);
    is_collecting_ = true;
  }
  submit_always([this] {
    const std::lock_guard lock(mutex_);
    start_time_ = std::chrono::steady_clock::now();
  });
}

int64_t CpuQueue::elapsed() const {
  const std::lock_guard lock(mutex_);
  return std::chrono::nanoseconds(end_time_ - start_time_).count();
}

void CpuQueue::record() {
  std::unique_lock lock(mutex_);
  wait_for_free_task(lock).run = nullptr;
  recorded_tasks_ = submitted_tasks_ + 1;
  is_collecting_ = false;
  publish_task(lock);
}

bool CpuQueue::done() const {
  const std::lock_guard lock(mutex_);
  return finished_tasks_ >= recorded_tasks_;
}

void CpuQueue::wait() {
  std::unique_lock lock(mutex_);
  state_changed_.wait(lock, [&] { return finished_tasks_ >= recorded_tasks_; });
  if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
}

// The main function of the queue's thread. Runs all submitted tasks before returning.
void CpuQueue::run_tasks() {
  std::unique_lock lock(mutex_);
  for (;;) {
    state_changed_.wait(lock, [&] { return is_stopping_ || finished_tasks_ < ready_tasks_; });
    if (finished_tasks_ == submitted_tasks_) return;
    run_next_task(lock);
  }
}

void CpuQueue::run_next_task(std::unique_lock<std::mutex>& lock) {
  Task& task = task_ring_[finished_tasks_ % kMaxTasks];
  if (!task.run) {
    is_skipping_ = false;
    end_time_ = std::chrono::steady_clock::now();
  } else if (task.runs_after_failure) {
    lock.unlock();
    task.run(task.closure);
    lock.lock();
  } else if (!is_skipping_) {
    lock.unlock();
    std::exception_ptr error;
    try {
      fail_if_injected(Fault::work);
      task.run(task.closure);
    } catch (...) {
      error = std::current_exception();
    }
    lock.lock();
    is_skipping_ = error != nullptr;
    if (error && !error_) error_ = error;
  }
  ++finished_tasks_;
  // Other threads wait only for the end of a frame or for a free entry of task_ring_, so they are
  // notified only of these two events.
  if (finished_tasks_ >= recorded_tasks_ || submitted_tasks_ - finished_tasks_ == kMaxTasks - 1)
    state_changed_.notify_all();
}

}  // namespace regions

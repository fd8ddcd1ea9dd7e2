// CPU queues, copies and memory.
#include "cpu/backend.hpp"

#include <algorithm>
#include <cstring>

#include "core/thread.hpp"
#include "cpu/resampling.hpp"

namespace regions {
namespace {

constexpr std::align_val_t kAlignment{64};  // bytes of a cache line, and of the widest vector
constexpr size_t kCopyBytes = 1 << 18;      // pieces of a copy that threads share

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
    may_fail(Fault::allocation);
    void* data = ::operator new(bytes, kAlignment, std::nothrow);
    if (!data) throw MemoryError("out of memory: " + std::to_string(bytes) + " bytes");
    return {data, bytes, [](void*, void* memory) { ::operator delete(memory, kAlignment); },
            nullptr};
  }
  Block allocate_pinned(size_t bytes) override { return allocate(bytes); }
  const Workers& workers() const { return workers_; }

 private:
  Workers workers_;
};

void copy_plane(const ConstFrame& from, const Frame& to, int plane, const Workers& workers) {
  const size_t bytes = row_bytes(from.layout, plane, from.size());
  const int rows = row_count(from.layout, plane, from.size());
  const auto step = static_cast<int>(std::max<size_t>(1, kCopyBytes / bytes));
  workers.parallel_for((rows + step - 1) / step, [&](int piece) {
    for (int y = piece * step; y < std::min(rows, (piece + 1) * step); ++y) {
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
  return std::make_unique<CpuQueue>(workers_of(cpu), CpuQueue::Runs::at_once);
}

CpuQueue::CpuQueue(const Workers& workers, Runs runs) : workers_(workers), ring_(new Task[kTasks]) {
  if (runs == Runs::on_own_thread) thread_ = start_thread([this] { serve(); });
}

CpuQueue::~CpuQueue() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

CpuQueue::Task& CpuQueue::next_place(std::unique_lock<std::mutex>& lock) {
  changed_.wait(lock, [&] { return submitted_ - finished_ < kTasks; });
  return ring_[submitted_ % kTasks];
}

// The thread is woken once for a frame's tasks: it ends each sooner than the next one comes.
void CpuQueue::publish(std::unique_lock<std::mutex>& lock) {
  ++submitted_;
  if (!thread_.joinable()) return run_next(lock);
  if (submitted_ - finished_ == kTasks) gathers_ = false;
  if (gathers_) return;
  ready_ = submitted_;
  lock.unlock();
  changed_.notify_all();
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

void CpuQueue::carry_over(const ConstFrame& before, const ConstFrame& after, const Frame& to,
                          bool is_tint) {
  submit([=, this] { regions::carry_over(before, after, to, is_tint, workers_); });
}

void CpuQueue::pick(const ConstFrame& from, const Frame& to, const PixelPicking& picking) {
  submit([=, this] { regions::pick(from, to, picking, workers_); });
}

void CpuQueue::start() {
  {
    const std::lock_guard lock(mutex_);
    gathers_ = true;
  }
  submit_always([this] {
    const std::lock_guard lock(mutex_);
    begin_ = std::chrono::steady_clock::now();
  });
}

int64_t CpuQueue::elapsed() const {
  const std::lock_guard lock(mutex_);
  return std::chrono::nanoseconds(end_ - begin_).count();
}

void CpuQueue::record() {
  std::unique_lock lock(mutex_);
  next_place(lock).run = nullptr;
  recorded_ = submitted_ + 1;
  gathers_ = false;
  publish(lock);
}

bool CpuQueue::done() const {
  const std::lock_guard lock(mutex_);
  return finished_ >= recorded_;
}

void CpuQueue::wait() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return finished_ >= recorded_; });
  if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
}

// The queue's thread: what was submitted before the end still runs.
void CpuQueue::serve() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return ending_ || finished_ < ready_; });
    if (finished_ == submitted_) return;
    run_next(lock);
  }
}

void CpuQueue::run_next(std::unique_lock<std::mutex>& lock) {
  Task& task = ring_[finished_ % kTasks];
  if (!task.run) {
    dropping_ = false;
    end_ = std::chrono::steady_clock::now();
  } else if (task.always) {
    lock.unlock();
    task.run(task.closure);
    lock.lock();
  } else if (!dropping_) {
    lock.unlock();
    std::exception_ptr error;
    try {
      may_fail(Fault::work);
      task.run(task.closure);
    } catch (...) {
      error = std::current_exception();
    }
    lock.lock();
    dropping_ = error != nullptr;
    if (error && !error_) error_ = error;
  }
  ++finished_;
  // Threads wait for the end of a frame's work, or for a place: a task in between wakes none.
  if (finished_ >= recorded_ || submitted_ - finished_ == kTasks - 1) changed_.notify_all();
}

}  // namespace regions

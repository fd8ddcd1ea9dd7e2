// The thread pool of Workers. Its threads help with all running loops.
#include "core/workers.hpp"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <new>
#include <thread>
#include <vector>

namespace regions {
namespace {

// Number of polls before a waiting thread sleeps. The loops of a frame follow each other within
// microseconds, but waking a sleeping thread takes about 50 µs.
constexpr int kSpins = 2000;

void relax() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#else
  std::this_thread::yield();
#endif
}

template <class Ready>
void spin_until(Ready is_ready) {
  for (int i = 0; i < kSpins && !is_ready(); ++i) relax();
}

// A running loop. It is stored on the stack of the thread that called run(), and is in the pool's
// list while other threads may join it.
struct Loop {
  int count;
  int max_helpers;  // maximum number of helpers
  void* body;
  void (*call)(void* body, int index);
  std::atomic<int> next = 0;     // next index to execute
  std::atomic<int> helpers = 0;  // number of threads that execute the loop, without the caller
  std::exception_ptr error;      // guarded by the pool's mutex
  Loop* next_loop = nullptr;     // next loop in the pool's list; guarded by its mutex
};

}  // namespace

class Workers::Pool {
 public:
  ~Pool() { end_threads(); }

  // Starts threads until the pool has at least this many.
  void grow(size_t threads) {
    const std::lock_guard lock(mutex_);
    thread_count_ = std::max(thread_count_, threads);
    start_threads();
  }

  void end_threads() {
    {
      const std::lock_guard lock(mutex_);
      ending_ = true;
      ++changes_;
    }
    wake_.notify_all();
    for (std::thread& thread : threads_) thread.join();
    const std::lock_guard lock(mutex_);
    threads_.clear();
    ending_ = false;
  }

  void run(Loop& loop) {
    {
      const std::lock_guard lock(mutex_);
      if (threads_.size() < thread_count_) start_threads();
      loop.next_loop = first_loop_;
      first_loop_ = &loop;
      ++changes_;
    }
    for (int i = std::min(loop.max_helpers, loop.count - 1); i > 0; --i) wake_.notify_one();
    execute(loop);
    {
      const std::lock_guard lock(mutex_);
      Loop** link = &first_loop_;
      while (*link != &loop) link = &(*link)->next_loop;
      *link = loop.next_loop;
    }
    // The loop is no longer in the list, so no further thread can join it. Wait for the threads
    // that still execute it.
    spin_until([&] { return loop.helpers.load(std::memory_order_acquire) == 0; });
    std::unique_lock lock(mutex_);
    helpers_left_.wait(lock, [&] { return loop.helpers.load(std::memory_order_acquire) == 0; });
    if (loop.error) std::rethrow_exception(loop.error);
  }

  static std::shared_ptr<Pool> shared() {
    static const int handler = pthread_atfork(nullptr, nullptr, &Pool::after_fork);
    static_cast<void>(handler);
    const std::lock_guard lock(shared_mutex);
    std::shared_ptr<Pool> current = shared_pool.lock();
    if (!current) shared_pool = current = std::make_shared<Pool>();
    return current;
  }

  // The current shared pool, or null.
  static std::shared_ptr<Pool> existing() {
    const std::lock_guard lock(shared_mutex);
    return shared_pool.lock();
  }

 private:
  // Called in the child of a fork(), which has only one thread. Locks that other threads of the
  // parent held stay locked for ever. If end_threads() had ended the threads of the pool, the pool
  // stays usable. Otherwise the pool is never used again and never destroyed.
  static void after_fork() {
    // False: another thread was changing shared_pool.
    const bool is_unlocked = shared_mutex.try_lock();
    new (&shared_mutex) std::mutex;
    if (is_unlocked) {
      std::shared_ptr<Pool> pool = shared_pool.lock();
      if (!pool || pool->is_idle()) return;
      // Leaked on purpose: ~Pool() would wait for threads that do not exist.
      new std::shared_ptr<Pool>(std::move(pool));
    }
    new (&shared_pool) std::weak_ptr<Pool>;
  }

  bool is_idle() {
    const std::unique_lock lock(mutex_, std::try_to_lock);
    return lock.owns_lock() && threads_.empty();
  }

  void start_threads() {
    threads_.reserve(thread_count_);
    while (threads_.size() < thread_count_)
      threads_.push_back(start_thread([this] { help_with_loops(); }));
  }

  // Executes indices of the loop until none is left.
  void execute(Loop& loop) {
    try {
      for (int i; (i = loop.next.fetch_add(1, std::memory_order_relaxed)) < loop.count;) {
        loop.call(loop.body, i);
      }
    } catch (...) {
      loop.next = loop.count;
      const std::lock_guard lock(mutex_);
      if (!loop.error) loop.error = std::current_exception();
    }
  }

  // Runs on each thread of the pool: helps with running loops until the threads must end.
  void help_with_loops() {
    std::unique_lock lock(mutex_);
    while (!ending_) {
      Loop* loop = first_loop_;
      while (loop && (loop->next >= loop->count || loop->helpers >= loop->max_helpers)) {
        loop = loop->next_loop;
      }
      const unsigned seen_changes = changes_;
      if (loop) {
        ++loop->helpers;
        lock.unlock();
        execute(*loop);
        lock.lock();
        if (--loop->helpers == 0) helpers_left_.notify_all();
      } else {
        lock.unlock();
        spin_until([&] { return changes_.load(std::memory_order_relaxed) != seen_changes; });
        lock.lock();
        wake_.wait(lock, [&] { return changes_ != seen_changes; });
      }
    }
  }

  std::mutex mutex_;
  std::condition_variable wake_;          // signals that changes_ changed
  std::condition_variable helpers_left_;  // signals that a loop has no more helpers
  // Number of changes that threads must notice: started loops and calls of end_threads(). Written
  // under mutex_.
  std::atomic<unsigned> changes_ = 0;
  Loop* first_loop_ = nullptr;  // list of running loops; guarded by mutex_
  bool ending_ = false;         // true: threads must return; guarded by mutex_
  size_t thread_count_ = 0;     // number of threads that the pool should have
  std::vector<std::thread> threads_;

  inline static std::mutex shared_mutex;
  inline static std::weak_ptr<Pool> shared_pool;
};

Workers::Workers(int threads)
    : threads_(threads > 0 ? threads
                           : std::max(1, static_cast<int>(std::thread::hardware_concurrency()))),
      pool_(Pool::shared()) {
  pool_->grow(static_cast<size_t>(threads_ - 1));
}

void Workers::end_threads() {
  if (const std::shared_ptr<Pool> pool = Pool::existing()) pool->end_threads();
}

void Workers::run(int count, void* body, void (*call)(void* body, int index)) const {
  if (count <= 1 || threads_ == 1) {
    for (int i = 0; i < count; ++i) call(body, i);
    return;
  }
  Loop loop{count, threads_ - 1, body, call};
  pool_->run(loop);
}

}  // namespace regions

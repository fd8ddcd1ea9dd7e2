// The pool of Workers: threads that help with all running loops.
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

#include "core/thread.hpp"

namespace regions {
namespace {

// The number of polls before a waiting thread sleeps: a frame's loops follow each other within
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

// A running loop, on its caller's stack; in the pool's list while helpers may join.
struct Loop {
  int count;
  int places;  // for helpers
  void* body;
  void (*call)(void* body, int index);
  std::atomic<int> next = 0;     // index to do
  std::atomic<int> helpers = 0;  // threads inside, without the caller
  std::exception_ptr error;      // guarded by the pool's mutex
  Loop* following = nullptr;
};

}  // namespace

class Workers::Pool {
 public:
  ~Pool() { end_threads(); }

  void grow(size_t threads) {
    const std::lock_guard lock(mutex_);
    wanted_ = std::max(wanted_, threads);
    start_threads();
  }

  void end_threads() {
    {
      const std::lock_guard lock(mutex_);
      ending_ = true;
      ++calls_;
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
      if (threads_.size() < wanted_) start_threads();
      loop.following = first_;
      first_ = &loop;
      ++calls_;
    }
    for (int i = std::min(loop.places, loop.count - 1); i > 0; --i) wake_.notify_one();
    work(loop);
    {
      const std::lock_guard lock(mutex_);
      Loop** link = &first_;
      while (*link != &loop) link = &(*link)->following;
      *link = loop.following;
    }
    // No thread can join any more. Threads inside finish their current index.
    spin_until([&] { return loop.helpers.load(std::memory_order_acquire) == 0; });
    std::unique_lock lock(mutex_);
    left_.wait(lock, [&] { return loop.helpers.load(std::memory_order_acquire) == 0; });
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

  // The pool that is shared now, or null.
  static std::shared_ptr<Pool> existing() {
    const std::lock_guard lock(shared_mutex);
    return shared_pool.lock();
  }

 private:
  // In the child of a fork(), which has one thread. Threads of the parent may have held any lock. A
  // pool whose threads end_threads() has ended goes on. Another pool is never used or destroyed.
  static void after_fork() {
    const bool is_whole = shared_mutex.try_lock();  // else a thread was changing shared_pool
    new (&shared_mutex) std::mutex;
    if (is_whole) {
      std::shared_ptr<Pool> pool = shared_pool.lock();
      if (!pool || pool->is_idle()) return;
      new std::shared_ptr<Pool>(std::move(pool));  // ~Pool() would wait for threads
    }
    new (&shared_pool) std::weak_ptr<Pool>;
  }

  bool is_idle() {
    const std::unique_lock lock(mutex_, std::try_to_lock);
    return lock.owns_lock() && threads_.empty();
  }

  void start_threads() {
    threads_.reserve(wanted_);
    while (threads_.size() < wanted_) threads_.push_back(start_thread([this] { serve(); }));
  }

  void work(Loop& loop) {
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

  void serve() {
    std::unique_lock lock(mutex_);
    while (!ending_) {
      Loop* loop = first_;
      while (loop && (loop->next >= loop->count || loop->helpers >= loop->places)) {
        loop = loop->following;
      }
      const unsigned seen = calls_;
      if (loop) {
        ++loop->helpers;
        lock.unlock();
        work(*loop);
        lock.lock();
        if (--loop->helpers == 0) left_.notify_all();
      } else {
        lock.unlock();
        spin_until([&] { return calls_.load(std::memory_order_relaxed) != seen; });
        lock.lock();
        wake_.wait(lock, [&] { return calls_ != seen; });
      }
    }
  }

  std::mutex mutex_;
  std::condition_variable wake_;     // calls_ changed
  std::condition_variable left_;     // a loop has no helper any more
  std::atomic<unsigned> calls_ = 0;  // loops begun; written under mutex_
  Loop* first_ = nullptr;
  bool ending_ = false;
  size_t wanted_ = 0;  // threads
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

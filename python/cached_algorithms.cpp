// Implements AlgorithmCache, which also stops the worker threads before fork().
#include "python/cached_algorithms.hpp"

#include <pthread.h>

#include <algorithm>

#include "core/workers.hpp"

namespace regions::python {
namespace {

// Maximum number of idle algorithms. Each one holds several times the memory of its pictures.
constexpr size_t kMaxIdle = 4;
// Algorithms for larger pictures and volumes are not kept, because of their memory.
constexpr size_t kMaxPixels = size_t{1} << 26;

}  // namespace

// Never destroyed, because threads may still use it when the interpreter shuts down.
AlgorithmCache& AlgorithmCache::instance() {
  static AlgorithmCache& cache = *new AlgorithmCache;
  return cache;
}

AlgorithmCache::AlgorithmCache() {
  pthread_atfork([] { instance().before_fork(); }, [] { instance().after_fork(); },
                 [] { instance().after_fork(); });
}

AlgorithmCache::Use::Use() {
  AlgorithmCache& cache = instance();
  const std::lock_guard lock(cache.mutex_);
  ++cache.uses_;
}

AlgorithmCache::Use::~Use() {
  AlgorithmCache& cache = instance();
  const std::lock_guard lock(cache.mutex_);
  if (--cache.uses_ == 0) cache.no_uses_.notify_all();
}

std::shared_ptr<void> AlgorithmCache::take(const CacheKey& key) {
  const std::lock_guard lock(mutex_);
  const auto found = std::ranges::find(idle_, key, &Idle::key);
  if (found == idle_.end()) return {};
  std::shared_ptr<void> algorithm = std::move(found->algorithm);
  idle_.erase(found);
  return algorithm;
}

void AlgorithmCache::put_back(const CacheKey& key, std::shared_ptr<void> algorithm) {
  if (key.setup.size.area() * static_cast<size_t>(key.setup.depth) > kMaxPixels) return;
  std::list<Idle> removed;  // destroyed after the lock is released
  const std::lock_guard lock(mutex_);
  idle_.push_front({key, std::move(algorithm)});
  if (idle_.size() > kMaxIdle) removed.splice(removed.begin(), idle_, std::prev(idle_.end()));
}

void AlgorithmCache::before_fork() {
  std::unique_lock lock(mutex_);
  no_uses_.wait(lock, [&] { return uses_ == 0; });
  Workers::end_threads();
  lock.release();  // after_fork() unlocks the mutex
}

void AlgorithmCache::after_fork() { mutex_.unlock(); }

}  // namespace regions::python

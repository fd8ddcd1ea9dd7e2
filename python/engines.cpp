// The cache of engines, and the handling of their threads at fork().
#include "python/engines.hpp"

#include <pthread.h>

#include <algorithm>

#include "core/workers.hpp"

namespace regions::python {
namespace {

constexpr size_t kMaxIdle = 4;  // each engine holds several times the memory of its pictures

}  // namespace

// Never destroyed, because threads may still use it when the interpreter shuts down.
Engines& Engines::all() {
  static Engines& engines = *new Engines;
  return engines;
}

Engines::Engines() {
  pthread_atfork([] { all().before_fork(); }, [] { all().after_fork(); },
                 [] { all().after_fork(); });
}

Engines::Use::Use() {
  Engines& engines = all();
  const std::lock_guard lock(engines.mutex_);
  ++engines.uses_;
}

Engines::Use::~Use() {
  Engines& engines = all();
  const std::lock_guard lock(engines.mutex_);
  if (--engines.uses_ == 0) engines.unused_.notify_all();
}

std::unique_ptr<Engine> Engines::take(const EngineKey& key) {
  const std::lock_guard lock(mutex_);
  const auto found = std::ranges::find(idle_, key, &Idle::key);
  if (found == idle_.end()) return {};
  std::unique_ptr<Engine> engine = std::move(found->engine);
  idle_.erase(found);
  return engine;
}

void Engines::give_back(const EngineKey& key, std::unique_ptr<Engine> engine) {
  std::list<Idle> ending;  // destroyed after the lock is released
  const std::lock_guard lock(mutex_);
  idle_.push_front({key, std::move(engine)});
  if (idle_.size() > kMaxIdle) ending.splice(ending.begin(), idle_, std::prev(idle_.end()));
}

void Engines::before_fork() {
  std::unique_lock lock(mutex_);
  unused_.wait(lock, [&] { return uses_ == 0; });
  Workers::end_threads();
  lock.release();  // after_fork() unlocks the mutex
}

void Engines::after_fork() { mutex_.unlock(); }

}  // namespace regions::python

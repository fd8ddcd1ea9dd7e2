// Workers: runs loops in parallel on a thread pool that the whole process shares. start_thread()
// starts a single thread.
#pragma once

#include <memory>
#include <system_error>
#include <thread>
#include <type_traits>
#include <utility>

#include "core/error.hpp"

namespace regions {

// Starts a thread that runs body(). Throws MemoryError if the system cannot create one.
template <class Body>
std::thread start_thread(Body&& body) {
  try {
    return std::thread(std::forward<Body>(body));
  } catch (const std::system_error&) {
    throw MemoryError("the system cannot create another thread");
  }
}

// Splits loops over the threads of one pool that all Workers objects of the process share. In a
// child of fork(), new Workers get a new pool, because the parent's threads do not exist there.
class Workers {
 public:
  // Uses up to `threads` threads including the caller's; 0 uses all hardware threads.
  explicit Workers(int threads = 0);

  int threads() const { return threads_; }

  // Ends the pool's threads. The next loop starts them again. No loop may be running. After this
  // call, a child of fork() may keep using the Workers of its parent.
  static void end_threads();

  // Calls body(i) once for each i in 0..count-1, in any order, on the calling thread and on up to
  // threads()-1 other threads. Returns when all calls are done. Does not allocate. Rethrows the
  // first exception that body() throws. May be called from several threads at once and from within
  // a body.
  template <class Body>
  void parallel_for(int count, Body&& body) const {
    using B = std::remove_reference_t<Body>;
    run(count, const_cast<void*>(static_cast<const void*>(&body)),
        [](void* b, int i) { (*static_cast<B*>(b))(i); });
  }

 private:
  class Pool;
  void run(int count, void* body, void (*call)(void* body, int index)) const;

  int threads_;
  std::shared_ptr<Pool> pool_;  // its threads end with the last Workers object
};

}  // namespace regions

// Workers: splits loops over the threads of one pool that the whole process shares. In a child of
// fork() new Workers get a new pool, because a child has none of its parent's threads.
#pragma once

#include <memory>
#include <type_traits>

namespace regions {

class Workers {
 public:
  // A share of `threads` threads, the caller included; 0 takes as many as the machine has.
  explicit Workers(int threads = 0);

  int threads() const { return threads_; }

  // Ends the pool's threads; the next loop starts them again. No loop may be running. After this, a
  // child of fork() may go on with the Workers of its parent.
  static void end_threads();

  // Calls body(i) once for each i in 0..count-1, on this thread and up to threads()-1 others, in
  // any order; returns when all are done. Does not allocate. Rethrows the first exception of a
  // body. May be called from several threads at once and from within a body.
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
  std::shared_ptr<Pool> pool_;  // its threads end with the last Workers
};

}  // namespace regions

// Workers in a child of fork(), which has none of its parent's threads. A child that hangs is ended
// by a timer.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>
#include <vector>

#include "core/workers.hpp"
#include "tests/core/fork.hpp"

namespace regions {
namespace {

// Whether work() returns true in a child, within some seconds.
template <class Work>
bool in_child(const Work& work) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(10);
    _exit(work() ? 0 : 1);
  }
  int status = 0;
  return waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

// The bodies wait for each other, so each needs its own thread.
bool uses_threads(const Workers& workers) {
  std::atomic<int> there = 0;
  workers.parallel_for(workers.threads(), [&](int) {
    ++there;
    while (there < workers.threads()) std::this_thread::yield();
  });
  return there == workers.threads();
}

TEST(WorkersFork, NewWorkersInAChild_HaveThreads) {
  NEEDS_THREADS_AFTER_FORK();
  const Workers workers(3);
  ASSERT_TRUE(uses_threads(workers));
  EXPECT_TRUE(in_child([] {
    const Workers fresh(3);
    return uses_threads(fresh) && in_child([] { return uses_threads(Workers(3)); });
  }));
  EXPECT_TRUE(uses_threads(workers));
}

TEST(WorkersFork, WorkersWhoseThreadsEndedBefore_GoOnInTheChild) {
  NEEDS_THREADS_AFTER_FORK();
  const Workers workers(3);
  ASSERT_TRUE(uses_threads(workers));
  Workers::end_threads();
  EXPECT_TRUE(in_child([&] {
    if (!uses_threads(workers)) return false;
    Workers::end_threads();  // ends the threads of the same pool
    return in_child([&] { return uses_threads(workers); });
  }));
  EXPECT_TRUE(uses_threads(workers));
}

// The pool's locks are then often held by a thread that the child lacks.
TEST(WorkersFork, WhileLoopsRun_ChildrenNeverHang) {
  NEEDS_THREADS_AFTER_FORK();
  std::atomic<bool> ends = false;
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&] {
      while (!ends) Workers(2).parallel_for(2, [](int) {});
    });
  }
  for (int i = 0; i < 200; ++i) {
    EXPECT_TRUE(in_child([] { return uses_threads(Workers(2)); })) << i;
  }
  ends = true;
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace regions

// Workers: parallel loops, their threads and their errors, also in the child of fork().
#include "core/workers.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "cpu/backend.hpp"
#include "tests/core/fork.hpp"

namespace regions {
namespace {

TEST(Workers, ParallelFor_AnyRange_CallsEachIndexOnce) {
  for (const int threads : {1, 2, 3, 8}) {
    const Workers workers(threads);
    EXPECT_EQ(workers.threads(), threads);
    for (const int count : {0, 1, 2, 7, 1000}) {
      std::vector<std::atomic<int>> hits(static_cast<size_t>(count));
      workers.parallel_for(count, [&](int i) { ++hits[static_cast<size_t>(i)]; });
      for (const auto& hit : hits) EXPECT_EQ(hit, 1);
    }
  }
}

// Bodies that wait for each other return only if all threads run at the same time.
TEST(Workers, ParallelFor_AnyThreadCount_UsesThatManyThreads) {
  const Workers large(6);  // the pool keeps its threads
  for (const int threads : {2, 6, 3, 2}) {
    const Workers workers(threads);
    for (int round = 0; round < 20; ++round) {
      std::atomic<int> inside = 0, most = 0, met = 0;
      const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
      workers.parallel_for(threads, [&](int) {
        ++inside;
        while (inside < threads && std::chrono::steady_clock::now() < deadline) {
          std::this_thread::yield();
        }
        met += inside == threads;
      });
      ASSERT_EQ(met, threads) << "not all of " << threads << " threads started";
      inside = 0;
      workers.parallel_for(40, [&](int) {
        const int now = ++inside;
        for (int seen = most; now > seen && !most.compare_exchange_weak(seen, now);) {
        }
        std::this_thread::yield();
        --inside;
      });
      ASSERT_LE(most, threads);
    }
  }
}

TEST(Workers, ZeroOrNegativeThreadsRequested_UseOneThreadPerProcessor) {
  const auto all = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  EXPECT_EQ(Workers(0).threads(), all);
  EXPECT_EQ(Workers(-1).threads(), all);
}

TEST(Workers, ParallelFor_NestedLoopsInManyTaskQueues_RunEveryIterationOnce) {
  const auto backend = make_cpu_backend(3);
  const Workers* workers = &workers_of(*backend);
  std::vector<std::unique_ptr<Queue>> queues;
  std::atomic<int> sum = 0;
  auto* out = &sum;
  for (int q = 0; q < 6; ++q) {
    queues.push_back(backend->make_queue());
    for (int task = 0; task < 20; ++task) {
      queue_of(*queues.back()).submit([workers, out] {
        workers->parallel_for(5, [&](int) { workers->parallel_for(4, [&](int) { ++*out; }); });
      });
    }
    queues.back()->record();
  }
  for (const auto& queue : queues) queue->wait();
  EXPECT_EQ(sum, 6 * 20 * 5 * 4);
}

TEST(Workers, EndThreads_BeforeALoop_LoopStartsThreadsAgain) {
  Workers::end_threads();  // there may be none
  const Workers workers(3);
  for (int round = 0; round < 20; ++round) {
    Workers::end_threads();
    // The bodies wait for each other, so three threads must start.
    std::atomic<int> waiting = 0;
    workers.parallel_for(3, [&](int) {
      ++waiting;
      while (waiting < 3) std::this_thread::yield();
    });
    EXPECT_EQ(waiting, 3);
  }
}

TEST(Workers, ParallelFor_BodyThrows_CallerGetsTheExceptionAndNextLoopRuns) {
  for (const int threads : {1, 4}) {
    const Workers workers(threads);
    for (int round = 0; round < 50; ++round) {
      EXPECT_THROW(workers.parallel_for(100,
                                        [](int i) {
                                          if (i == 37) throw InputError("37");
                                        }),
                   InputError);
    }
    std::atomic<int> ran = 0;
    workers.parallel_for(10, [&](int) { ++ran; });
    EXPECT_EQ(ran, 10);
  }
}

// True if work() returns true in a child process. A timer ends a child that hangs.
template <class Work>
bool in_child(const Work& work) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(10);
    end_child(work());
  }
  int status = 0;
  return waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

// The bodies wait for each other, so each requires a thread.
bool uses_threads(const Workers& workers) {
  std::atomic<int> there = 0;
  workers.parallel_for(workers.threads(), [&](int) {
    ++there;
    while (there < workers.threads()) std::this_thread::yield();
  });
  return there == workers.threads();
}

TEST(WorkersFork, WorkersMadeInTheChildProcess_ParallelFor_UsesAllTheirThreads) {
  NEEDS_THREADS_AFTER_FORK();
  const Workers workers(3);
  ASSERT_TRUE(uses_threads(workers));
  EXPECT_TRUE(in_child([] {
    const Workers fresh(3);
    return uses_threads(fresh) && in_child([] { return uses_threads(Workers(3)); });
  }));
  EXPECT_TRUE(uses_threads(workers));
}

TEST(WorkersFork, ThreadsEndedBeforeTheFork_ParallelForInTheChild_UsesAllThreads) {
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

// At the time of fork() another thread often holds a lock of the pool. The child lacks this thread.
TEST(WorkersFork, ForkWhileLoopsRun_ParallelForInEachChild_UsesAllThreads) {
  NEEDS_THREADS_AFTER_FORK();
  NEEDS_ALLOCATOR_AFTER_FORK();
  std::atomic<bool> ends = false;
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&] {
      while (!ends) Workers(2).parallel_for(2, [](int) {});
    });
  }
  for (int i = 0; i < 100; ++i) {
    EXPECT_TRUE(in_child([] { return uses_threads(Workers(2)); })) << i;
  }
  ends = true;
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace regions

// Loops over the pool of threads: every index once, errors, and how many threads take part.
#include "core/workers.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "cpu/backend.hpp"

namespace regions {
namespace {

TEST(Workers, EveryIndexOnceWhateverTheThreads) {
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

// Bodies that wait for each other end only if so many threads are there; more never are.
TEST(Workers, AsManyThreadsAsWantedWorkAtOnce) {
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
      ASSERT_EQ(met, threads) << "of " << threads << " threads, others never came";
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

TEST(Workers, NoneWantedAreAsManyAsTheMachineHas) {
  const auto all = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  EXPECT_EQ(Workers(0).threads(), all);
  EXPECT_EQ(Workers(-1).threads(), all);
}

TEST(Workers, NestedLoopsAndManyQueuesAtOnceEnd) {
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

TEST(Workers, ThreadsThatWereEndedBeginAgain) {
  Workers::end_threads();  // there may be none
  const Workers workers(3);
  for (int round = 0; round < 20; ++round) {
    Workers::end_threads();
    // Each waits for the others, so three threads have to come.
    std::atomic<int> waiting = 0;
    workers.parallel_for(3, [&](int) {
      ++waiting;
      while (waiting < 3) std::this_thread::yield();
    });
    EXPECT_EQ(waiting, 3);
  }
}

TEST(Workers, ErrorsReachTheCaller) {
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

}  // namespace
}  // namespace regions

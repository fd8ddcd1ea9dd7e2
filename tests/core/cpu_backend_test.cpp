// The CPU backend: order and errors of queues, loops over the pool, copies, memory.
#include <gtest/gtest.h>

#include <atomic>
#include <numeric>
#include <vector>

#include "cpu/backend.hpp"
#include "tests/pictures/guarded.hpp"
#include "tests/pictures/pictures.hpp"

namespace regions {
namespace {

TEST(CpuQueue, RunsTasksInOrderAlsoBeyondItsRing) {
  const auto backend = make_cpu_backend(2);
  const auto queue = backend->make_queue();
  std::vector<int> order;
  auto* out = &order;
  const int count = static_cast<int>(CpuQueue::kTasks) * 5;
  for (int i = 0; i < count; ++i) queue_of(*queue).submit([out, i] { out->push_back(i); });
  queue->record();
  queue->wait();
  EXPECT_TRUE(queue->done());
  std::vector<int> expected(static_cast<size_t>(count));
  std::iota(expected.begin(), expected.end(), 0);
  EXPECT_EQ(order, expected);
}

TEST(CpuQueue, DoneTellsTheTruthAndNeverWaits) {
  const auto backend = make_cpu_backend(1);
  const auto queue = backend->make_queue();
  EXPECT_TRUE(queue->done());  // nothing was recorded
  std::atomic<bool> gate = false;
  auto* open = &gate;
  queue_of(*queue).submit([open] { open->wait(false); });
  queue->record();
  EXPECT_FALSE(queue->done());
  gate = true;
  gate.notify_all();
  queue->wait();
  EXPECT_TRUE(queue->done());
}

TEST(CpuQueue, WhatMustBeDoneIsDoneBehindFailures) {
  const auto backend = make_cpu_backend(2);
  const auto queue = backend->make_queue();
  int ran = 0;
  auto* out = &ran;
  const auto give_work = [&](bool stops) {
    const Afterwards last(queue_of(*queue), [out] { *out += 1000; });
    queue_of(*queue).submit([] { throw MemoryError("first"); });
    queue_of(*queue).submit([out] { *out += 1; });
    expects(!stops, "stopped");
  };
  give_work(false);
  EXPECT_THROW(give_work(true), InputError);
  queue->record();
  EXPECT_THROW(queue->wait(), MemoryError);
  EXPECT_EQ(ran, 2000);
}

TEST(CpuQueue, AnErrorDropsTheRestOfItsFrameOnly) {
  const auto backend = make_cpu_backend(2);
  const auto queue = backend->make_queue();
  int ran = 0;
  auto* out = &ran;
  queue_of(*queue).submit([out] { *out += 1; });
  queue_of(*queue).submit([] { throw MemoryError("first"); });
  queue_of(*queue).submit([out] { *out += 10; });
  queue->record();
  queue_of(*queue).submit([out] { *out += 100; });
  queue->record();
  try {
    queue->wait();
    FAIL() << "nothing was thrown";
  } catch (const MemoryError& error) {
    EXPECT_STREQ(error.what(), "first");
  }
  EXPECT_EQ(ran, 101);
  queue->wait();  // thrown once
  queue_of(*queue).submit([out] { *out = 7; });
  queue->record();
  queue->wait();
  EXPECT_EQ(ran, 7);
}

TEST(CpuQueue, FinishesWhatWasGivenBeforeItsEnd) {
  const auto backend = make_cpu_backend(1);
  std::atomic<int> ran = 0;
  auto* out = &ran;
  {
    const auto queue = backend->make_queue();
    for (int i = 0; i < 50; ++i) queue_of(*queue).submit([out] { ++*out; });
  }
  EXPECT_EQ(ran, 50);
}

TEST(CpuQueue, CopiesPicturesOfEveryFormat) {
  const auto backend = make_cpu_backend(3);
  const auto queue = backend->make_queue();
  for (const Size size : {Size{1, 1}, Size{5, 3}, Size{641, 481}}) {
    const Picture clouds = make_picture("clouds", size);
    for (int f = 0; f + 1 < kPixelFormats; ++f) {
      const auto format = static_cast<PixelFormat>(f);
      const GuardedFrame from = convert(clouds.frame(), format, {}, 5);
      GuardedFrame to(format, size, 12);
      queue->copy(from.frame(), to.frame());
      queue->record();
      queue->wait();
      EXPECT_TRUE(to.same_pixels(from)) << name_of(format);
      EXPECT_TRUE(to.intact()) << name_of(format);
    }
  }
  const char text[] = "plain bytes";
  char copy[sizeof text] = {};
  queue->copy_bytes(text, copy, sizeof text);
  queue->record();
  queue->wait();
  EXPECT_STREQ(copy, text);
}

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

TEST(CpuBackend, MemoryIsAlignedAndRefusalsNameTheSize) {
  const auto backend = make_cpu_backend(2);
  EXPECT_EQ(backend->kind(), BackendKind::cpu);
  EXPECT_EQ(backend->memory(), Memory::host);
  EXPECT_EQ(backend->description(), "cpu: 2 threads");
  EXPECT_EQ(make_cpu_backend(1)->description(), "cpu: 1 thread");
  for (const size_t bytes : {size_t{0}, size_t{1}, size_t{1000}}) {
    const Block block = backend->allocate(bytes);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(block.data()) % 64, 0u);
    EXPECT_EQ(block.bytes(), bytes);
  }
  try {
    const Block block = backend->allocate(size_t{1} << 60);
    FAIL() << "a billion gigabytes were there";
  } catch (const MemoryError& error) {
    EXPECT_NE(std::string(error.what()).find("1152921504606846976"), std::string::npos);
  }
}

}  // namespace
}  // namespace regions

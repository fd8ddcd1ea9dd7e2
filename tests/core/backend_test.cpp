// Backends: queues, copies, memory, and the choice of a device.
#include "cpu/backend.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <fstream>
#include <numeric>
#include <thread>
#include <vector>

#include "core/device_balancer.hpp"
#include "core/faults.hpp"
#include "tests/core/error_message.hpp"
#include "tests/pictures/backend_test.hpp"
#include "tests/pictures/guarded.hpp"
#include "tests/pictures/pictures.hpp"

namespace regions {
namespace {

using BackendQueue = BackendTest;
TEST_ON_BACKENDS(BackendQueue);

TEST_P(BackendQueue, FrameOfEveryFormat_CopiedToBackendAndBack_IsUnchanged) {
  for (const Size size : {Size{1, 1}, {5, 3}, {641, 481}}) {
    const Picture clouds = make_picture("clouds", size);
    for (int f = 0; f + 1 < kPixelFormats; ++f) {
      const auto format = static_cast<PixelFormat>(f);
      const GuardedFrame from = convert(clouds.frame(), format, {}, 6);
      DeviceFrame there(*backend_, *queue_, format, size, 12);
      there.upload(from.frame());
      bool intact = false;
      EXPECT_TRUE(there.download(&intact).same_pixels(from)) << name_of(format);
      EXPECT_TRUE(intact) << name_of(format);
      GuardedFrame back(format, size, 4);
      queue_->copy(there.frame(), back.frame());
      finish();
      EXPECT_TRUE(queue_->done() && back.same_pixels(from) && back.intact()) << name_of(format);
    }
  }
}

TEST_P(BackendQueue, BytesCopiedToBackendAndBack_AreUnchanged) {
  constexpr size_t kBytes = 1 << 20;
  const Block host = backend_->allocate_pinned(2 * kBytes), there = backend_->allocate(kBytes);
  std::memset(host.data(), 7, kBytes);
  queue_->copy_bytes(host.data(), there.data(), kBytes);
  queue_->copy_bytes(there.data(), host.as<std::byte>() + kBytes, kBytes);
  finish();
  EXPECT_TRUE(queue_->done());
  EXPECT_EQ(std::memcmp(host.data(), host.as<std::byte>() + kBytes, kBytes), 0);
}

TEST_P(BackendQueue, Allocate_MoreThanAvailable_ErrorNamesTheSizeAndNextAllocationSucceeds) {
  try {
    const Block block = plain_->allocate(size_t{1} << 50);
    FAIL() << "a petabyte was allocated";
  } catch (const MemoryError& error) {
    EXPECT_NE(std::string(error.what()).find(std::to_string(size_t{1} << 50)), std::string::npos);
  }
  EXPECT_NO_THROW(plain_->allocate(1000));
}

// Algorithms allocate for the worst case, and touch only a part of it.
TEST(CpuBackend, BlockLargerThanTheMemory_IsRefusedFromOneAndAHalfTimesItsSize) {
  const auto memory =
      static_cast<size_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const auto backend = make_cpu_backend(1);
  EXPECT_THROW(backend->allocate(memory / 8 * 13), MemoryError);
  std::ifstream setting("/proc/sys/vm/overcommit_memory");
  int policy = 2;
  setting >> policy;
  if (policy == 2) GTEST_SKIP() << "this system reserves memory for every block";
  rlimit addresses{};
  getrlimit(RLIMIT_AS, &addresses);
  if (addresses.rlim_cur / 2 < memory) GTEST_SKIP() << "this process may use fewer addresses";
  const Block block = backend->allocate(memory / 8 * 9);
  block.as<char>()[block.bytes() - 1] = 1;
  EXPECT_EQ(block.as<char>()[block.bytes() / 2], 0);
}

TEST(CpuQueue, Submit_MoreTasksThanTheQueueHolds_AllRunInOrder) {
  const auto backend = make_cpu_backend(2);
  const auto queue = backend->make_queue();
  std::vector<int> order;
  auto* out = &order;
  const int count = static_cast<int>(CpuQueue::kMaxTasks) * 5;
  for (int i = 0; i < count; ++i) queue_of(*queue).submit([out, i] { out->push_back(i); });
  queue->record();
  queue->wait();
  EXPECT_TRUE(queue->done());
  std::vector<int> expected(static_cast<size_t>(count));
  std::iota(expected.begin(), expected.end(), 0);
  EXPECT_EQ(order, expected);
}

TEST(CpuQueue, ImmediateQueue_Submit_RunsTaskOnTheCallersThreadUnlessAnEarlierTaskFailed) {
  const auto backend = make_cpu_backend(2);
  const auto queue = make_immediate_queue(*backend);
  std::vector<std::thread::id> seen;
  auto* out = &seen;
  const size_t count = CpuQueue::kMaxTasks * 3;
  for (size_t i = 0; i < count; ++i) {
    queue_of(*queue).submit([out] { out->push_back(std::this_thread::get_id()); });
    ASSERT_EQ(seen.size(), i + 1);
  }
  EXPECT_EQ(seen, std::vector(count, std::this_thread::get_id()));
  queue_of(*queue).submit([] { throw MemoryError("first"); });
  queue_of(*queue).submit([out] { out->clear(); });  // dropped
  queue->record();
  EXPECT_THROW(queue->wait(), MemoryError);
  EXPECT_EQ(seen.size(), count);
  queue_of(*queue).submit([out] { out->clear(); });
  queue->record();
  queue->wait();
  EXPECT_TRUE(queue->done() && seen.empty());
}

TEST(CpuQueue, FunctionsForStreamsOfADevice_DoNothing) {
  const auto backend = make_cpu_backend(2);
  const auto queue = backend->make_queue();
  EXPECT_EQ(queue->native(), nullptr);
  EXPECT_EQ(queue->owned_stream(), nullptr);
  int other = 0;
  queue->move_to(&other);
  queue->follow(&other);
  queue->lead(&other);
  EXPECT_EQ(queue->native(), nullptr);
}

TEST(CpuQueue, Done_WhileRecordedWorkRuns_ReturnsFalse) {
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

TEST(CpuQueue, FrameGuard_FrameFails_StillRunsTheTaskOfTheGuard) {
  const auto backend = make_cpu_backend(2);
  const auto queue = backend->make_queue();
  int ran = 0;
  auto* out = &ran;
  const auto give_work = [&](bool stops) {
    const FrameGuard last(queue_of(*queue), [out] { *out += 1000; });
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

TEST(CpuQueue, Submit_TaskFails_DropsOnlyTheLaterTasksOfItsFrame) {
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

TEST(CpuQueue, Destructor_TasksPending_FinishesAllTasks) {
  const auto backend = make_cpu_backend(1);
  std::atomic<int> ran = 0;
  auto* out = &ran;
  {
    const auto queue = backend->make_queue();
    for (int i = 0; i < 50; ++i) queue_of(*queue).submit([out] { ++*out; });
  }
  EXPECT_EQ(ran, 50);
}

TEST(CpuQueue, Copy_WithNegativePitchAndInPlace_KeepsEverySample) {
  const auto backend = make_cpu_backend(2);
  const auto queue = backend->make_queue();
  for (const PixelFormat format : {PixelFormat::labels32, PixelFormat::i420, PixelFormat::rgb}) {
    GuardedFrame from(format, {5, 4}), to(format, {5, 4}, 4);
    const ConstFrame filled = std::as_const(from).frame();
    for (int p = 0; p < filled.layout.planes; ++p) {
      const size_t bytes = row_bytes(filled.layout, p, filled.size());
      for (int y = 0; y < row_count(filled.layout, p, filled.size()); ++y) {
        for (size_t i = 0; i < bytes; ++i) {
          const auto value = static_cast<uint32_t>(y) * 31 + static_cast<uint32_t>(i);
          from.frame().plane[p][y * filled.pitch[p] + static_cast<ptrdiff_t>(i)] =
              static_cast<std::byte>(hash(value, static_cast<uint32_t>(p)));
        }
      }
    }
    // Upside down twice, the second time in place.
    const auto turned = [](auto frame) {
      for (int p = 0; p < frame.layout.planes; ++p) {
        frame.plane[p] += (row_count(frame.layout, p, frame.size()) - 1) * frame.pitch[p];
        frame.pitch[p] = -frame.pitch[p];
      }
      return frame;
    };
    queue->copy(turned(filled), turned(to.frame()));
    queue->copy(to.frame(), to.frame());
    queue->record();
    queue->wait();
    EXPECT_TRUE(to.same_pixels(from)) << name_of(format);
    EXPECT_TRUE(to.intact()) << name_of(format);
  }
}

TEST(CpuQueue, Elapsed_AfterTasks_IsAtLeastTheirTimeAndAtMostTheTimeUntilWaitReturns) {
  using std::chrono::steady_clock;
  const auto backend = make_cpu_backend(1);
  const auto queue = backend->make_queue();
  for (int round = 0; round < 3; ++round) {
    const auto before = steady_clock::now();
    queue->start();
    queue_of(*queue).submit([] {
      const auto end = steady_clock::now() + std::chrono::milliseconds(3);
      while (steady_clock::now() < end) {
      }
    });
    queue->record();
    queue->wait();
    const std::chrono::nanoseconds all = steady_clock::now() - before;
    EXPECT_GE(queue->elapsed(), 3'000'000);
    EXPECT_LE(queue->elapsed(), all.count());
  }
  queue->start();
  queue_of(*queue).submit([] { throw MemoryError("no time is measured"); });
  queue->record();
  EXPECT_THROW(queue->wait(), MemoryError);
  EXPECT_GE(queue->elapsed(), 0) << "a frame that fails begins and ends too";
}

// The thread is woken once per frame, not once per task.
TEST(CpuQueue, Start_FewerTasksThanTheQueueHolds_RunOnlyAfterRecord) {
  const auto backend = make_cpu_backend(1);
  const auto queue = backend->make_queue();
  std::atomic<int> ran = 0;
  const auto add = [&] { queue_of(*queue).submit([counter = &ran] { ++*counter; }); };
  for (const int count : {1, 5, static_cast<int>(CpuQueue::kMaxTasks) * 3}) {
    ran = 0;
    queue->start();
    for (int i = 0; i < count; ++i) add();
    if (count < static_cast<int>(CpuQueue::kMaxTasks)) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      EXPECT_EQ(ran, 0) << count;
    }
    queue->record();
    queue->wait();
    EXPECT_EQ(ran, count);
  }
  ran = 0;
  add();  // does not belong to a frame
  queue->record();
  queue->start();
  add();
  queue->wait();
  EXPECT_EQ(ran, 1) << "tasks before start() continue";
}

TEST(CpuQueue, Wait_TaskSubmittedAfterTheLastRecord_IsNotWaitedFor) {
  std::atomic<bool> gate = false;
  auto* open = &gate;
  const auto backend = make_cpu_backend(1);
  const auto queue = backend->make_queue();
  queue->record();
  queue_of(*queue).submit([open] { open->wait(false); });
  queue->wait();  // does not wait for tasks after the record
  EXPECT_TRUE(queue->done());
  gate = true;
  gate.notify_all();
}

// A backend that is not the CPU backend.
class OtherBackend final : public Backend {
 public:
  BackendKind kind() const override { return BackendKind::cuda; }
  std::string description() const override { return "another"; }
  Memory memory() const override { return Memory::device; }
  std::unique_ptr<Queue> make_queue(int) override { return {}; }
  Block allocate(size_t) override { return {}; }
  Block allocate_pinned(size_t) override { return {}; }
};

TEST(CpuBackend, CpuWorkers_OfABackendThatIsNotTheCpu_ErrorNamesTheBackend) {
  EXPECT_EQ(error_message_of([] { workers_of(OtherBackend()); }),
            "this is not a CPU backend: another");
}

TEST(CpuBackend, Allocate_FaultInjectedForEverySecondCall_EverySecondCallThrows) {
  const auto backend = make_cpu_backend(1);
  inject_faults("allocation=2");
  EXPECT_NO_THROW(backend->allocate(1));
  EXPECT_THROW(backend->allocate(1), MemoryError);
  EXPECT_NO_THROW(backend->allocate_pinned(1));
  EXPECT_THROW(backend->allocate_pinned(1), MemoryError);
  inject_faults(nullptr);
}

TEST(CpuBackend, Allocate_BlockIsAlignedAndTooLargeSizeIsNamedInTheError) {
  const auto backend = make_cpu_backend(2);
  EXPECT_EQ(workers_of(*backend).threads(), 2);
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
    EXPECT_STREQ(error.what(), "out of memory: 1152921504606846976 bytes");
  }
}

TEST(DeviceBalancer, Choose_ManyElements_SpreadsThemEvenlyInDeviceOrder) {
  DeviceBalancer balancer;
  std::vector<int> places;
  for (int i = 0; i < 7; ++i) places.push_back(balancer.choose(3));
  EXPECT_EQ(places, (std::vector<int>{0, 1, 2, 0, 1, 2, 0}));
}

TEST(DeviceBalancer, Choose_TwoElementsRemovedFromADevice_NextTwoElementsGetThatDevice) {
  DeviceBalancer balancer;
  for (int i = 0; i < 6; ++i) balancer.choose(3);
  balancer.remove_element(1);
  balancer.remove_element(1);
  EXPECT_EQ(balancer.choose(3), 1);
  EXPECT_EQ(balancer.choose(3), 1);
  EXPECT_EQ(balancer.choose(3), 0);
}

TEST(DeviceBalancer, Choose_ElementsAdded_ReturnsTheLeastUsedDevice) {
  DeviceBalancer balancer;
  balancer.add_element(0);
  balancer.add_element(0);
  balancer.add_element(2);
  EXPECT_EQ(balancer.choose(4), 1);
  EXPECT_EQ(balancer.choose(4), 3);
  EXPECT_EQ(balancer.choose(4), 1);
  EXPECT_EQ(balancer.choose(1), 0) << "the only device, whatever its load";
}

}  // namespace
}  // namespace regions

// The CUDA backend by itself: contexts, queues, memory; and what it says where there is no GPU.
#include <gtest/gtest.h>

#include <cstring>
#include <thread>

#include "gpu/runtime/cuda_backend.hpp"

namespace regions {
namespace {

TEST(CudaBackendWithoutDevice, SaysSo) {
  if (cuda_device_count() > 0) GTEST_SKIP() << "a CUDA device is here";
  try {
    make_cuda_backend();
    FAIL() << "made a backend without a device";
  } catch (const DeviceError& error) {
    EXPECT_NE(std::string(error.what()).find("no CUDA device"), std::string::npos);
  }
  EXPECT_THROW(primary_context(0), DeviceError);
}

class CudaBackendTest : public testing::Test {
 protected:
  void SetUp() override {
    if (cuda_device_count() == 0) GTEST_SKIP() << "no CUDA device here";
    backend_ = make_cuda_backend();
  }
  std::shared_ptr<Backend> backend_;
};

TEST_F(CudaBackendTest, DescribesItself) {
  EXPECT_EQ(backend_->kind(), BackendKind::cuda);
  EXPECT_EQ(backend_->memory(), Memory::device);
  EXPECT_EQ(backend_->description().substr(0, 7), "cuda:0 ");
}

TEST_F(CudaBackendTest, RefusesOtherDevices) {
  EXPECT_THROW(make_cuda_backend(-1), DeviceError);
  EXPECT_THROW(make_cuda_backend(cuda_device_count()), DeviceError);
}

TEST_F(CudaBackendTest, EntriesNestOnEveryThread) {
  const auto work = [&] {
    const Backend::Entry outer(*backend_);
    const Backend::Entry inner(*backend_);
    const Block block = backend_->allocate(1000);
    EXPECT_NE(block.data(), nullptr);
  };
  std::thread other(work);
  work();
  other.join();
}

TEST_F(CudaBackendTest, CopiesThereAndBackInOrder) {
  const Backend::Entry entry(*backend_);
  const std::unique_ptr<Queue> queue = backend_->make_queue();
  EXPECT_TRUE(queue->done());
  constexpr size_t kBytes = 1 << 20;
  const Block host = backend_->allocate_pinned(2 * kBytes);
  const Block device = backend_->allocate(kBytes);
  std::memset(host.data(), 7, kBytes);
  queue->copy_bytes(host.data(), device.data(), kBytes);
  queue->copy_bytes(device.data(), host.as<std::byte>() + kBytes, kBytes);
  queue->record();
  queue->wait();
  EXPECT_TRUE(queue->done());
  EXPECT_EQ(std::memcmp(host.data(), host.as<std::byte>() + kBytes, kBytes), 0);
}

TEST_F(CudaBackendTest, MemoryThatIsNotThereIsAnError) {
  const Backend::Entry entry(*backend_);
  try {
    const Block block = backend_->allocate(size_t{1} << 50);
    FAIL() << "a petabyte was there";
  } catch (const MemoryError& error) {
    EXPECT_NE(std::string(error.what()).find(std::to_string(size_t{1} << 50)), std::string::npos);
  }
  EXPECT_NO_THROW(backend_->allocate(1000));  // the device goes on
}

TEST_F(CudaBackendTest, PinnedRoomIsKeptForWhatIsAllocated) {
  const Backend::Entry entry(*backend_);
  constexpr size_t kBytes = 3 << 20;  // without the room each would be asked for alone
  const std::shared_ptr<void> room = backend_->reserve_pinned(2 * kBytes);
  ASSERT_TRUE(room);
  const Block first = backend_->allocate_pinned(kBytes), second = backend_->allocate_pinned(kBytes);
  EXPECT_EQ(second.as<std::byte>(), first.as<std::byte>() + kBytes);
}

TEST_F(CudaBackendTest, BlocksOutliveTheBackendsOtherOwners) {
  Block block = backend_->allocate(1000);
  backend_.reset();
  block = {};
}

}  // namespace
}  // namespace regions

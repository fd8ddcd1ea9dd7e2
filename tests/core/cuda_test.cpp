// The CUDA backend: contexts, queues, memory and kernels.
#include <gtest/gtest.h>

#include <algorithm>
#include <thread>
#include <vector>

#include "gpu/runtime/cuda_backend.hpp"
#include "gpu/runtime/driver_function.hpp"
#include "gpu/runtime/kernel_loading.hpp"
#include "gpu/runtime/launch.hpp"
#include "tests/pictures/backend_test.hpp"

namespace regions {
namespace {

TEST(CudaBackendWithoutDevice, MakeBackend_NoGpu_Throws) {
  if (cuda_device_count() > 0) GTEST_SKIP() << "a CUDA device is here";
  try {
    make_cuda_backend();
    FAIL() << "made a backend without a device";
  } catch (const DeviceError& error) {
    EXPECT_NE(std::string(error.what()).find("no CUDA device"), std::string::npos);
  }
  EXPECT_THROW(primary_context(0), DeviceError);
}

using CudaBackend = CudaTest;

TEST_F(CudaBackend, Description_FirstDevice_BeginsWithCuda0) {
  EXPECT_EQ(plain_->kind(), BackendKind::cuda);
  EXPECT_EQ(plain_->memory(), Memory::device);
  EXPECT_EQ(plain_->description().substr(0, 7), "cuda:0 ");
}

TEST_F(CudaBackend, DeviceAttribute_OldGpuImitated_HasLittleSharedMemoryAndNoClusters) {
  const Backend::Entry entry(*plain_);
  const auto most = [](cudaDeviceAttr attribute, int limit) {
    int value = 0;
    cudaDeviceGetAttribute(&value, attribute, current_device());
    return imitates_old_gpu() ? std::min(value, limit) : value;
  };
  for (const auto& [attribute, limit] : {std::pair{cudaDevAttrClusterLaunch, 0},
                                         {cudaDevAttrMaxSharedMemoryPerBlockOptin, 64 << 10}})
    EXPECT_EQ(device_attribute(attribute), most(attribute, limit));
}

TEST_F(CudaBackend, MakeBackend_UnknownDeviceIndex_Throws) {
  EXPECT_THROW(make_cuda_backend(-1), DeviceError);
  EXPECT_THROW(make_cuda_backend(cuda_device_count()), DeviceError);
}

TEST_F(CudaBackend, Backend_EnteredTwiceOnTwoThreads_AllocatesMemory) {
  const auto work = [&] {
    const Backend::Entry outer(*plain_);
    const Backend::Entry inner(*plain_);
    const Block block = plain_->allocate(1000);
    EXPECT_NE(block.data(), nullptr);
  };
  std::thread other(work);
  work();
  other.join();
}

TEST_F(CudaBackend, AllocatePinned_MemoryReserved_BlocksAreConsecutiveInIt) {
  constexpr size_t kBytes = 3 << 20;  // without the reservation each is a single request
  const std::shared_ptr<void> room = plain_->reserve_pinned(2 * kBytes);
  ASSERT_TRUE(room);
  const Block first = plain_->allocate_pinned(kBytes), second = plain_->allocate_pinned(kBytes);
  EXPECT_EQ(second.as<std::byte>(), first.as<std::byte>() + kBytes);
}

TEST_F(CudaBackend, Block_FreedAfterItsBackendWasReleased_DoesNotCrash) {
  Block block = plain_->allocate(1000);
  queue_.reset();
  backend_.reset();
  entry_.reset();
  plain_.reset();
  block = {};
}

TEST_F(CudaBackend, TwoQueues_OneFollowsTheOther_CopiesRunInOrder) {
  constexpr size_t kBytes = size_t{64} << 20;
  const Block from = plain_->allocate_pinned(kBytes), to = plain_->allocate_pinned(kBytes);
  const Block there = plain_->allocate(kBytes);
  const auto producer = plain_->make_queue(), reader = plain_->make_queue();
  for (int round = 0; round < 40; ++round) {
    const auto value = static_cast<uint8_t>(round + 1);
    std::fill_n(from.as<uint8_t>(), kBytes, value);
    std::fill_n(to.as<uint8_t>(), kBytes, uint8_t{0});
    for (int i = 0; i < 4; ++i) producer->copy_bytes(from.data(), there.data(), kBytes);
    if (round % 2) {
      producer->record();
      producer->lead(reader->native());
    } else {
      reader->follow(producer->native());
    }
    // The last byte is copied last.
    reader->copy_bytes(there.as<uint8_t>() + kBytes - 1, to.data(), 1);
    reader->record();
    reader->wait();
    EXPECT_EQ(*to.as<uint8_t>(), value) << "round " << round;
    producer->record();
    producer->wait();
  }
}

TEST_F(CudaBackend, Queue_MovedToAnotherStream_CopiesRunInOrder) {
  constexpr size_t kBytes = size_t{64} << 20;
  const Block from = plain_->allocate_pinned(kBytes), to = plain_->allocate_pinned(kBytes);
  const Block there = plain_->allocate(kBytes);
  const auto first = plain_->make_queue(), second = plain_->make_queue();
  const auto queue = plain_->make_queue();
  void* const own = queue->native();
  void* const places[] = {first->native(), second->native(), nullptr,
                          own};  // null: the default stream
  for (size_t round = 0; round < 40; ++round) {
    const auto value = static_cast<uint8_t>(round + 1);
    std::fill_n(from.as<uint8_t>(), kBytes, value);
    std::fill_n(to.as<uint8_t>(), kBytes, uint8_t{0});
    queue->move_to(places[round % 4]);
    EXPECT_EQ(queue->native(), places[round % 4]);
    EXPECT_EQ(queue->owned_stream(), own);
    for (int i = 0; i < 4; ++i) queue->copy_bytes(from.data(), there.data(), kBytes);
    queue->record();
    queue->move_to(places[(round + 1 + round / 4 % 3) % 4]);
    // The last byte is copied last.
    queue->copy_bytes(there.as<uint8_t>() + kBytes - 1, to.data(), 1);
    queue->record();
    queue->wait();
    EXPECT_EQ(*to.as<uint8_t>(), value) << "round " << round;
  }
}

TEST(CudaKernels, IsBinaryCompatible_AnyDevice_TrueIfSameMajorAndNoEarlierMinorVersion) {
  EXPECT_TRUE(is_binary_compatible(90, {80, 90}));
  EXPECT_TRUE(is_binary_compatible(89, {80, 90}));
  EXPECT_TRUE(is_binary_compatible(121, {120}));
  EXPECT_FALSE(is_binary_compatible(75, {80, 90})) << "Turing";
  EXPECT_FALSE(is_binary_compatible(86, {89})) << "of a later minor version";
  EXPECT_FALSE(is_binary_compatible(120, {80, 90, 100})) << "Blackwell of another major version";
  EXPECT_FALSE(is_binary_compatible(90, {}));
}

template <class Function>
Function* call(const char* name) {
  return find_driver_function<Function>(name, 12040);
}

// Kernels are loaded when a backend is made, not with the first frame. This test asks the driver
// for the kernels of each file, because load_kernels() ignores kernels that it cannot find.
TEST_F(CudaBackend, Kernels_AfterABackendIsMade_AreAllLoaded) {
  auto* const module_of = call<decltype(cuFuncGetModule)>("cuFuncGetModule");
  auto* const count_of = call<decltype(cuModuleGetFunctionCount)>("cuModuleGetFunctionCount");
  auto* const list = call<decltype(cuModuleEnumerateFunctions)>("cuModuleEnumerateFunctions");
  auto* const ask = call<decltype(cuFuncIsLoaded)>("cuFuncIsLoaded");
  if (!ask) GTEST_SKIP() << "the driver cannot list loaded kernels";
  if (!has_machine_code()) GTEST_SKIP() << "kernels are translated when they are first launched";
  int files = 0, loaded = 0, others = 0;
  KernelRegistration::for_each([&](const void* kernel) {
    ++files;
    cudaFunction_t one = nullptr;
    CUmodule module = nullptr;
    unsigned count = 0;
    ASSERT_EQ(cudaGetFuncBySymbol(&one, kernel), cudaSuccess);
    ASSERT_EQ(module_of(&module, one), CUDA_SUCCESS);
    ASSERT_EQ(count_of(&count, module), CUDA_SUCCESS);
    std::vector<CUfunction> functions(count);
    ASSERT_EQ(list(functions.data(), count, module), CUDA_SUCCESS);
    for (const CUfunction function : functions) {
      CUfunctionLoadingState state = CU_FUNCTION_LOADING_STATE_UNLOADED;
      ASSERT_EQ(ask(&state, function), CUDA_SUCCESS);
      ++(state == CU_FUNCTION_LOADING_STATE_LOADED ? loaded : others);
    }
  });
  EXPECT_GT(files, 0);
  EXPECT_GT(loaded, files) << "each file has at least one kernel";
  EXPECT_EQ(others, 0);
}

}  // namespace
}  // namespace regions

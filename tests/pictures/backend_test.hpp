// The fixture of tests that run once on the CPU and once on CUDA.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>

#include "core/algorithm.hpp"
#include "cpu/backend.hpp"
#include "tests/pictures/device_frame.hpp"
#if REGIONS_CUDA
#include "gpu/runtime/cuda_backend.hpp"
#endif

namespace regions {

// Returns null if this build or this machine has no such backend.
inline std::shared_ptr<Backend> make_backend(BackendKind kind, int cpu_threads = 2) {
  if (kind == BackendKind::cpu) return make_cpu_backend(cpu_threads);
#if REGIONS_CUDA
  if (cuda_device_count() > 0) return make_cuda_backend();
#endif
  return nullptr;
}

// Enters a backend and makes a queue. New CUDA memory is poisoned;
// tests/pictures/watched_memory.cpp poisons the CPU's. Skips the test if there is no such backend.
class OnBackend : public testing::Test {
 protected:
  explicit OnBackend(BackendKind kind) : kind_(kind) {}
  void SetUp() override {
    plain_ = make_backend(kind_);
    if (!plain_) GTEST_SKIP() << "no CUDA device here";
    entry_.emplace(*plain_);
    backend_ = is_cuda() ? std::make_shared<PoisonedBackend>(plain_) : plain_;
    queue_ = backend_->make_queue();
  }
  bool is_cuda() const { return kind_ == BackendKind::cuda; }
  void finish() {
    queue_->record();
    queue_->wait();
  }

  const BackendKind kind_;
  std::shared_ptr<Backend> plain_;  // not poisoned
  std::optional<Backend::Entry> entry_;
  std::shared_ptr<Backend> backend_;
  std::unique_ptr<Queue> queue_;
};

class CudaTest : public OnBackend {
 protected:
  CudaTest() : OnBackend(BackendKind::cuda) {}
};

class BackendTest : public OnBackend, public testing::WithParamInterface<BackendKind> {
 protected:
  BackendTest() : OnBackend(GetParam()) {}
};

// The instances of a suite are named cpu and cuda. A build without CUDA has no CUDA instances.
#if REGIONS_CUDA
#define REGIONS_BACKENDS testing::Values(BackendKind::cpu, BackendKind::cuda)
#else
#define REGIONS_BACKENDS testing::Values(BackendKind::cpu)
#endif
#define TEST_ON_BACKENDS(Suite)                                                         \
  INSTANTIATE_TEST_SUITE_P(Backends, Suite, REGIONS_BACKENDS, [](const auto& backend) { \
    return std::string(backend.param == BackendKind::cpu ? "cpu" : "cuda");             \
  })

}  // namespace regions

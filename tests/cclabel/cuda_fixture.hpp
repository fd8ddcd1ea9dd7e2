// What the CUDA tests of cclabel share: they skip where there is no GPU, and compare with the
// oracle.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>

#include "gpu/runtime/cuda_backend.hpp"
#include "tests/cclabel/cuda_case.hpp"
#include "tests/cclabel/run.hpp"
#include "tests/pictures/pictures.hpp"

namespace regions {

// On a GPU whose fresh memory is dirty.
class DirtyCuda : public testing::Test {
 protected:
  void SetUp() override {
    if (cuda_device_count() == 0) GTEST_SKIP() << "no CUDA device here";
    gpu_ = make_cuda_backend();
    const Backend::Entry entry(*gpu_);
    gpu_ = std::make_shared<PoisonedBackend>(gpu_);
  }

  std::shared_ptr<Backend> gpu_;
};

class CcLabelCuda : public testing::Test {
 protected:
  static constexpr Connectivity kBoth[] = {Connectivity::four, Connectivity::eight};

  void SetUp() override {
    if (cuda_device_count() == 0) GTEST_SKIP() << "no CUDA device here";
    gpu_ = std::make_unique<CudaCase>();
  }

  // Labels, total and records, bit for bit; the input and all surroundings untouched. A filter that
  // no region is too large for leaves small pictures to the method of the large ones.
  void expect_oracle(const ConstFrame& in, const ConstFrame& mask, const CcLabelParams& params,
                     const std::string& picture, int padding = 0, uint32_t capacity = 4096) {
    const std::string name = picture + " " + std::to_string(in.width) + "x" +
                             std::to_string(in.height) + " " + to_text(params);
    const Labelling expected = label_slowly(in, mask, params);
    expect(expected, name, in, mask, params, padding, capacity);
    const bool is_plain = params.criterion == Criterion::binary && params.max_area == 0;
    if (!is_plain || in.size().area() > kSmall) return;
    CcLabelParams filtered = params;
    filtered.max_area = static_cast<int64_t>(in.size().area());
    expect(expected, name + ", filtered", in, mask, filtered, padding, capacity);
  }

  std::unique_ptr<CudaCase> gpu_;

 private:
  static constexpr size_t kSmall = 1 << 20;  // pixels

  void expect(Labelling expected, const std::string& name, const ConstFrame& in,
              const ConstFrame& mask, const CcLabelParams& params, int padding, uint32_t capacity) {
    const CudaResult result = gpu_->label(in, mask, params, padding, capacity);
    EXPECT_TRUE(result.intact) << name;
    EXPECT_EQ(result.total, expected.regions.size()) << name;
    expected.regions.resize(std::min<size_t>(expected.regions.size(), capacity));
    EXPECT_EQ(difference({result.labels, result.regions}, expected, in.width), "") << name;
  }
};

}  // namespace regions

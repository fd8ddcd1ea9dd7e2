// cclabel on CUDA against the oracle, bit for bit. Run one case alone with --gtest_filter.
#include <gtest/gtest.h>

#include "gpu/device.hpp"
#include "tests/cclabel/cuda_case.hpp"
#include "tests/cclabel/oracle.hpp"
#include "tests/pictures/pictures.hpp"

namespace regions {
namespace {

class CcLabelCuda : public testing::Test {
 protected:
  void SetUp() override {
    if (cuda_device_count() == 0) GTEST_SKIP() << "no CUDA device here";
    gpu_ = std::make_unique<CudaCase>();
  }

  void expect_oracle(const ConstFrame& in, const ConstFrame& mask, const CcLabelParams& params,
                     const std::string& name, int padding = 0) {
    const Labelling expected = label_slowly(in, mask, params);
    const CudaResult result = gpu_->label(in, mask, params, padding);
    EXPECT_TRUE(result.intact) << name;
    ASSERT_EQ(result.labels.size(), expected.labels.size()) << name;
    const auto [a, b] =
        std::mismatch(expected.labels.begin(), expected.labels.end(), result.labels.begin());
    if (a != expected.labels.end()) {
      const auto at = a - expected.labels.begin();
      ADD_FAILURE() << name << ": label " << *b << " instead of " << *a << " at (" << at % in.width
                    << ", " << at / in.width << ")";
    }
  }

  std::unique_ptr<CudaCase> gpu_;
};

constexpr Connectivity kBoth[] = {Connectivity::four, Connectivity::eight};

std::string named(std::string_view content, Size size, Connectivity connectivity) {
  return std::string(content) + " " + std::to_string(size.width) + "x" +
         std::to_string(size.height) + " " + std::to_string(static_cast<int>(connectivity));
}

TEST_F(CcLabelCuda, EveryContentAtAnOddSize) {
  for (const auto list : {contents(), edge_contents()}) {
    for (const std::string_view content : list) {
      const Picture picture = make_picture(content, {517, 389});
      for (const Connectivity connectivity : kBoth) {
        CcLabelParams params;
        params.connectivity = connectivity;
        expect_oracle(picture.frame(), {}, params, named(content, picture.size, connectivity));
      }
    }
  }
}

TEST_F(CcLabelCuda, SizesAroundWordsAndTiles) {
  const int sides[] = {1, 2, 31, 32, 33, 63, 64, 65, 127, 128, 129, 257};
  for (const int width : sides) {
    for (const int height : sides) {
      const Picture picture = make_picture("rand_g1_d50", {width, height});
      for (const Connectivity connectivity : kBoth) {
        CcLabelParams params;
        params.connectivity = connectivity;
        expect_oracle(picture.frame(), {}, params, named("noise", picture.size, connectivity),
                      width % 3);
      }
    }
  }
}

TEST_F(CcLabelCuda, LinkedCriteria) {
  for (const std::string_view content : tone_contents()) {
    for (const Size size : {Size{1, 1}, {65, 3}, {64, 64}, {63, 129}, {200, 131}}) {
      const Picture picture = make_picture(content, size);
      for (const Connectivity connectivity : kBoth) {
        CcLabelParams params;
        params.connectivity = connectivity;
        params.criterion = Criterion::equal;
        expect_oracle(picture.frame(), {}, params, "equal " + named(content, size, connectivity),
                      1);
        params.criterion = Criterion::difference;
        for (const double tolerance : {0.0, 0.02, 0.1, 0.5}) {
          params.tolerance = tolerance;
          expect_oracle(picture.frame(), {}, params,
                        "difference " + named(content, size, connectivity));
        }
      }
    }
  }
}

// Races do not show in one run.
TEST_F(CcLabelCuda, HundredRepeatsAreEqual) {
  for (const std::string_view content : {"maze", "rand_g1_d50", "rand_g1_d60"}) {
    const Picture picture = make_picture(content, {3840, 2160});
    for (const Connectivity connectivity : kBoth) {
      CcLabelParams params;
      params.connectivity = connectivity;
      const Labelling expected = label_slowly(picture.frame(), {}, params);
      EXPECT_EQ(gpu_->repeats_that_differ(picture.frame(), params, expected.labels, 100), 0)
          << named(content, picture.size, connectivity);
    }
  }
}

}  // namespace
}  // namespace regions

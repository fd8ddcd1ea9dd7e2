// Pictures that one cluster of blocks labels: sizes at which its strips begin and end to fit.
#include "gpu/cclabel/labelling_passes.hpp"
#include "tests/cclabel/cuda_fixture.hpp"
#include "tests/pictures/guarded.hpp"

namespace regions {
namespace {

using CcLabelStrips = CcLabelCuda;

constexpr Size kSizes[] = {{512, 512}, {513, 512}, {512, 513}, {640, 480}, {640, 512},
                           {641, 512}, {640, 513}, {1, 512},   {640, 1},   {600, 17},
                           {33, 15},   {33, 16},   {33, 17},   {1, 1},     {31, 257}};

// Each picture twice: with a table, and labels alone, some times over.
TEST_F(CcLabelStrips, SizesAroundStrips) {
  for (const Size size : kSizes) {
    for (const char* content : {"rand_g1_d50", "rand_g1_d20", "maze", "spiral", "frame", "full"}) {
      const Picture picture = make_picture(content, size);
      for (const Connectivity connectivity : kBoth) {
        CcLabelParams params;
        params.connectivity = connectivity;
        expect_oracle(picture.frame(), {}, params, content, size.width % 3, 2000);
        const Labelling expected = label_slowly(picture.frame(), {}, params);
        EXPECT_EQ(gpu_->repeats_that_differ(picture.frame(), params, expected.labels, 3), 0)
            << content << " " << size.width << "x" << size.height;
      }
    }
  }
}

// Sums of one byte and of three of 16 bits, which grow beyond 32; a checkerboard has more
// components with 4 neighbours than have sums in shared memory.
TEST_F(CcLabelStrips, RecordsOfAllRegions) {
  for (const PixelFormat format : {PixelFormat::gray8, PixelFormat::gray16, PixelFormat::rgb}) {
    for (const std::string content : {"full", "checkerboard", "rand_g1_d30", "smooth"}) {
      for (const Size size : {Size{512, 512}, {640, 512}, {637, 100}}) {
        const GuardedFrame picture = convert(make_picture(content, size).frame(), format);
        for (const Connectivity connectivity : kBoth) {
          CcLabelParams params;
          params.connectivity = connectivity;
          expect_oracle(picture.frame(), {}, params, content, 0, 1 << 18);
        }
      }
    }
  }
}

// Races do not show in one run.
TEST_F(CcLabelStrips, HundredRepeatsAreEqual) {
  for (const std::string_view content : contents()) {
    for (const Size size : {Size{512, 512}, {640, 480}}) {
      const Picture picture = make_picture(content, size);
      for (const Connectivity connectivity : kBoth) {
        CcLabelParams params;
        params.connectivity = connectivity;
        const Labelling expected = label_slowly(picture.frame(), {}, params);
        EXPECT_EQ(gpu_->repeats_that_differ(picture.frame(), params, expected.labels, 100), 0)
            << std::string(content);
      }
    }
  }
}

TEST_F(CcLabelStrips, AreWhereTheDeviceHasSuchClusters) {
  int major = 0;
  ASSERT_EQ(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0), cudaSuccess);
  EXPECT_EQ(cclabel::fits_small_image({512, 512}), major >= 9);
  EXPECT_EQ(cclabel::fits_small_image({640, 512}), major >= 9);
  EXPECT_FALSE(cclabel::fits_small_image({641, 1}));
  EXPECT_FALSE(cclabel::fits_small_image({1, 513}));
}

}  // namespace
}  // namespace regions

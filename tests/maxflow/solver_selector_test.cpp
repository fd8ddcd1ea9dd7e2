// What cuts on CUDA choose by what their kernels told; needs no GPU.
#include "gpu/maxflow/solver_selector.hpp"

#include <gtest/gtest.h>

namespace regions::maxflow {
namespace {

// Cuts are told late, some never, each once.
TEST(WarmStartSelector, AreTakenWhereKernelsToldThatTheyPay) {
  for (const int told_each : {1, 3}) {
    CutStatistics told{};
    WarmStartSelector starts;
    starts.start(&told);
    auto share_of_warm = [&, cut = 0u](uint32_t cold, uint32_t warm) mutable {
      int taken = 0;
      for (int i = 0; i < 640; ++i) {
        const bool is_warm = starts.use_warm_start();
        taken += is_warm;
        if (++cut % told_each == 0) told.time[is_warm] = cut_time(cut, is_warm ? warm : cold);
      }
      return taken;
    };
    EXPECT_GE(share_of_warm(600'000, 300'000), 500) << told_each;
    EXPECT_LE(share_of_warm(500'000, 510'000), 140) << told_each;
    EXPECT_LE(share_of_warm(500'000, 490'000), 140) << told_each << ": about as fast";
  }
  EXPECT_EQ(nanoseconds_of(cut_time(7, int64_t{1} << 40)), UINT32_MAX);
  EXPECT_EQ(cut_of(cut_time(7, 5)), 7u);
}

}  // namespace
}  // namespace regions::maxflow

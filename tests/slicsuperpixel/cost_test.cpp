// What the smallest cells cost on the CPU, with its code as it is delivered.
#include <gtest/gtest.h>

#include <algorithm>
#include <ctime>

#include "tests/slicsuperpixel/run.hpp"

namespace regions {
namespace {

// The processor's seconds, of a run that nothing disturbs.
double seconds_of(const SlicCase& task) {
  const GuardedFrame picture = task.frame();
  double best = 1e9;
  for (int run = 0; run < 3; ++run) {
    const std::clock_t start = std::clock();
    run_slic_on_cpu(1, picture.frame(), task.params());
    best = std::min(best, static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC);
  }
  return best;
}

// Pictures of 8K with cells of 2 pixels once did not end in 100 s.
TEST(SlicCost, TheSmallestCellsCostNotManyTimesWhatUsualOnesDo) {
  for (const char* content : {"noise", "scene"}) {
    const double small = seconds_of({content, {640, 360}, {"region-size=2"}}),
                 usual = seconds_of({content, {640, 360}, {"region-size=16"}});
    EXPECT_LT(small, 5 * usual) << content;
  }
}

}  // namespace
}  // namespace regions

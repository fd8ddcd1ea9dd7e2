// Runs of a volume, slice by slice, against picking each slice's from all.
#include <gtest/gtest.h>

#include <random>
#include <tuple>

#include "core/region_records.hpp"

namespace regions {
namespace {

using Row = std::tuple<uint32_t, uint32_t, uint32_t, uint32_t>;
Row row_of(const PixelRun& run) { return {run.label, run.x, run.row, run.width}; }

TEST(SliceRuns, AreThoseOfTheirSliceInOrder) {
  std::mt19937 random(7);
  SliceRuns sorted;  // used again, for more and for less
  for (const int count : {500, 0, 1, 3000, 40}) {
    for (const auto& [slices, layers] : {std::pair{1, 1}, {5, 1}, {4, 3}, {64, 2}}) {
      const int height = 1 + static_cast<int>(random() % 9);
      const VolumeLayout stack{{50, height}, slices, layers};
      std::vector<PixelRun> runs(static_cast<size_t>(count));
      for (PixelRun& run : runs) {
        run = {static_cast<uint32_t>(random() % 30), static_cast<uint32_t>(random() % 50),
               static_cast<uint32_t>(random() % static_cast<unsigned>(stack.rows())), 1};
      }
      sorted.sort(runs, stack);
      for (int z = 0; z < slices; ++z) {
        std::vector<Row> expected, got;
        for (const PixelRun& run : runs) {
          const int picture = static_cast<int>(run.row) / height;
          if (picture % slices != z) continue;
          expected.emplace_back(run.label, run.x, run.row - static_cast<uint32_t>(picture * height),
                                run.width);
        }
        for (const PixelRun& run : sorted.of(z)) got.push_back(row_of(run));
        EXPECT_EQ(got, expected) << count << " runs, slice " << z << " of " << slices;
      }
    }
  }
}

}  // namespace
}  // namespace regions

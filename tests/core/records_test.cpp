// Region records: their lists in pinned memory, and runs by slices.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <tuple>

#include "core/region_records.hpp"
#include "cpu/backend.hpp"

namespace regions {
namespace {

TEST(RegionRecords, AnyCombinationOfMomentsBordersAndRuns_HasOnlyTheRequestedLists) {
  const auto backend = make_cpu_backend(1);
  EXPECT_TRUE(RegionRecords().empty());
  EXPECT_EQ(RegionRecords().total(), 0u);
  for (int wanted = 0; wanted < 8; ++wanted) {
    const bool moments = wanted & 1, borders = wanted & 2;
    const uint32_t runs = wanted & 4 ? 5 : 0;
    const RegionRecords records(*backend, 7, moments, borders, runs);
    RegionTable table = records.table();
    EXPECT_FALSE(records.empty());
    EXPECT_EQ(table.capacity, 7u);
    EXPECT_EQ(table.run_capacity, runs);
    EXPECT_EQ(*table.total, 0u);
    EXPECT_EQ(table.moments != nullptr, moments);
    EXPECT_EQ(table.borders != nullptr, borders);
    EXPECT_EQ(table.border_count != nullptr, borders);
    EXPECT_EQ(table.runs != nullptr, runs > 0);
    EXPECT_EQ(table.run_total != nullptr, runs > 0);
    // Fills all lists completely, with different values.
    std::fill_n(table.regions, 7, Region{.id = 1});
    *table.total = 9;
    if (moments) std::fill_n(table.moments, 7, Moments{.sum_xx = 2});
    if (borders) std::fill_n(table.borders, max_borders(7), Border{.length = 3});
    if (borders) *table.border_count = 4;
    if (runs > 0) std::fill_n(table.runs, runs, PixelRun{.label = 4});
    if (runs > 0) *table.run_total = 3;
    EXPECT_EQ(records.total(), 9u);
    EXPECT_EQ(records.regions(7).size(), 7u);
    for (const Region& region : records.regions(7)) EXPECT_EQ(region.id, 1u);
    EXPECT_EQ(records.moments(6).size(), moments ? 6u : 0u);
    for (const Moments& m : records.moments(6)) EXPECT_EQ(m.sum_xx, 2u);
    EXPECT_EQ(records.borders().size(), borders ? 4u : 0u);
    for (const Border& border : records.borders()) EXPECT_EQ(border.length, 3u);
    EXPECT_EQ(records.total_runs(), runs > 0 ? 3u : 0u);
    EXPECT_EQ(records.runs().size(), runs > 0 ? 3u : 0u);
    if (runs > 0) *table.run_total = 6;
    EXPECT_EQ(records.runs().size(), runs);
    records.table();
    EXPECT_EQ(records.total() + records.borders().size() + records.total_runs(), 0u)
        << "the next frame begins with nothing";
  }
}

using Row = std::tuple<uint32_t, uint32_t, uint32_t, uint32_t>;
Row row_of(const PixelRun& run) { return {run.label, run.x, run.row, run.width}; }

// Compares with a search through all runs.
TEST(SliceRuns, VolumeWithLayers_EachSliceHasItsRunsInOrder) {
  std::mt19937 random(7);
  SliceRuns sorted;  // reused for more and for fewer runs
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

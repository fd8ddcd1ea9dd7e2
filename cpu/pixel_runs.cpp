// Runs are counted by bands of rows, listed in raster order, and sorted by counting their labels.
#include "cpu/pixel_runs.hpp"

#include <algorithm>
#include <numeric>

namespace regions {
namespace {

constexpr int kMaxBands = 64;

}  // namespace

void RunList::allocate(Backend& backend, const Setup& setup) {
  listed_ = backend.allocate(setup.max_runs * sizeof(PixelRun));
  starts_ = backend.allocate((size_t{setup.max_regions} + 1) * sizeof(uint32_t));
}

void RunList::fill(ConstLabelMap labels, const RegionTable& table, const Workers& workers) const {
  const int bands = std::min(labels.height, kMaxBands);
  const auto begin_of = [&](int band) {
    return static_cast<int>(static_cast<int64_t>(labels.height) * band / bands);
  };
  const auto for_each_in_band = [&](int band, auto visit) {
    for (int y = begin_of(band); y < begin_of(band + 1); ++y) {
      for_each_piece(labels.row(y), labels.width, [&](uint32_t label, int begin, int end) {
        if (label - 1 >= table.capacity) return;  // background wraps
        visit(PixelRun{label, static_cast<uint32_t>(begin), static_cast<uint32_t>(y),
                       static_cast<uint32_t>(end - begin)});
      });
    }
  };
  uint32_t before[kMaxBands + 1] = {};  // runs in the bands before
  workers.parallel_for(bands, [&](int band) {
    for_each_in_band(band, [&](const PixelRun&) { ++before[band + 1]; });
  });
  std::partial_sum(before, before + bands + 1, before);
  auto* listed = listed_.as<PixelRun>();
  workers.parallel_for(bands, [&](int band) {
    uint32_t at = before[band];
    for_each_in_band(band, [&](const PixelRun& run) {
      if (at < table.run_capacity) listed[at] = run;
      ++at;
    });
  });
  *table.run_total = before[bands];

  const uint32_t known = std::min(before[bands], table.run_capacity);
  auto* starts = starts_.as<uint32_t>();
  std::fill_n(starts, table.capacity + 1, 0u);
  for (uint32_t i = 0; i < known; ++i) ++starts[listed[i].label];
  std::partial_sum(starts, starts + table.capacity + 1, starts);
  for (uint32_t i = 0; i < known; ++i) table.runs[starts[listed[i].label - 1]++] = listed[i];
}

}  // namespace regions

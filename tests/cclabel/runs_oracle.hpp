// The oracle of attach-runs: looks at every pixel and sorts.
#pragma once

#include <string>
#include <vector>

#include "core/region.hpp"

namespace regions {

// Of the labels 1..most of a map: the first `capacity` runs in raster order, sorted as promised.
struct SlowRuns {
  std::vector<PixelRun> runs;
  uint32_t total = 0;
};
SlowRuns runs_slowly(const std::vector<uint32_t>& labels, int width, uint32_t most,
                     uint32_t capacity);

// Empty if equal, else what differs first.
std::string difference(const std::vector<PixelRun>& found, const std::vector<PixelRun>& expected);

}  // namespace regions

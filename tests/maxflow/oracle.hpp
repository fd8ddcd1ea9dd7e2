// The obvious minimum cut, for comparison: shortest augmenting paths on an explicit graph (Edmonds
// and Karp 1972), and the value of any cut. Shares no code with the solvers.
#pragma once

#include <vector>

#include "core/maxflow/maxflow.hpp"

namespace regions {

struct OracleCut {
  int64_t flow = 0;
  std::vector<uint8_t> foreground;  // [height][width], 255 = cannot reach the sink
};
OracleCut oracle_cut(const GridGraph& graph);

// What the mask's cut costs in the weights as given.
int64_t cut_value(const GridGraph& graph, Image<const uint8_t> foreground);

}  // namespace regions

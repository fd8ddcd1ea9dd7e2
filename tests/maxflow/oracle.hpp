// The oracle for minimum cuts: shortest augmenting paths on an explicit graph (Edmonds and Karp
// 1972), and the value of any cut. It shares no code with the solvers.
#pragma once

#include <vector>

#include "core/maxflow/maxflow.hpp"

namespace regions {

struct OracleCut {
  int64_t flow = 0;
  std::vector<uint8_t> foreground;  // [height][width], 255 = cannot reach the sink
};
OracleCut oracle_cut(const GridGraph& graph);

// The capacity of the mask's cut.
int64_t cut_value(const GridGraph& graph, Image<const uint8_t> foreground);

}  // namespace regions

// Minimum cuts of grids with any number of axes, whose links may have different capacities in both
// directions. Pictures with equal capacities in both directions have a faster solver:
// core/maxflow/maxflow.hpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace regions::maxflow {

// Capacities of the links of all nodes in one direction.
struct LinkCapacities {
  const int32_t* data;  // one capacity per node in raster order, or a single capacity for all nodes
  bool is_constant;
  int32_t operator[](size_t node) const { return data[is_constant ? 0 : node]; }
};

// The links from each node to the node at `offset`. Links that would leave the grid are ignored.
struct VolumeLinks {
  std::vector<int> offset;  // [axes], -1, 0 or 1 along each axis
  LinkCapacities forward;   // from a node to the node at `offset`
  LinkCapacities backward;  // from the node at `offset` to the node, stored at the node
};

// The graph of a grid: one node per element, plus source and sink.
struct VolumeGraph {
  static constexpr size_t kMaxLinks = 13;  // half of the neighbours of a voxel

  std::vector<int64_t> shape;
  const int32_t* terminal;         // as GridGraph::terminal, in raster order
  std::vector<VolumeLinks> links;  // at most kMaxLinks, with different offsets
};

// Computes the minimum cut with the largest source side, with one thread. Sets `foreground` to 1 on
// the source side and to 0 on the other side, and returns the flow. Throws InputError for a
// negative capacity or an unsuitable graph, and MemoryError if memory runs out.
int64_t cut_volume(const VolumeGraph& graph, uint8_t* foreground);

}  // namespace regions::maxflow

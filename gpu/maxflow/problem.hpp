// A minimum cut as the kernels see it: the frame's graph, its results, and the state of the
// solution.
#pragma once

#include "core/maxflow/maxflow.hpp"
#include "gpu/maxflow/solver_selector.hpp"

namespace regions::maxflow {

// Indices of the worklists of tiles, see TileLists. There are three lists of the tiles of a pass,
// three of the tiles of a relabel, two of active tiles, and one of touched tiles, which have been
// on any other list.
enum WorklistIndex : int {
  kPassWorklists = 0,
  kRelabelWorklists = 3,
  kActiveWorklists = 6,
  kTouchedWorklist = 8,
  kWorklists
};

#ifdef __CUDACC__
__device__ inline long long global_time_ns() {
  long long now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}
#endif

// State of a frame's solution in device memory. Zero at the start of the frame.
struct Progress {
  struct BarrierState {  // of the blocks of one kernel
    // [epoch % 3]: number of blocks that have arrived, and number of blocks per vote.
    unsigned long long words[3];
  } tiles, plain;
  long long start_time;             // of the frame's first kernel, ns
  unsigned list_sizes[kWorklists];  // tiles on each worklist
  unsigned votes[2];                // [epoch % 2], at the barrier of the worklist kernel
  int exceeds_16_bits;              // whether the capacities of some pixel need more than 16 bits
  int is_solved;                    // whether the results are written
  int continues;                    // whether link_flow is of this frame, to continue from it
  int iterations;                   // rounds of pushes so far
  unsigned long long sink_flow;     // flow into the sink
  unsigned long long gap;           // excess that could still reach the sink
};

// A frame's cut. Kernels take it as a parameter.
struct Problem {
  GridGraph graph;
  Image<uint8_t> foreground;
  int32_t* link_flow;         // [links][height][width], flow along each link, kept between frames
  Progress* progress;         // [1]
  CutResult* report;          // in pinned memory, written by the device; or null
  CutStatistics* statistics;  // in pinned memory, of the solver that is used; or null
  uint32_t cut;               // number of the frame, from 1
  int max_iterations;         // 0: until exact
  long long budget_ns;        // 0: until exact
  bool warm;                  // start from link_flow
  uint8_t* has_no_flow;       // [tiles] of SparseSolver, cleared by a solver without tiles; or null
  int tiles;

  REGIONS_HD Size size() const { return graph.terminal.size(); }
  // Whether the cut may stop early, while it is not exact.
  bool may_stop_early() const { return max_iterations > 0 || budget_ns > 0; }
  // Index in link_flow of link k that pixel (x, y) owns.
  REGIONS_HD size_t flow_index(int k, int x, int y) const {
    return (k * static_cast<size_t>(size().height) + y) * size().width + x;
  }

#ifdef __CUDACC__
  // Each solver's kernel calls it at its start. One thread of the frame's first kernel stores the
  // time.
  __device__ void record_start_time() const {
    const bool is_first_thread = blockIdx.x == 0 && threadIdx.x == 0;
    if (is_first_thread && progress->start_time == 0) progress->start_time = global_time_ns();
  }
  __device__ bool is_out_of_time() const {
    return budget_ns > 0 && global_time_ns() - progress->start_time > budget_ns;
  }
  // Writes the report and the statistics. One thread calls it after all sums are complete.
  __device__ void write_results(int iterations, bool exact) const {
    if (report) {
      *report = {static_cast<int64_t>(__ldcg(&progress->sink_flow)),
                 static_cast<int64_t>(__ldcg(&progress->gap)), iterations, exact};
    }
    if (statistics) {
      statistics->rounds = iterations;
      if (exact) statistics->time[warm] = cut_time(cut, global_time_ns() - progress->start_time);
    }
    progress->is_solved = 1;
  }
#endif
};

REGIONS_HD inline const Image<const int32_t>& links_of(const GridGraph& graph, int k) {
  return k == 0 ? graph.right : k == 1 ? graph.down : k == 2 ? graph.down_right : graph.down_left;
}

// Capacity of link k that pixel (x, y) owns; 0 if the link would leave the picture.
REGIONS_HD inline int32_t capacity(const GridGraph& graph, int k, int x, int y) {
  const Image<const int32_t>& links = links_of(graph, k);
  if (!links.contains(x, y) || !links.contains(x + step_x(2 * k), y + step_y(2 * k))) return 0;
  const int32_t c = links(x, y);
  return c > 0 ? c : 0;
}

}  // namespace regions::maxflow

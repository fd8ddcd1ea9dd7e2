// Data of a minimum cut that its kernels share: the frame's graph, the results, and the progress of
// the solution.
#pragma once

#include "core/maxflow/maxflow.hpp"
#include "gpu/maxflow/solver_selector.hpp"

namespace regions::maxflow {

// Indices of the worklists of tiles, see TileLists in sparse.cu. There are three lists for passes,
// three lists for relabels, two lists of tiles with active pixels, and one list of touched tiles. A
// touched tile is one that was on any of the other lists during the frame.
enum WorklistIndex : int {
  kPassWorklists = 0,
  kRelabelWorklists = 3,
  kActiveWorklists = 6,
  kTouchedWorklist = 8,
  kWorklists  // number of worklists
};

#ifdef __CUDACC__
// Returns the current time of the GPU's global timer, ns.
__device__ inline long long global_time_ns() {
  long long now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}
#endif

// Progress of a frame's solution, in device memory. All fields are zero at the start of the frame.
struct Progress {
  // State of a GridBarrier: `tiles` for the resident and the sparse solver, `plain` for the plain
  // solver.
  struct BarrierState {
    // [epoch % 3]. A word counts the blocks that have arrived and, for each vote bit, the blocks
    // that have set it.
    unsigned long long words[3];
  } tiles, plain;
  long long start_time;             // start of the frame's first kernel, ns
  unsigned list_sizes[kWorklists];  // number of tiles on each worklist
  unsigned votes[2];                // [epoch % 2], votes at the barrier of the worklist kernel
  int exceeds_16_bits;              // whether the capacities of any pixel need more than 16 bits
  int is_solved;                    // whether the frame's results are written
  int must_continue;  // whether the plain solver must continue from the flows in link_flow
  int iterations;     // number of rounds of pushes so far
  unsigned long long sink_flow;  // flow into the sink
  unsigned long long gap;        // total excess that could still reach the sink
};

// The minimum cut of one frame. Kernels receive it as a parameter.
struct Problem {
  GridGraph graph;
  Image<uint8_t> foreground;
  int32_t* link_flow;  // [links][height][width], flow along each link; kept for the next frame
  Progress* progress;  // [1], progress of this frame's solution
  CutResult* result;   // in pinned memory, written by a kernel; may be null
  CutStatistics* statistics;  // measurements of the used solver, in pinned memory; may be null
  uint32_t cut;               // number of this cut; the first cut has number 1
  int max_iterations;         // limit on rounds of pushes; 0: no limit
  long long time_budget_ns;   // limit on the time, ns; 0: no limit
  bool warm_start;            // whether the cut starts from the flows in link_flow
  uint8_t* has_no_flow;       // [tiles], see SparseStore; cleared by the plain solver; may be null
  int tiles;                  // number of entries of has_no_flow

  REGIONS_HD Size size() const { return graph.terminal.size(); }
  // Whether the cut has a limit, which may stop it early with an inexact result.
  bool may_stop_early() const { return max_iterations > 0 || time_budget_ns > 0; }
  // Returns the index in link_flow of link k of pixel (x, y).
  REGIONS_HD size_t flow_index(int k, int x, int y) const {
    return (k * static_cast<size_t>(size().height) + y) * size().width + x;
  }

#ifdef __CUDACC__
  // Stores the start time of the frame. Has no effect if an earlier kernel of the frame has stored
  // it.
  __device__ void record_start_time() const {
    const bool is_first_thread = blockIdx.x == 0 && threadIdx.x == 0;
    if (is_first_thread && progress->start_time == 0) progress->start_time = global_time_ns();
  }
  __device__ bool is_out_of_time() const {
    return time_budget_ns > 0 && global_time_ns() - progress->start_time > time_budget_ns;
  }
  // Writes the result and the statistics. One thread calls this function after progress->sink_flow
  // and progress->gap are complete.
  __device__ void write_results(int iterations, bool exact) const {
    if (result) {
      *result = {static_cast<int64_t>(__ldcg(&progress->sink_flow)),
                 static_cast<int64_t>(__ldcg(&progress->gap)), iterations, exact};
    }
    if (statistics) {
      statistics->rounds = iterations;
      if (exact)
        statistics->time[warm_start] = cut_time(cut, global_time_ns() - progress->start_time);
    }
    progress->is_solved = 1;
  }
#endif
};

// Returns the capacities of link k of all pixels. Links 0 to 3 lead right, down, down-right and
// down-left.
REGIONS_HD inline const Image<const int32_t>& links_of(const GridGraph& graph, int k) {
  return k == 0 ? graph.right : k == 1 ? graph.down : k == 2 ? graph.down_right : graph.down_left;
}

// Returns the capacity of link k of pixel (x, y); 0 if the link would leave the picture.
REGIONS_HD inline int32_t capacity(const GridGraph& graph, int k, int x, int y) {
  const Image<const int32_t>& links = links_of(graph, k);
  if (!links.contains(x, y) || !links.contains(x + step_x(2 * k), y + step_y(2 * k))) return 0;
  const int32_t c = links(x, y);
  return c > 0 ? c : 0;
}

}  // namespace regions::maxflow

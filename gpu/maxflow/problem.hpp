// What the kernels of a minimum cut share: the frame's graph, and how far the solution is.
#pragma once

#include "core/maxflow/directions.hpp"
#include "core/maxflow/maxflow.hpp"

namespace regions::maxflow {

// Lists of tiles, see TileLists.
enum ListName : int { kPassLists = 0, kLiveLists = 3, kActiveLists = 6, kEverList = 8, kLists };

#ifdef __CUDACC__
__device__ inline long long nanoseconds() {
  long long now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}
#endif

// Where a frame stands, on the device. Zero when its work begins.
struct Progress {
  struct Meeting {  // of one kernel's blocks
    // By turns: how many blocks have come to the grid barrier, and how many of them said what.
    unsigned long long words[3];
  } tiles, plain;
  long long began;           // when the frame's first kernel did; nanoseconds
  unsigned listed[kLists];   // tiles on each list
  unsigned said[2];          // at the barrier of the blocks that work on lists, by turns
  int wide;                  // 16 bits are too few for the capacities of some pixel
  int solved;                // the report is told
  int go_on;                 // the flows kept are this frame's: go on from there
  int iterations;            // rounds of pushes so far
  unsigned long long taken;  // by the sink
  unsigned long long gap;    // excess that could still reach the sink
};

// What a cut took: the high word is the cut's number, from 1, the low one its nanoseconds; in one
// word, so that the host reads what belongs together.
using CutTime = uint64_t;
REGIONS_HD inline CutTime cut_time(uint32_t cut, long long nanoseconds) {
  constexpr long long kMax = UINT32_MAX;  // 4.3 s
  return static_cast<CutTime>(cut) << 32 |
         static_cast<uint32_t>(nanoseconds < kMax ? nanoseconds : kMax);
}
inline uint32_t cut_of(CutTime time) { return static_cast<uint32_t>(time >> 32); }
inline uint32_t nanoseconds_of(CutTime time) { return static_cast<uint32_t>(time); }

// What a solver's cuts tell the choices for later ones, see choices.hpp. In pinned memory.
struct Told {
  int32_t rounds;   // of the last cut
  CutTime time[2];  // of the last cold cut, and of the last warm one
};

struct Problem {
  GridGraph graph;
  Image<uint8_t> foreground;
  int32_t* kept;        // [links][height][width], flow along each link at the end of the last frame
  Progress* progress;   // [1]
  CutReport* report;    // in pinned memory, which the device writes to; or null
  Told* told;           // likewise, where the solver tells
  uint32_t cut;         // the frame's number, from 1
  int max_iterations;   // 0: until exact
  long long budget_ns;  // 0: until exact
  bool warm;            // start from `kept`
  uint8_t* flowless;    // [tiles] of SparseSolver, which a solver without tiles makes 0; or null
  int tiles;

  REGIONS_HD Size size() const { return graph.terminal.size(); }
  bool may_stop() const { return max_iterations > 0 || budget_ns > 0; }  // before it is exact
  // Of the flow along link k that pixel (x, y) owns.
  REGIONS_HD size_t kept_at(int k, int x, int y) const {
    return (k * static_cast<size_t>(size().height) + y) * size().width + x;
  }

#ifdef __CUDACC__
  // A solver's kernel calls it at its start; one thread of the frame's first kernel notes the time.
  __device__ void begin() const {
    const bool is_one = blockIdx.x == 0 && threadIdx.x == 0;
    if (is_one && progress->began == 0) progress->began = nanoseconds();
  }
  __device__ bool time_is_up() const {
    return budget_ns > 0 && nanoseconds() - progress->began > budget_ns;
  }
  // One thread calls it, when what the sink took is added up.
  __device__ void tell(int iterations, bool exact) const {
    if (report) {
      *report = {static_cast<int64_t>(__ldcg(&progress->taken)),
                 static_cast<int64_t>(__ldcg(&progress->gap)), iterations, exact};
    }
    if (told) {
      told->rounds = iterations;
      if (exact) told->time[warm] = cut_time(cut, nanoseconds() - progress->began);
    }
    progress->solved = 1;
  }
#endif
};

REGIONS_HD inline const Image<const int32_t>& links_of(const GridGraph& graph, int k) {
  return k == 0 ? graph.right : k == 1 ? graph.down : k == 2 ? graph.down_right : graph.down_left;
}

// Capacity of link k that pixel (x, y) owns, 0 where it would leave the picture.
REGIONS_HD inline int32_t capacity(const GridGraph& graph, int k, int x, int y) {
  const Image<const int32_t>& links = links_of(graph, k);
  if (!links.contains(x, y) || !links.contains(x + step_x(2 * k), y + step_y(2 * k))) return 0;
  const int32_t c = links(x, y);
  return c > 0 ? c : 0;
}

}  // namespace regions::maxflow

// The interface of the minimum-cut solver for pixel grids. Each backend implements it. graphcutbg
// uses it, but it can also be used alone.
#pragma once

#include <memory>

#include "core/backend.hpp"

namespace regions {

enum class Neighbours : uint8_t { four = 4, eight = 8 };

// Destination for the link capacities of consecutive pixels of one row. Entry 0 belongs to the
// first pixel. Diagonal links are written only for eight neighbours. Links that leave the picture
// may have any value.
struct LinkRow {
  int32_t* right = nullptr;
  int32_t* down = nullptr;
  int32_t* down_right = nullptr;
  int32_t* down_left = nullptr;
};

// Computes link capacities on demand, because most cuts read only a few of them.
class LinkSource {
 public:
  // Writes the capacities of pixels first..last - 1 of row y. May be called by several threads at
  // once.
  virtual void write(int y, int first, int last, const LinkRow& row) const = 0;

 protected:
  ~LinkSource() = default;
};

// The graph of one frame: one node per pixel, plus source and sink. Link capacities are undirected
// and >= 0. Entries of links that leave the picture are ignored.
struct GridGraph {
  // Terminal weight t of each pixel. t > 0: link from the source with capacity t; t < 0: link to
  // the sink with capacity -t.
  Image<const int32_t> terminal;
  Image<const int32_t> right;  // capacity of the link (x, y) <-> (x + 1, y)
  Image<const int32_t> down;   // capacity of the link (x, y) <-> (x, y + 1)
  // Capacities of the links (x, y) <-> (x + 1, y + 1) and (x, y) <-> (x - 1, y + 1). Only for eight
  // neighbours.
  Image<const int32_t> down_right;
  Image<const int32_t> down_left;
  Neighbours neighbours = Neighbours::four;
  // Upper bound of |terminal| plus the link capacities of a pixel, for all pixels. A value above 0
  // also promises that no capacity is negative; solvers then need not read weights that no flow
  // reaches. 0: unknown.
  int32_t max_weight = 0;
  // If not null, it is used instead of the images of link capacities; requires `max_weight`. CPU
  // only.
  const LinkSource* links = nullptr;
};

// Limits of one cut. If a limit stops the solver early, it keeps the flow found so far, and a warm
// start continues from this flow.
struct CutLimits {
  int max_iterations = 0;   // limit of iterations in the unit of the backend; 0: no limit
  int64_t time_budget = 0;  // microseconds; 0: no limit
  // Start from the previous solution of the same GridCut: its residual graph is re-parameterised to
  // the new weights, so the cut stays exact (Kohli and Torr 2007). Without limits, the solver uses
  // warm starts only while they are faster than cold starts.
  bool warm_start = false;
};

// Statistics of one cut, in pinned host memory. Written by the queue's work.
struct CutResult {
  int64_t flow = 0;        // value of the flow
  int64_t gap = 0;         // capacity of the mask's cut minus the flow: 0 if the cut is exact
  int32_t iterations = 0;  // number of iterations in the unit of the backend
  bool exact = false;      // true if no limit stopped the solver early
};

class GridCut {
 public:
  // Values of the mask: kForeground for pixels that cannot reach the sink, kBackground for all
  // other pixels.
  static constexpr uint8_t kForeground = 255;
  static constexpr uint8_t kBackground = 0;

  virtual ~GridCut() = default;
  // The only function that allocates. Throws InputError for unsupported arguments, and MemoryError
  // if memory runs out.
  virtual void configure(Size size, Neighbours neighbours, int slots) = 0;
  // Puts the work of one frame on the queue. Neither allocates nor waits. Frames are processed in
  // the order of the calls, even if they use different queues. All views are in the backend's
  // memory. `foreground` becomes the largest source side of a minimum cut: the pixels that cannot
  // reach the sink in the residual graph. This set is the same for every maximum flow. On the CPU,
  // the graph may have fewer rows than configured, and the queue's wait() throws InputError if sums
  // of capacities exceed the solver's widest integers.
  // `result`, in pinned memory or null, receives the statistics when the work is done.
  virtual void enqueue(const GridGraph& graph, Image<uint8_t> foreground, const CutLimits& limits,
                       CutResult* result, int slot, Queue& queue) = 0;
  // Forgets the previous solution.
  virtual void reset() {}
  // Makes another cut on the same backend, to be configured separately. The caller promises that
  // its work never runs at the same time as the work of this cut. On CUDA, a cut that runs alone
  // may occupy the whole device.
  virtual std::unique_ptr<GridCut> make_companion() const = 0;
};

// Makes the solver for a backend of kind K. Each backend specialises this function.
template <BackendKind K>
std::unique_ptr<GridCut> make_grid_cut(std::shared_ptr<Backend> backend);

}  // namespace regions

namespace regions::maxflow {

// Directions of links, in opposite pairs. Each link is stored once, at the pixel from which it
// leaves in the even direction of its pair. Four neighbours use only the first four directions.
enum Direction : int { kRight, kLeft, kDown, kUp, kDownRight, kUpLeft, kDownLeft, kUpRight };

REGIONS_HD constexpr int opposite(int direction) { return direction ^ 1; }
REGIONS_HD constexpr bool is_vertical(int direction) {
  return direction == kDown || direction == kUp;
}
REGIONS_HD constexpr int step_x(int direction) {
  if (is_vertical(direction)) return 0;
  return direction == kRight || direction == kDownRight || direction == kUpRight ? 1 : -1;
}
REGIONS_HD constexpr int step_y(int direction) {
  if (direction == kRight || direction == kLeft) return 0;
  return direction == kDown || direction == kDownRight || direction == kDownLeft ? 1 : -1;
}

}  // namespace regions::maxflow

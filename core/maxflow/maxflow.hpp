// Minimum cuts of pixel grids: the exact solver, with one implementation per backend. It is also
// usable without graphcutbg.
#pragma once

#include <memory>

#include "core/backend.hpp"

namespace regions {

enum class Neighbours : uint8_t { four = 4, eight = 8 };

// Destination for the link capacities of some pixels of one row; entry 0 belongs to the first of
// them. Diagonal links are written for eight neighbours only. Entries of links that leave the
// picture may have any value.
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
  Image<const int32_t>
      terminal;  // t > 0: source -> pixel with capacity t; t < 0: pixel -> sink with capacity -t
  Image<const int32_t> right;       // (x, y) <-> (x + 1, y)
  Image<const int32_t> down;        // (x, y) <-> (x, y + 1)
  Image<const int32_t> down_right;  // (x, y) <-> (x + 1, y + 1); for eight neighbours only
  Image<const int32_t> down_left;   // (x, y) <-> (x - 1, y + 1); for eight neighbours only
  Neighbours neighbours = Neighbours::four;
  // Upper bound of |terminal| + link capacities over all pixels; it also promises that no capacity
  // is negative. Solvers then skip reading weights that no flow reaches. 0: unknown.
  int32_t max_weight = 0;
  // Replaces the images of link capacities; requires `max_weight`. CPU only.
  const LinkSource* links = nullptr;
};

// When to stop. Stopping early keeps the flow found so far: a warm start continues from it.
struct CutLimits {
  int max_iterations = 0;      // 0: no limit; the backend defines what one iteration is
  int64_t time_budget_us = 0;  // 0: no limit
  // Start from the previous solution of this object: its residual graph is re-parameterised to the
  // new weights, which keeps the cut exact (Kohli and Torr 2007). Without limits, a warm start is
  // used only if it has recently been faster than a cold one.
  bool warm = false;
};

// Statistics of one cut, in pinned host memory. Written by the queue's work.
struct CutResult {
  int64_t flow = 0;  // value of the flow
  int64_t gap = 0;   // capacity of the mask's cut minus the flow: 0 if the cut is exact
  int32_t iterations = 0;
  bool exact = false;
};

class GridCut {
 public:
  // Values of the mask: pixels that cannot reach the sink, and all other pixels.
  static constexpr uint8_t kForeground = 255;
  static constexpr uint8_t kBackground = 0;

  virtual ~GridCut() = default;
  // The only function that allocates. Throws InputError for unsupported arguments and MemoryError.
  virtual void configure(Size size, Neighbours neighbours, int slots) = 0;
  // Puts the work of one frame on the queue. Neither allocates nor waits. Frames are processed in
  // order of the calls: if the queue differs from the previous one, it waits for the previous
  // frame. All views are in the backend's memory. `foreground` becomes the largest source side of a
  // minimum cut: the pixels that cannot reach the sink in the residual graph. This set is the same
  // for every maximum flow. If sums of capacities exceed the solver's widest integers on the CPU,
  // the queue's wait() throws InputError; sums never wrap. `result`, in pinned memory or null,
  // receives the statistics when the work is done.
  virtual void enqueue(const GridGraph& graph, Image<uint8_t> foreground, const CutLimits& limits,
                       CutResult* result, int slot, Queue& queue) = 0;
  // Forgets the previous solution.
  virtual void reset() {}
};

// Each backend specialises this function. The backend must be of kind K.
template <BackendKind K>
std::unique_ptr<GridCut> make_grid_cut(std::shared_ptr<Backend> backend);

}  // namespace regions

namespace regions::maxflow {

// Directions of links, in opposite pairs. Links are stored in the even direction of a pair: link d
// / 2 belongs to the pixel that direction d leaves. The first four directions are sufficient for
// four neighbours.
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

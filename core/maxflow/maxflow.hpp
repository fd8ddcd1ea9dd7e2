// Minimum cuts of pixel grids: the exact solver as a piece of its own, one class a backend.
#pragma once

#include <memory>

#include "core/backend.hpp"

namespace regions {

enum class Neighbours : uint8_t { four = 4, eight = 8 };

// Where capacities of some pixels of a row are written, the first pixel's first; the diagonal ones
// for eight neighbours alone. Entries of links that would leave the picture may have any value.
struct LinkRow {
  int32_t* right = nullptr;
  int32_t* down = nullptr;
  int32_t* down_right = nullptr;
  int32_t* down_left = nullptr;
};

// Computes capacities where a cut reads them: most cuts read few.
class LinkSource {
 public:
  // Those of pixels first..last - 1 of row y. Several threads may call it at once.
  virtual void write(int y, int first, int last, const LinkRow& row) const = 0;

 protected:
  ~LinkSource() = default;
};

// The graph of one frame: a node a pixel, between the source and the sink. Capacities of links are
// undirected and >= 0; entries of links that would leave the picture are ignored.
struct GridGraph {
  Image<const int32_t> terminal;    // t > 0: source -> pixel with capacity t; t < 0: pixel -> sink
                                    // with capacity -t
  Image<const int32_t> right;       // (x, y) <-> (x + 1, y)
  Image<const int32_t> down;        // (x, y) <-> (x, y + 1)
  Image<const int32_t> down_right;  // (x, y) <-> (x + 1, y + 1); for eight neighbours alone
  Image<const int32_t> down_left;   // (x, y) <-> (x - 1, y + 1); for eight neighbours alone
  Neighbours neighbours = Neighbours::four;
  // What |terminal| + capacities exceed at no pixel, where the caller knows, and that no capacity
  // is negative: weights that no flow comes near are not read then. 0: not known.
  int32_t most = 0;
  // In place of the images of capacities, together with `most`; on the CPU alone.
  const LinkSource* links = nullptr;
};

// When to stop. A stop before the end loses no flow: a warm call goes on from there.
struct CutLimits {
  int max_iterations = 0;      // 0: until exact; what an iteration is, the backend says
  int64_t time_budget_us = 0;  // 0: until exact
  // Starts from the last solution of this object, whose residual graph is re-parameterised to the
  // new weights: exact all the same (Kohli and Torr 2007). Where no limit stops a cut, it is done
  // so if the last cuts of either kind took less time that way.
  bool warm = false;
};

// What a cut came to. Pinned host memory; written by the queue's work.
struct CutReport {
  int64_t flow = 0;  // value of the flow found
  int64_t gap = 0;   // value of the mask's cut - flow: 0 when exact
  int32_t iterations = 0;
  bool exact = false;
};

class GridCut {
 public:
  // The mask's values.
  static constexpr uint8_t kForeground = 255;  // cannot reach the sink
  static constexpr uint8_t kBackground = 0;

  virtual ~GridCut() = default;
  // The only place that allocates. Throws InputError for what it cannot do, MemoryError.
  virtual void configure(Size size, Neighbours neighbours, int slots) = 0;
  // Puts one frame's work on the queue. Neither allocates nor waits. Frames follow each other: work
  // that comes on another queue than the last frame's is to wait for that. All views lie in the
  // backend's memory. `foreground` becomes the largest source side of a minimum cut: the pixels
  // that cannot reach the sink in the residual graph, the same set for every maximum flow. Sums of
  // capacities that the solver's widest numbers cannot hold raise InputError from the queue's
  // wait() on the CPU; they never wrap. The report is told when the work is done, in pinned memory;
  // null: none.
  virtual void enqueue(const GridGraph& graph, Image<uint8_t> foreground, const CutLimits& limits,
                       CutReport* report, int slot, Queue& queue) = 0;
  // Forgets the last solution.
  virtual void reset() {}
};

// Each backend specialises this. The backend must be of kind K.
template <BackendKind K>
std::unique_ptr<GridCut> make_grid_cut(std::shared_ptr<Backend> backend);

}  // namespace regions

// Graphs for minimum cuts: random ones, and typical ones of segmentation. Deterministic.
#pragma once

#include <array>
#include <vector>

#include "core/maxflow/maxflow.hpp"

namespace regions {

// A graph and its weights. The rows have padding with invalid weights.
class OwnedGraph {
 public:
  explicit OwnedGraph(Size size, int padding = 3);
  Size size() const { return size_; }
  GridGraph graph(Neighbours neighbours) const;
  // 0: terminal, 1: right, 2: down, 3: down_right, 4: down_left.
  Image<int32_t> array(int i);

 private:
  Size size_;
  int pitch_;  // values
  std::array<std::vector<int32_t>, 5> weights_;
};

// Random numbers that depend only on `seed`.
class Dice {
 public:
  explicit Dice(uint64_t seed) : state_(seed) {}
  // Returns a number from low to high, including both.
  int32_t roll(int32_t low, int32_t high);

 private:
  uint64_t state_;
};

// Weights up to `most`. On average, `zeros` of 8 weights are 0. If `coarse`, few values are used,
// so that many cuts have the same value.
OwnedGraph random_graph(Size size, int32_t most, int zeros, bool coarse, uint64_t seed);
// Three of four terminal weights are 0; links are at most a quarter of `most`.
OwnedGraph sparse_graph(Size size, int32_t most, unsigned seed);
// Blobs before a noisy background: the terminal weights alone decide most pixels.
OwnedGraph background_difference(Size size, uint64_t seed);
// Partly wrong colour models, links weighted by contrast, and a border of certain background.
OwnedGraph grabcut(Size size, uint64_t seed);
// One corridor that winds through the whole picture from the source to the sink. Its flow is 40.
OwnedGraph corridor(Size size);
// A square of sources, and sinks everywhere else. The flow crosses many tiles, but most tiles have
// no work. Links from column `wide_from` on require more than 16 bits.
OwnedGraph island(Size size, int left, int top, int wide_from);
// Pixels alternate between source and sink, and their sums are equal. Flow crosses the picture.
OwnedGraph checkerboard(Size size);

}  // namespace regions

// Small instances of the kinds that segmentation meets, and random ones. Deterministic.
#pragma once

#include <array>
#include <vector>

#include "core/maxflow/maxflow.hpp"

namespace regions {

// A graph with its weights, in rows with padding that holds nonsense.
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

// A sequence of numbers that depends on `seed` alone.
class Dice {
 public:
  explicit Dice(uint64_t seed) : state_(seed) {}
  // In low..high, both inside.
  int32_t roll(int32_t low, int32_t high);

 private:
  uint64_t state_;
};

// Weights up to `most`; `zeros` of 8 weights are 0, and few values make many ties if `coarse`.
OwnedGraph random_graph(Size size, int32_t most, int zeros, bool coarse, uint64_t seed);
// Blobs before a noisy background: most pixels are decided by themselves.
OwnedGraph background_difference(Size size, uint64_t seed);
// Colour models that are wrong in places, contrast-weighted links, a hard border of background.
OwnedGraph grabcut(Size size, uint64_t seed);
// One corridor that winds through the whole picture from the source to the sink.
OwnedGraph maze(Size size);
// As much excess as the sink takes, of pixels that alternate: what neighbours leave to each other
// has to cross the picture.
OwnedGraph checkerboard(Size size);

}  // namespace regions

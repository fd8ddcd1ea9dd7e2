// Strips: one frame's cut on several threads. Each solves a strip of rows as if the links between
// strips were not there; then they are, and the forest grows on from the seams (after Liu and Sun,
// "Parallel graph-cuts by adaptive bottom-up merging", 2010).
#pragma once

#include <algorithm>
#include <array>
#include <vector>

#include "core/workers.hpp"
#include "cpu/maxflow/forest.hpp"

namespace regions::maxflow {

// More strips than these leave more work to the one forest in the end than they save.
inline constexpr int kMaxStrips = 8;
inline constexpr int kMinRows = 16;  // of a strip: less is not worth a thread

// Rows first..last-1 of strip i of `count`: whole rows of tiles, so that each strip has nodes of
// its own.
template <ResidualLattice L>
struct Strip {
  Strip(Size size, int count, int i)
      : first_tiles(static_cast<int>(int64_t{L::tile_rows(size)} * i / count)),
        last_tiles(static_cast<int>(int64_t{L::tile_rows(size)} * (i + 1) / count)),
        first(L::first_row(size, first_tiles)),
        last(L::first_row(size, last_tiles)) {}
  int first_tiles;
  int last_tiles;
  int first;
  int last;
};

// Two for each thread, since strips differ in what there is to do.
inline int strips_of(Size size, const Workers& workers) {
  if (workers.threads() == 1) return 1;
  return std::clamp(size.height / kMinRows, 1, std::min(2 * workers.threads(), kMaxStrips));
}

// Residual capacities at one seam: those of each pixel's links to the row above, both ways.
inline size_t seam_capacities(Size size) { return static_cast<size_t>(size.width) * 3 * 2; }

// Calls f(upper, k, lower) for each link between rows y-1 and y.
template <ResidualLattice L, std::invocable<int32_t, int, int32_t> F>
void for_each_link(const L& lattice, int y, F f) {
  for (int k = kDown; k < L::kNeighbours; k += 2) {  // the directions downwards
    for (int x = 0; x < lattice.size().width; ++x) {
      const int32_t upper = lattice.index(x, y - 1);
      f(upper, k, lattice.neighbour(upper, k));
    }
  }
}

// Grows the forests from the labelled roots until the cut is minimal or the deadline comes.
template <ResidualLattice L>
struct StripSolver {
  using Residual = typename L::Numbers::Residual;

  L lattice;
  Image<const uint8_t> mask;  // marks the roots
  std::byte* memory;          // [Forest::bytes]
  int64_t* kept;              // [strips - 1][seam_capacities]
  const Workers& workers;
  Deadline deadline;

  Growth solve() {
    const int strips = strips_of(lattice.size(), workers);
    for (int i = 1; i < strips; ++i) cut(i, Strip<L>(lattice.size(), strips, i));
    std::array<Grown, kMaxStrips> grown;
    workers.parallel_for(strips, [&](int i) {
      grown[static_cast<size_t>(i)] = grow(Strip<L>(lattice.size(), strips, i));
    });
    return strips == 1 ? grown[0].growth : join(strips, grown);
  }

 private:
  struct Grown {
    Growth growth;
    NodeList left;
  };

  Grown grow(const Strip<L>& strip) {
    const int32_t first = lattice.nodes_before(strip.first_tiles);
    Forest<L> forest(lattice, first, lattice.nodes_before(strip.last_tiles) - first, memory);
    for (int y = strip.first; y < strip.last; ++y) forest.activate_row(y, mask);
    const Growth growth = forest.run(deadline);
    return {growth, forest.leave()};
  }

  // The tiles on both sides have been read then, before any thread asks for those of another strip.
  void cut(int i, const Strip<L>& strip) {
    lattice.require_rows(strip.first_tiles - 1, strip.first_tiles + 1);
    int64_t* capacity = kept + static_cast<size_t>(i - 1) * seam_capacities(lattice.size());
    for_each_link(lattice, strip.first, [&](int32_t upper, int k, int32_t lower) {
      *capacity++ = static_cast<int64_t>(std::exchange(lattice[upper].residual[k], Residual{}));
      *capacity++ =
          static_cast<int64_t>(std::exchange(lattice[lower].residual[opposite(k)], Residual{}));
    });
  }

  // Nodes that have yet to look around, and nodes with new links, go on in one forest.
  Growth join(int strips, const std::array<Grown, kMaxStrips>& grown) {
    Growth all;
    for (int i = 0; i < strips; ++i) all.add(grown[static_cast<size_t>(i)].growth);
    Forest<L> forest(lattice, 0, static_cast<int32_t>(L::count(lattice.size())), memory);
    forest.resume(all);
    for (int i = 0; i < strips; ++i) {
      for (const int32_t node : grown[static_cast<size_t>(i)].left) forest.activate(node);
    }
    for (int i = 1; i < strips; ++i) {
      const int64_t* capacity = kept + static_cast<size_t>(i - 1) * seam_capacities(lattice.size());
      for_each_link(lattice, Strip<L>(lattice.size(), strips, i).first,
                    [&](int32_t upper, int k, int32_t lower) {
                      lattice[upper].residual[k] = static_cast<Residual>(*capacity++);
                      lattice[lower].residual[opposite(k)] = static_cast<Residual>(*capacity++);
                      forest.activate(upper);
                      forest.activate(lower);
                    });
    }
    Growth growth = forest.run(deadline);
    growth.finished &= all.finished;
    return growth;
  }
};

}  // namespace regions::maxflow

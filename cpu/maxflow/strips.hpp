// Strips: one frame's cut on several threads. Each solves a strip of rows as if the links between
// strips were not there; then they are, and the forest grows on from the seams (after Liu and Sun,
// "Parallel graph-cuts by adaptive bottom-up merging", 2010).
#pragma once

#include <array>
#include <vector>

#include "cpu/maxflow/forest.hpp"
#include "cpu/workers.hpp"

namespace regions::maxflow {

inline constexpr int kMostStrips = 64;
inline constexpr int kLeastRows = 16;  // of a strip: less is not worth a thread

// Rows first..last-1 of strip i of `count`.
struct Strip {
  Strip(Size size, int count, int i)
      : first(static_cast<int>(static_cast<int64_t>(size.height) * i / count)),
        last(static_cast<int>(static_cast<int64_t>(size.height) * (i + 1) / count)) {}
  int first;
  int last;
};

inline int strips_of(Size size, const Workers& workers) {
  return std::clamp(size.height / kLeastRows, 1, std::min(workers.threads(), kMostStrips));
}

// Places for the residual capacities of one seam.
inline size_t seam_places(Size size) { return static_cast<size_t>(size.width) * 6; }

// Calls f(upper, k, lower) for each link between rows y-1 and y.
template <class L, class F>
void for_each_link(const L& lattice, int y, F f) {
  for (int k = 2; k < L::kNeighbours; k += 2) {
    for (int x = 0; x < lattice.size().width; ++x) {
      auto* upper = lattice.row(y - 1) + x;
      f(upper, k, lattice.neighbour(upper, k));
    }
  }
}

// Grows the forest from the labelled roots until nothing is left to push or the deadline comes.
template <class L>
struct StripSolver {
  using Residual = typename L::Numbers::Residual;

  L lattice;
  std::byte* memory;  // [Forest::bytes]
  int64_t* kept;      // [strips - 1][seam_places]
  const Workers& workers;
  Deadline deadline;
  int passes = 0;

  bool solve() {
    const int strips = strips_of(lattice.size(), workers);
    for (int i = 1; i < strips; ++i) cut(i, Strip(lattice.size(), strips, i).first);
    std::array<Growth, kMostStrips> grown;
    workers.parallel_for(strips, [&](int i) {
      grown[static_cast<size_t>(i)] = grow(Strip(lattice.size(), strips, i));
    });
    Growth all = grown[0];
    for (int i = 1; i < strips; ++i) {
      const Growth& one = grown[static_cast<size_t>(i)];
      all.level = std::max(all.level, one.level);
      all.passes = std::max(all.passes, one.passes);
      all.finished &= one.finished;
    }
    passes = all.passes;
    return strips == 1 ? all.finished : join(strips, all);
  }

 private:
  struct Growth {
    int level = 1;
    int passes = 0;
    bool finished = false;
  };

  Growth grow(const Strip& strip) {
    const auto first = lattice.row(strip.first) - 1 - lattice.nodes();
    const auto end = lattice.row(strip.last) - 1 - lattice.nodes();
    Forest<L> forest(lattice, static_cast<int32_t>(first), static_cast<int32_t>(end - first),
                     memory);
    for (int y = strip.first; y < strip.last; ++y) {
      auto* nodes = lattice.row(y);
      for (int x = 0; x < lattice.size().width; ++x) {
        if (nodes[x].label > 0) forest.activate(nodes + x);
      }
    }
    const bool finished = forest.run(deadline);
    return {forest.level(), forest.passes(), finished};
  }

  void cut(int strip, int y) {
    int64_t* place = kept + static_cast<size_t>(strip - 1) * seam_places(lattice.size());
    for_each_link(lattice, y, [&](auto* upper, int k, auto* lower) {
      *place++ = static_cast<int64_t>(std::exchange(upper->residual[k], Residual{}));
      *place++ = static_cast<int64_t>(std::exchange(lower->residual[k ^ 1], Residual{}));
    });
  }

  bool join(int strips, const Growth& all) {
    Forest<L> forest(lattice, 0, static_cast<int32_t>(L::count(lattice.size())), memory);
    forest.resume(all.level, all.passes);
    for (int i = 1; i < strips; ++i) {
      const int64_t* place = kept + static_cast<size_t>(i - 1) * seam_places(lattice.size());
      for_each_link(lattice, Strip(lattice.size(), strips, i).first,
                    [&](auto* upper, int k, auto* lower) {
                      upper->residual[k] = static_cast<Residual>(*place++);
                      lower->residual[k ^ 1] = static_cast<Residual>(*place++);
                      if (upper->label > 0) forest.activate(upper);
                      if (lower->label > 0) forest.activate(lower);
                    });
    }
    const bool finished = forest.run(deadline) && all.finished;
    passes = forest.passes();
    return finished;
  }
};

}  // namespace regions::maxflow

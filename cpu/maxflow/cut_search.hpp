// Finds the minimum cut of a residual graph with several threads. Defined in cut_search.cpp.
#pragma once

#include <algorithm>
#include <chrono>
#include <limits>

#include "core/workers.hpp"
#include "cpu/maxflow/residual_grid.hpp"

namespace regions::maxflow {

using Clock = std::chrono::steady_clock;

// Limits at which a search stops even if its cut is not minimal yet.
struct Deadline {
  int max_iterations = std::numeric_limits<int>::max();
  Clock::time_point time = Clock::time_point::max();
};

// The state of a search when it stopped. If the search has finished, only one side has active
// nodes.
struct SearchResult {
  int32_t source_level = 1;  // highest level of the source trees
  int32_t sink_level = 1;    // highest level of the sink trees
  int passes = 0;            // number of passes, at most Deadline::max_iterations
  bool finished = true;      // whether the cut is minimal

  void add(const SearchResult& other) {
    source_level = std::max(source_level, other.source_level);
    sink_level = std::max(sink_level, other.sink_level);
    passes = std::max(passes, other.passes);
    finished &= other.finished;
  }
};

// Maximum number of chunks of rows. With more chunks, the final search over all rows takes more
// additional time than the chunks save.
inline constexpr int kMaxChunks = 8;
inline constexpr int kMinRowsPerChunk = 16;  // for smaller chunks, another thread saves no time

// Returns the number of chunks of rows that are solved separately at first: two per thread, because
// the work per chunk differs.
inline int chunk_count(Size size, const Workers& workers) {
  if (workers.threads() == 1) return 1;
  return std::clamp(size.height / kMinRowsPerChunk, 1, std::min(2 * workers.threads(), kMaxChunks));
}

// Returns the maximum number of residual capacities at a seam, which is the border between two
// chunks. Each pixel has up to three links to the row above, in two directions.
inline size_t seam_size(Size size) { return static_cast<size_t>(size.width) * 3 * 2; }

// The memory of a search.
struct SearchBuffers {
  std::byte* trees;         // [SearchTrees::bytes(nodes)], memory of SearchTrees
  int64_t* seam_residuals;  // [chunk_count - 1][seam_size], stored while the seams have no links
};

// Pushes flow until the cut is minimal or the deadline has passed. `mask` marks the roots:
// kInSource for pixels with an excess, kInSink for pixels that can send flow to the sink, else
// kFree. The flow and the labels are valid in both cases. Instantiated for all number types, with 4
// and 8 neighbours.
template <TiledGraph Grid>
SearchResult find_minimum_cut(const Grid& grid, Image<const uint8_t> mask,
                              const SearchBuffers& buffers, const Workers& workers,
                              const Deadline& deadline);

// Pushes flow through a volume until the cut is minimal, with one thread. The roots have the label
// 1 on the side of the source and -1 on the side of the sink. `trees` has SearchTrees::bytes(nodes)
// bytes. Instantiated for numbers of 32 and 64 bits, with 6, 8 and 26 neighbours.
template <class N, int kDirections>
void find_minimum_cut(const ResidualVolume<N, kDirections>& volume, std::byte* trees);

}  // namespace regions::maxflow

// Joins the components of all strips to regions and numbers them, the blocks of a cluster together.
#pragma once

#include "gpu/cclabel/pictures/join_runs.hpp"
#include "gpu/cclabel/strips/strip.hpp"

#ifdef __CUDACC__
#if __CUDA_ARCH__ >= 900

namespace regions::cclabel {

// Calls f(w) for the words of run bits that this warp has.
template <class T, class F>
__device__ void for_each_run_word(const Strip<T>& s, F f) {
  const int words = (s.runs.count + 31) / 32;
  for (int w = static_cast<int>(threadIdx.x / 32); w < words; w += T::threads / 32) f(w);
}

// Makes the strip's trees, which are flat afterwards, a part of the forest. Ends with a barrier.
template <class T>
__device__ void enter_forest(Strip<T>& s, uint32_t strip) {
  const int lane = static_cast<int>(threadIdx.x % 32);
  for_each_run_word(s, [&](int w) {
    const int r = w * 32 + lane;
    const bool exists = r < s.runs.count;
    const auto run = static_cast<uint32_t>(exists ? r : w * 32);
    const bool is_root = flatten(s.parent, run, exists) == run;
    const uint32_t roots = __ballot_sync(kAllLanes, exists && is_root);
    if (lane == 0) s.roots[w] = roots;
  });
  __syncthreads();  // trees are flat
  s.runs.for_each([&](int r, bool exists) {
    if (exists) s.parent[r] = RunName(strip, s.parent[r]).node();
  });
}

// The runs of the row that a strip shares with the one above are that one's last: each is one node
// by both names. Trees are flat when it begins; a cluster barrier before it and one behind it.
template <class T>
__device__ void join_strips(const Strip<T>& s, const StripForest& forest, uint32_t strip) {
  if (strip == 0) return;
  const int shared = s.runs.started(T::width - 1, 0);
  if (shared == 0) return;
  const int above = *in_strip(&s.runs.count, strip - 1) - shared;  // runs before the row there
  const int lane = static_cast<int>(threadIdx.x % 32);
  for (int start = static_cast<int>(threadIdx.x) - lane; start < shared; start += T::threads) {
    const bool exists = start + lane < shared;
    const int r = exists ? start + lane : start;
    const RunName same(strip - 1, static_cast<uint32_t>(above + r));
    // Nodes between the run and its root, if any, have never been that of another: a later joint
    // of the same two trees does no harm.
    const uint32_t a = parent_in(s.parent, static_cast<uint32_t>(r));
    const uint32_t b = parent_in(forest, same.node());
    const uint64_t pair = exists ? static_cast<uint64_t>(a) << 32 | b : ~0ull;
    const uint32_t alike = __match_any_sync(kAllLanes, pair);
    unite(forest, a, b, exists && lane == __ffs(static_cast<int>(alike)) - 1);
  }
}

// Hangs first runs of components directly below the first run of their region, and counts regions
// in raster order of these. Between two cluster barriers.
template <class T>
__device__ void count_regions(Strip<T>& s, const StripForest& forest, uint32_t strip) {
  const int lane = static_cast<int>(threadIdx.x % 32);
  for_each_run_word(s, [&](int w) {
    const uint32_t roots = s.roots[w];
    uint32_t firsts = 0;
    if (roots) {
      const bool is_root = roots >> lane & 1;
      const int some = is_root ? lane : __ffs(static_cast<int>(roots)) - 1;
      const uint32_t node = RunName(strip, static_cast<uint32_t>(w * 32 + some)).node();
      const uint32_t first = flatten(forest, node, is_root);
      firsts = __ballot_sync(kAllLanes, is_root && first == node);
    }
    if (lane == 0) s.firsts[w] = firsts;
  });
  __syncthreads();  // first runs are known
  const int w = static_cast<int>(threadIdx.x);
  const bool has_word = w < (s.runs.count + 31) / 32;
  const uint32_t count = has_word ? static_cast<uint32_t>(__popc(s.firsts[w])) : 0;
  uint32_t total;
  const uint32_t earlier = sum_before<T::threads>(count, s.warp_sums, total);
  if (has_word) s.earlier[w] = earlier;
  if (w < kStrips) *in_strip(&s.regions[strip], static_cast<uint32_t>(w)) = total;
}

// Regions of all strips, and of those above one; behind a cluster barrier, as what follows.
struct RegionCounts {
  uint32_t all, above;
};
template <class T>
__device__ RegionCounts counts_of(const Strip<T>& s, uint32_t strip) {
  const uint32_t lane = threadIdx.x % 32, own = lane < kStrips ? s.regions[lane] : 0;
  return {warp_sum(own), warp_sum(lane < strip ? own : 0)};
}

// Gives first runs of components their label, and calls found(run, label) for each of them. Others'
// memory is not read after it.
template <class T, class Found>
__device__ void label_components(Strip<T>& s, const Found& found) {
  const int lane = static_cast<int>(threadIdx.x % 32);
  const uint32_t own = lane < kStrips ? s.regions[lane] : 0;
  const uint32_t before = warp_prefix_sum(own) - own;  // regions that begin above a lane's strip
  for_each_run_word(s, [&](int w) {
    const uint32_t roots = s.roots[w];
    if (!roots) return;
    const bool is_root = roots >> lane & 1;
    const int some = is_root ? lane : __ffs(static_cast<int>(roots)) - 1;
    const RunName first(s.parent[w * 32 + some]);
    const uint32_t word = first.run / 32, under = below(static_cast<int>(first.run % 32));
    const uint32_t label = __shfl_sync(kAllLanes, before, static_cast<int>(first.strip)) +
                           *in_strip(&s.earlier[word], first.strip) +
                           __popc(*in_strip(&s.firsts[word], first.strip) & under) + 1;
    __syncwarp();  // lanes that are no roots have read what roots overwrite
    if (!is_root) return;
    s.parent[w * 32 + lane] = label;
    found(static_cast<uint32_t>(w * 32 + lane), label);
  });
}

// Gives all other runs the label of their component. Begins and ends with a barrier.
template <class T>
__device__ void label_runs(Strip<T>& s) {
  __syncthreads();  // components have labels
  const int lane = static_cast<int>(threadIdx.x % 32);
  for_each_run_word(s, [&](int w) {
    const int r = w * 32 + lane;
    if (r >= s.runs.count || (s.roots[w] >> lane & 1)) return;
    s.parent[r] = s.parent[RunName(s.parent[r]).run];
  });
  __syncthreads();  // runs have labels
}

}  // namespace regions::cclabel

#endif
#endif

// A strip of a picture in a block's shared memory, and what the blocks of a cluster see of each
// other's.
#pragma once

#include <cooperative_groups.h>

#include "gpu/cclabel/pictures/foreground_contacts.hpp"
#include "gpu/cclabel/strips/tuning.hpp"

#ifdef __CUDACC__

namespace regions::cclabel {

// Row 0 is the last one of the strip above, which has it, too: what joins there is one run, known
// by two names.
template <class T>
struct Strip {
  TileRuns<T> runs;
  JoinedRuns<T> joined;
  // By run, one after the other: the first run of its component in the strip; for those first runs
  // a node of the forest, which ends at the first run of their region; their label.
  uint32_t parent[T::runs];
  uint32_t roots[T::runs / 32];    // bits by run: first runs of components of the strip
  uint32_t firsts[T::runs / 32];   // of those: first runs of regions
  uint32_t earlier[T::runs / 32];  // regions of the strip that begin before the word
  uint32_t regions[kStrips];       // that begin in each strip
  uint32_t warp_sums[T::threads / 32];
};

#if __CUDA_ARCH__ >= 900

// A run of any strip, in raster order of first pixels.
struct RunName {
  uint32_t strip, run;

  __device__ explicit RunName(uint32_t node) : strip(node >> 16), run(node & 0xffffu) {}
  __device__ RunName(uint32_t strip, uint32_t run) : strip(strip), run(run) {}
  __device__ uint32_t node() const { return strip << 16 | run; }
};

// The same of another strip's shared memory; one's own is nearer by its plain address.
template <class Value>
__device__ Value* in_strip(Value* mine, uint32_t strip) {
  const auto cluster = cooperative_groups::this_cluster();
  return strip == cluster.block_rank() ? mine : cluster.map_shared_rank(mine, strip);
}

// The parents of all strips' runs, see parent_in().
struct StripForest {
  uint32_t* parent;  // of this strip

  __device__ uint32_t* operator+(uint32_t node) const {
    const RunName name(node);
    return in_strip(parent + name.run, name.strip);
  }
};

#endif

}  // namespace regions::cclabel

#endif

// Joins the runs of a tile that touch to trees, in shared memory.
#pragma once

#include "gpu/cclabel/pictures/contacts.hpp"
#include "gpu/primitives/union_find.hpp"

#ifdef __CUDACC__

namespace regions::cclabel {

// `parent` is by run; a root is its component's first run. First every run hangs below the first
// run above that it touches, without an atomic; then the remaining contacts are united (Wu, Otoo,
// Suzuki 2009: link to the smaller). Ends with a barrier.
template <RunContacts Contacts>
__device__ void join_runs(const TileRuns<typename Contacts::Tile>& runs, uint32_t* parent,
                          const Contacts& contacts) {
  runs.for_each([&](int r, bool exists) {
    const int above = contacts.above(r, exists);
    if (exists) parent[r] = static_cast<uint32_t>(above);
  });
  __syncthreads();  // every run has a parent
  runs.for_each([&](int r, bool exists) { flatten(parent, static_cast<uint32_t>(r), exists); });
  __syncthreads();  // trees are flat before they are joined
  contacts.join_further(parent);
  __syncthreads();  // no link is made after this
}

}  // namespace regions::cclabel

#endif

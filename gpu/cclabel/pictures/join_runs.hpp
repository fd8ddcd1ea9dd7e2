// Joins the runs of a tile that touch to trees, in shared memory.
#pragma once

#include "gpu/cclabel/pictures/contacts.hpp"
#include "gpu/primitives/union_find.hpp"

#ifdef __CUDACC__

namespace regions::cclabel {

// Ranks the runs, whose contacts have been read, and joins them. `parent` is by run; a root is its
// component's first run. First every run hangs below the first run above that it touches, without
// an atomic; then the remaining contacts are united (Wu, Otoo, Suzuki 2009: link to the smaller).
// Ends with a barrier.
template <RunContacts Contacts, class T = typename Contacts::Tile>
__device__ void join_runs(TileRuns<T>& runs, uint32_t (&warp_sums)[T::threads / 32],
                          uint32_t* parent, const Contacts& contacts) {
  const MarkedStarts marked = rank_runs(runs, warp_sums, contacts.marked());
  contacts.hang(parent, marked);
  __syncthreads();  // every run has a parent
  // Three steps make one link of eight, which is enough for what walks them next.
  runs.for_each([&](int r, bool exists) { flatten<3>(parent, static_cast<uint32_t>(r), exists); });
  __syncthreads();  // no way is being shortened while trees are joined
  contacts.join_further(parent);
  __syncthreads();  // no link is made after this
}

}  // namespace regions::cclabel

#endif

// Which runs touch, whatever the criterion.
#pragma once

#include <concepts>

#include "gpu/cclabel/pictures/runs.hpp"

#ifdef __CUDACC__

namespace regions::cclabel {

// Contacts of runs, in a tile of shape C::Tile, with what C::Shared holds in shared memory. All
// threads of the block call its functions in this order: marked() are starts of the thread's word
// that rank_runs() shall count, hang() leaves every run of `parent` below the first one above that
// it touches, join_further() unites the others.
template <class C>
concept RunContacts = requires(const C& contacts, uint32_t* parent, const MarkedStarts& marked) {
  typename C::Tile;
  typename C::Shared;
  { contacts.marked() } -> std::convertible_to<uint32_t>;
  contacts.hang(parent, marked);
  contacts.join_further(parent);
};

}  // namespace regions::cclabel

#endif

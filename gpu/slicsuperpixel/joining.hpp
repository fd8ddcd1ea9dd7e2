// How small pieces choose, and where they go: the rounds that core/slicsuperpixel/pieces.hpp
// describes.
//
// A round's choices make chains that end in a piece which is not small, or in two that chose each
// other (distances are the same from both sides and ties go to the first pixel, so a longer ring
// cannot be). Every piece walks down its chain by reading alone and gives what it has to the end.
// Others may give what they have, and hang themselves below the end, at the same time: a walk that
// sees it is only shorter. No order of work changes which piece joins which.
#pragma once

#include "gpu/primitives/warp.hpp"
#include "gpu/slicsuperpixel/phases.hpp"

namespace regions::slic {

#ifdef __CUDACC__
// Where this lane may put its `mine` entries in a list of *count; all lanes of a warp.
__device__ inline uint32_t room_for(uint32_t mine, uint32_t* count) {
  const uint32_t up_to_own = warp_prefix_sum(mine);
  uint32_t start = 0;
  if (threadIdx.x % 32 == 31 && up_to_own > 0) start = atomicAdd(count, up_to_own);
  return __shfl_sync(kAllLanes, start, 31) + up_to_own - mine;
}
#endif

struct Joining {
  Pieces pieces;
  SlicScale scale;
  uint32_t least;  // area of a piece that is not small

#ifdef __CUDACC__
  // Representatives a and b touch: small ones consider each other for the choices of turn `turn`.
  // Returns whether one is small.
  __device__ bool touch(uint32_t a, uint32_t b, int turn) const {
    const Piece one = pieces.piece_of(a), other = pieces.piece_of(b);
    const bool small = one.area < least, small_other = other.area < least;
    if (!small && !small_other) return false;
    // Mostly neither is: only now are these fetched.
    const uint32_t first = __ldcg(pieces.first + a), first_other = __ldcg(pieces.first + b);
    const uint32_t distance = piece_distance(one, other, scale);
    unsigned long long* const choice = pieces.choice[turn];
    if (small) atomicMin(choice + a, choice_of(distance, first_other));
    if (small_other) atomicMin(choice + b, choice_of(distance, first));
    return true;
  }

  // A representative on the way down a chain, and what it chose.
  struct Link {
    uint32_t id;
    unsigned long long choice;
  };
  __device__ Link link_at(uint32_t id, int turn) const {
    return {id, __ldcg(pieces.choice[turn] + id)};
  }
  // The next one; the same if that has no choice, or if what it chose hangs below it by now.
  __device__ Link chosen_by(const Link& link, int turn) const {
    if (link.choice == kNoChoice) return link;
    const volatile uint32_t* const parent = pieces.parent;
    // Mostly a representative: its choice is fetched meanwhile.
    for (uint32_t id = pieces.id_at(static_cast<uint32_t>(link.choice));;) {
      const Link next = link_at(id, turn);
      const uint32_t above = parent[id];
      if (above == id) return next;
      id = above;
    }
  }
  __device__ uint32_t end_of_chain(uint32_t a, int turn) const {
    Link at = link_at(a, turn), next = chosen_by(at, turn);
    while (next.id != at.id) {
      const Link beyond = chosen_by(next, turn);
      if (beyond.id == next.id) return next.id;
      if (beyond.id == at.id) return at.id < next.id ? at.id : next.id;
      at = next;
      next = beyond;
    }
    return at.id;
  }
  // Hangs the representative `a` below the end of its chain.
  __device__ void follow(uint32_t a, int turn) const {
    // Not yet what it might be given: then it is an end.
    const Piece own = pieces.piece_of(a);
    const uint32_t first = __ldcg(pieces.first + a);
    const uint32_t end = end_of_chain(a, turn);
    if (end == a) return;
    *static_cast<volatile uint32_t*>(pieces.parent + a) = end;
    pieces.give(end, own);
    atomicMin(pieces.first + end, first);
  }
#endif
};

// Where a round finds its edges and small pieces.
struct JoinLists {
  uint2* edges;
  uint32_t* small;
  uint32_t edge_count, small_count;

#ifdef __CUDACC__
  // A list that has run over stays behind; the one before is whole.
  __device__ JoinLists(const Pieces& pieces, const JoinCounts& counts, int round) {
    small = pieces.small[round];
    small_count = counts.small[round];
    int list = round;
    while (counts.edges[list] > pieces.edge_capacity(list)) --list;
    edges = pieces.edges[list];
    edge_count = counts.edges[list];
  }
#endif
};

// Between two series of rounds: leaves components and lists as make_first_choices() wants them.
void settle(const Pieces& pieces, cudaStream_t stream);
// Of a rule with a wanted number: when those have chosen that are not certain to stay, marks the
// pieces that stay, and forgets their choices.
void mark_staying(const Pieces& pieces, const StayRule& rule, cudaStream_t stream);
// Finds the pieces that are too small, what they touch, and their first choices.
void make_first_choices(const Joining& joining, cudaStream_t stream);

}  // namespace regions::slic

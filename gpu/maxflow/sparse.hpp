// Push-relabel on the tiles that have work alone. A first kernel solves every tile by itself: most
// need no other. A few blocks then work on lists of the tiles that are left, exact relabels and
// rounds of pushes by turns, until a relabel finds no excess that could reach the sink. Heights of
// tiles that are on no list stand, so that a relabel of those that are makes reachability exact
// everywhere, and the flow is maximum.
#pragma once

#include "gpu/maxflow/list_barrier.hpp"
#include "gpu/maxflow/lists.hpp"
#include "gpu/maxflow/report.hpp"
#include "gpu/maxflow/sparse_tile.hpp"
#include "gpu/maxflow/tuning.hpp"
#include "gpu/runtime/launch.hpp"

namespace regions::maxflow {

// A warp's work on tiles of lists.
template <int kNeighbours>
class SparseCut {
 public:
  struct Shared {
    GridBarrier::Words words;
    BlockSums sums;
  };

  __device__ SparseCut(const Problem& problem, const Sparse<kNeighbours>& sparse,
                       Tile<kNeighbours>& tile, Shared* shared)
      : problem_(problem),
        sparse_(sparse),
        tile_(tile),
        shared_(shared),
        stored_(problem, sparse, tile),
        lists_(problem, sparse),
        barrier_(problem.progress, &shared->words),
        lane_(this_lane()) {}

  // Returns in every thread whether the frame is solved; else wider numbers are wanted.
  __device__ bool run() {
    cut();
    barrier_.meet(0);
    return __ldcg(&problem_.progress->solved) != 0;
  }

 private:
  __device__ void cut() {
    if (problem_.progress->wide) return give_up();
    for (;; ++turns_.relabel) {
      const unsigned found = relabel();
      if (found & kWide) return give_up();
      const bool active = lists_.active(turns_.relabel).size() > 0;
      if ((found & kSaturated) || !active || stopped_) return finish(found, active);
      if (!push()) return give_up();
    }
  }

  // The warp's share of a list. Neighbours in it go to different multiprocessors.
  struct Share {
    int count;  // of the whole list
    int tile;   // the first one, if there is any
  };
  __device__ Share share_of(const TileList& list) const {
    return {list.size(), __ldcg(list.tiles + min(first_place(), sparse_.boxes.tiles() - 1))};
  }
  template <class Visit>
  __device__ unsigned visit_list(const TileList& list, const Share& share, const Visit& visit) {
    const int warps = static_cast<int>(gridDim.x * (blockDim.x / 32));
    unsigned said = 0;
    int tile = share.tile;
    for (int k = first_place(); k < share.count; k += warps) {
      if (k != first_place()) tile = __ldcg(list.tiles + k);
      said |= visit(tile);
    }
    return said;
  }
  __device__ static int first_place() {
    return static_cast<int>(threadIdx.x / 32 * gridDim.x + blockIdx.x);
  }
  __device__ unsigned meet(unsigned bits) {
    bits = barrier_.meet(bits);
    ++turns_.pass;
    return bits;
  }
  __device__ bool is_first_thread() const { return blockIdx.x == 0 && threadIdx.x == 0; }
  // That of the pass after the next one, which no block reads or fills now.
  __device__ void clear_pass_after_next() {
    if (is_first_thread()) *lists_.pass(turns_.pass + 2).count = 0;
  }

  // The solver with wider numbers begins anew.
  __device__ void give_up() const {
    if (is_first_thread()) problem_.progress->taken = 0;
  }

  // Exact heights of the live tiles. Returns what was said.
  __device__ unsigned relabel() {
    // The first kernel has started the first relabel.
    unsigned said = turns_.relabel == 0 ? 0 : start_all();
    for (spreads_ = 0;; ++spreads_) {
      const TileList list = lists_.pass(turns_.pass);
      const Share share = share_of(list);
      if (share.count == 0) return said;
      clear_pass_after_next();
      const unsigned more = visit_list(list, share, [&](int tile) { return spread(tile); });
      said |= meet(more);
    }
  }
  __device__ unsigned start_all() {
    clear_pass_after_next();
    if (is_first_thread()) {
      *lists_.live(turns_.relabel + 2).count = 0;
      *lists_.active(turns_.relabel + 1).count = 0;
    }
    const TileList live = lists_.live(turns_.relabel);
    unsigned said = visit_list(live, share_of(live), [&](int tile) { return start(tile); });
    said = meet(said);
    ++turns_.flow;
    return said;
  }

  // A live tile's heights from its own sinks, and from neighbours whose heights stand.
  __device__ unsigned start(int index) {
    const Place place(sparse_.boxes, index);
    const auto beside = stored_.ask(place, turns_);
    const bool changed = stored_.bring(place, beside, turns_);
    start_heights(tile_, lane_);
    const Arcs<kNeighbours> arcs = residual_arcs(tile_, lane_);
    settle(tile_, arcs, lane_);
    Look look = look_at(tile_, problem_.size(), place, lane_);
    const bool settled = look.settled;
    if (!settled) {
      const unsigned ways = take_heights(tile_, beside.heights(~beside.live));
      if (ways && settle(tile_, arcs, lane_, ways)) {
        look = look_at(tile_, problem_.size(), place, lane_);
      }
      if (lane_.index == 0) sparse_.state[index].unsettled = turns_.relabel + 1;
    }
    stored_.tell(place, beside, turns_);
    if (changed) {
      stored_.put_whole(index);
    } else {
      stored_.put_heights(index);
    }
    const bool first = lane_.index == 0;
    Entry entries[] = {
        lists_.next_entry(turns_, index, first && !settled),
        lists_.active_entry(turns_, index, first && look.active),
        lists_.live_entry(turns_, index, first && (look.active || (!settled && look.reaches)))};
    add_to_lists(index, entries);
    return said_of(look);
  }

  // Heights that fell beside the tile go on through it.
  __device__ unsigned spread(int index) {
    const Place place(sparse_.boxes, index);
    const auto beside = stored_.ask(place, turns_);
    wait_for_copy();
    const unsigned ways = take_heights(tile_, beside.heights(~0u));
    if (!ways) return 0;
    const EdgeHeights before(tile_, lane_);
    if (!settle(tile_, residual_arcs(tile_, lane_), lane_, ways)) return 0;
    const Look look = look_at(tile_, problem_.size(), place, lane_);
    const unsigned fell = EdgeHeights(tile_, lane_).template differ<kNeighbours>(before);
    if (fell) stored_.tell(place, beside, turns_);
    stored_.put_heights(index);
    // Neighbours by lane, and the tile itself in the last one.
    const bool is_own = lane_.index == 31;
    const int other = is_own ? index : target(place, fell);
    Entry entries[] = {
        lists_.next_entry(turns_, other, !is_own && (fell & beside.unsettled) >> lane_.index & 1),
        lists_.active_entry(turns_, other, is_own && look.active),
        lists_.live_entry(turns_, other, is_own && look.reaches)};
    add_to_lists(other, entries);
    return said_of(look);
  }

  __device__ unsigned said_of(const Look& look) const {
    return (look.saturated ? kSaturated : 0) | (stored_.is_wide() ? kWide : 0);
  }

  // Rounds of pushes, until nothing moves or it is time for exact heights. False if 16 bits are too
  // few.
  __device__ bool push() {
    const int rounds = SparseSchedule::rounds + 2 * max(0, spreads_ - Schedule::long_relabel);
    for (int round = 0; round < rounds && !stopped_; ++round) {
      const TileList list = round == 0 ? lists_.active(turns_.relabel) : lists_.pass(turns_.pass);
      const Share share = share_of(list);
      if (share.count == 0) break;
      clear_pass_after_next();
      const unsigned said = visit_list(list, share, [&](int tile) { return push_in(tile); });
      const unsigned answer = meet(said | (blockIdx.x == 0 && problem_.time_is_up() ? kHalt : 0));
      if (answer & kWide) return false;
      ++turns_.flow;
      ++iterations_;
      stopped_ = (answer & kHalt) || iterations_ == problem_.max_iterations;
    }
    return true;
  }

  __device__ unsigned push_in(int index) {
    const Place place(sparse_.boxes, index);
    const auto beside = stored_.ask(place, turns_);
    stored_.bring(place, beside, turns_);
    take_heights(tile_, beside.heights(~0u));
    bool stays = true;
    for (int k = 0; k < SparseSchedule::pushes && stays; ++k) stays = push_relabel(tile_, lane_);
    stays = stays && any_active(tile_, lane_);
    const unsigned sent = stored_.send(place, turns_);
    stored_.tell(place, beside, turns_);
    stored_.put_whole(index);
    const bool is_target = lane_.index < kNeighbours && (sent >> lane_.index & 1);
    const int other = is_target ? target(place, sent) : index;
    Entry entries[] = {
        lists_.next_entry(turns_, other, is_target || (lane_.index == kNeighbours && stays)),
        lists_.live_entry(turns_, other, is_target), lists_.ever_entry(other, is_target)};
    add_to_lists(other, entries);
    return stored_.is_wide() ? kWide : 0;
  }

  // The neighbour of the lane's direction, if that is among `directions`; else any tile.
  __device__ int target(const Place& place, unsigned directions) const {
    if (lane_.index >= kNeighbours || !(directions >> lane_.index & 1)) return 0;
    return max(place.beside(sparse_.boxes, step_x(lane_.index), step_y(lane_.index)), 0);
  }

  // Writes mask, kept flows and report; or, if heights were too short, leaves the flows for the
  // solver with wider ones.
  __device__ void finish(unsigned found, bool active) {
    shared_->sums.clear();
    const TileList ever = lists_.ever();
    visit_list(ever, share_of(ever), [&](int index) -> unsigned {
      const Place place(sparse_.boxes, index);
      copy_tile(sparse_.tiles[index], tile_, lane_);
      wait_for_copy();
      const Sums sums = store_tile(tile_, problem_, place.x, place.y, lane_);
      const bool has_flow = __any_sync(~0u, sums.has_flow);
      if (lane_.index == 0) sparse_.flowless[index] = !has_flow;
      // The first kernel counted what the tile's sinks had taken by then.
      shared_->sums.add(sums.lack - (lane_.index == 0 ? sparse_.state[index].lack : 0), sums.gap);
      return 0;
    });
    pdl_trigger();
    report_cut(problem_, shared_->sums, barrier_, iterations_, found, active);
  }

  const Problem& problem_;
  const Sparse<kNeighbours>& sparse_;
  Tile<kNeighbours>& tile_;
  Shared* const shared_;
  SparseTile<kNeighbours> stored_;
  const TileLists<kNeighbours> lists_;
  ListBarrier barrier_;
  const Lane lane_;
  Turns turns_{.pass = 1, .relabel = 0, .flow = 1};
  int spreads_ = 0;  // passes of the last relabel
  int iterations_ = 0;
  bool stopped_ = false;
};

}  // namespace regions::maxflow

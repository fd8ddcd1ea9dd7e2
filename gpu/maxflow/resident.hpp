// Push-relabel by tiles in one kernel that holds the whole picture: exact global relabels and
// rounds of pushes by turns, until a relabel finds no excess that could reach the sink. Then no
// residual path joins source and sink, so the flow is maximum, whatever the heights were in
// between.
#pragma once

#include "gpu/maxflow/exchange.hpp"
#include "gpu/maxflow/grid_barrier.hpp"
#include "gpu/maxflow/push.hpp"
#include "gpu/maxflow/relax.hpp"
#include "gpu/maxflow/report.hpp"
#include "gpu/maxflow/tuning.hpp"

namespace regions::maxflow {

// One tile a warp, which stays in shared memory.
template <int kNeighbours>
class ResidentCut {
 public:
  struct Shared {
    GridBarrier::Words words;
    BlockSums sums;
  };

  __device__ ResidentCut(const Problem& problem, const Boxes& boxes, Tile<kNeighbours>& tile,
                         Shared* shared)
      : problem_(problem),
        boxes_(boxes),
        tile_(tile),
        shared_(shared),
        barrier_(&problem.progress->tiles, &shared->words),
        lane_(this_lane()) {
    problem.begin();
  }

  __device__ void run() {
    unsigned say = load();
    for (;;) {
      const unsigned found = relabel(say);
      say = 0;
      if (found & kHalt) return;
      const bool end = (found & kSaturated) || !(found & kActive) || stopped_;
      if (end) return finish(found);
      push();
    }
  }

 private:
  static constexpr unsigned kAll = ~0u;  // neighbours

  // The warp's tile, if it has one; neighbours lie on different multiprocessors, which spreads the
  // work.
  template <class Visit>
  __device__ unsigned visit_tile(Visit visit) {
    const int tile = static_cast<int>(threadIdx.x / 32 * gridDim.x + blockIdx.x);
    return tile < boxes_.tiles() ? visit(tile) : 0;
  }

  __device__ unsigned load() {
    return visit_tile([&](int index) -> unsigned {
      const Place place(boxes_, index);
      const bool fits = load_tile(tile_, problem_, place.x, place.y, lane_);
      return fits ? 0 : kHalt;
    });
  }

  // Exact heights everywhere. Says `say` to all at its first barrier.
  __device__ unsigned relabel(unsigned say) {
    unsigned all = 0, answer;
    relabel_rounds_ = 0;
    do {
      const bool first = relabel_rounds_++ == 0;
      const unsigned said = visit_tile([&](int index) { return visit_heights(index, first); });
      answer = barrier_.meet(said | say);
      all |= answer & kHalt;
      say = 0;
    } while (answer & kUnsettled);
    flows_wait_ = false;
    return answer | all;
  }

  __device__ unsigned visit_heights(int index, bool first) {
    const unsigned turn = barrier_.turn();
    const Place place(boxes_, index);
    unsigned ways = kBothWays;
    if (first) {
      if (flows_wait_) {
        take_flows(tile_, ask_flows<kNeighbours>(boxes_, turn - 1, place, kAll, lane_), lane_);
      }
      start_heights(tile_, lane_);
    } else {
      ways = take_heights(tile_, ask_heights(tile_, boxes_, turn - 1, place, kAll, lane_));
      if (state_ & kUnsettled) ways = kBothWays;
    }
    bool fell = false;
    if (ways) {
      if (first) arcs_ = residual_arcs(tile_, lane_);
      const EdgeHeights before = first ? EdgeHeights() : EdgeHeights(tile_, lane_);
      const bool settled = relax_tile(tile_, arcs_, lane_, ways).settled;
      fell = EdgeHeights(tile_, lane_).differ<kNeighbours>(before) != 0;
      bool active, saturated;
      look_over(tile_, lane_, active, saturated);
      state_ = (settled ? 0 : kUnsettled) | (active ? kActive : 0) | (saturated ? kSaturated : 0);
    }
    tell_heights(tile_, boxes_, turn, index, lane_);
    return state_ | (fell ? kUnsettled : 0);
  }

  // Rounds of pushes, until nothing moves or it is time for exact heights.
  __device__ void push() {
    const int rounds = Schedule::rounds + max(0, relabel_rounds_ - Schedule::long_relabel);
    for (int round = 0; round < rounds && !stopped_; ++round) {
      unsigned said = visit_tile([&](int index) { return visit_excess(index, round == 0); });
      if (blockIdx.x == 0 && problem_.time_is_up()) said |= kHalt;
      const unsigned answer = barrier_.meet(said);
      flows_wait_ = true;
      ++iterations_;
      stopped_ = (answer & kHalt) || iterations_ == problem_.max_iterations;
      if (!(answer & kActive)) break;
    }
  }

  __device__ unsigned visit_excess(int index, bool first) {
    const unsigned turn = barrier_.turn();
    const Place place(boxes_, index);
    bool active = state_ & kActive;
    if (!first) {
      // Both are asked for before either is taken in: one way to memory, not two.
      const auto heights = ask_heights(tile_, boxes_, turn - 1, place, kAll, lane_);
      const auto flows = ask_flows<kNeighbours>(boxes_, turn - 1, place, kAll, lane_);
      take_heights(tile_, heights);
      active |= take_flows(tile_, flows, lane_);
    }
    bool stays = false;
    if (active) {
      push_relabel(tile_, lane_);
      stays = any_active(tile_, lane_);
      state_ = stays ? kActive : 0;
    }
    const bool sent = __any_sync(~0u, tell_flows(tile_, boxes_, turn, index, lane_) != 0);
    tell_heights(tile_, boxes_, turn, index, lane_);
    return stays || sent ? kActive : 0;
  }

  // Writes mask, kept flows and report; or, if heights were too short, leaves the flows for the
  // solver with wider ones.
  __device__ void finish(unsigned found) {
    shared_->sums.clear();
    visit_tile([&](int index) -> unsigned {
      const Place place(boxes_, index);
      const Sums sums = store_tile(tile_, problem_, place.x, place.y, lane_);
      shared_->sums.add(sums.taken, sums.gap);
      return 0;
    });
    report_cut(problem_, shared_->sums, barrier_, iterations_, found, found & kActive);
  }

  const Problem& problem_;
  const Boxes boxes_;
  Tile<kNeighbours>& tile_;
  Shared* const shared_;
  GridBarrier barrier_;
  const Lane lane_;
  Arcs<kNeighbours> arcs_{};
  unsigned state_ = 0;
  int relabel_rounds_ = 0;
  int iterations_ = 0;
  bool flows_wait_ = false;
  bool stopped_ = false;
};

}  // namespace regions::maxflow

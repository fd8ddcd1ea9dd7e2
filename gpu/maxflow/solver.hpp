// Push-relabel by tiles in one persistent kernel: exact global relabels and rounds of pushes by
// turns, until a relabel finds no excess that could reach the sink. Then no residual path joins
// source and sink, so the flow is maximum, whatever the heights were in between.
#pragma once

#include "gpu/maxflow/exchange.hpp"
#include "gpu/maxflow/grid_barrier.hpp"
#include "gpu/maxflow/push.hpp"
#include "gpu/maxflow/relax.hpp"
#include "gpu/maxflow/tuning.hpp"

namespace regions::maxflow {

// Tiles that do not stay in shared memory, and what their warp must know before it fetches one.
template <int kNeighbours>
struct Store {
  Tile<kNeighbours>* tiles;  // [tiles]
  uint8_t* state;            // [tiles], bits of Said, for the owner alone
  uint8_t* news;             // [2][tiles], nonzero: the neighbours should read the boxes
};

// What is said at the grid barrier, and what is known of a tile.
enum Said : unsigned {
  kUnsettled = 1,  // heights are not final: a tile goes on, or its neighbours must
  kActive = 2,     // excess is on its way
  kSaturated = 4,  // distances too long for 16 bits
  kHalt = 8,       // while loading: capacities too large for 16 bits; later: time is up
};

__device__ inline long long nanoseconds() {
  long long now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}

template <int kNeighbours, bool kResident>
class Solver {
 public:
  struct Shared {
    GridBarrier::Words words;
    unsigned long long taken, gap;
  };

  __device__ Solver(const Problem& problem, const Boxes& boxes, const Store<kNeighbours>& store,
                    Tile<kNeighbours>& tile, Shared* shared)
      : problem_(problem),
        boxes_(boxes),
        store_(store),
        tile_(tile),
        shared_(shared),
        barrier_(&problem.progress->tiles, &shared->words),
        lane_(this_lane()) {
    if (problem.budget_ns > 0) started_ = nanoseconds();
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
  // Tiles of this warp; neighbours lie on different multiprocessors, which spreads the work.
  template <class Visit>
  __device__ unsigned visit_tiles(Visit visit) {
    const int warps = static_cast<int>(gridDim.x * (blockDim.x / 32));
    const int first = static_cast<int>(threadIdx.x / 32 * gridDim.x + blockIdx.x);
    unsigned said = 0;
    for (int tile = first; tile < boxes_.tiles(); tile += warps) said |= visit(tile);
    return said;
  }

  __device__ unsigned load() {
    return visit_tiles([&](int index) -> unsigned {
      const Place place(boxes_, index);
      const bool fits = load_tile(tile_, problem_, place.x, place.y, lane_);
      put(index);
      return fits ? 0 : kHalt;
    });
  }

  // Exact heights everywhere. Says `say` to all at its first barrier.
  __device__ unsigned relabel(unsigned say) {
    unsigned all = 0, answer;
    relabel_rounds_ = 0;
    do {
      const bool first = relabel_rounds_++ == 0;
      const unsigned said = visit_tiles([&](int index) { return visit_heights(index, first); });
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
    unsigned state = state_of(index);
    const unsigned from = first && !flows_wait_ ? 0 : news(place, turn - 1);
    if (!kResident && !first && !from && !(state & kUnsettled)) {
      tell_news(index, turn, false);
      return state;
    }
    bring(index);
    bool work = true;
    if (first) {
      if (flows_wait_) {
        take_flows(tile_, ask_flows<kNeighbours>(boxes_, turn - 1, place, from, lane_), lane_);
      }
      start_heights(tile_, lane_);
    } else {
      work = take_heights(tile_, ask_heights(tile_, boxes_, turn - 1, place, from, lane_)) ||
             (state & kUnsettled);
    }
    bool fell = false;
    if (work) {
      if (first || !kResident) arcs_ = residual_arcs(tile_, lane_);
      const Edge before = first ? Edge() : edge();
      const bool settled = relax_tile(tile_, arcs_, lane_);
      fell = __any_sync(~0u, edge() != before);
      bool active, saturated;
      look_over(tile_, lane_, active, saturated);
      state = (settled ? 0 : kUnsettled) | (active ? kActive : 0) | (saturated ? kSaturated : 0);
      keep_state(index, state);
    }
    if (kResident || work) tell_heights(tile_, boxes_, turn, index, lane_);
    tell_news(index, turn, fell);
    if (work) put(index);
    return state | (fell ? kUnsettled : 0);
  }

  // Rounds of pushes, until nothing moves or it is time for exact heights.
  __device__ void push() {
    const int rounds = Schedule::rounds + max(0, relabel_rounds_ - Schedule::long_relabel);
    for (int round = 0; round < rounds && !stopped_; ++round) {
      unsigned said = visit_tiles([&](int index) { return visit_excess(index, round == 0); });
      if (blockIdx.x == 0 && time_is_up()) said |= kHalt;
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
    bool active = state_of(index) & kActive;
    const unsigned from = first ? 0 : news(place, turn - 1);
    if (!kResident && !from && !active) {
      tell_news(index, turn, false);
      return 0;
    }
    bring(index);
    if (!first) {
      // Both are asked for before either is taken in: one way to memory, not two.
      const auto heights = ask_heights(tile_, boxes_, turn - 1, place, from, lane_);
      const auto flows = ask_flows<kNeighbours>(boxes_, turn - 1, place, from, lane_);
      take_heights(tile_, heights);
      active |= take_flows(tile_, flows, lane_);
    }
    bool sent = false, stays = false;
    if (active) {
      push_relabel(tile_, lane_);
      stays = any_active(tile_, lane_);
      keep_state(index, stays ? kActive : 0);
    }
    if (kResident || active) {
      sent = tell_flows(tile_, boxes_, turn, index, lane_);
      tell_heights(tile_, boxes_, turn, index, lane_);
    }
    tell_news(index, turn, active);
    put(index);
    return stays || sent ? kActive : 0;
  }

  // Writes mask, kept flows and report; or, if heights were too short, leaves the flows for the
  // solver with wider ones.
  __device__ void finish(unsigned found) {
    if (threadIdx.x == 0) shared_->taken = shared_->gap = 0;
    __syncthreads();  // the sums are zero before any thread adds
    visit_tiles([&](int index) -> unsigned {
      const Place place(boxes_, index);
      bring(index);
      const Sums sums = store_tile(tile_, problem_, place.x, place.y, lane_);
      add(sums.taken, &shared_->taken);
      add(sums.gap, &shared_->gap);
      return 0;
    });
    __syncthreads();  // all of the block have added
    Progress& progress = *problem_.progress;
    if (threadIdx.x == 0) {
      atomicAdd(&progress.taken, shared_->taken);  // sums of integers: order does not matter
      atomicAdd(&progress.gap, shared_->gap);
    }
    barrier_.meet(0);
    if (blockIdx.x != 0 || threadIdx.x != 0) return;
    progress.iterations = iterations_;
    if (found & kSaturated) {
      progress.taken = progress.gap = 0;
      progress.go_on = 1;
      progress.started = started_;
      return;
    }
    progress.report = {static_cast<int64_t>(__ldcg(&progress.taken)),
                       static_cast<int64_t>(__ldcg(&progress.gap)), iterations_,
                       !(found & kActive)};
    progress.solved = 1;
  }

  __device__ void add(long long value, unsigned long long* sum) const {
#pragma unroll
    for (int shift = 16; shift > 0; shift /= 2) value += __shfl_xor_sync(~0u, value, shift);
    if (lane_.index == 0) atomicAdd(sum, static_cast<unsigned long long>(value));
  }

  // The heights of the tile's edge that this lane looks after.
  struct Edge {
    int top = kUnreachable, bottom = kUnreachable, side = kUnreachable;
    __device__ bool operator!=(const Edge& other) const {
      return top != other.top || bottom != other.bottom || side != other.side;
    }
  };
  __device__ Edge edge() const {
    Edge edge;
    edge.top = tile_.height[cell(lane_.index, 0)];
    edge.bottom = tile_.height[cell(lane_.index, kTileHeight - 1)];
    edge.side = tile_.height[cell(lane_.half ? kTileWidth - 1 : 0, lane_.row)];
    return edge;
  }

  __device__ bool time_is_up() const {
    return problem_.budget_ns > 0 && nanoseconds() - started_ > problem_.budget_ns;
  }

  // Resident tiles stay where they are; others are copied in and out.
  __device__ void bring(int index) {
    if constexpr (!kResident) copy(store_.tiles[index], tile_);
  }
  __device__ void put(int index) {
    if constexpr (!kResident) copy(tile_, store_.tiles[index]);
  }
  __device__ void copy(const Tile<kNeighbours>& from, Tile<kNeighbours>& to) const {
    const int4* words = reinterpret_cast<const int4*>(&from);
    __syncwarp();  // all lanes have done with either tile
#pragma unroll 4
    for (int i = lane_.index; i < static_cast<int>(sizeof(from) / sizeof(int4)); i += 32) {
      reinterpret_cast<int4*>(&to)[i] = words[i];
    }
    __syncwarp();  // the copy is whole
  }

  __device__ unsigned state_of(int index) const { return kResident ? state_ : store_.state[index]; }
  __device__ void keep_state(int index, unsigned state) {
    if constexpr (kResident) {
      state_ = state;
    } else {
      __syncwarp();  // all lanes have read the old one
      if (lane_.index == 0) store_.state[index] = static_cast<uint8_t>(state);
      __syncwarp();  // the new one is there
    }
  }

  // Bit d is set if the neighbour towards d may have something in its boxes.
  __device__ unsigned news(const Place& place, unsigned turn) const {
    if constexpr (kResident) return ~0u;
    uint8_t note = 0;
    if (lane_.index < kNeighbours) {
      const int other = place.beside(boxes_, step_x(lane_.index), step_y(lane_.index));
      if (other >= 0) note = __ldcg(&store_.news[turn % 2 * boxes_.tiles() + other]);
    }
    return __ballot_sync(~0u, note);
  }
  __device__ void tell_news(int index, unsigned turn, bool any) {
    if constexpr (!kResident) {
      if (lane_.index == 0) __stcg(&store_.news[turn % 2 * boxes_.tiles() + index], uint8_t{any});
    }
  }

  const Problem& problem_;
  const Boxes boxes_;
  const Store<kNeighbours> store_;
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
  long long started_ = 0;
};

}  // namespace regions::maxflow

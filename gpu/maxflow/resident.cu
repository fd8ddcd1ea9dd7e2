// The resident solver of minimum cuts: push-relabel by tiles, in one kernel that keeps the whole
// picture in shared memory. Each warp processes one tile. Exact global relabels and rounds of
// pushes alternate until a relabel finds no excess that could reach the sink. Then no residual path
// connects source and sink. The flow is therefore maximum, even if heights were not exact during
// the pushes.
#include "gpu/maxflow/graph_tile.hpp"
#include "gpu/maxflow/grid_barrier.hpp"
#include "gpu/maxflow/solvers.hpp"
#include "gpu/maxflow/tile_discharge.hpp"
#include "gpu/runtime/launch.hpp"

namespace regions::maxflow {
namespace {

// Shape of the thread blocks. The tiles of one block fill the shared memory of a multiprocessor: 31
// tiles of 7280 bytes (4 neighbours) or 18 tiles of 12320 bytes (8 neighbours) fit into 227 KB.
// With 132 multiprocessors, 31 tiles per block are just enough for 1920x1080 pixels.
template <int kNeighbours>
struct TileBlock {
  static constexpr int warps = kNeighbours == 4 ? 31 : 18;
  static constexpr int threads = 32 * warps;
};

// Number of rounds of pushes between two global relabels. Among the values from 6 to 24, 12 is a
// good choice for small and for large frames. Milliseconds per cut with 4 neighbours on an H200
// (2026-11-21):
//
//   rounds   VGA bgdiff   VGA GrabCut   1080p bgdiff   1080p GrabCut
//      8        0.30         1.96          0.66            5.5
//     12        0.37         1.89          0.62            5.8
//     16        0.35         2.4           0.65            5.2
constexpr int kPushRounds = 12;

// The work of one warp on its tile, as a part of the cut of the whole picture.
template <int kNeighbours>
class ResidentCut {
 public:
  struct Shared {
    GridBarrier::SharedWords barrier_words;
    BlockSums sums;
  };

  __device__ ResidentCut(const Problem& problem, const HaloBuffers& halos, Tile<kNeighbours>& tile,
                         Shared* shared)
      : problem_(problem),
        halos_(halos),
        tile_(tile),
        shared_(shared),
        barrier_(&problem.progress->tiles, &shared->barrier_words),
        lane_(this_lane()) {
    problem.record_start_time();
  }

  __device__ void run() {
    unsigned votes = load();
    for (;;) {
      const unsigned relabel_votes = relabel(votes);
      votes = 0;
      if (relabel_votes & kStop) return;
      const bool is_finished =
          (relabel_votes & kSaturated) || !(relabel_votes & kActive) || is_stopped_;
      if (is_finished) return finish(relabel_votes);
      push();
    }
  }

 private:
  static constexpr unsigned kAllNeighbours = ~0u;  // mask with the bits of all directions

  // Calls visit(index) for the warp's tile, if the warp has one. Neighbouring tiles are on
  // different multiprocessors, which balances the work.
  template <class Visit>
  __device__ unsigned visit_tile(Visit visit) {
    const int tile = static_cast<int>(threadIdx.x / 32 * gridDim.x + blockIdx.x);
    return tile < halos_.tiles() ? visit(tile) : 0;
  }

  // Loads the warp's tile. Returns kStop if 16 bits do not suffice for the tile.
  __device__ unsigned load() {
    return visit_tile([&](int index) -> unsigned {
      const TilePosition position(halos_, index);
      const bool fits = load_tile(tile_, problem_, position.x, position.y, lane_);
      return fits ? 0 : kStop;
    });
  }

  // Computes exact heights of all tiles. Passes `votes` to the first barrier, in addition to the
  // votes of the relabel. Returns the OR of the votes.
  __device__ unsigned relabel(unsigned votes) {
    unsigned stop_votes = 0, result;
    relabel_rounds_ = 0;
    do {
      const bool first = relabel_rounds_++ == 0;
      const unsigned tile_votes = visit_tile([&](int index) { return relabel_tile(index, first); });
      result = barrier_.sync_or(tile_votes | votes);
      stop_votes |= result & kStop;
      votes = 0;
    } while (result & kNotConverged);
    has_pending_flows_ = false;
    return result | stop_votes;
  }

  // One round of the relabel in the warp's tile. Returns the tile's votes.
  __device__ unsigned relabel_tile(int index, bool first) {
    const unsigned epoch = barrier_.epoch();
    const TilePosition position(halos_, index);
    unsigned axes = kBothAxes;
    if (first) {
      if (has_pending_flows_) {
        apply_inflow(tile_,
                     read_inflow<kNeighbours>(halos_, epoch - 1, position, kAllNeighbours, lane_),
                     lane_);
      }
      reset_heights(tile_, lane_);
    } else {
      axes = apply_halo_heights(
          tile_, read_halo_heights(tile_, halos_, epoch - 1, position, kAllNeighbours, lane_));
      if (tile_state_ & kNotConverged) axes = kBothAxes;
    }
    bool lowered = false;
    if (axes) {
      if (first) arcs_ = find_residual_arcs(tile_, lane_);
      const EdgeHeights before = first ? EdgeHeights() : EdgeHeights(tile_, lane_);
      const bool converged = relax_tile(tile_, arcs_, lane_, axes).converged;
      lowered = EdgeHeights(tile_, lane_).changed_directions<kNeighbours>(before) != 0;
      bool active, saturated;
      gather_status(tile_, lane_, active, saturated);
      tile_state_ =
          (converged ? 0 : kNotConverged) | (active ? kActive : 0) | (saturated ? kSaturated : 0);
    }
    publish_heights(tile_, halos_, epoch, index, lane_);
    return tile_state_ | (lowered ? kNotConverged : 0);
  }

  // Runs rounds of pushes until no tile is active or the limit of rounds is reached. If the last
  // relabel took more than kLongRelabel rounds, the limit increases by the rounds beyond
  // kLongRelabel, because excess then has a long way to the sink, as in a maze.
  __device__ void push() {
    const int rounds = kPushRounds + max(0, relabel_rounds_ - kLongRelabel);
    for (int round = 0; round < rounds && !is_stopped_; ++round) {
      unsigned tile_votes = visit_tile([&](int index) { return push_tile(index, round == 0); });
      if (blockIdx.x == 0 && problem_.is_out_of_time()) tile_votes |= kStop;
      const unsigned result = barrier_.sync_or(tile_votes);
      has_pending_flows_ = true;
      ++iterations_;
      is_stopped_ = (result & kStop) || iterations_ == problem_.max_iterations;
      if (!(result & kActive)) break;
    }
  }

  // One round of pushes in the warp's tile. Returns the tile's votes. `first`: whether this is the
  // first round after a relabel.
  __device__ unsigned push_tile(int index, bool first) {
    const unsigned epoch = barrier_.epoch();
    const TilePosition position(halos_, index);
    bool active = tile_state_ & kActive;
    if (!first) {
      // Heights and flows are both loaded before either is applied, so that memory latencies
      // overlap.
      const auto heights =
          read_halo_heights(tile_, halos_, epoch - 1, position, kAllNeighbours, lane_);
      const auto flows =
          read_inflow<kNeighbours>(halos_, epoch - 1, position, kAllNeighbours, lane_);
      apply_halo_heights(tile_, heights);
      active |= apply_inflow(tile_, flows, lane_);
    }
    bool still_active = false;
    if (active) {
      push_relabel(tile_, lane_);
      still_active = any_active(tile_, lane_);
      tile_state_ = still_active ? kActive : 0;
    }
    const bool has_sent_flow =
        __any_sync(~0u, publish_flows(tile_, halos_, epoch, index, lane_) != 0);
    publish_heights(tile_, halos_, epoch, index, lane_);
    return still_active || has_sent_flow ? kActive : 0;
  }

  // Writes the mask, the flows, and the results of the cut. If distances needed more than 16 bits,
  // the plain solver must continue from these flows.
  __device__ void finish(unsigned relabel_votes) {
    shared_->sums.clear();
    visit_tile([&](int index) -> unsigned {
      const TilePosition position(halos_, index);
      const TileSums sums = write_tile_results(tile_, problem_, position.x, position.y, lane_);
      shared_->sums.add(sums.sink_flow, sums.gap);
      return 0;
    });
    write_cut_results(problem_, shared_->sums, barrier_, iterations_, relabel_votes,
                      relabel_votes & kActive);
  }

  const Problem& problem_;
  const HaloBuffers halos_;
  Tile<kNeighbours>& tile_;
  Shared* const shared_;
  GridBarrier barrier_;
  const Lane lane_;
  ResidualArcs<kNeighbours> arcs_{};
  unsigned tile_state_ = 0;         // state of the tile, as bits of Vote
  int relabel_rounds_ = 0;          // number of rounds of the last global relabel
  int iterations_ = 0;              // number of rounds of pushes so far
  bool has_pending_flows_ = false;  // whether halo buffers contain flows that tiles have not added
  bool is_stopped_ = false;         // whether a limit on iterations or time was reached
};

template <int kNeighbours>
__global__ void __launch_bounds__(TileBlock<kNeighbours>::threads, 1)
    resident_kernel(const __grid_constant__ Problem problem, const HaloBuffers halos) {
  using Cut = ResidentCut<kNeighbours>;
  extern __shared__ int4 shared_tiles[];
  __shared__ typename Cut::Shared shared;
  auto& tile = reinterpret_cast<Tile<kNeighbours>*>(shared_tiles)[threadIdx.x / 32];
  Cut(problem, halos, tile, &shared).run();
}

}  // namespace

template <int kNeighbours>
bool ResidentSolver<kNeighbours>::reserve(Workspace& memory, const HaloBuffers& halos) {
  const int max_blocks = static_cast<int>(multiprocessors());
  const auto warps = static_cast<int>(
      warps_with_tiles<kNeighbours>(resident_kernel<kNeighbours>, TileBlock<kNeighbours>::warps));
  if (halos.tiles() > warps * max_blocks) return false;
  halos_ = halos;
  halos_.reserve<kNeighbours>(memory);
  threads_ = warps * 32;
  shared_bytes_ = static_cast<size_t>(warps) * sizeof(Tile<kNeighbours>);
  blocks_ = std::min(max_blocks, halos.tiles());
  return true;
}

template <int kNeighbours>
void ResidentSolver<kNeighbours>::enqueue(const Problem& problem, cudaStream_t stream) const {
  launch_cooperative(resident_kernel<kNeighbours>, static_cast<unsigned>(blocks_),
                     static_cast<unsigned>(threads_), shared_bytes_, stream, problem, halos_);
}

template class ResidentSolver<4>;
template class ResidentSolver<8>;

}  // namespace regions::maxflow

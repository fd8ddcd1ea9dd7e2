// The kernels of cuts whose tiles lie in memory: every tile by itself first, then lists of tiles;
// and, where 16 bits are too few, the plain solver by the same blocks.
#include "gpu/maxflow/phases.hpp"
#include "gpu/maxflow/plain.hpp"
#include "gpu/maxflow/sparse.hpp"
#include "gpu/runtime/launch.hpp"

namespace regions::maxflow {
namespace {

// A warp's work on a tile before any other is asked.
template <int kNeighbours>
class FirstLook {
 public:
  __device__ FirstLook(const Problem& problem, const Sparse<kNeighbours>& sparse,
                       Tile<kNeighbours>& tile, int index)
      : problem_(problem),
        sparse_(sparse),
        tile_(tile),
        place_(sparse.boxes, index),
        x_(place_.x * kTileWidth + lane_.index),
        y_(place_.y * kTileHeight),
        rows_(x_ < problem.size().width ? min(kTileHeight, problem.size().height - y_) : 0) {}

  // Returns what the sinks of the tile took.
  __device__ long long run() {
    clear_state();
    read_terminals();
    if (__all_sync(~0u, all_sinks_) && has_no_flow()) {
      leave_to_background();
      return 0;
    }
    if (!load_tile(tile_, problem_, place_.x, place_.y, lane_)) problem_.progress->wide = 1;
    const Look look = solve();
    const bool done = !look.active && look.settled;
    long long lack = 0;
    for (int row = 0; row < rows_; ++row) lack += min(tile_.excess(cell(lane_.index, row)), 0);
    lack = warp_total(lack);
    if (done) keep_background();
    put_tile(tile_, sparse_.tiles[place_.index], sizeof(tile_), lane_);
    tell_heights(tile_, sparse_.boxes, 0, place_.index, lane_);
    if (lane_.index == 0) {
      state().stored = 1;
      state().lack = static_cast<int>(lack);
      state().told[0] = 1;
    }
    if (!done) start_relabel(look);
    return lack - warp_total(demand_);
  }

 private:
  __device__ TileState& state() const { return sparse_.state[place_.index]; }
  __device__ void clear_state() const {
    constexpr int kWords = static_cast<int>(sizeof(TileState) / sizeof(int4));
    if (lane_.index < kWords) reinterpret_cast<int4*>(&state())[lane_.index] = {};
    __syncwarp();  // clear before anything is said
  }

  __device__ void read_terminals() {
#pragma unroll
    for (int row = 0; row < kTileHeight; ++row) {
      const int32_t terminal = row < rows_ ? problem_.graph.terminal(x_, y_ + row) : -1;
      all_sinks_ &= terminal < 0 && terminal > INT16_MIN;
      if (row < rows_) demand_ += min(terminal, 0);
    }
  }

  // Whether no flow is kept of any link of the tile's pixels.
  __device__ bool has_no_flow() const {
    if (!problem_.warm) return true;
    if (!sparse_.flowless_before) return false;
    // The tile's own links, and those of the neighbours that own links into it.
    constexpr int kOwners[] = {kLeft, kUp, kUpLeft, kUpRight};
    bool none = true;
    if (lane_.index < kNeighbours / 2) {
      const int direction = kOwners[lane_.index];
      const int other = place_.beside(sparse_.boxes, step_x(direction), step_y(direction));
      none = other < 0 || sparse_.flowless_before[other];
    } else if (lane_.index == 31) {
      none = sparse_.flowless_before[place_.index];
    }
    return __all_sync(~0u, none);
  }

  // All pixels are sinks, and no flow comes: nothing is stored, the weights say all.
  __device__ void leave_to_background() const {
    const bool clear = sparse_.flowless_before && sparse_.flowless_before[place_.index];
    for (int row = 0; row < rows_; ++row) {
      problem_.foreground(x_, y_ + row) = GridCut::kBackground;
      if (clear) continue;
#pragma unroll
      for (int k = 0; k < kNeighbours / 2; ++k) {
        problem_.kept[problem_.kept_at(k, x_, y_ + row)] = 0;
      }
    }
    uint16_t* box = height_box(sparse_.boxes, 0, place_.index);
#pragma unroll
    for (int i = 0; i < kHeightBox; i += 32) __stcg(box + i + lane_.index, uint16_t{0});
    const long long lack = warp_total(demand_);
    if (lane_.index != 0) return;
    sparse_.flowless[place_.index] = 1;
    state().lack = static_cast<int>(lack);
    state().told[0] = 1;
  }

  // Pushes what the tile's own sinks can take, or most of it. Heights are exact in the end, as far
  // as the tile reaches them.
  __device__ Look solve() {
    for (int round = 0;; ++round) {
      start_heights(tile_, lane_);
      settle(tile_, residual_arcs(tile_, lane_), lane_);
      const Look look = look_at(tile_, problem_.size(), place_, lane_);
      if (!look.active || round == SparseSchedule::load_rounds) return look;
      for (int k = 0; k < SparseSchedule::pushes && push_relabel(tile_, lane_); ++k) {
      }
    }
  }

  __device__ void keep_background() const {
    const Sums sums = store_tile(tile_, problem_, place_.x, place_.y, lane_);
    const bool has_flow = __any_sync(~0u, sums.has_flow);
    if (lane_.index == 0) sparse_.flowless[place_.index] = !has_flow;
  }

  // As the starts of later relabels, but that heights of tiles beside come to it in the next pass.
  __device__ void start_relabel(const Look& look) const {
    const bool first = lane_.index == 0;
    const Turns turns;
    if (first && !look.settled) state().unsettled = turns.relabel + 1;
    const TileLists lists(problem_, sparse_);
    const bool lives = look.active || (!look.settled && look.reaches);
    Entry entries[] = {lists.next_entry(turns, place_.index, first && !look.settled),
                       lists.active_entry(turns, place_.index, first && look.active),
                       lists.live_entry(turns, place_.index, first && lives),
                       lists.ever_entry(place_.index, first)};
    add_to_lists(place_.index, entries);
  }

  const Problem& problem_;
  const Sparse<kNeighbours>& sparse_;
  Tile<kNeighbours>& tile_;
  const Lane lane_ = this_lane();
  const Place place_;
  const int x_, y_, rows_;  // of the lane's column in the picture
  bool all_sinks_ = true;
  long long demand_ = 0;  // of the sinks, below zero
};

template <int kNeighbours>
__global__ void __launch_bounds__(LoadBlock<kNeighbours>::threads, LoadBlock<kNeighbours>::blocks)
    load_kernel(const __grid_constant__ Problem problem,
                const __grid_constant__ Sparse<kNeighbours> sparse) {
  extern __shared__ int4 shared_tiles[];
  pdl_trigger_and_wait();
  problem.begin();
  auto& tile = reinterpret_cast<Tile<kNeighbours>&>(*shared_tiles);
  const int index = static_cast<int>(blockIdx.x);
  const long long took = FirstLook<kNeighbours>(problem, sparse, tile, index).run();
  if (threadIdx.x != 0 || took == 0) return;
  atomicAdd(&problem.progress->taken, static_cast<unsigned long long>(took));
}

template <int kNeighbours>
__global__ void __launch_bounds__(SparseBlock<kNeighbours>::most_threads,
                                  SparseBlock<kNeighbours>::blocks)
    lists_kernel(const __grid_constant__ Problem problem,
                 const __grid_constant__ Sparse<kNeighbours> sparse,
                 const __grid_constant__ PlainArrays arrays, Progress* next_frames) {
  using Cut = SparseCut<kNeighbours>;
  extern __shared__ int4 shared_tiles[];
  __shared__ typename Cut::Shared shared;
  __shared__ GridBarrier::Words words;
  pdl_wait();
  auto* const next = reinterpret_cast<uint32_t*>(next_frames);
  if (blockIdx.x == 0 && threadIdx.x < sizeof(Progress) / sizeof(uint32_t)) next[threadIdx.x] = 0;
  auto& tile = reinterpret_cast<Tile<kNeighbours>*>(shared_tiles)[threadIdx.x / 32];
  if (!Cut(problem, sparse, tile, &shared).run()) Plain(problem, arrays, &words).run();
}

}  // namespace

template <int kNeighbours>
void SparseSolver<kNeighbours>::reserve(Workspace& memory, const Boxes& boxes) {
  using Block = SparseBlock<kNeighbours>;
  const auto tiles = static_cast<size_t>(boxes.tiles());
  store_.boxes = boxes;
  store_.boxes.template reserve<kNeighbours>(memory);
  memory.reserve(store_.tiles, tiles);
  memory.reserve(store_.state, tiles);
  memory.reserve(store_.lists, kLists * tiles);
  for (uint8_t*& flowless : flowless_) memory.reserve(flowless, tiles);
  static_assert(sizeof(Progress) / sizeof(uint32_t) <= 32 * Block::warps(0), "a word a thread");
  allow_shared(load_kernel<kNeighbours>, LoadBlock<kNeighbours>::shared_bytes);
  allow_shared(lists_kernel<kNeighbours>, Block::most_warps * sizeof(Tile<kNeighbours>));
  const auto warps = static_cast<unsigned>(Block::warps(tiles));
  BlocksShape shape{blocks_for(tiles, warps), 32 * warps, warps * sizeof(Tile<kNeighbours>)};
  // Cooperative grids that are alone take all there is, as nothing runs beside them.
  const bool has_clusters = device_attribute(cudaDevAttrClusterLaunch) != 0;
  if (has_clusters) shape.blocks = std::min(shape.blocks, Block::together_alone);
  alone_.plan(lists_kernel<kNeighbours>, shape);
  shape.blocks = std::min(shape.blocks, Block::together);
  beside_.plan(lists_kernel<kNeighbours>, shape);
}

template <int kNeighbours>
void SparseSolver<kNeighbours>::enqueue(Problem& problem, const PlainArrays& arrays,
                                        Progress* next_frames, bool after_sparse, bool alone,
                                        cudaStream_t stream) {
  store_.flowless_before = after_sparse ? flowless_[frames_ % 2] : nullptr;
  store_.flowless = problem.flowless = flowless_[++frames_ % 2];
  problem.tiles = store_.boxes.tiles();
  launch_pdl(load_kernel<kNeighbours>, static_cast<unsigned>(problem.tiles),
             LoadBlock<kNeighbours>::threads, LoadBlock<kNeighbours>::shared_bytes, stream, problem,
             store_);
  (alone ? alone_ : beside_)
      .launch(lists_kernel<kNeighbours>, stream, problem, store_, arrays, next_frames);
}

template class SparseSolver<4>;
template class SparseSolver<8>;

}  // namespace regions::maxflow

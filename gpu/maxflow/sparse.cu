// The sparse solver of minimum cuts: push-relabel only on tiles that have work. The load kernel
// discharges every tile separately, which solves most tiles. In the worklist kernel, a few thread
// blocks process worklists of the remaining tiles. Exact relabels and rounds of pushes alternate
// until a relabel finds no excess that could reach the sink. The heights of tiles that are on no
// list do not change. A relabel of the listed tiles therefore suffices to decide which pixels can
// reach the sink, and the final flow is maximum. If 16 bits do not suffice, the same blocks
// continue with the plain algorithm.
#include <cuda_pipeline.h>

#include "gpu/maxflow/graph_tile.hpp"
#include "gpu/maxflow/grid_barrier.hpp"
#include "gpu/maxflow/plain.hpp"
#include "gpu/maxflow/solvers.hpp"
#include "gpu/maxflow/tile_discharge.hpp"
#include "gpu/runtime/launch.hpp"

namespace regions::maxflow {
namespace {

// ---- tuning

// Shape of the worklist kernel. Each warp processes one tile at a time. For pictures of few tiles,
// 8 warps per block suffice. Cuts/s of 8 concurrent streams in three benchmarks on an H200
// (2026-11-26), for clusters of blocks x warps:
//
//            bgdiff_1080   bgdiff_vga   grab_1080
//   12 x 12    13,700        31,600        984
//   16 x 12    13,700        30,900      1,111     8 streams of video are 5% slower
//
// A single cut takes 0.57 ms with 12 blocks and 0.51 ms with 16 blocks. If the registers are
// divided among 16 warps per block, all concurrent cuts are 6% slower and a single cut is not
// faster.
template <int kNeighbours>
struct SparseBlock {
  // Number of blocks that process one cut, if there are several cuts.
  static constexpr unsigned cluster_blocks = kNeighbours == 4 ? 12 : 16;
  // Number of blocks if the process has only one cut: the maximum size of a cluster.
  static constexpr unsigned exclusive_cluster_blocks = 16;
  static constexpr int max_warps = kNeighbours == 4 ? 12 : 8;
  static constexpr int max_threads = 32 * max_warps;
  static constexpr int resident_blocks = kNeighbours == 4 ? 1 : 2;  // blocks per multiprocessor
  // Number of warps per block for a picture of `tiles` tiles.
  static constexpr int warps(size_t tiles) { return tiles < 1024 ? 8 : max_warps; }
};

// Shape of the load kernel: one warp per block, so that a slow tile does not occupy the resources
// of tiles that are already finished. With 8 warps per block, the benchmark bgdiff_1080 with 8
// streams took 7% longer.
template <int kNeighbours>
struct LoadBlock {
  static constexpr int threads = 32;
  static constexpr int resident_blocks = 16;  // blocks per multiprocessor
  static constexpr size_t shared_bytes = sizeof(Tile<kNeighbours>);
};

// Maximum number of rounds in which the load kernel relabels a tile and pushes. With 2, 3 and 4
// rounds, the benchmark bgdiff_vga reaches 24,100, 31,500 and 31,200 cuts/s.
constexpr int kLoadRounds = 3;
// Number of pushes of a tile per round, and number of rounds between two relabels of the worklist
// kernel. Cuts/s of 8 streams in three benchmarks on an H200 (2026-11-23):
//
//   pushes, rounds   bgdiff_1080   bgdiff_vga   grab_1080
//        3, 5           9,440        23,000        715
//        4, 4           9,550        21,300        722
//        4, 5           9,270        24,000        720
//        5, 4           8,480        22,700        686
//
// Two alternatives were slower: teams of 2 or 4 warps per tile, which process segments of lines and
// combine them by a scan (10 to 15% slower), and waves through whole rows (10% slower).
constexpr int kPushesPerRound = 3;
constexpr int kPushRounds = 5;

// Counters of the steps of a cut. They have the same values in all threads.
struct Epochs {
  unsigned pass = 0;     // number of passes over worklists so far, including the load kernel
  unsigned relabel = 0;  // number of global relabels so far
  unsigned flow = 1;     // current epoch of the flows in the halo buffers

  // Epoch of the heights that are published in this pass. The load kernel publishes in epoch 1.
  __device__ unsigned heights() const { return pass + 1; }
};

// ---- worklists

// A worklist of tiles in device memory.
struct TileList {
  unsigned* count;  // number of tiles on the list
  int* tiles;       // indices of the tiles on the list

  // Number of tiles. Valid after the barrier that ends the pass in which the list was filled.
  __device__ int size() const { return static_cast<int>(__ldcg(count)); }
};

// A request of a lane to add a tile to a list. The tile is added if `is_selected` is true and
// *tile_stamp differs from `stamp`. Adding the tile sets *tile_stamp to `stamp`, so that a tile is
// added only once.
struct ListEntry {
  TileList list;
  bool is_selected;
  unsigned* tile_stamp;
  unsigned stamp;
};

// The worklists of a frame. There are three lists for passes and three lists for relabels: one is
// being processed, one is being filled, and one is being cleared. In addition there are two lists
// of tiles with active pixels, and one list of touched tiles, whose results the worklist kernel
// must write.
template <int kNeighbours>
class TileLists {
 public:
  __device__ TileLists(const Problem& problem, const SparseStore<kNeighbours>& store)
      : counts_(problem.progress->list_sizes), store_(store) {}

  __device__ TileList pass(unsigned number) const {
    return list(kPassWorklists + static_cast<int>(number % 3));
  }
  __device__ TileList relabel(unsigned number) const {
    return list(kRelabelWorklists + static_cast<int>(number % 3));
  }
  __device__ TileList active(unsigned relabel_number) const {
    return list(kActiveWorklists + static_cast<int>(relabel_number % 2));
  }
  __device__ TileList touched() const { return list(kTouchedWorklist); }

  // Each of these functions returns an entry that adds the lane's tile to a list: of the next pass,
  // of the next relabel, of tiles in which this relabel found active pixels, or of touched tiles.
  __device__ ListEntry next_pass_entry(const Epochs& epochs, int tile, bool is_selected) const {
    const unsigned next = epochs.pass + 1;
    return {pass(next), is_selected, &store_.state[tile].pass_stamp[next % 2], next + 1};
  }
  __device__ ListEntry relabel_entry(const Epochs& epochs, int tile, bool is_selected) const {
    const unsigned next = epochs.relabel + 1;
    return {relabel(next), is_selected, &store_.state[tile].relabel_stamp[next % 2], next + 1};
  }
  __device__ ListEntry active_entry(const Epochs& epochs, int tile, bool is_selected) const {
    return {active(epochs.relabel), is_selected, &store_.state[tile].active_stamp,
            epochs.relabel + 1};
  }
  __device__ ListEntry touched_entry(int tile, bool is_selected) const {
    return {touched(), is_selected, &store_.state[tile].touched_stamp, 1};
  }

 private:
  __device__ TileList list(int index) const {
    return {counts_ + index, store_.lists + static_cast<size_t>(index) * store_.halos.tiles()};
  }

  unsigned* const counts_;  // [kWorklists]
  const SparseStore<kNeighbours>& store_;
};

// Adds the lane's tile `tile` to the lists that `entries` name. Processes all lists at the same
// time, so that memory latencies overlap. All lanes must call this function.
template <int kCount>
__device__ void add_to_lists(int tile, ListEntry (&entries)[kCount]) {
  static_assert(kCount <= 32, "a lane for each list");
  unsigned old_stamp[kCount];
#pragma unroll
  for (int i = 0; i < kCount; ++i) {
    if (entries[i].is_selected) old_stamp[i] = atomicExch(entries[i].tile_stamp, entries[i].stamp);
  }
  unsigned selected_lanes[kCount], list_position = 0;
#pragma unroll
  for (int i = 0; i < kCount; ++i) {
    entries[i].is_selected = entries[i].is_selected && old_stamp[i] != entries[i].stamp;
    selected_lanes[i] = __ballot_sync(~0u, entries[i].is_selected);
  }
  const int lane = static_cast<int>(threadIdx.x % 32);
#pragma unroll
  for (int i = 0; i < kCount; ++i) {
    if (lane == i && selected_lanes[i]) {
      list_position =
          atomicAdd(entries[i].list.count, static_cast<unsigned>(__popc(selected_lanes[i])));
    }
  }
#pragma unroll
  for (int i = 0; i < kCount; ++i) {
    const unsigned begin = __shfl_sync(~0u, list_position, i);
    const auto earlier_entries =
        static_cast<unsigned>(__popc(selected_lanes[i] & ((1u << lane) - 1)));
    if (entries[i].is_selected) __stcg(entries[i].list.tiles + begin + earlier_entries, tile);
  }
}

// ---- tiles in global memory

// Status of a tile whose heights are exact.
struct TileStatus {
  bool has_active = false;     // whether any pixel has excess that can reach the sink
  bool has_reachable = false;  // whether any pixel can reach the sink
  bool all_reachable = true;   // whether all pixels can reach the sink
  bool is_saturated = false;   // whether distances need more than 16 bits
};

// Returns the status of a tile in all lanes. Pixels outside of the picture do not count.
template <int kNeighbours>
__device__ TileStatus tile_status(const Tile<kNeighbours>& tile, Size size,
                                  const TilePosition& position, Lane lane) {
  TileStatus status;
  const bool has_column = position.x * kTileWidth + lane.index < size.width;
  const int rows = min(kTileHeight, size.height - position.y * kTileHeight);
#pragma unroll
  for (int y = 0; y < kTileHeight; ++y) {
    const uint32_t pixel = tile.pixel(cell(lane.index, y));
    const int height = height_of(pixel);
    status.has_active |= is_active(pixel);
    status.is_saturated |= height == kHighest;
    status.has_reachable |= height != kUnreachable;
    status.all_reachable &= height != kUnreachable || !has_column || y >= rows;
  }
  return {__any_sync(~0u, status.has_active) != 0, __any_sync(~0u, status.has_reachable) != 0,
          __all_sync(~0u, status.all_reachable) != 0, __any_sync(~0u, status.is_saturated) != 0};
}

// Lowers the tile's heights until they are exact for the current heights in the halo. Returns
// whether any height was lowered. `axes` has the same meaning as in relax_tile().
template <int kNeighbours>
__device__ bool relax_fully(Tile<kNeighbours>& tile, const ResidualArcs<kNeighbours>& arcs,
                            Lane lane, unsigned axes = kBothAxes) {
  for (bool lowered = false;; axes = kBothAxes) {
    const Sweeps sweeps = relax_tile(tile, arcs, lane, axes);
    lowered |= sweeps.lowered;
    if (sweeps.converged) return lowered;
  }
}

// Starts to copy a tile from global to shared memory. The warp must call wait_for_copy() before it
// uses the tile.
template <class T>
__device__ void copy_tile_async(const T& from, T& to, Lane lane) {
  const auto* words = reinterpret_cast<const int4*>(&from);
  __syncwarp();  // all lanes have finished their work on the tile that is overwritten
#pragma unroll
  for (int i = 0; i < static_cast<int>(sizeof(T) / sizeof(int4)); i += 32) {
    if (i + lane.index < static_cast<int>(sizeof(T) / sizeof(int4))) {
      __pipeline_memcpy_async(reinterpret_cast<int4*>(&to) + i + lane.index, words + i + lane.index,
                              sizeof(int4));
    }
  }
  __pipeline_commit();
}
__device__ inline void wait_for_copy() {
  __pipeline_wait_prior(0);
  __syncwarp();  // the words copied by all lanes have arrived
}
// Copies the first `bytes` bytes of a tile from shared to global memory.
template <class T>
__device__ void copy_tile_back(const T& from, T& to, size_t bytes, Lane lane) {
  const auto* words = reinterpret_cast<const int4*>(&from);
  const int count = static_cast<int>((bytes + sizeof(int4) - 1) / sizeof(int4));
  __syncwarp();  // all lanes have written their part of the tile
#pragma unroll 8
  for (int i = lane.index; i < count; i += 32) {
    __stcg(reinterpret_cast<int4*>(&to) + i, words[i]);
  }
  __syncwarp();  // all lanes have read their part of the tile, which may then change
}

// A warp's copy in shared memory of a tile in global memory, and its exchange with neighbours.
template <int kNeighbours>
class StagedTile {
 public:
  __device__ StagedTile(const Problem& problem, const SparseStore<kNeighbours>& store,
                        Tile<kNeighbours>& tile)
      : problem_(problem), store_(store), tile_(tile), lane_(this_lane()) {}

  // Whether any tile that was loaded so far needs more than 16 bits.
  __device__ bool exceeds_16_bits() const { return exceeds_16_bits_; }

  // State of a tile's neighbours and of the tile itself in global memory. All of it is loaded at
  // the same time. A mask of directions has one bit per neighbour.
  struct NeighbourState {
    HaloHeights<kNeighbours> halo[2];  // [set of halo buffers], heights that the set contains
    unsigned newer_in_second;  // directions of neighbours with newer heights in the second set
    unsigned sending;          // directions of neighbours that send flow in this epoch
    unsigned relabelling;      // directions of neighbours that take part in this relabel
    unsigned unsettled;  // directions of neighbours that were marked as unsettled in this relabel
    bool is_stored;      // TileState::is_stored of the tile itself
    unsigned older_buffer;  // set of halo buffers that the tile writes next
    Lane lane;

    // Returns the newest heights of the neighbours in the directions `from`; other heights are -1.
    __device__ HaloHeights<kNeighbours> heights(unsigned from) const {
      HaloHeights<kNeighbours> heights = halo[0];
#pragma unroll
      for (int i = 0; i < heights.count; ++i) {
        const int direction = heights.direction(i, lane);
        if (newer_in_second >> direction & 1) heights.height[i] = halo[1].height[i];
        if (!(from >> direction & 1)) heights.height[i] = -1;
      }
      return heights;
    }
  };
  // Starts to copy a tile and loads the state of its neighbours.
  __device__ NeighbourState prefetch(const TilePosition& position, const Epochs& epochs) const {
    copy_tile_async(store_.tiles[position.index], tile_, lane_);
    NeighbourState neighbours;
    // Fields of a TileState: heights_epoch and flow_epoch in the first vector; relabel_stamp,
    // unsettled_stamp and is_stored in the second vector.
    uint4 first_words = {}, second_words = {};
    // Each of the first kNeighbours lanes reads the state of one neighbour. Other lanes read the
    // state of the tile itself.
    const bool is_neighbour = lane_.index < kNeighbours;
    const int other =
        is_neighbour ? position.neighbour(store_.halos, step_x(lane_.index), step_y(lane_.index))
                     : position.index;
    if (other >= 0) {
      const auto* words = reinterpret_cast<const uint4*>(&store_.state[other]);
      first_words = __ldcg(words);
      second_words = __ldcg(words + 1);
    }
#pragma unroll
    for (unsigned buffer = 0; buffer < 2; ++buffer) {
      neighbours.halo[buffer] =
          read_halo_heights(tile_, store_.halos, buffer, position, ~0u, lane_);
    }
    const unsigned current_epoch = epochs.heights();
    neighbours.lane = lane_;
    neighbours.is_stored = __shfl_sync(~0u, second_words.w, kNeighbours);
    neighbours.older_buffer = __shfl_sync(~0u, first_words.x > first_words.y, kNeighbours);
    const bool exists = is_neighbour && other >= 0;
    neighbours.newer_in_second =
        __ballot_sync(~0u, first_words.y < current_epoch &&
                               (first_words.y > first_words.x || first_words.x >= current_epoch));
    neighbours.sending = __ballot_sync(
        ~0u, exists && (epochs.flow % 2 ? first_words.w : first_words.z) == epochs.flow);
    neighbours.relabelling =
        __ballot_sync(~0u, exists && (epochs.relabel % 2 ? second_words.y : second_words.x) ==
                                         epochs.relabel + 1);
    neighbours.unsettled = __ballot_sync(~0u, exists && second_words.z == epochs.relabel + 1);
    return neighbours;
  }

  // Waits for the tile that prefetch() copies, and adds the flow that its neighbours sent. Returns
  // whether the flows or excess now differ from the tile in global memory.
  __device__ bool receive(const TilePosition& position, const NeighbourState& neighbours,
                          const Epochs& epochs) {
    const auto flows =
        read_inflow<kNeighbours>(store_.halos, epochs.flow, position, neighbours.sending, lane_);
    wait_for_copy();
    if (!neighbours.is_stored) {
      exceeds_16_bits_ |= !load_tile(tile_, problem_, position.x, position.y, lane_);
      reset_heights(tile_, lane_);
      relax_fully(tile_, find_residual_arcs(tile_, lane_), lane_);
    }
    return apply_inflow(tile_, flows, lane_) || !neighbours.is_stored;
  }
  // Copies the tile to global memory.
  __device__ void write_back(int index) {
    copy_tile_back(tile_, store_.tiles[index], sizeof(tile_), lane_);
    if (lane_.index == 0) store_.state[index].is_stored = 1;
  }
  // Copies the tile's heights and excess to global memory.
  __device__ void write_back_heights(int index) {
    copy_tile_back(tile_, store_.tiles[index], kTileCells * sizeof(uint32_t), lane_);
  }

  // Publishes the tile's heights in the older one of its two sets of halo buffers. During this
  // pass, neighbours read the heights of an earlier epoch from the newer set.
  __device__ void send_heights(const TilePosition& position, const NeighbourState& neighbours,
                               const Epochs& epochs) {
    publish_heights(tile_, store_.halos, neighbours.older_buffer, position.index, lane_);
    if (lane_.index == 0)
      store_.state[position.index].heights_epoch[neighbours.older_buffer] = epochs.heights();
  }
  // Publishes outgoing flow in the halo buffers of the next epoch. Returns the directions of the
  // neighbours that receive flow, one bit per direction.
  __device__ unsigned send_flows(const TilePosition& position, const Epochs& epochs) {
    const unsigned next_epoch = epochs.flow + 1;
    const unsigned receivers =
        warp_or(publish_flows(tile_, store_.halos, next_epoch, position.index, lane_));
    if (receivers && lane_.index == 0)
      store_.state[position.index].flow_epoch[next_epoch % 2] = next_epoch;
    return receivers;
  }

 private:
  // Returns the OR of the lowest kNeighbours bits of all lanes.
  __device__ static unsigned warp_or(unsigned bits) {
    unsigned bits_of_all_lanes = 0;
#pragma unroll
    for (int d = 0; d < kNeighbours; ++d) {
      if (__any_sync(~0u, bits >> d & 1)) bits_of_all_lanes |= 1u << d;
    }
    return bits_of_all_lanes;
  }

  const Problem& problem_;
  const SparseStore<kNeighbours>& store_;
  Tile<kNeighbours>& tile_;
  const Lane lane_;
  bool exceeds_16_bits_ = false;
};

// ---- the load kernel

// The load kernel's part of a cut: the work of a warp on one tile. It does not depend on other
// tiles.
template <int kNeighbours>
class LoadPass {
 public:
  __device__ LoadPass(const Problem& problem, const SparseStore<kNeighbours>& store,
                      Tile<kNeighbours>& tile, int index)
      : problem_(problem),
        store_(store),
        tile_(tile),
        position_(store.halos, index),
        x_(position_.x * kTileWidth + lane_.index),
        y_(position_.y * kTileHeight),
        rows_(x_ < problem.size().width ? min(kTileHeight, problem.size().height - y_) : 0) {}

  // Processes the tile. Returns the flow from its pixels into the sink.
  __device__ long long run() {
    clear_state();
    read_terminals();
    if (__all_sync(~0u, all_sinks_) && starts_without_flow()) {
      mark_as_background();
      return 0;
    }
    if (!load_tile(tile_, problem_, position_.x, position_.y, lane_))
      problem_.progress->exceeds_16_bits = 1;
    const TileStatus status = discharge();
    const bool done = !status.has_active && status.all_reachable;
    long long remaining_demand = 0;
    for (int row = 0; row < rows_; ++row)
      remaining_demand += min(tile_.excess(cell(lane_.index, row)), 0);
    remaining_demand = warp_sum64(remaining_demand);
    if (done) write_results();
    copy_tile_back(tile_, store_.tiles[position_.index], sizeof(tile_), lane_);
    publish_heights(tile_, store_.halos, 0, position_.index, lane_);
    if (lane_.index == 0) {
      state().is_stored = 1;
      state().remaining_demand = static_cast<int>(remaining_demand);
      state().heights_epoch[0] = 1;
    }
    if (!done) add_to_worklists(status);
    return remaining_demand - warp_sum64(demand_);
  }

 private:
  __device__ TileState& state() const { return store_.state[position_.index]; }
  __device__ void clear_state() const {
    constexpr int kWords = static_cast<int>(sizeof(TileState) / sizeof(int4));
    if (lane_.index < kWords) reinterpret_cast<int4*>(&state())[lane_.index] = {};
    __syncwarp();  // the state is zero before any lane writes a field
  }

  // Reads the terminal capacities of the lane's column.
  __device__ void read_terminals() {
#pragma unroll
    for (int row = 0; row < kTileHeight; ++row) {
      const int32_t terminal = row < rows_ ? problem_.graph.terminal(x_, y_ + row) : -1;
      all_sinks_ &= terminal < 0 && terminal > INT16_MIN;
      if (row < rows_) demand_ += min(terminal, 0);
    }
  }

  // Whether the flow at the start is 0 on all links of the tile's pixels.
  __device__ bool starts_without_flow() const {
    if (!problem_.warm_start) return true;
    if (!store_.had_no_flow) return false;
    // Checks the links that are stored at the tile's pixels, and the links into the tile, which are
    // stored at pixels of neighbouring tiles.
    constexpr int kOwners[] = {kLeft, kUp, kUpLeft, kUpRight};
    bool links_have_no_flow = true;
    if (lane_.index < kNeighbours / 2) {
      const int direction = kOwners[lane_.index];
      const int other = position_.neighbour(store_.halos, step_x(direction), step_y(direction));
      links_have_no_flow = other < 0 || store_.had_no_flow[other];
    } else if (lane_.index == 31) {
      links_have_no_flow = store_.had_no_flow[position_.index];
    }
    return __all_sync(~0u, links_have_no_flow);
  }

  // Writes the results of a tile whose pixels are all connected to the sink and receive no flow.
  // Such a tile is not stored, because the weights define it.
  __device__ void mark_as_background() const {
    const bool is_already_zero = store_.had_no_flow && store_.had_no_flow[position_.index];
    for (int row = 0; row < rows_; ++row) {
      problem_.foreground(x_, y_ + row) = GridCut::kBackground;
      if (is_already_zero) continue;
#pragma unroll
      for (int k = 0; k < kNeighbours / 2; ++k) {
        problem_.link_flow[problem_.flow_index(k, x_, y_ + row)] = 0;
      }
    }
    uint16_t* halo = height_halo(store_.halos, 0, position_.index);
#pragma unroll
    for (int i = 0; i < kHeightHaloSize; i += 32) __stcg(halo + i + lane_.index, uint16_t{0});
    const long long remaining_demand = warp_sum64(demand_);
    if (lane_.index != 0) return;
    store_.has_no_flow[position_.index] = 1;
    state().remaining_demand = static_cast<int>(remaining_demand);
    state().heights_epoch[0] = 1;
  }

  // Pushes excess to the tile's pixels with capacity to the sink, until no pixel is active or the
  // limit of rounds is reached. Heights are then the exact distances within the tile.
  __device__ TileStatus discharge() {
    for (int round = 0;; ++round) {
      reset_heights(tile_, lane_);
      relax_fully(tile_, find_residual_arcs(tile_, lane_), lane_);
      const TileStatus status = tile_status(tile_, problem_.size(), position_, lane_);
      if (!status.has_active || round == kLoadRounds) return status;
      for (int k = 0; k < kPushesPerRound && push_relabel(tile_, lane_); ++k) {
      }
    }
  }

  // Writes the mask and the flows of the tile.
  __device__ void write_results() const {
    const TileSums sums = write_tile_results(tile_, problem_, position_.x, position_.y, lane_);
    const bool has_flow = __any_sync(~0u, sums.has_flow);
    if (lane_.index == 0) store_.has_no_flow[position_.index] = !has_flow;
  }

  // Adds the tile to the worklists as start_relabel_in_tile() does. The difference is that heights
  // of neighbouring tiles arrive only in the next pass.
  __device__ void add_to_worklists(const TileStatus& status) const {
    const bool is_first_lane = lane_.index == 0;
    const Epochs epochs;
    if (is_first_lane && !status.all_reachable) state().unsettled_stamp = epochs.relabel + 1;
    const TileLists lists(problem_, store_);
    const bool takes_part = status.has_active || (!status.all_reachable && status.has_reachable);
    ListEntry entries[] = {
        lists.next_pass_entry(epochs, position_.index, is_first_lane && !status.all_reachable),
        lists.active_entry(epochs, position_.index, is_first_lane && status.has_active),
        lists.relabel_entry(epochs, position_.index, is_first_lane && takes_part),
        lists.touched_entry(position_.index, is_first_lane)};
    add_to_lists(position_.index, entries);
  }

  const Problem& problem_;
  const SparseStore<kNeighbours>& store_;
  Tile<kNeighbours>& tile_;
  const Lane lane_ = this_lane();
  const TilePosition position_;
  const int x_, y_;        // first pixel of the lane's column, in the picture
  const int rows_;         // number of rows of the column that are inside of the picture
  bool all_sinks_ = true;  // whether all pixels of the column have capacity to the sink
  long long demand_ = 0;   // negated capacity of the column's pixels to the sink
};

// ---- the worklist kernel

// The worklist kernel's part of a cut: the work of a warp on the tiles of worklists.
template <int kNeighbours>
class WorklistPass {
 public:
  struct Shared {
    GridBarrier::SharedWords barrier_words;
    BlockSums sums;
  };

  __device__ WorklistPass(const Problem& problem, const SparseStore<kNeighbours>& store,
                          Tile<kNeighbours>& tile, Shared* shared)
      : problem_(problem),
        store_(store),
        tile_(tile),
        shared_(shared),
        staged_tile_(problem, store, tile),
        lists_(problem, store),
        barrier_(problem.progress, &shared->barrier_words),
        lane_(this_lane()) {}

  // Returns in all threads whether the frame is solved. If not, the plain algorithm must solve it,
  // because 16 bits do not suffice.
  __device__ bool run() {
    solve();
    barrier_.sync_or(0);
    return __ldcg(&problem_.progress->is_solved) != 0;
  }

 private:
  // Alternates relabels and pushes until the cut is exact or a limit is reached.
  __device__ void solve() {
    if (problem_.progress->exceeds_16_bits) return hand_over_to_plain();
    for (;; ++epochs_.relabel) {
      const unsigned votes = relabel();
      if (votes & kExceeds16Bits) return hand_over_to_plain();
      const bool active = lists_.active(epochs_.relabel).size() > 0;
      if ((votes & kSaturated) || !active || is_stopped_) return finish(votes, active);
      if (!push()) return hand_over_to_plain();
    }
  }

  // The warp's share of a list. Consecutive entries of the list are processed by different thread
  // blocks, and therefore on different multiprocessors.
  struct Share {
    int count;  // number of tiles on the whole list
    int tile;   // first tile of the share, if the share is not empty
  };
  // Returns the warp's share of `list`. Loads the first entry and the number of tiles at the same
  // time.
  __device__ Share share_of(const TileList& list) const {
    return {list.size(), __ldcg(list.tiles + min(first_index(), store_.halos.tiles() - 1))};
  }
  // Calls visit(tile) for each tile of the share. Returns the OR of the results.
  template <class Visit>
  __device__ unsigned visit_list(const TileList& list, const Share& share, const Visit& visit) {
    const int warps = static_cast<int>(gridDim.x * (blockDim.x / 32));
    unsigned votes = 0;
    int tile = share.tile;
    for (int k = first_index(); k < share.count; k += warps) {
      if (k != first_index()) tile = __ldcg(list.tiles + k);
      votes |= visit(tile);
    }
    return votes;
  }
  __device__ static int first_index() {
    return static_cast<int>(threadIdx.x / 32 * gridDim.x + blockIdx.x);
  }
  // Waits for all threads of the grid and ends the pass. Returns the OR of all votes so far.
  __device__ unsigned sync_or(unsigned bits) {
    bits = barrier_.sync_or(bits);
    ++epochs_.pass;
    return bits;
  }
  __device__ bool is_first_thread() const { return blockIdx.x == 0 && threadIdx.x == 0; }
  // Clears the list of the pass after the next pass. No block reads or fills this list now.
  __device__ void clear_pass_after_next() {
    if (is_first_thread()) *lists_.pass(epochs_.pass + 2).count = 0;
  }

  // Prepares the plain algorithm, which starts again from the weights.
  __device__ void hand_over_to_plain() const {
    if (is_first_thread()) problem_.progress->sink_flow = 0;
  }

  // Global relabel: computes exact heights of the tiles that take part in it. Returns the votes.
  __device__ unsigned relabel() {
    // The load kernel has already done the work of start_relabel() for the first relabel.
    unsigned votes = epochs_.relabel == 0 ? 0 : start_relabel();
    for (relabel_passes_ = 0;; ++relabel_passes_) {
      const TileList list = lists_.pass(epochs_.pass);
      const Share share = share_of(list);
      if (share.count == 0) return votes;
      clear_pass_after_next();
      const unsigned tile_votes =
          visit_list(list, share, [&](int tile) { return spread_heights_in_tile(tile); });
      votes |= sync_or(tile_votes);
    }
  }
  // First pass of a relabel, over all tiles that take part in it. Returns the votes.
  __device__ unsigned start_relabel() {
    clear_pass_after_next();
    if (is_first_thread()) {
      *lists_.relabel(epochs_.relabel + 2).count = 0;
      *lists_.active(epochs_.relabel + 1).count = 0;
    }
    const TileList tiles = lists_.relabel(epochs_.relabel);
    unsigned votes =
        visit_list(tiles, share_of(tiles), [&](int tile) { return start_relabel_in_tile(tile); });
    votes = sync_or(votes);
    ++epochs_.flow;
    return votes;
  }

  // Computes the tile's heights from its own pixels with capacity to the sink, and from
  // neighbouring tiles that do not take part in this relabel.
  __device__ unsigned start_relabel_in_tile(int index) {
    const TilePosition position(store_.halos, index);
    const auto neighbours = staged_tile_.prefetch(position, epochs_);
    const bool changed = staged_tile_.receive(position, neighbours, epochs_);
    reset_heights(tile_, lane_);
    const ResidualArcs<kNeighbours> arcs = find_residual_arcs(tile_, lane_);
    relax_fully(tile_, arcs, lane_);
    TileStatus status = tile_status(tile_, problem_.size(), position, lane_);
    const bool all_reachable = status.all_reachable;
    if (!all_reachable) {
      const unsigned axes = apply_halo_heights(tile_, neighbours.heights(~neighbours.relabelling));
      if (axes && relax_fully(tile_, arcs, lane_, axes)) {
        status = tile_status(tile_, problem_.size(), position, lane_);
      }
      if (lane_.index == 0) store_.state[index].unsettled_stamp = epochs_.relabel + 1;
    }
    staged_tile_.send_heights(position, neighbours, epochs_);
    if (changed) {
      staged_tile_.write_back(index);
    } else {
      staged_tile_.write_back_heights(index);
    }
    const bool is_first_lane = lane_.index == 0;
    ListEntry entries[] = {
        lists_.next_pass_entry(epochs_, index, is_first_lane && !all_reachable),
        lists_.active_entry(epochs_, index, is_first_lane && status.has_active),
        lists_.relabel_entry(
            epochs_, index,
            is_first_lane && (status.has_active || (!all_reachable && status.has_reachable)))};
    add_to_lists(index, entries);
    return votes_of(status);
  }

  // Lowers heights of the tile if heights of neighbouring tiles were lowered. Returns the votes.
  __device__ unsigned spread_heights_in_tile(int index) {
    const TilePosition position(store_.halos, index);
    const auto neighbours = staged_tile_.prefetch(position, epochs_);
    wait_for_copy();
    const unsigned axes = apply_halo_heights(tile_, neighbours.heights(~0u));
    if (!axes) return 0;
    const EdgeHeights before(tile_, lane_);
    if (!relax_fully(tile_, find_residual_arcs(tile_, lane_), lane_, axes)) return 0;
    const TileStatus status = tile_status(tile_, problem_.size(), position, lane_);
    const unsigned lowered =
        EdgeHeights(tile_, lane_).template changed_directions<kNeighbours>(before);
    if (lowered) staged_tile_.send_heights(position, neighbours, epochs_);
    staged_tile_.write_back_heights(index);
    // Each lane adds one neighbour to the lists; the last lane adds the tile itself.
    const bool is_tile_itself = lane_.index == 31;
    const int target_tile = is_tile_itself ? index : target_neighbour(position, lowered);
    ListEntry entries[] = {
        lists_.next_pass_entry(
            epochs_, target_tile,
            !is_tile_itself && (lowered & neighbours.unsettled) >> lane_.index & 1),
        lists_.active_entry(epochs_, target_tile, is_tile_itself && status.has_active),
        lists_.relabel_entry(epochs_, target_tile, is_tile_itself && status.has_reachable)};
    add_to_lists(target_tile, entries);
    return votes_of(status);
  }

  __device__ unsigned votes_of(const TileStatus& status) const {
    return (status.is_saturated ? kSaturated : 0) |
           (staged_tile_.exceeds_16_bits() ? kExceeds16Bits : 0);
  }

  // Runs rounds of pushes until no tile has work or the limit of rounds is reached. Returns false
  // if 16 bits do not suffice.
  __device__ bool push() {
    const int rounds = kPushRounds + 2 * max(0, relabel_passes_ - kLongRelabel);
    for (int round = 0; round < rounds && !is_stopped_; ++round) {
      const TileList list = round == 0 ? lists_.active(epochs_.relabel) : lists_.pass(epochs_.pass);
      const Share share = share_of(list);
      if (share.count == 0) break;
      clear_pass_after_next();
      const unsigned votes = visit_list(list, share, [&](int tile) { return push_in_tile(tile); });
      const unsigned all_votes =
          sync_or(votes | (blockIdx.x == 0 && problem_.is_out_of_time() ? kStop : 0));
      if (all_votes & kExceeds16Bits) return false;
      ++epochs_.flow;
      ++iterations_;
      is_stopped_ = (all_votes & kStop) || iterations_ == problem_.max_iterations;
    }
    return true;
  }

  // One round of pushes in a tile. Returns the votes.
  __device__ unsigned push_in_tile(int index) {
    const TilePosition position(store_.halos, index);
    const auto neighbours = staged_tile_.prefetch(position, epochs_);
    staged_tile_.receive(position, neighbours, epochs_);
    apply_halo_heights(tile_, neighbours.heights(~0u));
    bool still_active = true;
    for (int k = 0; k < kPushesPerRound && still_active; ++k)
      still_active = push_relabel(tile_, lane_);
    still_active = still_active && any_active(tile_, lane_);
    const unsigned receivers = staged_tile_.send_flows(position, epochs_);
    staged_tile_.send_heights(position, neighbours, epochs_);
    staged_tile_.write_back(index);
    const bool is_target = lane_.index < kNeighbours && (receivers >> lane_.index & 1);
    const int target_tile = is_target ? target_neighbour(position, receivers) : index;
    ListEntry entries[] = {
        lists_.next_pass_entry(epochs_, target_tile,
                               is_target || (lane_.index == kNeighbours && still_active)),
        lists_.relabel_entry(epochs_, target_tile, is_target),
        lists_.touched_entry(target_tile, is_target)};
    add_to_lists(target_tile, entries);
    return staged_tile_.exceeds_16_bits() ? kExceeds16Bits : 0;
  }

  // Returns the neighbouring tile in the lane's direction if `directions` contains this direction.
  // Otherwise returns tile 0, which the caller does not use.
  __device__ int target_neighbour(const TilePosition& position, unsigned directions) const {
    if (lane_.index >= kNeighbours || !(directions >> lane_.index & 1)) return 0;
    return max(position.neighbour(store_.halos, step_x(lane_.index), step_y(lane_.index)), 0);
  }

  // Writes the mask, the flows, and the results of the cut. If distances needed more than 16 bits,
  // the plain algorithm must continue from these flows.
  __device__ void finish(unsigned votes, bool active) {
    shared_->sums.clear();
    const TileList touched = lists_.touched();
    visit_list(touched, share_of(touched), [&](int index) -> unsigned {
      const TilePosition position(store_.halos, index);
      copy_tile_async(store_.tiles[index], tile_, lane_);
      wait_for_copy();
      const TileSums sums = write_tile_results(tile_, problem_, position.x, position.y, lane_);
      const bool has_flow = __any_sync(~0u, sums.has_flow);
      if (lane_.index == 0) store_.has_no_flow[index] = !has_flow;
      // The load kernel has already counted the flow that it pushed into the sink.
      shared_->sums.add(
          sums.remaining_demand - (lane_.index == 0 ? store_.state[index].remaining_demand : 0),
          sums.gap);
      return 0;
    });
    pdl_trigger();
    write_cut_results(problem_, shared_->sums, barrier_, iterations_, votes, active);
  }

  const Problem& problem_;
  const SparseStore<kNeighbours>& store_;
  Tile<kNeighbours>& tile_;
  Shared* const shared_;
  StagedTile<kNeighbours> staged_tile_;
  const TileLists<kNeighbours> lists_;
  WorklistBarrier barrier_;
  const Lane lane_;
  Epochs epochs_{.pass = 1, .relabel = 0, .flow = 1};
  int relabel_passes_ = 0;   // number of passes of the last relabel, except its first pass
  int iterations_ = 0;       // number of rounds of pushes so far
  bool is_stopped_ = false;  // whether a limit on iterations or time was reached
};

// ---- kernels and host interface

template <int kNeighbours>
__global__ void __launch_bounds__(LoadBlock<kNeighbours>::threads,
                                  LoadBlock<kNeighbours>::resident_blocks)
    load_kernel(const __grid_constant__ Problem problem,
                const __grid_constant__ SparseStore<kNeighbours> store) {
  extern __shared__ int4 shared_tiles[];
  pdl_trigger_and_wait();
  problem.record_start_time();
  auto& tile = reinterpret_cast<Tile<kNeighbours>&>(*shared_tiles);
  const int index = static_cast<int>(blockIdx.x);
  const long long sink_flow = LoadPass<kNeighbours>(problem, store, tile, index).run();
  if (threadIdx.x != 0 || sink_flow == 0) return;
  atomicAdd(&problem.progress->sink_flow, static_cast<unsigned long long>(sink_flow));
}

template <int kNeighbours>
__global__ void __launch_bounds__(SparseBlock<kNeighbours>::max_threads,
                                  SparseBlock<kNeighbours>::resident_blocks)
    worklist_kernel(const __grid_constant__ Problem problem,
                    const __grid_constant__ SparseStore<kNeighbours> store,
                    const __grid_constant__ PlainArrays arrays, Progress* next_progress) {
  using Cut = WorklistPass<kNeighbours>;
  extern __shared__ int4 shared_tiles[];
  __shared__ typename Cut::Shared shared;
  __shared__ GridBarrier::SharedWords plain_barrier_words;
  pdl_wait();
  auto* const next = reinterpret_cast<uint32_t*>(next_progress);
  if (blockIdx.x == 0) {
    for (unsigned i = threadIdx.x; i < sizeof(Progress) / sizeof(uint32_t); i += blockDim.x)
      next[i] = 0;
  }
  auto& tile = reinterpret_cast<Tile<kNeighbours>*>(shared_tiles)[threadIdx.x / 32];
  if (!Cut(problem, store, tile, &shared).run())
    PlainPushRelabel(problem, arrays, &plain_barrier_words).run();
}

}  // namespace

template <int kNeighbours>
void SparseSolver<kNeighbours>::reserve(Workspace& memory, const HaloBuffers& halos) {
  using Block = SparseBlock<kNeighbours>;
  const auto tiles = static_cast<size_t>(halos.tiles());
  store_.halos = halos;
  store_.halos.template reserve<kNeighbours>(memory);
  memory.reserve(store_.tiles, tiles);
  memory.reserve(store_.state, tiles);
  memory.reserve(store_.lists, kWorklists * tiles);
  for (uint8_t*& has_no_flow : has_no_flow_) memory.reserve(has_no_flow, tiles);
  allow_shared_memory(load_kernel<kNeighbours>, LoadBlock<kNeighbours>::shared_bytes);
  const unsigned warps =
      warps_with_tiles<kNeighbours>(worklist_kernel<kNeighbours>, Block::warps(tiles));
  LaunchShape shape{blocks_for(tiles, warps), 32 * warps, warps * sizeof(Tile<kNeighbours>)};
  // Without clusters, the only cut of a process uses all blocks that the device can run, because
  // no other kernel runs concurrently with a cooperative grid.
  const bool has_clusters = device_attribute(cudaDevAttrClusterLaunch) != 0;
  if (has_clusters) shape.blocks = std::min(shape.blocks, Block::exclusive_cluster_blocks);
  exclusive_launcher_.plan(worklist_kernel<kNeighbours>, shape);
  shape.blocks = std::min(shape.blocks, Block::cluster_blocks);
  concurrent_launcher_.plan(worklist_kernel<kNeighbours>, shape);
}

template <int kNeighbours>
void SparseSolver<kNeighbours>::enqueue(Problem& problem, const PlainArrays& arrays,
                                        Progress* next_progress, bool follows_sparse,
                                        bool is_exclusive, cudaStream_t stream) {
  store_.had_no_flow = follows_sparse ? has_no_flow_[frame_count_ % 2] : nullptr;
  store_.has_no_flow = problem.has_no_flow = has_no_flow_[++frame_count_ % 2];
  problem.tiles = store_.halos.tiles();
  launch_pdl(load_kernel<kNeighbours>, static_cast<unsigned>(problem.tiles),
             LoadBlock<kNeighbours>::threads, LoadBlock<kNeighbours>::shared_bytes, stream, problem,
             store_);
  (is_exclusive ? exclusive_launcher_ : concurrent_launcher_)
      .launch(worklist_kernel<kNeighbours>, stream, problem, store_, arrays, next_progress);
}

template class SparseSolver<4>;
template class SparseSolver<8>;

}  // namespace regions::maxflow

// A tile of those that lie in memory, as a warp has it in shared memory for a while.
#pragma once

#include <cuda_pipeline.h>

#include "gpu/maxflow/push.hpp"
#include "gpu/maxflow/relax.hpp"
#include "gpu/maxflow/sparse_store.hpp"

namespace regions::maxflow {

// What lies in the tile, once its heights are exact.
struct Look {
  bool active = false;     // excess is on its way
  bool reaches = false;    // some pixel reaches the sink
  bool settled = true;     // all pixels do
  bool saturated = false;  // distances are too long for 16 bits
};

template <int kNeighbours>
__device__ Look look_at(const Tile<kNeighbours>& tile, Size size, const Place& place, Lane lane) {
  Look look;
  const bool has_column = place.x * kTileWidth + lane.index < size.width;
  const int rows = min(kTileHeight, size.height - place.y * kTileHeight);
#pragma unroll
  for (int y = 0; y < kTileHeight; ++y) {
    const uint32_t pixel = tile.pixel(cell(lane.index, y));
    const int height = height_of(pixel);
    look.active |= is_active(pixel);
    look.saturated |= height == kHighest;
    look.reaches |= height != kUnreachable;
    look.settled &= height != kUnreachable || !has_column || y >= rows;
  }
  return {__any_sync(~0u, look.active) != 0, __any_sync(~0u, look.reaches) != 0,
          __all_sync(~0u, look.settled) != 0, __any_sync(~0u, look.saturated) != 0};
}

// Exact heights in the tile from where they are, the ring's included. Returns whether any fell.
// `ways` as in relax_tile().
template <int kNeighbours>
__device__ bool settle(Tile<kNeighbours>& tile, const Arcs<kNeighbours>& arcs, Lane lane,
                       unsigned ways = kBothWays) {
  for (bool fell = false;; ways = kBothWays) {
    const Sweeps sweeps = relax_tile(tile, arcs, lane, ways);
    fell |= sweeps.fell;
    if (sweeps.settled) return fell;
  }
}

// Copies while the warp goes on, until wait_for_copy().
template <class T>
__device__ void copy_tile(const T& from, T& to, Lane lane) {
  const auto* words = reinterpret_cast<const int4*>(&from);
  __syncwarp();  // all lanes have done with the tile
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
  __syncwarp();  // all lanes' shares are there
}
template <class T>
__device__ void put_tile(const T& from, T& to, size_t bytes, Lane lane) {
  const auto* words = reinterpret_cast<const int4*>(&from);
  const int count = static_cast<int>((bytes + sizeof(int4) - 1) / sizeof(int4));
  __syncwarp();  // all lanes have written
#pragma unroll 8
  for (int i = lane.index; i < count; i += 32) {
    __stcg(reinterpret_cast<int4*>(&to) + i, words[i]);
  }
  __syncwarp();
}

template <int kNeighbours>
class SparseTile {
 public:
  __device__ SparseTile(const Problem& problem, const Sparse<kNeighbours>& sparse,
                        Tile<kNeighbours>& tile)
      : problem_(problem), sparse_(sparse), tile_(tile), lane_(this_lane()) {}

  // 16 bits are too few for a tile that was brought.
  __device__ bool is_wide() const { return is_wide_; }

  // What lies in memory for a tile, all asked for at once.
  struct Beside {
    RingHeights<kNeighbours> ring[2];  // by set of boxes
    unsigned second;                   // neighbours whose second set is the newer one
    unsigned sent, live, unsettled;    // flow for this turn; of this relabel
    bool stored;                       // the tile itself
    unsigned older;                    // its set of boxes that is told next
    Lane lane;

    __device__ RingHeights<kNeighbours> heights(unsigned from) const {
      RingHeights<kNeighbours> heights = ring[0];
#pragma unroll
      for (int i = 0; i < heights.count; ++i) {
        const int direction = heights.direction(i, lane);
        if (second >> direction & 1) heights.height[i] = ring[1].height[i];
        if (!(from >> direction & 1)) heights.height[i] = -1;
      }
      return heights;
    }
  };
  __device__ Beside ask(const Place& place, const Turns& turns) const {
    copy_tile(sparse_.tiles[place.index], tile_, lane_);
    Beside beside;
    uint4 a = {}, b = {};
    // Of the neighbours by lane, and of the tile itself in the others.
    const bool is_neighbour = lane_.index < kNeighbours;
    const int other = is_neighbour
                          ? place.beside(sparse_.boxes, step_x(lane_.index), step_y(lane_.index))
                          : place.index;
    if (other >= 0) {
      const auto* words = reinterpret_cast<const uint4*>(&sparse_.state[other]);
      a = __ldcg(words);
      b = __ldcg(words + 1);
    }
#pragma unroll
    for (unsigned set = 0; set < 2; ++set) {
      beside.ring[set] = ask_heights(tile_, sparse_.boxes, set, place, ~0u, lane_);
    }
    const unsigned now = turns.telling();
    beside.lane = lane_;
    beside.stored = __shfl_sync(~0u, b.w, kNeighbours);
    beside.older = __shfl_sync(~0u, a.x > a.y, kNeighbours);
    const bool there = is_neighbour && other >= 0;
    beside.second = __ballot_sync(~0u, a.y < now && (a.y > a.x || a.x >= now));
    beside.sent = __ballot_sync(~0u, there && (turns.flow % 2 ? a.w : a.z) == turns.flow);
    beside.live = __ballot_sync(~0u, there && (turns.relabel % 2 ? b.y : b.x) == turns.relabel + 1);
    beside.unsettled = __ballot_sync(~0u, there && b.z == turns.relabel + 1);
    return beside;
  }

  // Brings the tile with what flowed into it. Returns whether its flows or excess are not those
  // that lie in memory.
  __device__ bool bring(const Place& place, const Beside& beside, const Turns& turns) {
    const auto flows = ask_flows<kNeighbours>(sparse_.boxes, turns.flow, place, beside.sent, lane_);
    wait_for_copy();
    if (!beside.stored) {
      is_wide_ |= !load_tile(tile_, problem_, place.x, place.y, lane_);
      start_heights(tile_, lane_);
      settle(tile_, residual_arcs(tile_, lane_), lane_);
    }
    return take_flows(tile_, flows, lane_) || !beside.stored;
  }
  __device__ void put_whole(int index) {
    put_tile(tile_, sparse_.tiles[index], sizeof(tile_), lane_);
    if (lane_.index == 0) sparse_.state[index].stored = 1;
  }
  __device__ void put_heights(int index) {
    put_tile(tile_, sparse_.tiles[index], kTileCells * sizeof(uint32_t), lane_);
  }

  // Tells the tile's heights in the older one of its two sets of boxes, so that neighbours read
  // those of an earlier turn meanwhile.
  __device__ void tell(const Place& place, const Beside& beside, const Turns& turns) {
    tell_heights(tile_, sparse_.boxes, beside.older, place.index, lane_);
    if (lane_.index == 0) sparse_.state[place.index].told[beside.older] = turns.telling();
  }
  // Puts what flowed out into the boxes of the next turn. Returns which neighbours get some, a bit
  // a direction.
  __device__ unsigned send(const Place& place, const Turns& turns) {
    const unsigned next = turns.flow + 1;
    const unsigned sent = any_of(tell_flows(tile_, sparse_.boxes, next, place.index, lane_));
    if (sent && lane_.index == 0) sparse_.state[place.index].sent[next % 2] = next;
    return sent;
  }

 private:
  // The bits of all lanes.
  __device__ static unsigned any_of(unsigned bits) {
    unsigned all = 0;
#pragma unroll
    for (int d = 0; d < kNeighbours; ++d) {
      if (__any_sync(~0u, bits >> d & 1)) all |= 1u << d;
    }
    return all;
  }

  const Problem& problem_;
  const Sparse<kNeighbours>& sparse_;
  Tile<kNeighbours>& tile_;
  const Lane lane_;
  bool is_wide_ = false;
};

}  // namespace regions::maxflow

// Final labels: pieces that are left, counted by their first pixels in raster order. No block waits
// for another: each adds up the rows of tiles before its own.
#include "gpu/cclabel/tiles.hpp"
#include "gpu/cclabel/warp.hpp"
#include "gpu/slicsuperpixel/phases.hpp"
#include "gpu/slicsuperpixel/tuning.hpp"

namespace regions::slic {
namespace {

using cclabel::below;
using cclabel::kAllLanes;
using T = PieceTile;
constexpr int kThreads = SeamBlock::threads;

// Hangs components below their representatives, and marks first pixels.
__global__ __launch_bounds__(kThreads) void mark_kernel(Pieces pieces) {
  await_last();
  const TileOfBlock tile(pieces);
  const uint32_t lane = threadIdx.x % 32;
  for (uint32_t start = threadIdx.x - lane; start < tile.count; start += kThreads) {
    int row = -1;  // of tiles, that the piece of this lane begins in
    if (start + lane < tile.count) {
      const uint32_t id = tile.id(pieces, start + lane), root = pieces.find(id);
      if (root == id) {
        const uint32_t first = pieces.first[id];
        atomicOr(pieces.firsts + first / 32, 1u << first % 32);
        row = static_cast<int>(first / static_cast<uint32_t>(pieces.stride)) / T::rows;
      } else {
        pieces.parent[id] = root;  // others only come to the same end sooner
      }
    }
    // Components side by side mostly begin in the same row.
    const unsigned begin = __ballot_sync(kAllLanes, row >= 0);
    if (begin == 0) continue;
    const int leader = __ffs(static_cast<int>(begin)) - 1;
    const int common = __shfl_sync(kAllLanes, row, leader);
    const unsigned same = __ballot_sync(kAllLanes, row == common);
    if (static_cast<int>(lane) == leader) {
      atomicAdd(pieces.row_firsts + row, static_cast<uint32_t>(__popc(same)));
    } else if (row >= 0 && row != common) {
      atomicAdd(pieces.row_firsts + row, 1u);
    }
  }
}

// A block numbers the first pixels in a row of tiles.
__global__ __launch_bounds__(NumberBlock::threads) void rank_kernel(Pieces pieces) {
  await_last();
  constexpr int kAll = NumberBlock::threads, kWarps = kAll / 32;
  __shared__ uint32_t sums[kWarps];
  const int tile_row = static_cast<int>(blockIdx.x);
  const int lane = static_cast<int>(threadIdx.x % 32), warp = static_cast<int>(threadIdx.x / 32);
  // Sum over earlier threads of the block; `all` of all.
  const auto sum_before = [&](uint32_t value, uint32_t& all) {
    const uint32_t up_to_own = cclabel::warp_prefix_sum(value);
    __syncthreads();  // the last sums are read
    if (lane == 31) sums[warp] = up_to_own;
    __syncthreads();  // all warps have left theirs
    uint32_t before = up_to_own - value;
    all = 0;
#pragma unroll
    for (int w = 0; w < kWarps; ++w) {
      if (w < warp) before += sums[w];
      all += sums[w];
    }
    return before;
  };
  const size_t words = static_cast<size_t>(pieces.stride / 32);
  const int end_row = min((tile_row + 1) * T::rows, pieces.size.height);
  const size_t end = static_cast<size_t>(end_row) * words;
  constexpr int kEach = NumberBlock::words;
  uint32_t firsts[kEach];
  const auto fetch = [&](size_t w) {
#pragma unroll
    for (int k = 0; k < kEach; ++k) firsts[k] = w + k < end ? pieces.firsts[w + k] : 0;
  };
  size_t w = static_cast<size_t>(tile_row) * T::rows * words + kEach * threadIdx.x;
  fetch(w);  // while earlier rows are counted
  uint32_t earlier = 0;
  for (int r = static_cast<int>(threadIdx.x); r < tile_row; r += kAll) {
    earlier += pieces.row_firsts[r];
  }
  uint32_t before;
  sum_before(earlier, before);
  for (size_t start = static_cast<size_t>(tile_row) * T::rows * words; start < end;
       start += kEach * kAll, w += kEach * kAll) {
    uint32_t count[kEach], own = 0;
#pragma unroll
    for (int k = 0; k < kEach; ++k) {
      count[k] = static_cast<uint32_t>(__popc(firsts[k]));
      own += count[k];
    }
    fetch(w + kEach * kAll);
    uint32_t all;
    uint32_t rank = before + sum_before(own, all);
#pragma unroll
    for (int k = 0; k < kEach; ++k) {
      if (w + k < end) pieces.before[w + k] = rank;
      rank += count[k];
    }
    before += all;
  }
  if (end_row == pieces.size.height && threadIdx.x == 0) *pieces.total = before;
}

// Reads components while the ranks are still being made: they were complete before joining began,
// whose first kernel is not in the chain.
__global__ __launch_bounds__(T::threads) void write_kernel(Pieces pieces, LabelMap to,
                                                           bool aligned) {
  __shared__ uint32_t label[T::pixels];  // of components
  let_next_start();
  const TileOfBlock tile(pieces);
  // Four pixels at a time; rows begin at multiples of 64, so the components are aligned.
  constexpr int kFours = T::pixels / 4 / T::threads;
  const int own = static_cast<int>(threadIdx.x);
  static_assert(T::threads % (T::width / 4) == 0);
  const int x = tile.left + own % (T::width / 4) * 4;
  const auto y_of = [&](int k) { return tile.top + (k * T::threads + own) / (T::width / 4); };
  ushort4 four[kFours];
#pragma unroll
  for (int k = 0; k < kFours; ++k) {
    if (y_of(k) >= to.height) continue;
    four[k] = *reinterpret_cast<const ushort4*>(pieces.component + pieces.pixel_at(x, y_of(k)));
  }
  wait_for_earlier();
  for (uint32_t i = threadIdx.x; i < tile.count; i += T::threads) {
    const uint32_t first = pieces.first[pieces.parent[tile.id(pieces, i)]];
    const uint32_t firsts = pieces.firsts[first / 32];
    label[i] = pieces.before[first / 32] +
               static_cast<uint32_t>(__popc(firsts & below(static_cast<int>(first % 32)))) + 1;
  }
  __syncthreads();  // all components have their labels
#pragma unroll
  for (int k = 0; k < kFours; ++k) {
    const int y = y_of(k);
    if (x >= to.width || y >= to.height) continue;
    if (aligned && x + 4 <= to.width) {
      *reinterpret_cast<uint4*>(to.row(y) + x) = {label[four[k].x], label[four[k].y],
                                                  label[four[k].z], label[four[k].w]};
      continue;
    }
    const uint16_t component[4] = {four[k].x, four[k].y, four[k].z, four[k].w};
    for (int j = 0; j < 4 && x + j < to.width; ++j) to(x + j, y) = label[component[j]];
  }
}

}  // namespace

void number_labels(const Pieces& pieces, LabelMap labels, cudaStream_t stream) {
  launch_chained(mark_kernel, tile_grid(pieces), kThreads, 0, stream, pieces);
  launch_chained(rank_kernel, static_cast<unsigned>(pieces.rows), NumberBlock::threads, 0, stream,
                 pieces);
  const auto address = reinterpret_cast<uintptr_t>(labels.data);
  const bool aligned = (address | static_cast<uintptr_t>(labels.pitch)) % 16 == 0;
  launch_chained(write_kernel, tile_grid(pieces), T::threads, 0, stream, pieces, labels, aligned);
}

}  // namespace regions::slic

// Counts the pixels that two windows' regions share.
#include "gpu/cclabel/window/phases.hpp"
#include "gpu/primitives/warp.hpp"
#include "gpu/tracking/tile_pairs.hpp"

namespace regions::sliding {
namespace {

constexpr int kThreads = 256;
constexpr int kTurns = 64;  // times 32 pixels of a warp
constexpr int kAtOnce = 8;  // of them asked for together

// A warp takes 32 pixels at a time, and adds them up while all are of one pair.
__global__ __launch_bounds__(kThreads) void share_kernel(const uint32_t* now,
                                                         const uint32_t* before, size_t pixels,
                                                         WindowFrame frame, TrackMemory memory) {
  __shared__ TilePairs pairs;
  pairs.clear();
  __syncthreads();  // pairs are clear
  const uint32_t lane = threadIdx.x % 32;
  const uint32_t count = min(*frame.total, frame.capacity);
  const uint32_t count_before = memory.counts->visible;
  const size_t begin =
      (static_cast<size_t>(blockIdx.x) * (kThreads / 32) + threadIdx.x / 32) * (32 * kTurns);
  uint32_t held = 0, shared = 0;  // the whole warp's
  uint32_t ahead[kAtOnce] = {};
  for (int turn = 0; turn < kTurns; ++turn) {
    if (turn % kAtOnce == 0) {
#pragma unroll
      for (int k = 0; k < kAtOnce; ++k) {
        const size_t i = begin + static_cast<size_t>(turn + k) * 32 + lane;
        const uint32_t a = i < pixels ? before[i] : 0, b = i < pixels ? now[i] : 0;
        // Labels are at most 65535 where tracks are wanted; 0 wraps.
        ahead[k] = a - 1 < count_before && b - 1 < count ? a << 16 | b : 0;
      }
    }
    const uint32_t pair = ahead[0];
#pragma unroll
    for (int k = 1; k < kAtOnce; ++k) ahead[k - 1] = ahead[k];
    if (__all_sync(kAllLanes, pair == held)) {
      shared += 32;
      continue;
    }
    if (held != 0 && lane == 0) pairs.add(held, shared, memory.pairs);
    held = __shfl_sync(kAllLanes, pair, 0);
    shared = 32;
    if (__all_sync(kAllLanes, pair == held)) continue;
    held = shared = 0;
    // The first lane of each piece with one pair adds it.
    const uint32_t left = __shfl_up_sync(kAllLanes, pair, 1);
    const bool begins = lane == 0 || left != pair;
    const uint32_t later = __ballot_sync(kAllLanes, begins) & ~((2u << lane) - 1);
    const uint32_t end = later ? static_cast<uint32_t>(__ffs(static_cast<int>(later)) - 1) : 32;
    if (begins && pair != 0) pairs.add(pair, end - lane, memory.pairs);
  }
  if (held != 0 && lane == 0) pairs.add(held, shared, memory.pairs);
  __syncthreads();  // the block's sums are complete
  pairs.flush(memory.pairs);
}

}  // namespace

void share_windows(const WindowLabels& window, const WindowFrame& frame, const TrackMemory& memory,
                   cudaStream_t stream) {
  const size_t pixels = window.shared_pixels();
  launch(share_kernel, blocks_for(pixels, size_t{kThreads} * kTurns), kThreads, 0, stream,
         window.now_shared(), window.before_shared(), pixels, frame, memory);
}

}  // namespace regions::sliding

// Counts the pixels that two windows' regions share.
#include "gpu/sliding/phases.hpp"
#include "gpu/tracking/atomics.hpp"
#include "gpu/volumes/groups.hpp"

namespace regions::sliding {
namespace {

constexpr int kThreads = 256;
constexpr int kTurns = 32;  // pixels of a lane

// A warp takes 32 pixels at a time. Lanes add up pixels while these are of one pair, so that few
// additions meet in the table; sums have no order.
__global__ __launch_bounds__(kThreads) void share_kernel(const uint32_t* now,
                                                         const uint32_t* before, size_t pixels,
                                                         WindowFrame frame, TrackMemory memory) {
  const uint32_t count = min(*frame.total, frame.capacity);
  const uint32_t count_before = memory.counts->visible;
  const auto add = [&](uint32_t pair, uint32_t shared) {
    memory.pairs.add<CudaAtomics>(pair >> 16, pair & 0xffff, shared);
  };
  const size_t first =
      (static_cast<size_t>(blockIdx.x) * (kThreads / 32) + threadIdx.x / 32) * (32 * kTurns);
  uint32_t held = 0, shared = 0;
  for (int turn = 0; turn < kTurns; ++turn) {
    const size_t i = first + static_cast<size_t>(turn) * 32 + threadIdx.x % 32;
    const uint32_t a = i < pixels ? before[i] : 0, b = i < pixels ? now[i] : 0;
    // Labels are at most 65535 where tracks are wanted; 0 wraps.
    const uint32_t pair = a - 1 < count_before && b - 1 < count ? a << 16 | b : 0;
    if (pair != held) {
      if (held != 0) add(held, shared);
      held = pair;
      shared = 0;
    }
    ++shared;
  }
  __syncwarp();
  volumes::for_each_key(held, [&](uint32_t common, bool joins) {
    const uint32_t sum = cclabel::warp_sum(joins ? shared : 0);
    if (volumes::is_first_lane()) add(common, sum);
  });
}

}  // namespace

void share_windows(const WindowLabels& window, const WindowFrame& frame, const TrackMemory& memory,
                   cudaStream_t stream) {
  const size_t pixels = window.shared_pixels();
  launch(share_kernel, blocks_for(pixels, size_t{kThreads} * kTurns), kThreads, 0, stream,
         window.now_shared(), window.before_shared(), pixels, frame, memory);
}

}  // namespace regions::sliding

// The runs of a tile of codes, and their union-find in shared memory.
//
// A thread has 16 pixels side by side, as bits: where runs of one code begin, and which pixels have
// the code of the one above. Runs are counted in raster order, so that threads can share them
// evenly. A run hangs below the first that it touches above; only where it touches more (the bottom
// of a U) is there something to unite.
#pragma once

#include "gpu/primitives/bits.hpp"
#include "gpu/primitives/union_find.hpp"
#include "gpu/primitives/warp.hpp"
#include "gpu/slicsuperpixel/tuning.hpp"

#ifdef __CUDACC__

namespace regions::slic {

inline constexpr int kSegment = 16;                            // pixels of a thread
inline constexpr int kSegments = PieceTile::width / kSegment;  // in a row of the tile
static_assert(PieceTile::threads * kSegment == PieceTile::pixels);

struct Forest {
  alignas(16) uint8_t codes[PieceTile::rows][PieceTile::width];
  uint32_t parent[PieceTile::pixels];     // of runs; once flat | number of the component << 16
  uint16_t place[PieceTile::pixels];      // of runs: first pixel in the tile
  uint16_t starts[PieceTile::threads];    // bits: first pixels of runs
  uint16_t before[PieceTile::threads];    // runs before those
  uint32_t sums[3][PieceTile::measured];  // by number: area << 20 | second colour; first; third
  uint32_t warp_runs[PieceTile::threads / 32];
  uint32_t runs;
  uint32_t count;  // of components

  __device__ bool is_root(int run) const {
    return (parent[run] & 0xffff) == static_cast<uint32_t>(run);
  }
  __device__ int number(int run) const { return static_cast<int>(parent[run] >> 16); }
  // The run of pixel `bit` of a thread's segment. One that goes on from the segment on its left is
  // the last of that.
  __device__ int run_at(int thread, int bit) const {
    return before[thread] + __popc(starts[thread] & up_to(bit)) - 1;
  }
};

// Where the tile's segment `number`, in raster order, lies.
struct SegmentPlace {
  int x, y;   // its first pixel, in the picture
  int count;  // of its pixels in the picture

  __device__ SegmentPlace(const Size& size, int left_of_tile, int top_of_tile, int number)
      : x(left_of_tile + number % kSegments * kSegment), y(top_of_tile + number / kSegments) {
    count = y < size.height ? min(max(size.width - x, 0), kSegment) : 0;
  }
};

// A thread's pixels, a bit each.
struct Segment : SegmentPlace {
  uint32_t starts;    // of runs
  uint32_t up;        // like the pixel above, in this tile
  bool continued_up;  // the first and the one on its left are alike, and like those above them

  using Codes = uint4;  // of the pixels
  static_assert(sizeof(Codes) == kSegment);

  // Bit k: byte k of a differs from that of b. Codes have four bits, so that nothing is carried
  // from one to the next.
  __device__ static uint32_t differ(uint32_t a, uint32_t b) {
    return (((a ^ b) + 0x0f0f0f0fu) & 0x10101010u) * 0x01020408u >> 28;
  }
  __device__ static uint32_t differ(const Codes& a, const Codes& b) {
    return differ(a.x, b.x) | differ(a.y, b.y) << 4 | differ(a.z, b.z) << 8 |
           differ(a.w, b.w) << 12;
  }

  // From the tile's codes; those outside the picture may be anything.
  __device__ Segment(const Forest& s, const SegmentPlace& place) : SegmentPlace(place) {
    const int t = static_cast<int>(threadIdx.x);
    const auto* const segments = reinterpret_cast<const Codes*>(s.codes);
    const uint32_t inside = below(count);
    const bool has_up = t >= kSegments;
    const Codes here = segments[t], above = has_up ? segments[t - kSegments] : Codes{};
    uint32_t last = __shfl_up_sync(kAllLanes, here.w >> 24, 1);
    // In the row before, where it may be more than a code and be carried.
    if (t % kSegments == 0) last = 0;
    const Codes left = {here.x << 8 | last, here.y << 8 | here.x >> 24, here.z << 8 | here.y >> 24,
                        here.w << 8 | here.z >> 24};
    const uint32_t like_left = ~differ(here, left) & (t % kSegments > 0 ? inside : inside & ~1u);
    up = has_up ? ~differ(here, above) & inside : 0;
    const uint32_t up_left = __shfl_up_sync(kAllLanes, up, 1);
    continued_up = (like_left & 1) && (up_left >> (kSegment - 1) & 1);
    starts = inside & ~like_left;
  }
};

// Counts the runs. Ends with a barrier.
__device__ inline void find_runs(Forest& s, const Segment& segment) {
  const int t = static_cast<int>(threadIdx.x);
  const auto own = static_cast<uint32_t>(__popc(segment.starts));
  const uint32_t up_to_own = warp_prefix_sum(own);
  if (t % 32 == 31) s.warp_runs[t / 32] = up_to_own;
  __syncthreads();  // all warps have counted
  uint32_t run = up_to_own - own;
  uint32_t all = 0;
#pragma unroll
  for (int w = 0; w < PieceTile::threads / 32; ++w) {
    if (w < t / 32) run += s.warp_runs[w];
    all += s.warp_runs[w];
  }
  s.starts[t] = static_cast<uint16_t>(segment.starts);
  s.before[t] = static_cast<uint16_t>(run);
  for (uint32_t bits = segment.starts; bits != 0; bits &= bits - 1) {
    s.place[run++] = static_cast<uint16_t>(kSegment * t + __ffs(static_cast<int>(bits)) - 1);
  }
  if (t == 0) s.runs = all;
  __syncthreads();  // all runs are known
}

// Calls visit(run) for this thread's share of the runs; all lanes of a warp as often, with `exists`
// false behind the last.
template <class Visit>
__device__ void for_each_run(const Forest& s, Visit visit) {
  const auto lane = threadIdx.x % 32;
  for (uint32_t start = threadIdx.x - lane; start < s.runs; start += PieceTile::threads) {
    visit(static_cast<int>(start + lane), start + lane < s.runs);
  }
}

// Hangs each run below one before it, or makes it a root. Returns contacts that remain, as
// bits.
__device__ inline uint32_t link_runs(Forest& s, const Segment& segment) {
  const int t = static_cast<int>(threadIdx.x), above = t - kSegments;
  // Where a pair of runs first touches.
  uint32_t contacts = 0;
  if (segment.up) {
    contacts = segment.up & (segment.starts | s.starts[above] | ~(segment.up << 1));
    if (segment.continued_up) contacts &= ~1u;
  }
  int run = s.before[t];
  for (uint32_t rest = segment.starts; rest != 0; ++run) {
    const uint32_t from_here = ~(rest & ~(rest - 1)) + 1;  // bits from the lowest on
    rest &= rest - 1;
    const uint32_t own = from_here & (rest ? (rest & ~(rest - 1)) - 1 : below(kSegment));
    int parent = run;
    if (const uint32_t touched = contacts & own; touched != 0) {
      parent = s.run_at(above, __ffs(static_cast<int>(touched)) - 1);
      contacts &= ~(touched & (~touched + 1));
    }
    s.parent[run] = static_cast<uint32_t>(parent);
  }
  return contacts;
}

// Hangs each run directly below its root, with what is known of that in the upper bits. A thread
// writes no entries but its own, and others' only shorten its way: this is pointer jumping, of a
// few runs of a thread at a time, since all it does is wait. Written by atomics, as in
// cclabel/tiles.hpp.
__device__ inline void flatten(Forest& s) {
  constexpr uint32_t kBatch = 4, kThreads = PieceTile::threads, kRun = 0xffff;
  const volatile uint32_t* const parent = s.parent;
  for (uint32_t start = threadIdx.x; start < s.runs; start += kBatch * kThreads) {
    uint32_t own[kBatch], above[kBatch];
#pragma unroll
    for (uint32_t k = 0; k < kBatch; ++k) {  // the first run is a root, and stays as it is
      own[k] = parent[start + k * kThreads < s.runs ? start + k * kThreads : 0];
    }
    bool jumped = true;
    while (jumped) {
#pragma unroll
      for (uint32_t k = 0; k < kBatch; ++k) above[k] = parent[own[k] & kRun];
      jumped = false;
#pragma unroll
      for (uint32_t k = 0; k < kBatch; ++k) {
        if (above[k] == own[k]) continue;
        atomicExch(s.parent + start + k * kThreads, above[k]);
        own[k] = above[k];
        jumped = true;
      }
    }
  }
}

__device__ inline void unite_runs(Forest& s, uint32_t contacts) {
  const int t = static_cast<int>(threadIdx.x);
  while (__any_sync(kAllLanes, contacts != 0)) {
    const bool wanted = contacts != 0;
    const int bit = wanted ? __ffs(static_cast<int>(contacts)) - 1 : 0;
    contacts &= contacts - 1;
    const int run = wanted ? s.run_at(t, bit) : 0;
    const int above = wanted ? s.run_at(t - kSegments, bit) : 0;
    unite(s.parent, static_cast<uint32_t>(run), static_cast<uint32_t>(above), wanted);
  }
}

}  // namespace regions::slic

#endif

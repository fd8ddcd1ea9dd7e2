// The runs of a tile of codes, and their union-find in shared memory.
//
// A thread has 16 pixels side by side, as bits: where runs of one code begin, and which pixels have
// the code of the one above. A run hangs below the one that it continues on the left, else below
// the first that it touches above; only where it touches more (the bottom of a U) is there
// something to unite.
#pragma once

#include "gpu/cclabel/tiles.hpp"
#include "gpu/cclabel/warp.hpp"
#include "gpu/slicsuperpixel/tuning.hpp"

#ifdef __CUDACC__

namespace regions::slic {

inline constexpr int kSegment = 16;  // pixels of a thread
static_assert(PieceTile::threads * kSegment == PieceTile::pixels &&
              PieceTile::width == 4 * kSegment);

// Runs are known by the place of their first pixel in the tile; thread t's begin at kSegment * t.
struct Forest {
  uint32_t parent[PieceTile::pixels];     // of runs; once flat | number of the component << 16
  uint16_t starts[PieceTile::threads];    // bits: first pixels of runs
  uint32_t sums[4][PieceTile::measured];  // area and colours by number
  uint32_t count;                         // of components

  __device__ bool is_root(int run) const {
    return (parent[run] & 0xffff) == static_cast<uint32_t>(run);
  }
  __device__ int number(int run) const { return static_cast<int>(parent[run] >> 16); }
  // The run of pixel `bit` of a thread's segment.
  __device__ int run_at(int thread, int bit) const {
    const uint32_t earlier = starts[thread] & cclabel::up_to(bit);
    return kSegment * thread + 31 - __clz(static_cast<int>(earlier));
  }
};

// A warp's strip: columns x..x+31, PieceTile::strip_rows rows from `row` of the tile.
struct TileStrip {
  int left, top;  // of the tile in the picture
  int column, row;
  int lane;
  bool inside;  // this lane's column is in the picture

  __device__ explicit TileStrip(Size size) {
    const int warp = static_cast<int>(threadIdx.x / 32);
    lane = static_cast<int>(threadIdx.x % 32);
    left = static_cast<int>(blockIdx.x) * PieceTile::width;
    top = static_cast<int>(blockIdx.y) * PieceTile::rows;
    column = warp % (PieceTile::width / 32) * 32;
    row = warp / (PieceTile::width / 32) * PieceTile::strip_rows;
    inside = x() < size.width;
  }
  __device__ int x() const { return left + column + lane; }
  __device__ int y(int k) const { return top + row + k; }
};

// A thread's pixels, a bit each.
struct Segment {
  uint32_t starts;    // runs
  uint32_t up;        // like the pixel above, in this tile
  bool continued;     // the first is like the one on its left, in this tile
  bool continued_up;  // and that one, too, is like the one above it

  // Bit k: byte k of a equals that of b.
  __device__ static uint32_t equal(uint32_t a, uint32_t b) {
    return (__vcmpeq4(a, b) & 0x01010101u) * 0x01020408u >> 24 & 15u;
  }
  __device__ static uint32_t equal(const uint4& a, const uint4& b) {
    return equal(a.x, b.x) | equal(a.y, b.y) << 4 | equal(a.z, b.z) << 8 | equal(a.w, b.w) << 12;
  }

  __device__ Segment(Image<const uint8_t> codes, const TileStrip& tile) {
    const int t = static_cast<int>(threadIdx.x);
    const int x = tile.left + t % 4 * kSegment, y = tile.top + t / 4;
    // Rows of codes begin at multiples of 16 bytes.
    const auto read = [&](int row) { return *reinterpret_cast<const uint4*>(codes.row(row) + x); };
    const int count = y < codes.height ? min(max(codes.width - x, 0), kSegment) : 0;
    const uint32_t inside = cclabel::below(count);
    uint4 here = {}, above = {};
    if (count > 0) here = read(y);
    if (count > 0 && t >= 4) above = read(y - 1);
    const uint32_t last = __shfl_up_sync(cclabel::kAllLanes, here.w >> 24, 1);
    const uint4 left = {here.x << 8 | last, here.y << 8 | here.x >> 24, here.z << 8 | here.y >> 24,
                        here.w << 8 | here.z >> 24};
    const uint32_t like_left = equal(here, left) & inside;
    up = t >= 4 ? equal(here, above) & inside : 0;
    continued = t % 4 > 0 && (like_left & 1);
    const uint32_t up_left = __shfl_up_sync(cclabel::kAllLanes, up, 1);
    continued_up = continued && (up_left >> (kSegment - 1) & 1);
    starts = inside & (~like_left | 1);
  }
};

// Calls visit(run) for this thread's runs.
template <class Visit>
__device__ void for_each_run(const Forest& s, Visit visit) {
  const int t = static_cast<int>(threadIdx.x);
  for (uint32_t bits = s.starts[t]; bits != 0; bits &= bits - 1) {
    visit(kSegment * t + __ffs(static_cast<int>(bits)) - 1);
  }
}

// Hangs each run below one before it, or makes it a root. Returns contacts that remain, as
// bits.
__device__ inline uint32_t link_runs(Forest& s, const Segment& segment) {
  const int t = static_cast<int>(threadIdx.x);
  // Where a pair of runs first touches.
  uint32_t contacts = 0;
  if (segment.up) {
    contacts = segment.up & (segment.starts | s.starts[t - 4] | ~(segment.up << 1));
    if (segment.continued_up) contacts &= ~1u;  // as on its left
  }
  uint32_t rest = segment.starts;
  while (rest != 0) {
    const int bit = __ffs(static_cast<int>(rest)) - 1;
    rest &= rest - 1;
    const uint32_t run =
        ~cclabel::below(bit) & (rest ? cclabel::below(__ffs(static_cast<int>(rest)) - 1) : 0xffffu);
    int parent = kSegment * t + bit;
    if (bit == 0 && segment.continued) {
      parent = s.run_at(t - 1, kSegment - 1);
    } else if (const uint32_t touched = contacts & run; touched != 0) {
      parent = s.run_at(t - 4, __ffs(static_cast<int>(touched)) - 1);
      contacts &= ~(touched & (~touched + 1));
    }
    s.parent[kSegment * t + bit] = static_cast<uint32_t>(parent);
  }
  return contacts;
}

// Hangs each run directly below its root. A thread writes no entries but its own, and
// others' only shorten its way: this is pointer jumping. Written by atomics, as in
// cclabel/tiles.hpp.
__device__ inline void flatten(Forest& s) {
  const volatile uint32_t* const parent = s.parent;
  for_each_run(s, [&](int run) {
    uint32_t above = parent[run];
    for (uint32_t beyond = parent[above]; beyond != above; beyond = parent[above]) {
      atomicExch(s.parent + run, beyond);
      above = beyond;
    }
  });
}

__device__ inline void unite_runs(Forest& s, uint32_t contacts) {
  const int t = static_cast<int>(threadIdx.x);
  while (__any_sync(cclabel::kAllLanes, contacts != 0)) {
    const bool wanted = contacts != 0;
    const int bit = wanted ? __ffs(static_cast<int>(contacts)) - 1 : 0;
    contacts &= contacts - 1;
    const int run = wanted ? s.run_at(t, bit) : 0, above = wanted ? s.run_at(t - 4, bit) : 0;
    cclabel::unite(s.parent, static_cast<uint32_t>(run), static_cast<uint32_t>(above), wanted);
  }
}

}  // namespace regions::slic

#endif

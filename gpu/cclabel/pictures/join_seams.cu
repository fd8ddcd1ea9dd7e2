// Joins components across the edges between tiles: atomic union on the ids of first pixels, which
// need no look at the picture but for `equal` and `difference`. The same launch clears the records.
#include <cstring>

#include "gpu/cclabel/pictures/phases.hpp"
#include "gpu/cclabel/pictures/tuning.hpp"
#include "gpu/runtime/chain.hpp"

namespace regions::cclabel {
namespace {

// A line of pixels along a seam, and the line across it; (x, y) is the near pixel at index 0.
struct Seam {
  const uint32_t* near;  // [length] component ids
  const uint32_t* far;
  int length;
  int x, y;
  int along_x, along_y;  // a step along the seam
};

__device__ Seam seam_of_block(const Tiles& tiles) {
  const int seam = static_cast<int>(blockIdx.y);
  const size_t stride = static_cast<size_t>(tiles.stride);
  const size_t height = static_cast<size_t>(tiles.size.height);
  if (seam < tiles.rows - 1) {
    const int row = seam + 1;
    return {tiles.top + row * stride,
            tiles.bottom + (row - 1) * stride,
            tiles.size.width,
            0,
            row * tiles.height,
            1,
            0};
  }
  const int column = seam - (tiles.rows - 1) + 1;
  return {tiles.left + column * height,
          tiles.right + (column - 1) * height,
          tiles.size.height,
          column * tiles.width,
          0,
          0,
          1};
}

// Links are asked which ways across a seam there are from its near pixel i, before components are
// known: straight, and slanted back and ahead along it, as bits 0, 1 and 2. All lanes of a warp
// ask, with pixels side by side; beyond the seam's ends the answer is any.

// Foreground neighbours are linked.
struct ForegroundLinks {
  explicit ForegroundLinks(const Subject&) {}
  // Whether a straight link makes the slanted ones at either side redundant: the far neighbours
  // are linked to each other.
  static constexpr bool straight_suffices = true;
  template <int ways>
  __device__ unsigned across(const Seam&, int) const {
    return (1u << ways) - 1;
  }
};
template <class Links>
struct PictureLinks {
  explicit PictureLinks(const Subject& subject) : links(subject) {}
  static constexpr bool straight_suffices = false;
  template <int ways>
  __device__ unsigned across(const Seam& seam, int i) const {
    const auto color = [&](int along, int step) {
      const int at = min(max(along, 0), seam.length - 1);
      return links.color(seam.x + at * seam.along_x - step * seam.along_y,
                         seam.y + at * seam.along_y - step * seam.along_x);
    };
    const int lane = static_cast<int>(threadIdx.x % 32);
    const uint32_t near = color(i, 0), far = color(i, 1);
    unsigned linked = links(near, far);
    if constexpr (ways == 3) {
      const uint32_t end = lane % 31 == 0 ? color(lane == 0 ? i - 1 : i + 1, 1) : 0;
      const uint32_t back = __shfl_up_sync(kAllLanes, far, 1);
      const uint32_t ahead = __shfl_down_sync(kAllLanes, far, 1);
      linked |= links(near, lane == 0 ? end : back) ? 2u : 0u;
      linked |= links(near, lane == 31 ? end : ahead) ? 4u : 0u;
    }
    return linked;
  }
  Links links;
};

// Leaves out slanted links of pairs that a straight one has, the lane's own or a neighbour's.
__device__ unsigned without_repeats(unsigned linked, uint32_t near, const uint32_t (&far)[3]) {
  const int lane = static_cast<int>(threadIdx.x % 32);
  const uint32_t straight = linked & 1 ? near : kNone;
  const uint32_t back = __shfl_up_sync(kAllLanes, straight, 1);
  const uint32_t ahead = __shfl_down_sync(kAllLanes, straight, 1);
  if ((linked & 1 && far[1] == far[0]) || (lane > 0 && back == near)) linked &= ~2u;
  if ((linked & 1 && far[2] == far[0]) || (lane < 31 && ahead == near)) linked &= ~4u;
  return linked;
}

// Joins a and b where they are linked, unless the lane before has the same pair; a root that is
// lost takes its first pixel out of the regions'. All lanes of the warp call it.
__device__ void join(const Tiles& tiles, bool is_linked, uint32_t a, uint32_t b) {
  constexpr uint64_t kNoPair = ~0ull;
  const uint64_t pair = is_linked && a != b ? static_cast<uint64_t>(a) << 32 | b : kNoPair;
  const uint64_t before = __shfl_up_sync(kAllLanes, pair, 1);
  const bool leads = pair != kNoPair && (threadIdx.x % 32 == 0 || pair != before);
  const uint32_t lost = unite(tiles.parent, a, b, leads);
  const bool is_lost = lost != kNone;
  if (__popc(__ballot_sync(kAllLanes, is_lost)) >= SeamBlock::many) {
    shorten(tiles.parent, is_lost ? lost : a, is_lost, SeamBlock::halvings);
  }
  if (!is_lost) return;
  // Each root is lost once, so every bit is cleared once and every count is exact at the end.
  const uint32_t word = lost >> 5;
  atomicAnd(tiles.firsts + word, ~(1u << (lost & 31)));
  const uint32_t words = static_cast<uint32_t>(tiles.stride / 32);
  const uint32_t row = word / words / static_cast<uint32_t>(tiles.height);
  const uint32_t column = word % words / static_cast<uint32_t>(tiles.width / 32);
  atomicSub(tiles.regions + row * static_cast<uint32_t>(tiles.columns) + column, 1u);
}

// By blocks that have no seam, the first of which is `first`.
__device__ void clear_records(const Records& records, size_t first) {
  constexpr int kWords = sizeof(Region) / sizeof(uint64_t);
  __shared__ uint64_t cleared[kWords];
  if (threadIdx.x == 0) {
    Region region{};
    region.left = INT32_MAX;  // the others only grow
    memcpy(cleared, &region, sizeof region);
  }
  __syncthreads();  // a record is there
  auto* to = reinterpret_cast<uint64_t*>(records.region);
  const size_t block = static_cast<size_t>(blockIdx.y) * gridDim.x + blockIdx.x - first;
  const size_t blocks = static_cast<size_t>(gridDim.y) * gridDim.x - first;
  for (size_t i = block * blockDim.x + threadIdx.x; i < size_t{records.capacity} * kWords;
       i += blocks * blockDim.x) {
    to[i] = cleared[i % kWords];
  }
}

template <class Links, Connectivity connectivity>
__global__ __launch_bounds__(SeamBlock::threads) void join_seams_kernel(Links links, Tiles tiles,
                                                                        Records records,
                                                                        int seams) {
  constexpr int kOffsets[] = {0, -1, 1};  // of ways
  constexpr int kWays = connectivity == Connectivity::eight ? 3 : 1;
  if (static_cast<int>(blockIdx.y) >= seams) {
    wait_then_let_start();
    return clear_records(records, static_cast<size_t>(seams) * gridDim.x);
  }
  const Seam seam = seam_of_block(tiles);
  const int i = static_cast<int>(blockIdx.x) * SeamBlock::threads + static_cast<int>(threadIdx.x);
  unsigned linked = links.template across<kWays>(seam, i);  // the picture is there
  wait_then_let_start();
  // All at once, of places inside: a branch would keep the next one's bytes waiting.
  const int last = seam.length - 1;
  const uint32_t read = seam.near[min(i, last)], near = i <= last ? read : kNone;
  uint32_t far[kWays];
#pragma unroll
  for (int way = 0; way < kWays; ++way) far[way] = seam.far[min(max(i + kOffsets[way], 0), last)];
#pragma unroll
  for (int way = 0; way < kWays; ++way) {
    const int at = i + kOffsets[way];
    const bool exists = near != kNone && far[way] != kNone && at >= 0 && at <= last;
    if (!exists || (way > 0 && Links::straight_suffices && linked & 1)) linked &= ~(1u << way);
  }
  if constexpr (kWays == 3 && !Links::straight_suffices) {
    linked = without_repeats(linked, near, far);
  }
  // Each lane's next way at a time: foreground has two at most, and seldom more than one.
  for (; __any_sync(kAllLanes, linked != 0); linked &= linked - 1) {
    uint32_t other = far[0];
#pragma unroll
    for (int way = 1; way < kWays; ++way) {
      if (!(linked & below(way))) other = far[way];
    }
    join(tiles, linked != 0, near, other);
  }
}

template <class Links, Connectivity connectivity>
void launch_seams(const Subject& subject, const Tiles& tiles, const Records& records,
                  cudaStream_t stream) {
  const int seams = tiles.rows - 1 + tiles.columns - 1;
  const int longest = tiles.size.width > tiles.size.height ? tiles.size.width : tiles.size.height;
  const unsigned across = blocks_for(static_cast<size_t>(longest), SeamBlock::threads);
  const unsigned clear_blocks = std::min(
      blocks_for(size_t{records.capacity}, SeamBlock::cleared_records), SeamBlock::most_clear);
  // Also a single tile, which has no seams, gets a block: the kernels behind read ahead what
  // label_tiles wrote, so that this one must be between.
  const unsigned lines = static_cast<unsigned>(seams) + blocks_for(clear_blocks, across);
  const dim3 grid(across, std::max(lines, 1u));
  launch_chained(join_seams_kernel<Links, connectivity>, grid, SeamBlock::threads, 0, stream,
                 Links(subject), tiles, records, seams);
}

}  // namespace

void join_seams(const Subject& subject, const Tiles& tiles, Connectivity connectivity,
                const Records& records, cudaStream_t stream) {
  with_connectivity(connectivity, [&]<Connectivity c>() {
    if (subject.criterion == Criterion::binary) {
      launch_seams<ForegroundLinks, c>(subject, tiles, records, stream);
    } else if (subject.frame.layout.sample_bytes == 1) {
      launch_seams<PictureLinks<ByteLinks>, c>(subject, tiles, records, stream);
    } else {
      launch_seams<PictureLinks<NumberLinks>, c>(subject, tiles, records, stream);
    }
  });
}

}  // namespace regions::cclabel

// Merges components across the edges between tiles: union-find with atomics on the ids of first
// pixels. Only criteria `equal` and `difference` need to read the image again. The same launch
// clears the records.
#include <cstring>

#include "gpu/cclabel/labelling_passes.hpp"
#include "gpu/primitives/warp.hpp"
#include "gpu/runtime/launch.hpp"

namespace regions::cclabel {
namespace {

struct SeamBlock {
  static constexpr int threads = 128;
  // If a warp links at least `min_links` roots in one step, it halves their paths `halvings` times.
  // In a spiral of 1920x1080 this shortens the longest path from 273 to 19 links, and the merging
  // takes 10 steps (was 17).
  static constexpr int min_links = 12, halvings = 4;
  // Blocks that clear records: one per `records_per_block`, but at most `max_clear_blocks`.
  static constexpr unsigned records_per_block = 64, max_clear_blocks = 512;
};

// A seam is an edge between two rows or columns of tiles. `here` is the line of pixels below or
// right of it, `opposite` the line above or left. (x, y) is the pixel of `here` with index 0.
struct Seam {
  const uint32_t* here;  // [length] component ids, kNone for background
  const uint32_t* opposite;
  int length;
  int x, y;
  int along_x, along_y;  // step along the edge
};

__device__ Seam seam_of_block(const ImageTiles& tiles) {
  const int seam = static_cast<int>(blockIdx.y);
  const size_t stride = static_cast<size_t>(tiles.stride);
  const size_t height = static_cast<size_t>(tiles.size.height);
  if (seam < tiles.tile_rows - 1) {
    const int row = seam + 1;
    return {tiles.top_edge + row * stride,
            tiles.bottom_edge + (row - 1) * stride,
            tiles.size.width,
            0,
            row * tiles.tile_height,
            1,
            0};
  }
  const int column = seam - (tiles.tile_rows - 1) + 1;
  return {tiles.left_edge + column * height,
          tiles.right_edge + (column - 1) * height,
          tiles.size.height,
          column * tiles.tile_width,
          0,
          0,
          1};
}

// linked_directions() returns which directions across the edge are linked for pixel i of `here`,
// before components are known. Bit 0: straight; bit 1: diagonal towards smaller i; bit 2: diagonal
// towards larger i. All lanes of a warp must call it, for adjacent pixels. Bits of pixels beyond
// the ends of the edge are arbitrary.

// Criterion `binary`: neighbours are linked if they are foreground.
struct ForegroundLinks {
  explicit ForegroundLinks(const LabelInput&) {}
  // Whether a straight link makes both diagonal links redundant, because the opposite pixels are
  // linked to each other.
  static constexpr bool straight_implies_diagonal = true;
  template <int directions>
  __device__ unsigned linked_directions(const Seam&, int) const {
    return (1u << directions) - 1;
  }
};
template <class Links>
struct ImageLinks {
  explicit ImageLinks(const LabelInput& input) : links(input) {}
  static constexpr bool straight_implies_diagonal = false;
  template <int directions>
  __device__ unsigned linked_directions(const Seam& seam, int i) const {
    const auto color = [&](int along, int step) {
      const int at = min(max(along, 0), seam.length - 1);
      return links.color(seam.x + at * seam.along_x - step * seam.along_y,
                         seam.y + at * seam.along_y - step * seam.along_x);
    };
    const int lane = static_cast<int>(threadIdx.x % 32);
    const uint32_t here = color(i, 0), opposite = color(i, 1);
    unsigned linked = links(here, opposite);
    if constexpr (directions == 3) {
      const uint32_t end = lane % 31 == 0 ? color(lane == 0 ? i - 1 : i + 1, 1) : 0;
      const uint32_t previous = __shfl_up_sync(kAllLanes, opposite, 1);
      const uint32_t next = __shfl_down_sync(kAllLanes, opposite, 1);
      linked |= links(here, lane == 0 ? end : previous) ? 2u : 0u;
      linked |= links(here, lane == 31 ? end : next) ? 4u : 0u;
    }
    return linked;
  }
  Links links;
};

// Removes a diagonal link if a straight link connects the same pair of components: this lane's, or
// that of a neighbouring lane.
__device__ unsigned without_repeats(unsigned linked, uint32_t here, const uint32_t (&opposite)[3]) {
  const int lane = static_cast<int>(threadIdx.x % 32);
  const uint32_t straight = linked & 1 ? here : kNone;
  const uint32_t previous = __shfl_up_sync(kAllLanes, straight, 1);
  const uint32_t next = __shfl_down_sync(kAllLanes, straight, 1);
  if ((linked & 1 && opposite[1] == opposite[0]) || (lane > 0 && previous == here)) linked &= ~2u;
  if ((linked & 1 && opposite[2] == opposite[0]) || (lane < 31 && next == here)) linked &= ~4u;
  return linked;
}

// Merges the components a and b if they are linked, unless the previous lane has the same pair. A
// root that becomes a child is no longer a region: its bit is cleared. All lanes of the warp must
// call it.
__device__ void merge(const ImageTiles& tiles, bool is_linked, uint32_t a, uint32_t b) {
  constexpr uint64_t kNoPair = ~0ull;
  const uint64_t pair = is_linked && a != b ? static_cast<uint64_t>(a) << 32 | b : kNoPair;
  const uint64_t before = __shfl_up_sync(kAllLanes, pair, 1);
  const bool is_first_of_pair = pair != kNoPair && (threadIdx.x % 32 == 0 || pair != before);
  const uint32_t former_root = unite(tiles.parent, a, b, is_first_of_pair);
  const bool was_root = former_root != kNone;
  if (__popc(__ballot_sync(kAllLanes, was_root)) >= SeamBlock::min_links) {
    halve_paths(tiles.parent, was_root ? former_root : a, was_root, SeamBlock::halvings);
  }
  if (!was_root) return;
  // Each root is lost only once. So each bit is cleared once, and the counts are exact at the
  // end.
  const uint32_t word = former_root >> 5;
  atomicAnd(tiles.region_bits + word, ~(1u << (former_root & 31)));
  const uint32_t words = static_cast<uint32_t>(tiles.stride / 32);
  const uint32_t row = word / words / static_cast<uint32_t>(tiles.tile_height);
  const uint32_t column = word % words / static_cast<uint32_t>(tiles.tile_width / 32);
  atomicSub(tiles.region_count + row * static_cast<uint32_t>(tiles.tile_columns) + column, 1u);
}

// For blocks without an edge; `first` is the index of the first such block.
__device__ void clear_records(const Records& records, size_t first) {
  constexpr int kWords = sizeof(Region) / sizeof(uint64_t);
  __shared__ uint64_t initial[kWords];
  if (threadIdx.x == 0) {
    Region region{};
    region.left = INT32_MAX;  // minimum; the other members are sums and maxima
    memcpy(initial, &region, sizeof region);
  }
  __syncthreads();  // the initial record is complete
  auto* to = reinterpret_cast<uint64_t*>(records.region);
  const size_t block = static_cast<size_t>(blockIdx.y) * gridDim.x + blockIdx.x - first;
  const size_t blocks = static_cast<size_t>(gridDim.y) * gridDim.x - first;
  for (size_t i = block * blockDim.x + threadIdx.x; i < size_t{records.capacity} * kWords;
       i += blocks * blockDim.x) {
    to[i] = initial[i % kWords];
  }
}

template <class Links, Connectivity connectivity>
__global__ __launch_bounds__(SeamBlock::threads) void merge_tiles_kernel(Links links,
                                                                         ImageTiles tiles,
                                                                         Records records,
                                                                         int seams) {
  constexpr int kOffsets[] = {0, -1, 1};  // by direction
  constexpr int kDirections = connectivity == Connectivity::eight ? 3 : 1;
  if (static_cast<int>(blockIdx.y) >= seams) {
    pdl_wait_and_trigger();
    return clear_records(records, static_cast<size_t>(seams) * gridDim.x);
  }
  const Seam seam = seam_of_block(tiles);
  const int i = static_cast<int>(blockIdx.x) * SeamBlock::threads + static_cast<int>(threadIdx.x);
  // the image is complete; label_tiles() may still run
  unsigned linked = links.template linked_directions<kDirections>(seam, i);
  pdl_wait_and_trigger();
  // All loads at once, with indices inside the edge: a branch would delay the next load.
  const int last = seam.length - 1;
  const uint32_t read = seam.here[min(i, last)], here = i <= last ? read : kNone;
  uint32_t opposite[kDirections];
#pragma unroll
  for (int direction = 0; direction < kDirections; ++direction)
    opposite[direction] = seam.opposite[min(max(i + kOffsets[direction], 0), last)];
#pragma unroll
  for (int direction = 0; direction < kDirections; ++direction) {
    const int at = i + kOffsets[direction];
    const bool exists = here != kNone && opposite[direction] != kNone && at >= 0 && at <= last;
    if (!exists || (direction > 0 && Links::straight_implies_diagonal && linked & 1))
      linked &= ~(1u << direction);
  }
  if constexpr (kDirections == 3 && !Links::straight_implies_diagonal) {
    linked = without_repeats(linked, here, opposite);
  }
  // One direction per lane and step. Foreground has at most two linked directions, usually one.
  for (; __any_sync(kAllLanes, linked != 0); linked &= linked - 1) {
    uint32_t neighbour = opposite[0];
#pragma unroll
    for (int direction = 1; direction < kDirections; ++direction) {
      if (!(linked & bits_below(direction))) neighbour = opposite[direction];
    }
    merge(tiles, linked != 0, here, neighbour);
  }
}

template <class Links, Connectivity connectivity>
void launch_merge(const LabelInput& input, const ImageTiles& tiles, const Records& records,
                  cudaStream_t stream) {
  const int seams = tiles.tile_rows - 1 + tiles.tile_columns - 1;
  const int longest_seam =
      tiles.size.width > tiles.size.height ? tiles.size.width : tiles.size.height;
  const unsigned blocks_per_seam =
      blocks_for(static_cast<size_t>(longest_seam), SeamBlock::threads);
  const unsigned clear_blocks =
      std::min(blocks_for(size_t{records.capacity}, SeamBlock::records_per_block),
               SeamBlock::max_clear_blocks);
  // Even a single tile, which has no edges, gets a block. Later kernels read the results of
  // label_tiles() before they wait, so this kernel must be between label_tiles() and them.
  const unsigned block_rows =
      static_cast<unsigned>(seams) + blocks_for(clear_blocks, blocks_per_seam);
  const dim3 grid(blocks_per_seam, std::max(block_rows, 1u));
  launch_pdl(merge_tiles_kernel<Links, connectivity>, grid, SeamBlock::threads, 0, stream,
             Links(input), tiles, records, seams);
}

}  // namespace

void merge_tiles(const LabelInput& input, const ImageTiles& tiles, Connectivity connectivity,
                 const Records& records, cudaStream_t stream) {
  with_connectivity(connectivity, [&]<Connectivity c>() {
    if (input.criterion == Criterion::binary) {
      launch_merge<ForegroundLinks, c>(input, tiles, records, stream);
    } else if (input.frame.layout.sample_bytes == 1) {
      launch_merge<ImageLinks<ByteLinks>, c>(input, tiles, records, stream);
    } else {
      launch_merge<ImageLinks<NumberLinks>, c>(input, tiles, records, stream);
    }
  });
}

}  // namespace regions::cclabel

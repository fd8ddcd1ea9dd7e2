// Pass 2 for images: merges components that touch across tile edges into regions, by union-find
// with atomics on component ids. Reads the image again for criterion=equal and
// criterion=difference. The same kernel clears the records.
#include <cstring>

#include "gpu/cclabel/labelling_passes.hpp"
#include "gpu/primitives/warp.hpp"
#include "gpu/runtime/launch.hpp"

namespace regions::cclabel {
namespace {

// Block shape of merge_tiles_kernel(), in which each thread has one pixel of a seam.
struct SeamBlock {
  static constexpr int threads = 128;
  // If a warp gives at least `min_links` roots a new parent in one step, it halves their paths
  // `halvings` times. In an image of a spiral with 1920x1080 pixels, the longest path then has 19
  // links (was 273) and merging takes 10 steps (was 17).
  static constexpr int min_links = 12, halvings = 4;
  // The number of blocks that clear records is one per `records_per_block` records, but at most
  // `max_clear_blocks`.
  static constexpr unsigned records_per_block = 64, max_clear_blocks = 512;
};

// A seam is the border between two adjacent rows of tiles, or between two adjacent columns of
// tiles. `here` is the line of pixels below or right of the seam. `opposite` is the line of pixels
// above or left of the seam. (x, y) is the first pixel of `here`.
struct Seam {
  const uint32_t* here;      // [length] component ids, kNone for background
  const uint32_t* opposite;  // [length] component ids of the opposite pixels
  int length;                // pixels
  int x, y;
  int along_x, along_y;  // (1, 0) or (0, 1): step from one pixel of the seam to the next
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

// Classes that find links across a seam. linked_directions() returns the opposite pixels to which
// pixel i of `here` is linked. Bit 0: opposite pixel i; bit 1: pixel i - 1; bit 2: pixel i + 1. All
// lanes of a warp must call this function for consecutive i. Bits for pixels beyond the ends of the
// seam are arbitrary.

// Links for criterion=binary. Neighbours are linked if both are foreground, which the kernel checks
// by their component ids.
struct ForegroundLinks {
  explicit ForegroundLinks(const LabelInput&) {}
  // Whether a link to opposite pixel i makes the links to i - 1 and i + 1 redundant. True for
  // foreground, because adjacent foreground pixels are linked to each other.
  static constexpr bool straight_implies_diagonal = true;
  template <int directions>
  __device__ unsigned linked_directions(const Seam&, int) const {
    return (1u << directions) - 1;
  }
};
// Links for criterion=equal and criterion=difference, which compare pixels of the image.
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

// Removes a diagonal link if a straight link of this lane or of a neighbouring lane connects the
// same two components. `here` and `opposite` are component ids.
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
// root that gets a parent no longer represents a region, so its bit in region_starts is cleared.
// All lanes of the warp must call this function.
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
  // A root gets a parent only once. Each bit is therefore cleared once and each count is exact at
  // the end, in any order of the atomics.
  const uint32_t word = former_root >> 5;
  atomicAnd(tiles.region_starts + word, ~(1u << (former_root & 31)));
  const uint32_t words = static_cast<uint32_t>(tiles.stride / 32);
  const uint32_t row = word / words / static_cast<uint32_t>(tiles.tile_height);
  const uint32_t column = word % words / static_cast<uint32_t>(tiles.tile_width / 32);
  atomicSub(tiles.region_count + row * static_cast<uint32_t>(tiles.tile_columns) + column, 1u);
}

// Initializes all records. Called by the blocks that have no seam; `first` is the index of the
// first such block.
__device__ void clear_records(const Records& records, size_t first) {
  constexpr int kWords = sizeof(Region) / sizeof(uint64_t);
  __shared__ uint64_t initial[kWords];
  if (threadIdx.x == 0) {
    Region region{};
    // A minimum starts at the greatest value. All other members start at 0.
    region.left = INT32_MAX;
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
  constexpr int kOffsets[] = {0, -1, 1};  // offset of the opposite pixel, by direction
  constexpr int kDirections = connectivity == Connectivity::eight ? 3 : 1;
  if (static_cast<int>(blockIdx.y) >= seams) {
    pdl_wait_and_trigger();
    return clear_records(records, static_cast<size_t>(seams) * gridDim.x);
  }
  const Seam seam = seam_of_block(tiles);
  const int i = static_cast<int>(blockIdx.x) * SeamBlock::threads + static_cast<int>(threadIdx.x);
  // Only reads the image, so it may run before label_tiles() has finished.
  unsigned linked = links.template linked_directions<kDirections>(seam, i);
  pdl_wait_and_trigger();
  // All component ids are loaded at once, with indices clamped to the seam: a branch would delay
  // the next load.
  const int last = seam.length - 1;
  const uint32_t loaded_id = seam.here[min(i, last)], here = i <= last ? loaded_id : kNone;
  uint32_t opposite[kDirections];
#pragma unroll
  for (int direction = 0; direction < kDirections; ++direction)
    opposite[direction] = seam.opposite[min(max(i + kOffsets[direction], 0), last)];
#pragma unroll
  for (int direction = 0; direction < kDirections; ++direction) {
    const int opposite_index = i + kOffsets[direction];
    const bool exists = here != kNone && opposite[direction] != kNone && opposite_index >= 0 &&
                        opposite_index <= last;
    if (!exists || (direction > 0 && Links::straight_implies_diagonal && linked & 1))
      linked &= ~(1u << direction);
  }
  if constexpr (kDirections == 3 && !Links::straight_implies_diagonal) {
    linked = without_repeats(linked, here, opposite);
  }
  // Each lane merges one direction per step. With criterion=binary, a lane has at most two linked
  // directions, usually one.
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
  // This kernel is launched even for a single tile, which has no seams. Later kernels read the
  // results of label_tiles() before they call pdl_wait(). This is safe only if another kernel ran
  // in between and waited for label_tiles().
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

// Counts how many pixels each region shares with each of the last frame, and leaves this frame's
// labels for the next. Pairs are summed a tile at a time in shared memory.
#include "gpu/cclabel/phases.hpp"
#include "gpu/cclabel/tuning.hpp"
#include "gpu/tracking/tile_pairs.hpp"

namespace regions::cclabel {
namespace {

template <class T>
struct TileShares {
  TilePairs pairs;
  uint16_t of_component[T::runs];
  uint16_t of_run[T::runs];
};

// Labels of 32 pixels, two in a number.
struct WordLabels {
  uint32_t two[16];

  __device__ void load(const uint16_t* from) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const uint4 eight = reinterpret_cast<const uint4*>(from)[i];
      two[4 * i] = eight.x;
      two[4 * i + 1] = eight.y;
      two[4 * i + 2] = eight.z;
      two[4 * i + 3] = eight.w;
    }
  }
  __device__ void store(uint16_t* to) const {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      reinterpret_cast<uint4*>(to)[i] =
          make_uint4(two[4 * i], two[4 * i + 1], two[4 * i + 2], two[4 * i + 3]);
    }
  }
  __device__ void fill(uint32_t label) {
#pragma unroll
    for (uint32_t& pair : two) pair = label << 16 | label;
  }
  __device__ bool is_filled() const {
    uint32_t differs = two[0] >> 16 ^ (two[0] & 0xffff);
#pragma unroll
    for (const uint32_t pair : two) differs |= pair ^ two[0];
    return differs == 0;
  }
};

// Adds up a word with background, or more than one region now or before.
__device__ void share_mixed(const uint16_t* of_run, TilePairs& pairs, const PairTable& picture,
                            uint32_t foreground, uint32_t starts, int rank, WordLabels& labels) {
  int run = rank - 1;
  uint32_t now = foreground & ~starts & 1 ? of_run[run] : 0;
  uint32_t last = 0, length = 0;
#pragma unroll
  for (int p = 0; p < 32; ++p) {
    if (starts >> p & 1) now = of_run[++run];
    const uint32_t label = foreground >> p & 1 ? now : 0;
    uint32_t& two = labels.two[p / 2];
    const int shift = p % 2 * 16;
    const uint32_t before = two >> shift & 0xffff;
    two = (two & ~(0xffffu << shift)) | label << shift;
    const uint32_t pair = before && label ? before << 16 | label : 0;
    if (pair != last) {
      if (last) pairs.add(last, length, picture);
      last = pair;
      length = 0;
    }
    ++length;
  }
  if (last) pairs.add(last, length, picture);
}

template <class T>
__global__ __launch_bounds__(T::all_words) void share_kernel(Tiles tiles, PairTable pairs,
                                                             Image<uint16_t> map,
                                                             uint32_t capacity) {
  __shared__ TileShares<T> s;
  const TilePlace place = place_of_block(tiles);
  const TileCount count = tiles.count[place.tile];
  const int me = static_cast<int>(threadIdx.x);
  s.pairs.clear();
  for (int c = me; c < count.components; c += T::all_words) {
    const uint32_t root = root_of_component(tiles, place, c, count.border);
    const uint32_t label = label_of_root(tiles, root);
    s.of_component[c] = static_cast<uint16_t>(label <= capacity ? label : 0);
  }
  __syncthreads();  // components' labels are there
  const uint16_t* component = tiles.component + static_cast<size_t>(place.tile) * T::runs;
  for (int r = me; r < count.runs; r += T::all_words) s.of_run[r] = s.of_component[component[r]];
  __syncthreads();  // runs' labels are there, the pairs are clear
  const int y = place.y + me / T::words;
  if (y < tiles.size.height) {
    uint16_t* at = map.row(y) + place.x + me % T::words * 32;
    const size_t word = static_cast<size_t>(place.tile) * T::all_words + me;
    const uint32_t foreground = tiles.foreground[word];
    WordLabels labels;
    labels.fill(0);
    if (foreground) {
      labels.load(at);
      const uint32_t starts = tiles.starts[word];
      const int rank = tiles.rank[word];
      if (foreground == 0xffffffffu && (starts & ~1u) == 0 && labels.is_filled()) {
        const uint32_t before = labels.two[0] >> 16;
        const uint32_t now = s.of_run[starts ? rank : rank - 1];
        if (before && now) s.pairs.add(before << 16 | now, 32, pairs);
        labels.fill(now);
      } else {
        share_mixed(s.of_run, s.pairs, pairs, foreground, starts, rank, labels);
      }
    }
    labels.store(at);
  }
  __syncthreads();  // the tile's sums are complete
  s.pairs.flush(pairs);
}

}  // namespace

void share_pixels(const Tiles& tiles, const TrackMemory& memory, uint32_t capacity,
                  cudaStream_t stream) {
  const dim3 grid(static_cast<unsigned>(tiles.columns), static_cast<unsigned>(tiles.rows));
  if (tiles.width == BinaryTile::width) {
    launch(share_kernel<BinaryTile>, grid, BinaryTile::all_words, 0, stream, tiles, memory.pairs,
           memory.labels, capacity);
  } else {
    launch(share_kernel<LinkedTile>, grid, LinkedTile::all_words, 0, stream, tiles, memory.pairs,
           memory.labels, capacity);
  }
}

}  // namespace regions::cclabel

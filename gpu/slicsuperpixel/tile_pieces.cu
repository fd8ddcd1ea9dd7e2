// Components of touching pixels with the same code, tile by tile, and their areas and colours.
#include "gpu/slicsuperpixel/phases.hpp"
#include "gpu/slicsuperpixel/tile_runs.hpp"

namespace regions::slic {
namespace {

using cclabel::kAllLanes;
using T = PieceTile;

// Numbers the components, in no particular order, and makes them known. Ends with a barrier.
__device__ void number_components(Forest& s, const Pieces& pieces, const TileOfBlock& tile) {
  for_each_run(s, [&](int run, bool exists) {
    const bool is_root = exists && s.is_root(run);
    const unsigned roots = __ballot_sync(kAllLanes, is_root);
    if (roots == 0) return;
    const unsigned lane = threadIdx.x % 32;
    uint32_t first = 0;
    if (lane == 0) first = atomicAdd(&s.count, static_cast<uint32_t>(__popc(roots)));
    first = __shfl_sync(kAllLanes, first, 0);
    if (!is_root) return;
    const uint32_t number =
        first + static_cast<uint32_t>(__popc(roots & cclabel::below(static_cast<int>(lane))));
    s.parent[run] |= number << 16;
    const uint32_t id = tile.id(pieces, number);
    pieces.parent[id] = id;
    pieces.first[id] =
        pieces.pixel_at(tile.left + s.place[run] % T::width, tile.top + s.place[run] / T::width);
    pieces.choice[0][id] = pieces.choice[1][id] = kNoChoice;
    // Those beyond what shared memory sums are summed where they will stand.
    if (number >= T::measured) pieces.piece[id] = {};
  });
  __syncthreads();  // roots are numbered
  for_each_run(s, [&](int run, bool exists) {
    if (exists && !s.is_root(run)) s.parent[run] |= s.parent[s.parent[run]] & 0xffff0000u;
  });
  if (threadIdx.x == 0) pieces.count[tile.tile] = s.count;
  __syncthreads();  // all runs have numbers
}

// What a thread has of one component.
struct Share {
  uint32_t area = 0;
  uint32_t even = 0, odd = 0;  // colours 0 and 2, 16 bits each; colour 1

  __device__ void add(uint32_t color) {
    ++area;
    even += color & 0x00ff00ffu;
    odd += color >> 8 & 0xffu;
  }
};
static_assert(kSegment * 255 < 1 << 16 && T::pixels * 255 < 1 << 20 && T::pixels == 1 << 12);

__device__ void give(Forest& s, const Pieces& pieces, const TileOfBlock& tile, int number,
                     const Share& share) {
  const uint32_t first = share.even & 0xffff, third = share.even >> 16;
  if (number >= T::measured) {
    return pieces.give(tile.id(pieces, static_cast<uint32_t>(number)),
                       {share.area, {first, share.odd, third}});
  }
  atomicAdd(&s.sums[0][number], share.area << 20 | share.odd);
  atomicAdd(&s.sums[1][number], first);
  atomicAdd(&s.sums[2][number], third);
}

// Writes each pixel's component, and sums over runs.
__device__ void measure(Forest& s, const Segment& segment, Image<const uint32_t> colors,
                        const Pieces& pieces, const TileOfBlock& tile) {
  if (segment.count == 0) return;
  // Rows of colours are as long as whole segments.
  uint32_t color[kSegment];
  const auto* const from = reinterpret_cast<const uint4*>(colors.row(segment.y) + segment.x);
#pragma unroll
  for (int j = 0; j < kSegment / 4; ++j) {
    const uint4 four = from[j];
    color[4 * j] = four.x, color[4 * j + 1] = four.y, color[4 * j + 2] = four.z;
    color[4 * j + 3] = four.w;
  }
  int run = s.run_at(static_cast<int>(threadIdx.x), 0);
  int number = s.number(run);
  Share share;
  uint32_t numbers[kSegment / 2] = {};
#pragma unroll
  for (int k = 0; k < kSegment; ++k) {
    if (k > 0 && (segment.starts >> k & 1)) {
      give(s, pieces, tile, number, share);
      share = {};
      number = s.number(++run);
    }
    if (k < segment.count) share.add(color[k]);
    numbers[k / 2] |= static_cast<uint32_t>(number) << 16 * (k % 2);
  }
  give(s, pieces, tile, number, share);
  auto* const to =
      reinterpret_cast<uint4*>(pieces.component + pieces.pixel_at(segment.x, segment.y));
#pragma unroll
  for (int j = 0; j < kSegment / 8; ++j) {
    to[j] = {numbers[4 * j], numbers[4 * j + 1], numbers[4 * j + 2], numbers[4 * j + 3]};
  }
}

__device__ void publish(const Forest& s, const Pieces& pieces, const TileOfBlock& tile) {
  for_each_run(s, [&](int run, bool exists) {
    if (!exists || !s.is_root(run)) return;
    const int number = s.number(run);
    if (number >= T::measured) return;
    const uint32_t id = tile.id(pieces, static_cast<uint32_t>(number));
    const uint32_t second = s.sums[0][number] & ((1u << 20) - 1), area = s.sums[0][number] >> 20;
    // Only a whole tile has an area that does not fit.
    pieces.piece[id] = {area ? area : T::pixels, {s.sums[1][number], second, s.sums[2][number]}};
  });
}

// What the tiles around need to know.
__device__ void publish_edges(const Forest& s, const Pieces& pieces, const TileOfBlock& tile) {
  const int t = static_cast<int>(threadIdx.x);
  static_assert(T::threads == TileEdge::kSides * T::width && T::width == T::rows);
  const TileEdge edge(pieces, tile.column, tile.row, t / T::width, t % T::width);
  if (!edge.exists) return;
  const int run = s.run_at(edge.y * kSegments + edge.x / kSegment, edge.x % kSegment);
  *edge.own = tile.id(pieces, static_cast<uint32_t>(s.number(run)));
}

// What later phases add to.
__device__ void clear_counts(const Pieces& pieces, const TileOfBlock& tile) {
  const int t = static_cast<int>(threadIdx.x);
  const int words = pieces.stride / 32;
  for (int w = t; w < T::pixels / 32; w += T::threads) {
    const int y = tile.top + w / (T::width / 32);
    if (y >= pieces.size.height) continue;
    pieces.firsts[static_cast<size_t>(y) * words + tile.left / 32 + w % (T::width / 32)] = 0;
  }
  if (t == 0 && tile.column == 0) pieces.row_firsts[tile.row] = 0;
}

__global__ __launch_bounds__(T::threads) void find_components_kernel(Image<const uint8_t> codes,
                                                                     Image<const uint32_t> colors,
                                                                     Pieces pieces) {
  __shared__ Forest s;
  for (int i = static_cast<int>(threadIdx.x); i < 3 * T::measured; i += T::threads) {
    s.sums[i / T::measured][i % T::measured] = 0;
  }
  if (threadIdx.x == 0) s.count = 0;
  const TileOfBlock tile(pieces);
  const Segment segment(codes, tile.left, tile.top);
  clear_counts(pieces, tile);
  find_runs(s, segment);
  const uint32_t contacts = link_runs(s, segment);
  __syncthreads();  // all runs have parents
  flatten(s);
  __syncthreads();  // trees are flat before they are united
  unite_runs(s, contacts);
  __syncthreads();  // no tree is united with another after this
  flatten(s);
  __syncthreads();  // trees are flat
  number_components(s, pieces, tile);
  publish_edges(s, pieces, tile);
  measure(s, segment, colors, pieces, tile);
  __syncthreads();  // sums are complete
  publish(s, pieces, tile);
}

}  // namespace

void find_components(Image<const uint8_t> codes, const Clusters& clusters, const Pieces& pieces,
                     cudaStream_t stream) {
  launch(find_components_kernel, tile_grid(pieces), T::threads, 0, stream, codes, clusters.colors,
         pieces);
}

}  // namespace regions::slic

// Components of touching pixels with the same code, tile by tile, with their areas and colours, and
// joined across the edges of tiles.
#include "gpu/primitives/bits.hpp"
#include "gpu/primitives/warp.hpp"
#include "gpu/slicsuperpixel/tile_codes.hpp"
#include "gpu/slicsuperpixel/tile_seams.hpp"

namespace regions::slic {
namespace {

using T = PieceTile;

// Numbers the roots, in no particular order, and makes their components known.
__device__ void number_roots(Forest& s, const Pieces& pieces, const TileOfBlock& tile) {
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
        first + static_cast<uint32_t>(__popc(roots & below(static_cast<int>(lane))));
    s.parent[run] |= number << 16;
    const uint32_t id = tile.id(pieces, number);
    pieces.parent[id] = id;
    pieces.first[id] =
        pieces.pixel_at(tile.left + s.place[run] % T::width, tile.top + s.place[run] / T::width);
    pieces.choice[0][id] = pieces.choice[1][id] = kNoChoice;
    // Those beyond what shared memory sums are summed where they will stand.
    if (number >= T::measured) pieces.piece[id] = {};
  });
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

// `all_measured`: no component is beyond what shared memory sums.
template <bool all_measured>
__device__ void give(Forest& s, const Pieces& pieces, const TileOfBlock& tile, int number,
                     const Share& share) {
  const uint32_t first = share.even & 0xffff, third = share.even >> 16;
  if (!all_measured && number >= T::measured) {
    return pieces.give(tile.id(pieces, static_cast<uint32_t>(number)),
                       {share.area, {first, share.odd, third}});
  }
  atomicAdd(&s.sums[0][number], share.area << 20 | share.odd);
  atomicAdd(&s.sums[1][number], first);
  atomicAdd(&s.sums[2][number], third);
}

// Writes each pixel's component, and sums over runs. A warp's segments lie rows apart, mostly in
// different components, so that lanes do not add to the same sums.
template <bool all_measured>
__device__ void measure(Forest& s, Image<const uint32_t> colors, const Pieces& pieces,
                        const TileOfBlock& tile) {
  constexpr int kWarps = T::threads / 32;
  const int warp = static_cast<int>(threadIdx.x / 32), lane = static_cast<int>(threadIdx.x % 32);
  const int own = (lane / kSegments * kWarps + warp) * kSegments + lane % kSegments;
  const SegmentPlace place(pieces.size, tile.left, tile.top, own);
  if (place.count == 0) return;
  // Rows of colours are as long as whole segments.
  uint32_t color[kSegment];
  const auto* const from = reinterpret_cast<const uint4*>(colors.row(place.y) + place.x);
#pragma unroll
  for (int j = 0; j < kSegment / 4; ++j) {
    const uint4 four = from[j];
    color[4 * j] = four.x, color[4 * j + 1] = four.y, color[4 * j + 2] = four.z;
    color[4 * j + 3] = four.w;
  }
  const uint32_t starts = s.starts[own];
  int run = s.run_at(own, 0);
  int number = s.number(run);
  Share share;
  uint32_t numbers[kSegment / 2] = {};
#pragma unroll
  for (int k = 0; k < kSegment; ++k) {
    if (k > 0 && (starts >> k & 1)) {
      give<all_measured>(s, pieces, tile, number, share);
      share = {};
      number = s.number(++run);
    }
    if (k < place.count) share.add(color[k]);
    numbers[k / 2] |= static_cast<uint32_t>(number) << 16 * (k % 2);
  }
  give<all_measured>(s, pieces, tile, number, share);
  auto* const to = reinterpret_cast<uint4*>(pieces.component + pieces.pixel_at(place.x, place.y));
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

// What later phases add to.
__device__ void clear_counts(const Pieces& pieces, const TileOfBlock& tile) {
  const int t = static_cast<int>(threadIdx.x);
  const int words = pieces.stride / 32;
  for (int w = t; w < T::pixels / 32; w += T::threads) {
    const int y = tile.top + w / (T::width / 32);
    if (y >= pieces.size.height) continue;
    pieces.firsts[static_cast<size_t>(y) * words + tile.left / 32 + w % (T::width / 32)] = 0;
  }
  const int y = tile.top + t;
  if (t >= T::rows || y >= pieces.size.height) return;
  auto* const counts = reinterpret_cast<uint8_t*>(pieces.tile_firsts);
  counts[static_cast<size_t>(y) * pieces.firsts_pitch() + tile.column] = 0;
  if (tile.column == 0) pieces.row_firsts[y] = 0;
}

template <class Source>
__global__ __launch_bounds__(T::threads,
                             4) void find_components_kernel(Source source,
                                                            Image<const uint32_t> colors,
                                                            Pieces pieces) {
  __shared__ Forest s;
  __shared__ typename Source::Shared shared;
  __shared__ bool is_second[TileEdge::kSides];  // at this side
  for (int i = static_cast<int>(threadIdx.x); i < 3 * T::measured; i += T::threads) {
    s.sums[i / T::measured][i % T::measured] = 0;
  }
  if (threadIdx.x == 0) s.count = 0;
  const TileOfBlock tile(pieces);
  source.fetch(shared, s, tile);
  const Segment segment(
      s, SegmentPlace(pieces.size, tile.left, tile.top, static_cast<int>(threadIdx.x)));
  clear_counts(pieces, tile);
  find_runs(s, segment);
  const uint32_t contacts = link_runs(s, segment);
  __syncthreads();  // all runs have parents
  flatten(s);
  __syncthreads();  // trees are flat before they are united
  unite_runs(s, contacts);
  __syncthreads();  // no tree is united with another after this
  number_roots(s, pieces, tile);
  __syncthreads();  // roots are numbered
  if (threadIdx.x == 0) pieces.count[tile.tile] = s.count;
  flatten(s);
  __syncthreads();  // trees are flat, and all runs have numbers
  const Contact contact(s, source.codes, pieces, tile);
  __syncthreads();  // what this tile says of itself is written
  const bool second = arrive(pieces, tile);
  if (threadIdx.x < TileEdge::kSides) is_second[threadIdx.x] = second;
  if (s.count <= T::measured) {
    measure<true>(s, colors, pieces, tile);
  } else {
    measure<false>(s, colors, pieces, tile);
  }
  __syncthreads();  // sums are complete, and all know where to join
  publish(s, pieces, tile);
  join_seam(pieces, contact, is_second[threadIdx.x / T::width]);
}

}  // namespace

void find_components(Image<const uint8_t> codes, const Clusters& clusters, const Pieces& pieces,
                     cudaStream_t stream) {
  launch(find_components_kernel<WrittenCodes>, tile_grid(pieces), T::threads, 0, stream,
         WrittenCodes{codes}, clusters.colors, pieces);
}

void assign_last(const Clusters& clusters, int iterations, Image<uint8_t> codes,
                 const Pieces& pieces, cudaStream_t stream) {
  if (!clusters.reach[0] && clusters.grid.width == clusters.grid.height) {
    const auto go = [&]<class Shape>(Shape) {
      launch_chained(find_components_kernel<AssignedCodes<Shape>>, tile_grid(pieces), T::threads, 0,
                     stream, AssignedCodes<Shape>{clusters, iterations, codes, pieces.counts},
                     clusters.colors, pieces);
    };
    if (clusters.grid.width == Cells16::side) return go(Cells16());
    if (clusters.grid.width == Cells32::side) return go(Cells32());
  }
  write_codes(clusters, iterations, codes, pieces.counts, stream);
  find_components(codes, clusters, pieces, stream);
}

}  // namespace regions::slic

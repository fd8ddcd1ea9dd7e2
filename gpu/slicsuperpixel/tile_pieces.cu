// Components of touching pixels with the same code, tile by tile, and their areas and colours.
#include "gpu/slicsuperpixel/phases.hpp"
#include "gpu/slicsuperpixel/tile_runs.hpp"

namespace regions::slic {
namespace {

using cclabel::kAllLanes;
using cclabel::warp_sum;
using T = PieceTile;

constexpr int kNobody = -1;  // no number of a component

// Numbers the components, in no particular order. Ends with a barrier.
__device__ void number_components(Forest& s, uint16_t* place) {
  for_each_run(s, [&](int run) {
    if (!s.is_root(run)) return;
    const uint32_t number = atomicAdd(&s.count, 1u);
    s.parent[run] |= number << 16;
    place[number] = static_cast<uint16_t>(run);
  });
  __syncthreads();  // roots are numbered
  for_each_run(s, [&](int run) {
    if (!s.is_root(run)) s.parent[run] |= s.parent[s.parent[run]] & 0xffff0000u;
  });
  __syncthreads();  // all runs have numbers
}

// What a thread has of one component.
struct Share {
  uint32_t area, even, odd;  // components 0 and 2, 16 bits each; component 1

  __device__ void add(uint32_t color) {
    ++area;
    even += color & 0x00ff00ffu;
    odd += color >> 8 & 0xffu;
  }
};
static_assert(T::strip_rows * 255 < 1 << 16);

__device__ void give(Forest& s, const Pieces& pieces, const TileOfBlock& tile, int number,
                     const Piece& share) {
  if (number >= T::measured) {
    return pieces.give(tile.id(pieces, static_cast<uint32_t>(number)), share);
  }
  atomicAdd(&s.sums[0][number], share.area);
  for (int c = 0; c < 3; ++c) atomicAdd(&s.sums[c + 1][number], share.color[c]);
}
__device__ Piece piece_of(const Share& share) {
  return {share.area, {share.even & 0xffff, share.odd, share.even >> 16}};
}

// Writes each pixel's component, and sums down the columns of the strip.
__device__ void measure_strip(Forest& s, const TileStrip& strip, Image<const uint32_t> colors,
                              const Pieces& pieces, const TileOfBlock& tile) {
  Share share = {};
  int current = kNobody;
#pragma unroll
  for (int top = 0; top < T::strip_rows; top += T::batch) {
    uint32_t color[T::batch];
#pragma unroll
    for (int k = 0; k < T::batch; ++k) {
      const int y = strip.y(top + k);
      color[k] = strip.inside && y < colors.height ? colors(strip.x(), y) : 0;
    }
#pragma unroll
    for (int k = 0; k < T::batch; ++k) {
      const int y = strip.y(top + k);
      if (!strip.inside || y >= colors.height) continue;
      const int column = strip.column + strip.lane;
      const int segment = (strip.row + top + k) * (T::width / kSegment) + column / kSegment;
      const int number = s.number(s.run_at(segment, column % kSegment));
      pieces.component[pieces.pixel_at(strip.x(), y)] = static_cast<uint16_t>(number);
      if (number != current) {
        if (current != kNobody) give(s, pieces, tile, current, piece_of(share));
        share = {};
        current = number;
      }
      share.add(color[k]);
    }
  }
  // Side by side the last ones are mostly the same: joined, they wait less for each other.
  unsigned left = __ballot_sync(kAllLanes, current != kNobody);
  for (int round = 0; round < T::joined && left != 0; ++round) {
    const int leader = __ffs(static_cast<int>(left)) - 1;
    const int number = __shfl_sync(kAllLanes, current, leader);
    const bool same = current == number;
    static_assert(32 * T::strip_rows < 1 << 10);
    const uint32_t area_first = warp_sum(same ? share.area | (share.even & 0xffff) << 10 : 0);
    const uint32_t second = warp_sum(same ? share.odd : 0);
    const uint32_t third = warp_sum(same ? share.even >> 16 : 0);
    const unsigned all = __ballot_sync(kAllLanes, same);
    if (strip.lane == leader) {
      give(s, pieces, tile, number, {area_first & 1023, {area_first >> 10, second, third}});
    }
    left &= ~all;
  }
  if (left >> strip.lane & 1) give(s, pieces, tile, current, piece_of(share));
}

// Calls visit(id, number) for this thread's components.
template <class Visit>
__device__ void for_each_component(const Forest& s, const TileStrip& strip, const Pieces& pieces,
                                   Visit visit) {
  for_each_run(s, [&](int run) {
    if (!s.is_root(run)) return;
    visit(pieces.pixel_at(strip.left + run % T::width, strip.top + run / T::width), s.number(run));
  });
}

__device__ void publish(const Forest& s, const TileStrip& strip, const Pieces& pieces,
                        const TileOfBlock& tile) {
  for_each_component(s, strip, pieces, [&](uint32_t id, int number) {
    pieces.parent[id] = id;
    pieces.first[id] = id;
    pieces.choice[0][id] = pieces.choice[1][id] = kNoChoice;
    if (number >= T::measured) return;
    pieces.piece[id] = {s.sums[0][number],
                        {s.sums[1][number], s.sums[2][number], s.sums[3][number]}};
  });
  if (threadIdx.x == 0) pieces.count[tile.tile] = s.count;
}

// What the tiles around need to know.
__device__ void publish_edges(const Forest& s, const Pieces& pieces, const TileOfBlock& tile) {
  const int t = static_cast<int>(threadIdx.x);
  static_assert(T::threads == TileEdge::kSides * T::width && T::width == T::rows);
  const TileEdge edge(pieces, tile.column, tile.row, t / T::width, t % T::width);
  if (!edge.exists) return;
  const int segment = edge.y * (T::width / kSegment) + edge.x / kSegment;
  const int root = static_cast<int>(s.parent[s.run_at(segment, edge.x % kSegment)] & 0xffff);
  *edge.own = pieces.pixel_at(tile.left + root % T::width, tile.top + root / T::width);
}

// What later phases add to.
__device__ void clear_counts(const TileStrip& strip, const Pieces& pieces) {
  const int t = static_cast<int>(threadIdx.x);
  const int words = pieces.stride / 32;
  for (int w = t; w < T::pixels / 32; w += T::threads) {
    const int y = strip.top + w / (T::width / 32);
    if (y >= pieces.size.height) continue;
    pieces.firsts[static_cast<size_t>(y) * words + strip.left / 32 + w % (T::width / 32)] = 0;
  }
  if (t == 0 && blockIdx.x == 0) pieces.row_firsts[blockIdx.y] = 0;
}

__global__ __launch_bounds__(T::threads) void find_components_kernel(Image<const uint8_t> codes,
                                                                     Image<const uint32_t> colors,
                                                                     Pieces pieces) {
  __shared__ Forest s;
  const TileStrip strip(pieces.size);
  const TileOfBlock tile(pieces);
  uint16_t* const place = pieces.place + static_cast<size_t>(tile.tile) * T::pixels;
  clear_counts(strip, pieces);
  for (int i = static_cast<int>(threadIdx.x); i < 4 * T::measured; i += T::threads) {
    s.sums[i / T::measured][i % T::measured] = 0;
  }
  if (threadIdx.x == 0) s.count = 0;
  const Segment segment(codes, strip);
  s.starts[threadIdx.x] = static_cast<uint16_t>(segment.starts);
  __syncthreads();  // all runs are known
  const uint32_t contacts = link_runs(s, segment);
  __syncthreads();  // all runs have parents
  flatten(s);
  __syncthreads();  // trees are flat before they are united
  unite_runs(s, contacts);
  __syncthreads();  // no tree is united with another after this
  flatten(s);
  __syncthreads();  // trees are flat
  number_components(s, place);
  publish_edges(s, pieces, tile);
  // Components beyond those summed in shared memory are summed where they will stand.
  for_each_component(s, strip, pieces, [&](uint32_t id, int number) {
    if (number >= T::measured) pieces.piece[id] = {};
  });
  __syncthreads();  // all sums begin at zero
  measure_strip(s, strip, colors, pieces, tile);
  __syncthreads();  // sums are complete
  publish(s, strip, pieces, tile);
}

}  // namespace

void find_components(Image<const uint8_t> codes, const Clusters& clusters, const Pieces& pieces,
                     cudaStream_t stream) {
  launch(find_components_kernel, tile_grid(pieces), T::threads, 0, stream, codes, clusters.colors,
         pieces);
}

}  // namespace regions::slic

// Which superpixel continues which cluster of a warm start, by the rules that stand with
// piece_claim() in core: all choices are least or greatest numbers, so no order matters.
#include "core/slicsuperpixel/tracks.hpp"
#include "gpu/slicsuperpixel/phases.hpp"
#include "gpu/slicsuperpixel/tuning.hpp"

namespace regions::slic {
namespace {

constexpr int kThreads = PixelBlock::threads;

__device__ inline size_t own_index() {
  return static_cast<size_t>(blockIdx.x) * kThreads + threadIdx.x;
}

__global__ __launch_bounds__(kThreads) void clear_kernel(size_t cells, Tracks tracks) {
  const size_t k = own_index();
  if (k >= cells) return;
  tracks.largest[k] = 0;
  tracks.spares[k] = kNoTrack;
}

// Before joining, when every representative is a piece of one cluster.
__global__ __launch_bounds__(kThreads) void find_largest_kernel(SlicGrid grid,
                                                                Image<const uint8_t> codes,
                                                                Pieces pieces, Tracks tracks) {
  const TileOfBlock tile(pieces);
  for (uint32_t i = threadIdx.x; i < tile.count; i += kThreads) {
    const uint32_t id = tile.id(pieces, i);
    if (pieces.parent[id] != id) continue;
    const uint32_t first = pieces.first[id], stride = static_cast<uint32_t>(pieces.stride);
    const int x = static_cast<int>(first % stride), y = static_cast<int>(first / stride);
    atomicMax(tracks.largest + cluster_at(codes(x, y), x, y, grid),
              static_cast<unsigned long long>(piece_claim(pieces.piece[id].area, first)));
  }
}

__device__ inline uint32_t known(const Records& records) {
  return min(*records.total, records.capacity);
}

__global__ __launch_bounds__(kThreads) void clear_tracks_kernel(Records records) {
  const size_t i = own_index();
  if (i < known(records)) records.region[i].track = kNoTrack;
}

__global__ __launch_bounds__(kThreads) void claim_kernel(SlicGrid grid, uint32_t least, int stride,
                                                         Tracks tracks, ConstLabelMap labels,
                                                         Records records) {
  const size_t k = own_index();
  if (k >= grid.cells() || tracks.largest[k] == 0) return;
  const uint32_t first = claimed_first(tracks.largest[k]);
  const uint32_t label = labels(static_cast<int>(first % static_cast<uint32_t>(stride)),
                                static_cast<int>(first / static_cast<uint32_t>(stride)));
  if (label > records.capacity) return;
  const bool stayed = claimed_area(tracks.largest[k]) >= least;
  atomicMin(&records.region[label - 1].track, claimed_by(k, stayed));
}

__device__ inline size_t cluster_of(const Region& region, Image<const uint8_t> codes,
                                    const SlicGrid& grid) {
  return cluster_at(codes(region.first_x, region.first_y), region.first_x, region.first_y, grid);
}

__global__ __launch_bounds__(kThreads) void find_spares_kernel(SlicGrid grid,
                                                               Image<const uint8_t> codes,
                                                               Tracks tracks, Records records) {
  const size_t i = own_index();
  if (i >= known(records) || records.region[i].track != kNoTrack) return;
  atomicMin(tracks.spares + cluster_of(records.region[i], codes, grid), records.region[i].id);
}

__global__ __launch_bounds__(kThreads) void finish_tracks_kernel(SlicGrid grid,
                                                                 Image<const uint8_t> codes,
                                                                 Tracks tracks, Records records) {
  const size_t i = own_index();
  if (i >= known(records)) return;
  Region& region = records.region[i];
  const size_t cluster = cluster_of(region, codes, grid);
  region.track = track_of(region.track, region.id, cluster, tracks.spares[cluster], grid);
}

}  // namespace

void find_largest(const SlicGrid& grid, Image<const uint8_t> codes, const Pieces& pieces,
                  const Tracks& tracks, cudaStream_t stream) {
  launch(clear_kernel, blocks_for(grid.cells(), kThreads), kThreads, 0, stream, grid.cells(),
         tracks);
  launch(find_largest_kernel, tile_grid(pieces), kThreads, 0, stream, grid, codes, pieces, tracks);
}

void track_records(const SlicGrid& grid, uint32_t least, Image<const uint8_t> codes,
                   const Pieces& pieces, ConstLabelMap labels, const Tracks& tracks,
                   const Records& records, cudaStream_t stream) {
  const unsigned blocks = blocks_for(records.capacity, kThreads);
  launch(clear_tracks_kernel, blocks, kThreads, 0, stream, records);
  launch(claim_kernel, blocks_for(grid.cells(), kThreads), kThreads, 0, stream, grid, least,
         pieces.stride, tracks, labels, records);
  launch(find_spares_kernel, blocks, kThreads, 0, stream, grid, codes, tracks, records);
  launch(finish_tracks_kernel, blocks, kThreads, 0, stream, grid, codes, tracks, records);
}

}  // namespace regions::slic

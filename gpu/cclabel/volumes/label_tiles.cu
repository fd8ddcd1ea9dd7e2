// Labels each tile by itself: thresholds it, and joins its nodes in shared memory, one block a
// tile.
#include "gpu/cclabel/base/divide_memory.hpp"
#include "gpu/cclabel/volumes/phases.hpp"
#include "gpu/cclabel/volumes/readers.hpp"
#include "gpu/cclabel/volumes/tile_forest.hpp"
#include "gpu/primitives/warp.hpp"

namespace regions::volumes {
namespace {

// Finds the tile's nodes, and counts them; returns how many.
template <Connectivity connectivity, TileNodes Space>
__device__ uint32_t find_nodes(Space& s) {
  const auto i = static_cast<int>(threadIdx.x);
  uint32_t starts = 0, all;
  if (i < Space::kBands) {
    const BandWords band = s.band(Space::spot(i));
    s.node_starts[i] = starts = band.starts(connectivity);
  }
  const uint32_t before =
      sum_before<Space::kThreads>(static_cast<uint32_t>(__popc(starts)), s.warp_sums, all);
  if (i < Space::kBands) s.nodes_before[i] = static_cast<uint16_t>(before);
  if (i == 0) s.contact_count = s.component_count = 0;
  __syncthreads();  // nodes are known
  return all;
}

// Where a voxel of the tile is in raster order of the stack.
template <class T>
__device__ uint32_t id_in_tile(const Volume& v, const TilePlace& place, uint32_t voxel) {
  const auto row = static_cast<int>(voxel / 32);
  return v.id_of(place.layer, place.w, place.y + row % T::rows, place.z + row / T::rows,
                 static_cast<int>(voxel % 32));
}

// Gives every node its component's number, and makes a tree of each component.
template <class T, TileNodes Space>
__device__ void publish_nodes(Space& s, const Volume& v, const TilePlace& place, int cls,
                              uint32_t nodes) {
  const uint32_t tile = tile_of_class(v, place.index, cls), begin = tile * Space::kNodes;
  for (uint32_t node = threadIdx.x; node < nodes; node += T::threads) {
    const uint32_t root = node_above(s.parent[node]);
    const uint32_t number = component_of_root(s.parent[root]);
    v.component[begin + node] = static_cast<uint16_t>(number);
    if (root != node) continue;
    const uint32_t voxel = s.first[root], at = begin + number;
    v.forest[at] = entry_of(id_in_tile<T>(v, place, voxel), at);
    atomicOr(&s.firsts[voxel / 32], 1u << voxel % 32);  // bits have no order
  }
  const auto i = static_cast<int>(threadIdx.x);
  if (i == 0) {
    v.counts[tile] = {static_cast<uint16_t>(nodes), static_cast<uint16_t>(s.component_count)};
  }
  const Spot spot = Space::spot(i);
  const int y = place.y + spot.y, z = place.z + spot.z;
  if (i >= Space::kBands || y >= v.stack.slice.height || z >= v.stack.slices) return;
  v.nodes[band_word(v, cls, place.layer, place.w, y, z)] = {s.node_starts[i],
                                                            begin + s.nodes_before[i]};
}

// No block has counted regions yet.
template <class T>
__device__ void clear_sums(const Volume& v, const TilePlace& place) {
  const uint32_t step = gridDim.x * gridDim.y * gridDim.z * T::threads;
  for (uint32_t k = place.index * T::threads + threadIdx.x; k < v.sum_count(); k += step) {
    v.sums[k] = 0;
  }
}

template <class T, Connectivity connectivity, class Reader>
__global__ __launch_bounds__(T::threads, T::blocks) void label_tiles_kernel(Reader reader,
                                                                            Levels levels,
                                                                            Volume v) {
  using Space = Tile<T, connectivity>;
  __shared__ Space s;
  const TilePlace place(v);
  const int i = static_cast<int>(threadIdx.x);
  let_next_start();
  clear_sums<T>(v, place);
  s.clear_around();
  reader.template read<T>([&](int row, uint32_t word) { s.row_of(row) = word; }, v, place,
                          levels.level[place.layer]);
  if (i < T::words) s.firsts[i] = 0;
  __syncthreads();  // bits are complete
  const int y = place.y + i % T::rows, z = place.z + i / T::rows;
  const bool exists = i < T::words && y < v.stack.slice.height && z < v.stack.slices;
  const uint32_t at = v.index_of(v.stack.row({y, z, place.layer}), place.w);
  if (exists) v.bits[at] = s.row_of(i);
  for (int c = 0; c < v.classes; ++c) {
    if (c > 0) {
      __syncthreads();  // no thread needs the class before
      if (i < T::words) s.row_of(i) = exists ? ~s.row_of(i) & inside(v, place.w) : 0;
      __syncthreads();  // bits are those of background
    }
    const uint32_t nodes = find_nodes<connectivity>(s);
    join_nodes<Space, connectivity>(s, nodes);
    publish_nodes<T>(s, v, place, c, nodes);
  }
  __syncthreads();  // first voxels are complete
  if (!exists) return;
  v.parts[at] = s.firsts[i];
  v.firsts[at] = s.firsts[i];
}

template <class T, Connectivity connectivity>
void launch_tiles(const Subject& subject, const Levels& levels, const Volume& volume,
                  cudaStream_t stream) {
  const dim3 grid = tile_grid(volume);
  if (ByteReader::can_read(subject)) {
    cclabel::divide_memory(label_tiles_kernel<T, connectivity, ByteReader>, volume.all_tiles());
    launch(label_tiles_kernel<T, connectivity, ByteReader>, grid, T::threads, 0, stream,
           ByteReader(subject), levels, volume);
  } else {
    cclabel::divide_memory(label_tiles_kernel<T, connectivity, VoxelReader>, volume.all_tiles());
    launch(label_tiles_kernel<T, connectivity, VoxelReader>, grid, T::threads, 0, stream,
           VoxelReader(subject), levels, volume);
  }
}

// Bands of two by two rows.
template <Connectivity connectivity>
void launch_bands(const Subject& subject, const Levels& levels, const Volume& volume,
                  cudaStream_t stream) {
  if (volume.all_tiles() <= cclabel::kFewTiles) {
    launch_tiles<CubeTile, connectivity>(subject, levels, volume, stream);
  } else {
    launch_tiles<FewRegistersTile, connectivity>(subject, levels, volume, stream);
  }
}

}  // namespace

Volume shaped(Volume volume, const Stack& stack, Connectivity connectivity) {
  const bool is_flat = !is_spatial(connectivity);
  const auto parts = [](int whole, int part) { return (whole + part - 1) / part; };
  volume.stack = stack;
  volume.connectivity = connectivity;
  volume.words = parts(stack.slice.width, 32);
  volume.by_words = Divisor(static_cast<uint32_t>(volume.words));
  volume.band_slices = slices_of_band(connectivity);
  volume.bands_y = parts(stack.slice.height, kBandRows);
  volume.bands_z = parts(stack.slices, volume.band_slices);
  volume.tile_rows = is_flat ? FlatTile::rows : CubeTile::rows;
  volume.tile_slices = is_flat ? FlatTile::slices : CubeTile::slices;
  volume.tiles_y = parts(stack.slice.height, volume.tile_rows);
  volume.tiles_z = parts(stack.slices, volume.tile_slices);
  return volume;
}

void label_tiles(const Subject& subject, const Levels& levels, const Volume& volume,
                 cudaStream_t stream) {
  switch (volume.connectivity) {
    case Connectivity::four:
      return launch_tiles<FlatTile, Connectivity::six>(subject, levels, volume, stream);
    case Connectivity::eight:
      return launch_tiles<FlatTile, Connectivity::eighteen>(subject, levels, volume, stream);
    case Connectivity::six:
      if (volume.all_tiles() <= cclabel::kFewTiles) {
        return launch_tiles<ManyThreadsTile, Connectivity::six>(subject, levels, volume, stream);
      }
      return launch_tiles<CubeTile, Connectivity::six>(subject, levels, volume, stream);
    case Connectivity::eighteen:
      return launch_bands<Connectivity::eighteen>(subject, levels, volume, stream);
    default:
      return launch_bands<Connectivity::twenty_six>(subject, levels, volume, stream);
  }
}

}  // namespace regions::volumes

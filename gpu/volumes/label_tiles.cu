// Labels each tile by itself: thresholds it, and joins its runs in shared memory, one block a tile.
#include "gpu/cclabel/runs.hpp"
#include "gpu/volumes/launch.hpp"
#include "gpu/volumes/phases.hpp"
#include "gpu/volumes/readers.hpp"
#include "gpu/volumes/tile_forest.hpp"

namespace regions::volumes {
namespace {

// Finds the tile's nodes, and counts them; returns how many.
template <Connectivity connectivity, class Space>
__device__ uint32_t find_nodes(Space& s) {
  const auto i = static_cast<int>(threadIdx.x);
  uint32_t starts = 0, all;
  if (i < Space::kBands) {
    const BandWords band = s.band(Space::spot(i));
    s.node_starts[i] = starts = band.starts(connectivity);
  }
  const uint32_t before =
      cclabel::sum_before<Space::kThreads>(static_cast<uint32_t>(__popc(starts)), s.warp_sums, all);
  if (i < Space::kBands) s.nodes_before[i] = static_cast<uint16_t>(before);
  if (i == 0) s.contact_count = 0;
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

// The tile's first node of a class, and the place of its first component.
template <class Space>
__device__ uint32_t first_node(const Volume& v, const TilePlace& place, int cls) {
  return (place.index * static_cast<uint32_t>(v.classes) + static_cast<uint32_t>(cls)) *
         Space::kNodes;
}

// Calls visit(root) for all roots. Where they are few, a thread has some nodes that follow each
// other, or else one at a time.
template <class Space, class Visit>
__device__ void for_each_root(const Space& s, uint32_t nodes, const Visit& visit) {
  if constexpr (Space::kHasFewRoots) {
    constexpr uint32_t kMine = 8;
    for (uint32_t i = threadIdx.x * kMine; i < nodes; i += Space::kThreads * kMine) {
      for (uint32_t left = s.roots[i / 32] >> i % 32 & ((1u << kMine) - 1); left;
           left &= left - 1) {
        visit(i + static_cast<uint32_t>(__ffs(static_cast<int>(left)) - 1));
      }
    }
  } else {
    for (uint32_t node = threadIdx.x; node < nodes; node += Space::kThreads) {
      if (s.parent[node] == node) visit(node);
    }
  }
}

// Counts the components of the class, row by row; all of s.firsts that has a voxel of the class is
// of it.
template <class T, class Space>
__device__ void count_components(Space& s, uint32_t nodes) {
  const int i = static_cast<int>(threadIdx.x);
  for_each_root(s, nodes, [&](uint32_t root) {
    const uint32_t voxel = s.first[root];
    atomicOr(&s.firsts[voxel / 32], 1u << voxel % 32);  // bits have no order
  });
  __syncthreads();  // first voxels are complete
  const bool has_row = i < T::words;
  const auto parts = static_cast<uint32_t>(has_row ? __popc(s.firsts[i] & s.row_of(i)) : 0);
  uint32_t all;
  const uint32_t before = cclabel::sum_before<T::threads>(parts, s.warp_sums, all);
  if (has_row) s.parts_before[i] = static_cast<uint16_t>(before);
  __syncthreads();  // counts are complete
}

// Gives every node its component's number, and plants a tree for each component.
template <class T, class Space>
__device__ void publish_nodes(Space& s, const Volume& v, const TilePlace& place, int cls,
                              uint32_t nodes) {
  const uint32_t begin = first_node<Space>(v, place, cls);
  const auto number_of = [&](uint32_t voxel) {
    const uint32_t row = voxel / 32;
    const uint32_t earlier = s.firsts[row] & s.row_of(static_cast<int>(row)) &
                             cclabel::below(static_cast<int>(voxel % 32));
    return s.parts_before[row] + static_cast<uint32_t>(__popc(earlier));
  };
  const auto plant = [&](uint32_t number, uint32_t voxel) {
    const uint32_t at = begin + number;
    v.forest[at] = entry_of(id_in_tile<T>(v, place, voxel), at);
  };
  if constexpr (Space::kHasFewRoots) {
    for_each_root(s, nodes, [&](uint32_t root) {
      const uint32_t voxel = s.first[root], number = number_of(voxel);
      plant(number, voxel);
      s.first[root] = static_cast<uint16_t>(number);
    });
    __syncthreads();  // roots are numbered
  }
  for (uint32_t node = threadIdx.x; node < nodes; node += T::threads) {
    const uint32_t root = s.parent[node], known = s.first[root];
    const uint32_t number = Space::kHasFewRoots ? known : number_of(known);
    v.component[begin + node] = static_cast<uint16_t>(number);
    if (!Space::kHasFewRoots && root == node) plant(number, known);
  }
  const auto i = static_cast<int>(threadIdx.x);
  const Spot spot = Space::spot(i);
  const int y = place.y + spot.y, z = place.z + spot.z;
  if (i >= Space::kBands || y >= v.stack.slice.height || z >= v.stack.slices) return;
  v.nodes[band_word(v, cls, place.layer, place.w, y, z)] = {s.node_starts[i],
                                                            begin + s.nodes_before[i]};
}

// Nobody has counted regions yet.
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
  const uint32_t at =
      v.place_of((place.layer * v.stack.slices + z) * v.stack.slice.height + y, place.w);
  if (exists) v.bits[at] = s.row_of(i);
  for (int c = 0; c < v.classes; ++c) {
    if (c > 0) {
      __syncthreads();  // nobody needs the class before
      if (i < T::words) s.row_of(i) = exists ? ~s.row_of(i) & inside(v, place.w) : 0;
      __syncthreads();  // bits are those of background
    }
    const uint32_t nodes = find_nodes<connectivity>(s);
    join_nodes<Space, connectivity>(s, nodes);
    count_components<T>(s, nodes);
    publish_nodes<T>(s, v, place, c, nodes);
  }
  if (!exists) return;
  v.parts[at] = s.firsts[i];
  v.firsts[at] = s.firsts[i];
}

template <class T, Connectivity connectivity>
void launch_tiles(const Subject& subject, const Levels& levels, const Volume& volume,
                  cudaStream_t stream) {
  const dim3 grid = tile_grid(volume);
  if (ByteReader::can_read(subject)) {
    divide_memory(label_tiles_kernel<T, connectivity, ByteReader>, volume.all_tiles());
    launch(label_tiles_kernel<T, connectivity, ByteReader>, grid, T::threads, 0, stream,
           ByteReader(subject), levels, volume);
  } else {
    divide_memory(label_tiles_kernel<T, connectivity, VoxelReader>, volume.all_tiles());
    launch(label_tiles_kernel<T, connectivity, VoxelReader>, grid, T::threads, 0, stream,
           VoxelReader(subject), levels, volume);
  }
}

// Bands of two by two rows.
template <Connectivity connectivity>
void launch_bands(const Subject& subject, const Levels& levels, const Volume& volume,
                  cudaStream_t stream) {
  if (volume.all_tiles() <= kFewTiles) {
    launch_tiles<CubeTile, connectivity>(subject, levels, volume, stream);
  } else {
    launch_tiles<ThriftyTile, connectivity>(subject, levels, volume, stream);
  }
}

}  // namespace

Volume shaped(Volume volume, const Stack& stack, Connectivity connectivity) {
  const bool is_flat = !is_spatial(connectivity);
  const auto parts = [](int whole, int part) { return (whole + part - 1) / part; };
  volume.stack = stack;
  volume.connectivity = connectivity;
  volume.words = parts(stack.slice.width, 32);
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
      if (volume.all_tiles() <= kFewTiles) {
        return launch_tiles<BusyTile, Connectivity::six>(subject, levels, volume, stream);
      }
      return launch_tiles<CubeTile, Connectivity::six>(subject, levels, volume, stream);
    case Connectivity::eighteen:
      return launch_bands<Connectivity::eighteen>(subject, levels, volume, stream);
    default:
      return launch_bands<Connectivity::twenty_six>(subject, levels, volume, stream);
  }
}

}  // namespace regions::volumes

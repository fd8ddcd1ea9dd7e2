// Labels each tile by itself: thresholds it, and joins its runs in shared memory, one block a tile.
#include "gpu/volumes/phases.hpp"
#include "gpu/volumes/readers.hpp"
#include "gpu/volumes/tile.hpp"

namespace regions::volumes {
namespace {

// Joins the runs of the tile to trees, all links going to smaller nodes.
template <class Space, Connectivity connectivity>
__device__ void join_runs(Space& s, const Share<Space>& share) {
  for (uint32_t left = starts_of(s.bands[share.spot.word]) & share.mask; left; left &= left - 1) {
    const int b = __ffs(static_cast<int>(left)) - 1;
    const uint32_t node = share.spot.word * 16 + static_cast<uint32_t>(b / 2);
    s.parent[node] = node;
    if constexpr (!Space::kBandsAreRows) {
      s.first[node] = s.first_voxel(share.spot, run_from(s.bands[share.spot.word], b));
    }
  }
  __syncthreads();  // every run is a tree
  // A thread has a word and one of its touches at a time.
  constexpr int kTurns = Space::kBands * Touches<connectivity>::count;
  static_assert(Space::kBands % 32 == 0, "a warp has one touch");
  for (int i = static_cast<int>(threadIdx.x); i < kTurns; i += Space::kThreads) {
    Contacts contacts;
    with_touch<connectivity>(i / Space::kBands, [&](const Touch& touch) {
      contacts = Contacts(s, Space::spot(i % Space::kBands), touch);
    });
    for_each_contact(s, contacts, s.pairs[threadIdx.x / 32], [&](const uint2& pair, bool wanted) {
      cclabel::unite(s.parent, pair.x, pair.y, wanted);
    });
  }
  __syncthreads();  // no link is made after this
  for_each_node(s, share, [&](uint32_t node, bool exists) {
    const uint32_t root = cclabel::flatten(s.parent, node, exists);
    if constexpr (!Space::kBandsAreRows) {
      // The least of all, whatever their order; most see at once that theirs is not.
      const volatile uint32_t* first = s.first;
      if (exists && first[node] < first[root]) atomicMin(&s.first[root], first[node]);
    }
  });
  __syncthreads();  // roots and their first voxels are complete
}

// Gives every node its component's id, and every component a tree of its own.
template <class T, class Space>
__device__ void publish_nodes(Space& s, const Share<Space>& share, const Volume& v,
                              const TilePlace& place, int cls) {
  const int y = place.y + share.spot.y, z = place.z + share.spot.z;
  if (y >= v.stack.slice.height || z >= v.stack.slices) return;
  const uint32_t to = band_word(v, cls, place.layer, place.w, y, z);
  const uint32_t band = s.bands[share.spot.word];
  if (share.mask & 1) v.band[to] = band;
  for (uint32_t left = starts_of(band) & share.mask; left; left &= left - 1) {
    const auto k = static_cast<uint32_t>((__ffs(static_cast<int>(left)) - 1) / 2);
    const uint32_t node = share.spot.word * 16 + k, root = s.parent[node];
    const uint32_t first = s.first_of(root), row = first / 32;
    const int first_y = place.y + static_cast<int>(row % T::rows);
    const int first_z = place.layer * v.stack.slices + place.z + static_cast<int>(row / T::rows);
    const auto first_row = static_cast<uint32_t>(first_z * v.stack.slice.height + first_y);
    const uint32_t id =
        (first_row * static_cast<uint32_t>(v.words) + static_cast<uint32_t>(place.w)) * 32 +
        first % 32;
    v.node[to * 16 + k] = id;
    if (root != node) continue;
    v.parent[id] = id;
    atomicOr(&s.firsts[row], 1u << first % 32);
  }
}

template <class T, Connectivity connectivity, class Reader>
__global__ __launch_bounds__(T::threads) void label_tiles_kernel(Reader reader, Levels levels,
                                                                 Volume v) {
  using Space = Tile<T, connectivity>;
  __shared__ Space s;
  const TilePlace place(v);
  const int i = static_cast<int>(threadIdx.x);
  s.clear_around();
  reader.template read<T>([&](int row, uint32_t word) { s.row_of(row) = word; }, v, place,
                          levels.level[place.layer]);
  s.firsts[i] = 0;
  __syncthreads();  // bits are complete
  const int y = place.y + i % T::rows, z = place.z + i / T::rows;
  const bool exists = y < v.stack.slice.height && z < v.stack.slices;
  const size_t at =
      static_cast<size_t>((place.layer * v.stack.slices + z) * v.stack.slice.height + y) * v.words +
      place.w;
  if (exists) v.bits[at] = s.row_of(i);
  const Share<Space> share;
  for (int c = 0; c < v.classes; ++c) {
    if (c > 0) {
      __syncthreads();  // nobody needs the class before
      s.row_of(i) = exists ? ~s.row_of(i) & inside(v, place.w) : 0;
      __syncthreads();  // bits are those of background
    }
    if (i < Space::kBands) {
      const Spot spot = Space::spot(i);
      uint32_t band = 0;
      for (int r = 0; r < Space::kBandRows * Space::kBandSlices; ++r) {
        band |= s.row(0, spot.y + r % Space::kBandRows, spot.z + r / Space::kBandRows);
      }
      s.bands[i] = band;
    }
    __syncthreads();  // bands are complete
    join_runs<Space, connectivity>(s, share);
    publish_nodes<T>(s, share, v, place, c);
  }
  __syncthreads();  // first voxels are complete
  if (!exists) return;
  v.parts[at] = s.firsts[i];
  v.firsts[at] = s.firsts[i];
}

template <class T, Connectivity connectivity>
void launch_tiles(const Subject& subject, const Levels& levels, const Volume& volume,
                  cudaStream_t stream) {
  const dim3 grid(volume.tiles(), static_cast<unsigned>(volume.stack.layers));
  if (ByteReader::can_read(subject)) {
    launch(label_tiles_kernel<T, connectivity, ByteReader>, grid, T::threads, 0, stream,
           ByteReader(subject), levels, volume);
  } else {
    launch(label_tiles_kernel<T, connectivity, VoxelReader>, grid, T::threads, 0, stream,
           VoxelReader(subject), levels, volume);
  }
}

}  // namespace

Volume shaped(Volume volume, const Stack& stack, Connectivity connectivity) {
  const bool is_flat = !is_spatial(connectivity);
  const auto parts = [](int whole, int part) { return (whole + part - 1) / part; };
  volume.stack = stack;
  volume.connectivity = connectivity;
  volume.words = parts(stack.slice.width, 32);
  volume.band_rows = rows_of_band(connectivity);
  volume.band_slices = slices_of_band(connectivity);
  volume.bands_y = parts(stack.slice.height, volume.band_rows);
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
      return launch_tiles<CubeTile, Connectivity::six>(subject, levels, volume, stream);
    case Connectivity::eighteen:
      return launch_tiles<CubeTile, Connectivity::eighteen>(subject, levels, volume, stream);
    default:
      return launch_tiles<CubeTile, Connectivity::twenty_six>(subject, levels, volume, stream);
  }
}

}  // namespace regions::volumes

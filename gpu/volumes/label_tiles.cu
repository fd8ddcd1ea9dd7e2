// Labels each tile by itself: thresholds it, and joins its runs in shared memory, one block a tile.
#include "gpu/cclabel/runs.hpp"
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

// Whether the run of a band's word that begins at bit b may touch another tile's.
template <class T, class Space>
__device__ bool is_at_side(const Spot& spot, uint32_t band, int b) {
  if (spot.y == 0 || spot.y + Space::kBandRows == T::rows) return true;
  // Pictures have no slices beside them.
  if (T::slices > 1 && (spot.z == 0 || spot.z + Space::kBandSlices == T::slices)) return true;
  return b == 0 || (band >> 31 && !(starts_of(band) & ~cclabel::up_to(b)));
}

// Counts the components of the class, and its nodes; all of s.firsts that has a voxel of the class
// is of it.
template <class T, class Space>
__device__ void count_components(Space& s, const Share<Space>& share) {
  const int i = static_cast<int>(threadIdx.x);
  for (uint32_t left = starts_of(s.bands[share.spot.word]) & share.mask; left; left &= left - 1) {
    const int b = __ffs(static_cast<int>(left)) - 1;
    const uint32_t node = share.spot.word * 16 + static_cast<uint32_t>(b / 2);
    if (s.parent[node] != node) continue;
    const uint32_t first = s.first_of(node);
    atomicOr(&s.firsts[first / 32], 1u << first % 32);  // bits have no order
  }
  __syncthreads();  // first voxels are complete
  const auto parts = static_cast<uint32_t>(__popc(s.firsts[i] & s.row_of(i)));
  const auto nodes = static_cast<uint32_t>(i < Space::kBands ? __popc(starts_of(s.bands[i])) : 0);
  uint32_t all;  // both numbers in one: of 8192 voxels every second one begins something
  const uint32_t before = cclabel::sum_before<T::threads>(parts << 16 | nodes, s.warp_sums, all);
  s.parts_before[i] = static_cast<uint16_t>(before >> 16);
  if (i < Space::kBands) s.nodes_before[i] = static_cast<uint16_t>(before);
  __syncthreads();  // counts are complete
}

// Gives every node its component's number. Nodes at the tile's sides get ids, too, and their
// components a tree each.
template <class T, class Space>
__device__ void publish_nodes(Space& s, const Share<Space>& share, const Volume& v,
                              const TilePlace& place, int cls) {
  const Spot& spot = share.spot;
  const int y = place.y + spot.y, z = place.z + spot.z;
  if (y >= v.stack.slice.height || z >= v.stack.slices) return;
  const uint32_t to = band_word(v, cls, place.layer, place.w, y, z);
  const uint32_t band = s.bands[spot.word], starts = starts_of(band);
  if (share.mask & 1) v.band[to] = band;
  uint16_t* component =
      v.component + (place.index * v.classes + cls) * Space::kNodes + s.nodes_before[spot.word];
  for (uint32_t left = starts & share.mask; left; left &= left - 1) {
    const int b = __ffs(static_cast<int>(left)) - 1;
    const auto k = static_cast<uint32_t>(b / 2);
    const uint32_t first = s.first_of(s.parent[spot.word * 16 + k]), row = first / 32;
    const auto bit = static_cast<int>(first % 32);
    const int in_y = static_cast<int>(row % T::rows), in_z = static_cast<int>(row / T::rows);
    const uint32_t parts = s.firsts[row] & s.row(0, in_y, in_z) & cclabel::below(bit);
    component[__popc(starts & cclabel::below(b))] =
        static_cast<uint16_t>(s.parts_before[row] + __popc(parts));
    if (!v.all_nodes && !is_at_side<T, Space>(spot, band, b)) continue;
    const uint32_t id = v.id_of(place.layer, place.w, place.y + in_y, place.z + in_z, bit);
    v.node[to * 16 + k] = id;
    v.parent[id] = id;  // the same by all of the component
  }
}

// Nobody has counted regions yet.
template <class T>
__device__ void clear_sums(const Volume& v, const TilePlace& place) {
  const size_t step = static_cast<size_t>(v.tiles()) * v.stack.layers * T::threads;
  for (size_t k = place.index * T::threads + threadIdx.x; k < v.sum_count(); k += step) {
    v.sums[k] = 0;
  }
}

template <class T, Connectivity connectivity, class Reader>
__global__ __launch_bounds__(T::threads) void label_tiles_kernel(Reader reader, Levels levels,
                                                                 Volume v) {
  using Space = Tile<T, connectivity>;
  __shared__ Space s;
  const TilePlace place(v);
  const int i = static_cast<int>(threadIdx.x);
  clear_sums<T>(v, place);
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
    count_components<T>(s, share);
    publish_nodes<T>(s, share, v, place, c);
  }
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

// Labels each tile by itself: thresholds it, and joins its runs in shared memory, one block a tile.
#include "gpu/cclabel/runs.hpp"
#include "gpu/chain.hpp"
#include "gpu/volumes/phases.hpp"
#include "gpu/volumes/readers.hpp"
#include "gpu/volumes/tile.hpp"

namespace regions::volumes {
namespace {

// Finds the tile's nodes, and counts them; returns how many.
template <Connectivity connectivity, class Space>
__device__ uint32_t find_nodes(Space& s) {
  const auto i = static_cast<int>(threadIdx.x);
  uint32_t starts = 0, all;
  if (i < Space::kBands) {
    const BandWords band = s.band(Space::spot(i));
    s.columns[i] = band.columns();
    s.node_starts[i] = starts = band.starts(connectivity);
  }
  const uint32_t before =
      cclabel::sum_before<Space::kThreads>(static_cast<uint32_t>(__popc(starts)), s.warp_sums, all);
  if (i < Space::kBands) s.nodes_before[i] = static_cast<uint16_t>(before);
  __syncthreads();  // nodes are known
  return all;
}

// Joins the nodes of the tile to trees, all links going to smaller nodes.
template <class Space, Connectivity connectivity>
__device__ void join_nodes(Space& s, const Share<Space>& share, uint32_t nodes) {
  for_each_node(s, share, [&](uint32_t node, int b) {
    s.parent[node] = node;
    s.first[node] = s.first_voxel(share.spot, b);
  });
  __syncthreads();  // every node is a tree
  // A thread has a word and one of its touches at a time.
  constexpr int kTurns = Space::kBands * Touches<connectivity>::count;
  static_assert(Space::kBands % 32 == 0, "a warp has one touch");
  for (int i = static_cast<int>(threadIdx.x); i < kTurns; i += Space::kThreads) {
    Contacts contacts;
    with_touch<connectivity>(i / Space::kBands, [&](const Touch& touch) {
      contacts = Contacts(s, Space::spot(i % Space::kBands), touch);
    });
    for_each_contact(s, contacts, s.pairs[threadIdx.x / 32], [&](ushort2 pair, bool wanted) {
      cclabel::unite(s.parent, pair.x, pair.y, wanted);
    });
  }
  __syncthreads();  // no link is made after this
  const uint32_t lane = threadIdx.x % 32;
  for (uint32_t start = threadIdx.x - lane; start < nodes; start += Space::kThreads) {
    const bool exists = start + lane < nodes;
    const uint32_t node = exists ? start + lane : start;
    const uint32_t root = cclabel::flatten(s.parent, node, exists);
    // The least of all, whatever their order; most see at once that theirs is not.
    const volatile uint32_t* first = s.first;
    if (exists && first[node] < first[root]) atomicMin(&s.first[root], first[node]);
  }
  __syncthreads();  // roots and their first voxels are complete
}

// The first columns of the nodes of a word that may touch another tile's.
template <class T, class Space>
__device__ uint32_t starts_at_side(const Space& s, const Spot& spot) {
  const uint32_t starts = s.node_starts[spot.word];
  if (spot.y == 0 || spot.y + kBandRows == T::rows) return starts;
  // Pictures have no slices beside them.
  if (T::slices > 1 && (spot.z == 0 || spot.z + Space::kBandSlices == T::slices)) return starts;
  const bool reaches_end = s.columns[spot.word] >> 31;
  const uint32_t last = reaches_end ? 1u << (31 - __clz(static_cast<int>(starts))) : 0;
  return (starts & 1) | last;
}

// Counts the components of the class; all of s.firsts that has a voxel of the class is of it.
template <class T, class Space>
__device__ void count_components(Space& s, uint32_t nodes) {
  const int i = static_cast<int>(threadIdx.x);
  for (uint32_t node = threadIdx.x; node < nodes; node += T::threads) {
    if (s.parent[node] != node) continue;
    atomicOr(&s.firsts[s.first[node] / 32], 1u << s.first[node] % 32);  // bits have no order
  }
  __syncthreads();  // first voxels are complete
  const bool has_row = i < T::words;
  const auto parts = static_cast<uint32_t>(has_row ? __popc(s.firsts[i] & s.row_of(i)) : 0);
  uint32_t all;
  const uint32_t before = cclabel::sum_before<T::threads>(parts, s.warp_sums, all);
  if (has_row) s.parts_before[i] = static_cast<uint16_t>(before);
  __syncthreads();  // counts are complete
}

// Where a component begins, and its number in the tile.
template <class T>
struct Part {
  int y, z, bit;  // of its first voxel
  uint32_t number;
  template <class Space>
  __device__ Part(const Space& s, uint32_t node) {
    const uint32_t first = s.first[s.parent[node]], row = first / 32;
    y = static_cast<int>(row % T::rows);
    z = static_cast<int>(row / T::rows);
    bit = static_cast<int>(first % 32);
    const uint32_t parts = s.firsts[row] & s.row(0, y, z) & cclabel::below(bit);
    number = s.parts_before[row] + static_cast<uint32_t>(__popc(parts));
  }
};

// Gives every node its component's number. Nodes at the tile's sides get ids, too, and their
// components a tree each.
template <class T, class Space>
__device__ void publish_nodes(const Space& s, const Share<Space>& share, const Volume& v,
                              const TilePlace& place, int cls, uint32_t nodes) {
  uint16_t* component = v.component + (place.index * v.classes + cls) * Space::kNodes;
  for (uint32_t node = threadIdx.x; node < nodes; node += T::threads) {
    component[node] = static_cast<uint16_t>(Part<T>(s, node).number);
  }
  const Spot& spot = share.spot;
  const int y = place.y + spot.y, z = place.z + spot.z;
  if (y >= v.stack.slice.height || z >= v.stack.slices) return;
  const uint32_t to = band_word(v, cls, place.layer, place.w, y, z);
  if (share.mask & 1) v.starts[to] = s.node_starts[spot.word];
  const uint32_t starts = s.node_starts[spot.word];
  const uint32_t wanted = v.sides_alone ? starts_at_side<T>(s, spot) : starts;
  for (uint32_t left = wanted & share.mask; left; left &= left - 1) {
    const int b = __ffs(static_cast<int>(left)) - 1;
    const Part<T> part(s, s.node(spot.word, starts, b));
    const uint32_t id = v.id_of(place.layer, place.w, place.y + part.y, place.z + part.z, part.bit);
    v.node[to * 32 + static_cast<uint32_t>(b)] = id;
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
  const size_t at =
      static_cast<size_t>((place.layer * v.stack.slices + z) * v.stack.slice.height + y) * v.words +
      place.w;
  if (exists) v.bits[at] = s.row_of(i);
  const Share<Space> share;
  for (int c = 0; c < v.classes; ++c) {
    if (c > 0) {
      __syncthreads();  // nobody needs the class before
      if (i < T::words) s.row_of(i) = exists ? ~s.row_of(i) & inside(v, place.w) : 0;
      __syncthreads();  // bits are those of background
    }
    const uint32_t nodes = find_nodes<connectivity>(s);
    join_nodes<Space, connectivity>(s, share, nodes);
    count_components<T>(s, nodes);
    publish_nodes<T>(s, share, v, place, c, nodes);
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
      return launch_tiles<CubeTile, Connectivity::six>(subject, levels, volume, stream);
    case Connectivity::eighteen:
      return launch_tiles<CubeTile, Connectivity::eighteen>(subject, levels, volume, stream);
    default:
      return launch_tiles<CubeTile, Connectivity::twenty_six>(subject, levels, volume, stream);
  }
}

}  // namespace regions::volumes

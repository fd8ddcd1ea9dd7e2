// Labels each tile by itself: union-find over its runs in shared memory, one block a tile.
#include "gpu/cclabel/pictures/foreground_contacts.hpp"
#include "gpu/cclabel/pictures/join_runs.hpp"
#include "gpu/cclabel/pictures/linked_contacts.hpp"
#include "gpu/cclabel/pictures/phases.hpp"
#include "gpu/cclabel/pictures/readers.hpp"
#include "gpu/cclabel/pictures/tuning.hpp"
#include "gpu/runtime/chain.hpp"

namespace regions::cclabel {
namespace {

template <RunContacts Contacts>
struct TileForest {
  using T = typename Contacts::Tile;
  TileRuns<T> runs;
  typename Contacts::Shared contacts;
  uint32_t parent[T::runs];        // by run; a root is its component's first run
  uint32_t roots[T::runs / 32];    // bits by run
  uint32_t borders[T::runs / 32];  // bits by run: roots whose component touches another tile
  uint32_t earlier[T::runs / 32];  // roots before the word: border ones | others << 16
  uint32_t firsts[T::all_words];   // first pixels of components
  uint32_t warp_sums[T::threads / 32];
};

// Gives every run its root, and marks roots and those whose component touches another tile.
template <RunContacts Contacts>
__device__ void find_roots(TileForest<Contacts>& s, const Tiles& tiles, const TilePlace& place) {
  using T = typename Contacts::Tile;
  const int up = place.row > 0 ? 0 : -1, down = place.row + 1 < tiles.rows ? T::rows - 1 : -1;
  const int left = place.column > 0 ? 0 : -1;
  const int right = place.column + 1 < tiles.columns ? T::width - 1 : -1;
  s.runs.for_each([&](int r, bool exists) {
    const uint32_t root = flatten(s.parent, static_cast<uint32_t>(r), exists);
    const int first = s.runs.first(r), last = s.runs.last(r), y = first / T::width;
    const bool at_border =
        y == up || y == down || first % T::width == left || last % T::width == right;
    const uint32_t bit = 1u << root % 32;
    if (at_border && !(s.borders[root / 32] & bit)) atomicOr(&s.borders[root / 32], bit);
    const bool is_root = exists && root == static_cast<uint32_t>(r);
    const uint32_t roots = __ballot_sync(kAllLanes, is_root);
    if (threadIdx.x % 32 == 0) s.roots[r / 32] = roots;
  });
  __syncthreads();  // roots and borders are complete
}

// Ranks the roots, border ones before the others.
template <RunContacts Contacts>
__device__ uint32_t rank_roots(TileForest<Contacts>& s) {
  using T = typename Contacts::Tile;
  static_assert(T::runs / 32 <= T::threads, "a thread ranks one word of roots");
  const int w = static_cast<int>(threadIdx.x), words = (s.runs.count + 31) / 32;
  const uint32_t roots = w < words ? s.roots[w] : 0, borders = w < words ? s.borders[w] : 0;
  const uint32_t counts = static_cast<uint32_t>(__popc(borders)) |
                          static_cast<uint32_t>(__popc(roots & ~borders)) << 16;
  uint32_t total;
  const uint32_t earlier = sum_before<T::threads>(counts, s.warp_sums, total);
  if (w < words) s.earlier[w] = earlier;
  __syncthreads();  // ranks are complete
  return total;
}

template <RunContacts Contacts>
__device__ void publish_runs(TileForest<Contacts>& s, const Tiles& tiles, const TilePlace& place,
                             uint32_t counts) {
  using T = typename Contacts::Tile;
  const size_t at = static_cast<size_t>(place.tile) * T::runs;
  const uint32_t border_count = counts & 0xffffu;
  s.runs.for_each([&](int r, bool exists) {
    const uint32_t root = s.parent[r], w = root / 32;
    const uint32_t under = below(static_cast<int>(root % 32)), borders = s.borders[w];
    const bool is_border = borders >> root % 32 & 1;
    const uint32_t component =
        is_border ? (s.earlier[w] & 0xffffu) + __popc(borders & under)
                  : border_count + (s.earlier[w] >> 16) + __popc(s.roots[w] & ~borders & under);
    if (exists) tiles.component[at + r] = static_cast<uint16_t>(component);
    if (!exists || root != static_cast<uint32_t>(r)) return;
    const int first = s.runs.first(r);
    tiles.first[at + component] = static_cast<uint16_t>(first);
    atomicOr(&s.firsts[first / 32], 1u << first % 32);
    const uint32_t id = place.id(tiles, first);
    if (is_border) tiles.parent[id] = id;
  });
}

// The component ids along the tile's four edges.
template <RunContacts Contacts>
__device__ void publish_edges(const TileForest<Contacts>& s, const Tiles& tiles,
                              const TilePlace& place) {
  using T = typename Contacts::Tile;
  constexpr int kAcross = 2 * T::width;
  for (int i = static_cast<int>(threadIdx.x); i < kAcross + 2 * T::rows; i += T::threads) {
    int x, y;
    uint32_t* to;
    if (i < kAcross) {
      const bool is_top = i < T::width;
      x = i % T::width;
      y = is_top ? 0 : T::rows - 1;
      to = (is_top ? tiles.top : tiles.bottom) + static_cast<size_t>(place.row) * tiles.stride +
           place.x + x;
    } else {
      const bool is_left = i < kAcross + T::rows;
      x = is_left ? 0 : T::width - 1;
      y = (i - kAcross) % T::rows;
      if (place.y + y >= tiles.size.height) continue;
      to = (is_left ? tiles.left : tiles.right) +
           static_cast<size_t>(place.column) * tiles.size.height + place.y + y;
    }
    uint32_t id = kNone;
    if (s.runs.is_foreground(x, y)) {
      const auto root = static_cast<int>(s.parent[s.runs.run_at(x, y)]);
      id = place.id(tiles, s.runs.first(root));
    }
    *to = id;
  }
}

template <RunContacts Contacts>
__device__ void publish_words(const TileForest<Contacts>& s, const Tiles& tiles,
                              const TilePlace& place, uint32_t counts) {
  using T = typename Contacts::Tile;
  for (int w = static_cast<int>(threadIdx.x); w < T::all_words; w += T::threads) {
    const size_t at = static_cast<size_t>(place.tile) * T::all_words + w;
    tiles.foreground[at] = s.runs.foreground[w];
    tiles.starts[at] = s.runs.starts[w];
    tiles.rank[at] = s.runs.rank[w];
    const int y = place.y + w / T::words;
    if (y >= tiles.size.height) continue;
    const size_t word = static_cast<size_t>(y) * (tiles.stride / 32) + place.x / 32 + w % T::words;
    tiles.firsts[word] = s.firsts[w];
  }
  if (threadIdx.x != 0) return;
  const uint32_t border = counts & 0xffffu, components = border + (counts >> 16);
  tiles.count[place.tile] = {static_cast<uint16_t>(s.runs.count), static_cast<uint16_t>(components),
                             static_cast<uint16_t>(border), 0};
  tiles.regions[place.tile] = components;
}

template <RunContacts Contacts, class Reader>
__global__ __launch_bounds__(Contacts::Tile::threads,
                             Contacts::least_together) void label_tiles_kernel(Reader reader,
                                                                               Tiles tiles) {
  using T = typename Contacts::Tile;
  __shared__ TileForest<Contacts> s;
  const TilePlace place = place_of_block(tiles);
  Contacts contacts(s.runs, s.contacts);
  for (int w = static_cast<int>(threadIdx.x); w < T::all_words; w += T::threads) s.firsts[w] = 0;
  for (int w = static_cast<int>(threadIdx.x); w < T::runs / 32; w += T::threads) s.borders[w] = 0;
  let_next_start();
  contacts.read(reader, place.x, place.y);
  join_runs(s.runs, s.warp_sums, s.parent, contacts);
  find_roots(s, tiles, place);
  const uint32_t counts = rank_roots(s);
  publish_runs(s, tiles, place, counts);
  __syncthreads();  // first pixels are complete
  publish_words(s, tiles, place, counts);
  publish_edges(s, tiles, place);
}

template <RunContacts Contacts, class Reader>
void launch_tiles(const Subject& subject, const Tiles& tiles, cudaStream_t stream) {
  const dim3 grid(static_cast<unsigned>(tiles.columns), static_cast<unsigned>(tiles.rows));
  launch(label_tiles_kernel<Contacts, Reader>, grid, Contacts::Tile::threads, 0, stream,
         Reader(subject), tiles);
}

}  // namespace

void label_tiles(const Subject& subject, const Tiles& tiles, Connectivity connectivity,
                 cudaStream_t stream) {
  with_connectivity(connectivity, [&]<Connectivity c>() {
    using Bytes = ForegroundContacts<BinaryTile, c, ByteReader>;
    using Pixels = ForegroundContacts<BinaryTile, c, PixelReader>;
    using Colors = LinkedContacts<LinkedTile, c, ByteLinks>;
    using Numbers = LinkedContacts<LinkedTile, c, NumberLinks>;
    if (subject.criterion != Criterion::binary) {
      if (subject.frame.layout.sample_bytes == 1) {
        launch_tiles<Colors, ByteLinks>(subject, tiles, stream);
      } else {
        launch_tiles<Numbers, NumberLinks>(subject, tiles, stream);
      }
    } else if (ByteReader::can_read(subject)) {
      launch_tiles<Bytes, ByteReader>(subject, tiles, stream);
    } else {
      launch_tiles<Pixels, PixelReader>(subject, tiles, stream);
    }
  });
}

}  // namespace regions::cclabel

// A tile as its labels are written: in shared memory, the rows, what its nodes and components are,
// and how they came out.
#pragma once

#include <algorithm>
#include <bit>

#include "gpu/cclabel/volumes/tuning.hpp"
#include "gpu/cclabel/volumes/volume.hpp"
#include "gpu/primitives/warp.hpp"

#ifdef __CUDACC__

namespace regions::volumes {

// How a tile's rows and bands are counted: from its first. All numbers are powers of two.
template <class Block>
struct TileRows {
  static constexpr int kRows = CubeTile::words;
  static_assert(FlatTile::words == kRows && kRows <= Block::threads, "a row a thread");
  int row_bits;     // rows of a slice of the tile
  int across_bits;  // bands
  int bands;
  uint32_t room;  // for nodes, of a class
  explicit TileRows(const Volume& v)
      : row_bits(std::countr_zero(static_cast<unsigned>(v.tile_rows))),
        across_bits(row_bits - 1),
        bands(v.tile_bands()),
        room(std::min(static_cast<uint32_t>(v.tile_nodes()), Block::nodes)) {}
  // A word for each row; for each class, two for each band and each node.
  size_t shared_bytes(const Volume& v) const {
    return kRows * sizeof(uint32_t) +
           static_cast<size_t>(v.classes) * (2 * static_cast<size_t>(bands) * sizeof(uint32_t) +
                                             size_t{room} * 2 * sizeof(uint32_t));
  }
};

// The label of the region of a component, by its place and what is above it. One step up is on its
// way while we look whether this one is a region: memory is slow to answer.
__device__ inline uint32_t label_above(const Volume& v, uint32_t place, Entry above) {
  while (true) {
    const bool is_own = index_of_entry(above) == place;
    const Entry beyond = is_own ? above : v.forest[index_of_entry(above)];
    const uint32_t label = label_of_region(v, id_of_entry(above));
    if (static_cast<uint32_t>(label != 0) | static_cast<uint32_t>(beyond == above)) return label;
    above = beyond;
  }
}

// What a tile's rows are and how its components came out. The whole block calls all functions.
template <class Block>
struct TileLabels {
  using Rows = TileRows<Block>;
  static constexpr int kThreads = Block::threads, kRows = Rows::kRows;
  const Volume& v;
  const Rows& shape;
  const TilePlace place;
  uint32_t* bits;     // [rows] foreground
  uint32_t* starts;   // [class][bands] first columns of nodes
  uint32_t* counts;   // [class][bands] nodes of the tile before the word
  uint32_t* labels;   // [class][room] of components
  uint32_t* of_node;  // [class][room] labels of nodes

  __device__ TileLabels(const Volume& volume, const Rows& rows, uint4* shared)
      : v(volume), shape(rows), place(volume) {
    bits = reinterpret_cast<uint32_t*>(shared);
    starts = bits + kRows;
    counts = starts + v.classes * shape.bands;
    labels = counts + v.classes * shape.bands;
    of_node = labels + v.classes * shape.room;
  }

  __device__ int y_of(int r) const { return place.y + (r & (v.tile_rows - 1)); }
  __device__ int z_of(int r) const { return place.z + (r >> shape.row_bits); }
  __device__ bool holds(int r) const {
    return y_of(r) < v.stack.slice.height && z_of(r) < v.stack.slices;
  }
  // The row of the stack.
  __device__ int row_of(int r) const { return v.stack.row({y_of(r), z_of(r), place.layer}); }
  __device__ uint32_t of_class(uint32_t foreground, int cls) const {
    return cls == 0 ? foreground : ~foreground & inside(v, place.w);
  }

  // Reads the rows.
  __device__ void read() const {
    const int r = static_cast<int>(threadIdx.x);
    if (r < kRows) bits[r] = holds(r) ? v.bits[v.index_of(row_of(r), place.w)] : 0;
  }

  // The number of the tile's first node of a class.
  __device__ uint32_t first_node(int cls) const {
    return tile_of_class(v, place.index, cls) * static_cast<uint32_t>(v.tile_nodes());
  }

  // Reads the bands of a class.
  __device__ void read_nodes(int cls) const {
    const int b = static_cast<int>(threadIdx.x), band = cls * shape.bands + b;
    if (b >= shape.bands) return;
    const int y = place.y + (b & ((1 << shape.across_bits) - 1)) * kBandRows;
    const int z = place.z + (b >> shape.across_bits) * v.band_slices;
    WordNodes nodes = {0, first_node(cls)};
    if (y < v.stack.slice.height && z < v.stack.slices) {
      nodes = v.nodes[band_word(v, cls, place.layer, place.w, y, z)];
    }
    starts[band] = nodes.starts;
    counts[band] = nodes.first - first_node(cls);
  }

  // Labels the components of a class.
  __device__ void label_components(int cls, uint32_t components) const {
    // Some at once, as many as noise has: each waits for memory.
    constexpr uint32_t kTurns = 768 / kThreads;
    const uint32_t begin = first_node(cls);
    uint32_t* to = labels + cls * shape.room;
    for (uint32_t start = threadIdx.x; start < components; start += kTurns * kThreads) {
      Entry above[kTurns];
#pragma unroll
      for (uint32_t k = 0; k < kTurns; ++k) {
        const uint32_t component = start + k * kThreads;
        if (component < components) above[k] = v.forest[begin + component];
      }
#pragma unroll
      for (uint32_t k = 0; k < kTurns; ++k) {
        const uint32_t component = start + k * kThreads;
        if (component < components) to[component] = label_above(v, begin + component, above[k]);
      }
    }
  }

  // Components of a thread's share of a class's nodes, on their way.
  struct Fetched {
    static constexpr uint32_t kOfQuad = sizeof(uint4) / sizeof(uint16_t);
    static constexpr uint32_t kQuads = kRows / kBandRows * 32 / (kThreads * kOfQuad);
    static_assert(kQuads * kThreads * kOfQuad == kRows / kBandRows * 32, "a node a column");
    uint4 quad[kQuads];
  };
  __device__ Fetched fetch_components(int cls, uint32_t nodes) const {
    Fetched fetched = {};
    const auto* from = reinterpret_cast<const uint4*>(v.component + first_node(cls));
#pragma unroll
    for (uint32_t k = 0; k < Fetched::kQuads; ++k) {
      const uint32_t at = k * kThreads + threadIdx.x;
      if (at * Fetched::kOfQuad < nodes) fetched.quad[k] = from[at];
    }
    return fetched;
  }
  // Labels nodes as their components.
  __device__ void put(int cls, uint32_t nodes, const Fetched& fetched) const {
    const uint32_t* of_component = labels + cls * shape.room;
    auto* to = reinterpret_cast<uint4*>(of_node + cls * shape.room);
    // Behind the last node there is anything; all that have room there have a place.
    const auto label = [&](uint32_t component) {
      return of_component[component & (shape.room - 1)];
    };
    const auto pair = [&](uint32_t two) { return uint2{label(two), label(two >> 16)}; };
#pragma unroll
    for (uint32_t k = 0; k < Fetched::kQuads; ++k) {
      const uint32_t at = k * kThreads + threadIdx.x;
      if (at * Fetched::kOfQuad >= nodes) continue;
      const uint4& quad = fetched.quad[k];
      const uint2 a = pair(quad.x), b = pair(quad.y), c = pair(quad.z), d = pair(quad.w);
      to[2 * at] = make_uint4(a.x, a.y, b.x, b.y);
      to[2 * at + 1] = make_uint4(c.x, c.y, d.x, d.y);
    }
  }

  // A band of the tile, as far as it is inside: its rows of the tile and of the stack.
  struct Band {
    int rows, slices;  // up to 2 of each
    int row;           // the first; from one slice to the next,
    int of_stack;      //   1 << row_bits and the slice's height
  };
  __device__ Band band(int i) const {
    const int y = (i & ((1 << shape.across_bits) - 1)) * kBandRows;
    const int z = (i >> shape.across_bits) * v.band_slices;
    const int row = (z << shape.row_bits) + y;
    return {min(kBandRows, v.stack.slice.height - place.y - y),
            min(v.band_slices, v.stack.slices - place.z - z), row, row_of(row)};
  }
  // Calls visit(bits, row of the stack) for the rows of a band.
  template <class Visit>
  __device__ void for_each_row(const Band& band, const Visit& visit) const {
#pragma unroll
    for (int s = 0; s < 2; ++s) {
#pragma unroll
      for (int k = 0; k < kBandRows; ++k) {
        if (s >= band.slices || k >= band.rows) continue;
        visit(bits[band.row + (s << shape.row_bits) + k],
              band.of_stack + s * v.stack.slice.height + k);
      }
    }
  }

  // Finds the labels of columns b..b+3 of a band, as far as there are `columns` of the class.
  __device__ void find(int band, int b, int cls, uint32_t columns, uint32_t (&label)[4]) const {
    if (!columns) return;
    const uint32_t begins = starts[cls * shape.bands + band];
    const uint32_t* found = of_node + cls * shape.room;
    int node = static_cast<int>(counts[cls * shape.bands + band]) + __popc(begins & up_to(b)) - 1;
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      if (k > 0) node += static_cast<int>(begins >> (b + k) & 1);
      if (columns >> k & 1) label[k] = found[node];
    }
  }

  // The same where there is no room for the class's components: looks up the region of each.
  __device__ void look_up(int band, int b, int cls, uint32_t columns, uint32_t (&label)[4]) const {
    const uint32_t begins = starts[cls * shape.bands + band];
#pragma unroll 1
    for (int k = 0; k < 4; ++k) {
      if (!(columns >> k & 1)) continue;
      const uint32_t node = first_node(cls) + counts[cls * shape.bands + band] +
                            static_cast<uint32_t>(__popc(begins & up_to(b + k))) - 1;
      const uint32_t component = entry_of_node(v, node);
      const uint32_t found = label_above(v, component, v.forest[component]);
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        if (i == k) label[i] = found;
      }
    }
  }
};

}  // namespace regions::volumes

#endif

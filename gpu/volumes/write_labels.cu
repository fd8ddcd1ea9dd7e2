// Writes what each voxel's region gives. A block has a tile: first the labels of its components,
// then its voxels, four a thread. The output is written once and never read.
#include <bit>

#include "gpu/cclabel/runs.hpp"
#include "gpu/cclabel/writers.hpp"
#include "gpu/volumes/launch.hpp"
#include "gpu/volumes/phases.hpp"
#include "gpu/volumes/tuning.hpp"

namespace regions::volumes {
namespace {

constexpr int kThreads = WriteBlock::threads;
constexpr int kRows = CubeTile::words;  // of a tile
static_assert(FlatTile::words == kRows && kRows <= kThreads, "a row a thread");
constexpr int kStep = kThreads / 8;  // rows that a block writes at once, eight threads a row
static_assert(FlatTile::rows % kStep == 0 && kStep % (2 * CubeTile::rows) == 0, "whole bands");

// How a tile's rows and bands are counted: from its first. All numbers are powers of two.
struct TileRows {
  int row_bits;     // rows of a slice of the tile
  int across_bits;  // bands
  int bands;
  uint32_t nodes;
  int step_y, step_z;         // from row r to r + kStep,
  int step_rows, step_bands;  // in rows of the stack, and in bands
  explicit TileRows(const Volume& v)
      : row_bits(std::countr_zero(static_cast<unsigned>(v.tile_rows))),
        across_bits(row_bits - 1),
        bands(v.tile_bands()),
        nodes(static_cast<uint32_t>(v.tile_nodes())),
        step_y(v.tile_rows > kStep ? kStep : 0),
        step_z(v.tile_rows > kStep ? 0 : kStep / v.tile_rows),
        step_rows(step_z * v.stack.slice.height + step_y),
        step_bands((step_z / v.band_slices << across_bits) + step_y / kBandRows) {}
  // A word for each row; for each class, two for each band, and one and a half for each node.
  size_t shared_bytes(const Volume& v) const {
    return kRows * sizeof(uint32_t) +
           static_cast<size_t>(v.classes) * (2 * static_cast<size_t>(bands) * sizeof(uint32_t) +
                                             size_t{nodes} * (sizeof(uint32_t) + sizeof(uint16_t)));
  }
};

// What a tile's rows are and how its components came out. The whole block calls all functions.
struct WrittenTile {
  const Volume& v;
  const TileRows& shape;
  const TilePlace place;
  uint32_t* bits;    // [rows] foreground
  uint32_t* starts;  // [class][bands] first columns of nodes
  uint32_t* counts;  // [class][bands] nodes of the tile before the word
  uint32_t* labels;  // [class][nodes] of components; of lost ones, first voxels until that is known
  uint4* component;  // [class][nodes] 16 bits each: of nodes
  uint16_t* lost;    // [class][nodes] components that are no region, in the place of `component`

  __device__ WrittenTile(const Volume& volume, const TileRows& rows, uint4* shared)
      : v(volume), shape(rows), place(volume) {
    bits = reinterpret_cast<uint32_t*>(shared);
    starts = bits + kRows;
    counts = starts + v.classes * shape.bands;
    labels = counts + v.classes * shape.bands;
    component = reinterpret_cast<uint4*>(labels + v.classes * shape.nodes);
    lost = reinterpret_cast<uint16_t*>(component);
  }

  __device__ int y_of(int r) const { return place.y + (r & (v.tile_rows - 1)); }
  __device__ int z_of(int r) const { return place.z + (r >> shape.row_bits); }
  __device__ bool holds(int r) const {
    return y_of(r) < v.stack.slice.height && z_of(r) < v.stack.slices;
  }
  // The row of the stack.
  __device__ int row_of(int r) const {
    return (place.layer * v.stack.slices + z_of(r)) * v.stack.slice.height + y_of(r);
  }
  // The tile's band that a row belongs to.
  __device__ int band_of(int r) const {
    return (r >> shape.row_bits >> (v.band_slices - 1) << shape.across_bits) +
           (r & (v.tile_rows - 1)) / kBandRows;
  }
  __device__ uint32_t of_class(uint32_t foreground, int cls) const {
    return cls == 0 ? foreground : ~foreground & inside(v, place.w);
  }

  // What begins in the row of a thread.
  struct Begun {
    uint32_t parts = 0;   // first voxels of components
    uint32_t firsts = 0;  // of regions
    uint32_t before = 0;  // regions that start before the word
  };

  // Reads the rows.
  __device__ Begun read() const {
    const int r = static_cast<int>(threadIdx.x);
    if (r >= kRows) return {};
    const bool exists = holds(r);
    const size_t at = exists ? static_cast<size_t>(row_of(r)) * v.words + place.w : 0;
    bits[r] = exists ? v.bits[at] : 0;
    if (!exists) return {};
    return {v.parts[at], v.firsts[at], v.before[at]};
  }

  // The number of the tile's first node of a class.
  __device__ uint32_t first_node(int cls) const {
    return (place.index * static_cast<uint32_t>(v.classes) + static_cast<uint32_t>(cls)) *
           shape.nodes;
  }

  // Reads the bands of a class; returns how many nodes that of the thread has.
  __device__ uint32_t read_nodes(int cls) const {
    const int b = static_cast<int>(threadIdx.x), band = cls * shape.bands + b;
    if (b >= shape.bands) return 0;
    const int y = place.y + (b & ((1 << shape.across_bits) - 1)) * kBandRows;
    const int z = place.z + (b >> shape.across_bits) * v.band_slices;
    WordNodes nodes = {0, first_node(cls)};
    if (y < v.stack.slice.height && z < v.stack.slices) {
      nodes = v.nodes[band_word(v, cls, place.layer, place.w, y, z)];
    }
    starts[band] = nodes.starts;
    counts[band] = nodes.first - first_node(cls);
    return static_cast<uint32_t>(__popc(nodes.starts));
  }

  // Labels the components of a class that are regions. The others are listed: adds up how many.
  // Returns the nodes of all threads.
  __device__ uint32_t find_regions(const Begun& begun, uint32_t nodes, int cls,
                                   uint32_t (&warp_sums)[kThreads / 32],
                                   uint32_t& lost_count) const {
    const int r = static_cast<int>(threadIdx.x);
    const uint32_t parts = begun.parts ? begun.parts & of_class(bits[r], cls) : 0;
    uint32_t all;  // both numbers in one: of 8192 voxels every second one begins something
    const uint32_t both = static_cast<uint32_t>(__popc(parts)) << 16 | nodes;
    const uint32_t sums = cclabel::sum_before<kThreads>(both, warp_sums, all);
    uint32_t component_of_class = sums >> 16;
    const auto mine = static_cast<uint32_t>(__popc(parts & ~begun.firsts));
    uint16_t* list = lost + cls * shape.nodes;
    if (mine) list += atomicAdd(&lost_count, mine);  // in any order
    for (uint32_t left = parts; left; left &= left - 1) {
      const int bit = __ffs(static_cast<int>(left)) - 1;
      const auto earlier = static_cast<uint32_t>(__popc(begun.firsts & cclabel::below(bit)));
      const bool is_region = begun.firsts >> bit & 1;
      labels[cls * shape.nodes + component_of_class] =
          is_region ? begun.before + earlier + 1 : static_cast<uint32_t>(r * 32 + bit);
      if (!is_region) *list++ = static_cast<uint16_t>(component_of_class);
      ++component_of_class;
    }
    return all & 0xffff;
  }

  // Components of a thread's share of a class's nodes, on their way.
  struct Fetched {
    static constexpr uint32_t kOfQuad = sizeof(uint4) / sizeof(uint16_t);
    static constexpr uint32_t kQuads = 2;
    static_assert(kQuads * kThreads * kOfQuad >= kRows / kBandRows * 32, "a node a column");
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
  __device__ void put(int cls, uint32_t nodes, const Fetched& fetched) const {
    uint4* to = component + cls * shape.nodes / Fetched::kOfQuad;
#pragma unroll
    for (uint32_t k = 0; k < Fetched::kQuads; ++k) {
      const uint32_t at = k * kThreads + threadIdx.x;
      if (at * Fetched::kOfQuad < nodes) to[at] = fetched.quad[k];
    }
  }

  // Labels the components of a class that are no region, which are listed: as their roots.
  __device__ void find_lost(int cls, uint32_t count) const {
    uint32_t* of_class = labels + cls * shape.nodes;
    const uint32_t lane = threadIdx.x % 32;
    for (uint32_t start = threadIdx.x - lane; start < count; start += kThreads) {
      const bool exists = start + lane < count;
      uint32_t* label = of_class;
      uint32_t id = 0;
      if (exists) {
        label += lost[cls * shape.nodes + start + lane];
        const auto r = static_cast<int>(*label / 32), bit = static_cast<int>(*label % 32);
        id = v.id_of(place.layer, place.w, y_of(r), z_of(r), bit);
      }
      const uint32_t first = __shfl_sync(cclabel::kAllLanes, id, 0);
      const uint32_t root = cclabel::flatten(v.parent, exists ? id : first, exists);
      if (exists) *label = label_of_first(v.firsts, v.before, root);
    }
  }

  // Finds the labels of bits b..b+3 of row r, as far as they are of the class.
  __device__ void find(int r, int band, int b, int cls, uint32_t (&label)[4]) const {
    const uint32_t here = of_class(bits[r], cls) >> b & 15;
    if (!here) return;
    const uint32_t begins = starts[cls * shape.bands + band];
    const auto* numbers = reinterpret_cast<const uint16_t*>(component) + cls * shape.nodes;
    const uint32_t* of_component = labels + cls * shape.nodes;
    int node =
        static_cast<int>(counts[cls * shape.bands + band]) + __popc(begins & cclabel::up_to(b)) - 1;
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      if (k > 0) node += static_cast<int>(begins >> (b + k) & 1);
      if (here >> k & 1) label[k] = of_component[numbers[node]];
    }
  }
};

template <class Writer>
__global__ __launch_bounds__(kThreads) void write_kernel(Volume v, TileRows shape, Writer writer) {
  extern __shared__ uint4 shared[];
  __shared__ uint32_t warp_sums[kThreads / 32];
  __shared__ uint32_t lost[2];  // by class
  const WrittenTile tile(v, shape, shared);
  if (threadIdx.x < 2) lost[threadIdx.x] = 0;
  wait_for_earlier();
  const auto begun = tile.read();
  for (int cls = 0; cls < v.classes; ++cls) {
    const uint32_t mine = tile.read_nodes(cls);
    if (cls > 0) __syncthreads();  // warp_sums is free
    const uint32_t nodes = tile.find_regions(begun, mine, cls, warp_sums, lost[cls]);
    const auto fetched = tile.fetch_components(cls, nodes);
    __syncthreads();  // lists are complete
    tile.find_lost(cls, lost[cls]);
    __syncthreads();  // nobody needs the list
    tile.put(cls, nodes, fetched);
  }
  __syncthreads();  // labels are there
  const int bit = static_cast<int>(threadIdx.x % 8) * 4, x = tile.place.w * 32 + bit;
  if (x >= v.stack.slice.width) return;
  int r = static_cast<int>(threadIdx.x / 8), y = tile.y_of(r), z = tile.z_of(r);
  int row = tile.row_of(r), band = tile.band_of(r);
#pragma unroll 2
  for (; r < kRows && y < v.stack.slice.height && z < v.stack.slices; r += kStep) {
    uint32_t labels[4] = {};
    tile.find(r, band, bit, 0, labels);
    if (v.classes > 1) tile.find(r, band, bit, 1, labels);
    writer.write(x, row, labels);
    y += shape.step_y;
    z += shape.step_z;
    row += shape.step_rows;
    band += shape.step_bands;
  }
}

struct Launch {
  const Volume& volume;
  cudaStream_t stream;
  template <class Writer>
  void operator()(const Writer& writer) const {
    const TileRows shape(volume);
    const dim3 grid = tile_grid(volume);
    divide_memory(write_kernel<Writer>, volume.all_tiles());
    const size_t bytes = shape.shared_bytes(volume);
    constexpr size_t kUsual = 48 * 1024;  // more must be asked for
    if (bytes > kUsual) {
      check(cudaFuncSetAttribute(write_kernel<Writer>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                 static_cast<int>(bytes)),
            "asking for shared memory");
    }
    launch_chained(write_kernel<Writer>, grid, kThreads, bytes, stream, volume, shape, writer);
  }
};

}  // namespace

void write_labels(const Volume& volume, LabelMap labels, cudaStream_t stream) {
  cclabel::with_label_writer(labels, 1, UINT32_MAX, Launch{volume, stream});
}

void write_labels(const Volume& volume, const Frame& out, uint32_t limit, cudaStream_t stream) {
  cclabel::with_label_writer(out, 1, limit, Launch{volume, stream});
}

void write_mask(const Volume& volume, const Frame& out, cudaStream_t stream) {
  const uint32_t full = label_limit(out.layout);
  cclabel::with_label_writer(out, full, full, Launch{volume, stream});
}

void write_colors(const Volume& volume, const Frame& out, cudaStream_t stream) {
  Launch{volume, stream}(cclabel::ColorWriter{out});
}

}  // namespace regions::volumes

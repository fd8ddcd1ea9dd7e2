// Writes what each voxel's region gives. A block has a tile: first the labels of its components,
// then its voxels, four a thread. The output is written once and never read.
#include <bit>

#include "gpu/cclabel/runs.hpp"
#include "gpu/cclabel/writers.hpp"
#include "gpu/chain.hpp"
#include "gpu/volumes/phases.hpp"
#include "gpu/volumes/tuning.hpp"

namespace regions::volumes {
namespace {

constexpr int kThreads = WriteBlock::threads;
constexpr int kRows = CubeTile::words;  // of a tile
static_assert(FlatTile::words == kRows && kRows <= kThreads, "a row a thread");

// How a tile's rows and bands are counted: from its first. All numbers are powers of two.
struct TileRows {
  int row_bits;     // rows of a slice of the tile
  int across_bits;  // bands
  int bands, nodes;
  explicit TileRows(const Volume& v)
      : row_bits(std::countr_zero(static_cast<unsigned>(v.tile_rows))),
        across_bits(row_bits - 1),
        bands(v.tile_bands()),
        nodes(v.tile_nodes()) {}
  // A word for each row three times; for each class, two for each band, and one and a half for each
  // node.
  size_t shared_bytes(const Volume& v) const {
    return 3 * kRows * sizeof(uint32_t) +
           static_cast<size_t>(v.classes) *
               (static_cast<size_t>(2 * bands + nodes) * sizeof(uint32_t) +
                static_cast<size_t>(nodes) * sizeof(uint16_t));
  }
};

// What a tile's rows are and how its components came out. The whole block calls all functions.
struct WrittenTile {
  const Volume& v;
  const TileRows& shape;
  const TilePlace place;
  uint32_t* bits;    // [rows] foreground
  uint32_t* firsts;  // [rows] first voxels of regions
  uint32_t* before;  // [rows] regions that start before the word
  uint32_t* starts;  // [class][bands] first columns of nodes
  uint32_t* counts;  // [class][bands] nodes before the word
  uint32_t* labels;  // [class][nodes] of components; their first voxels before that is known
  uint4* component;  // [class][nodes] 16 bits each: of nodes

  __device__ WrittenTile(const Volume& volume, const TileRows& rows, uint4* shared)
      : v(volume), shape(rows), place(volume) {
    bits = reinterpret_cast<uint32_t*>(shared);
    firsts = bits + kRows;
    before = firsts + kRows;
    starts = before + kRows;
    counts = starts + v.classes * shape.bands;
    labels = counts + v.classes * shape.bands;
    component = reinterpret_cast<uint4*>(labels + v.classes * shape.nodes);
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

  // Reads the rows; returns the first voxels of components in the thread's.
  __device__ uint32_t read() const {
    const int r = static_cast<int>(threadIdx.x);
    if (r >= kRows) return 0;
    const bool exists = holds(r);
    const size_t at = exists ? static_cast<size_t>(row_of(r)) * v.words + place.w : 0;
    bits[r] = exists ? v.bits[at] : 0;
    firsts[r] = exists ? v.firsts[at] : 0;
    before[r] = exists ? v.before[at] : 0;
    return exists ? v.parts[at] : 0;
  }

  // Counts nodes and components of a class as label_tiles did, and fetches the nodes' components;
  // returns how many components.
  __device__ int count(uint32_t parts, int cls, uint32_t (&warp_sums)[kThreads / 32]) const {
    const int r = static_cast<int>(threadIdx.x), band = cls * shape.bands + r;
    uint32_t nodes = 0;
    if (r < shape.bands) {
      const int y = place.y + (r & ((1 << shape.across_bits) - 1)) * kBandRows;
      const int z = place.z + (r >> shape.across_bits) * v.band_slices;
      const bool exists = y < v.stack.slice.height && z < v.stack.slices;
      nodes = exists ? v.starts[band_word(v, cls, place.layer, place.w, y, z)] : 0;
      starts[band] = nodes;
    }
    if (parts) parts &= of_class(bits[r], cls);
    uint32_t all;  // both numbers in one: of 8192 voxels every second one begins something
    const uint32_t both =
        static_cast<uint32_t>(__popc(parts)) << 16 | static_cast<uint32_t>(__popc(nodes));
    const uint32_t sums = cclabel::sum_before<kThreads>(both, warp_sums, all);
    if (r < shape.bands) counts[band] = sums & 0xffff;
    uint32_t* voxel = labels + cls * shape.nodes + (sums >> 16);
    for (; parts; parts &= parts - 1) {
      *voxel++ = static_cast<uint32_t>(r * 32 + __ffs(static_cast<int>(parts)) - 1);
    }
    constexpr int kOfQuad = sizeof(uint4) / sizeof(uint16_t);
    const auto* from = reinterpret_cast<const uint4*>(
        v.component + (place.index * v.classes + cls) * static_cast<size_t>(shape.nodes));
    for (int k = r; k * kOfQuad < static_cast<int>(all & 0xffff); k += kThreads) {
      component[cls * shape.nodes / kOfQuad + k] = from[k];
    }
    return static_cast<int>(all >> 16);
  }

  // Turns the first voxels of a class's components into labels. Most components are regions; what
  // the others' roots are is found here, by whole warps.
  __device__ void find_labels(int cls, int count) const {
    uint32_t* of_class = labels + cls * shape.nodes;
    const int lane = static_cast<int>(threadIdx.x % 32);
    for (int start = static_cast<int>(threadIdx.x) - lane; start < count; start += kThreads) {
      const int c = start + lane;
      bool is_lost = false;
      uint32_t id = 0, label = 0;
      if (c < count) {
        const auto r = static_cast<int>(of_class[c] / 32), bit = static_cast<int>(of_class[c] % 32);
        id = v.id_of(place.layer, place.w, y_of(r), z_of(r), bit);
        label = before[r] + static_cast<uint32_t>(__popc(firsts[r] & cclabel::below(bit))) + 1;
        is_lost = !(firsts[r] >> bit & 1);
      }
      if (const uint32_t lanes = __ballot_sync(cclabel::kAllLanes, is_lost)) {
        const uint32_t some =
            __shfl_sync(cclabel::kAllLanes, id, __ffs(static_cast<int>(lanes)) - 1);
        const uint32_t root = cclabel::flatten(v.parent, is_lost ? id : some, is_lost);
        if (is_lost) label = label_of_first(v.firsts, v.before, root);
      }
      if (c < count) of_class[c] = label;
    }
  }

  // The labels of bits b..b+3 of row r.
  __device__ void find(int r, int b, uint32_t (&label)[4]) const {
    const int band = band_of(r);
    for (int cls = 0; cls < v.classes; ++cls) {
      const uint32_t here = of_class(bits[r], cls) >> b & 15;
      if (!here) continue;
      const uint32_t begins = starts[cls * shape.bands + band];
      const uint32_t node =
          counts[cls * shape.bands + band] - 1 +
          static_cast<uint32_t>(__popc(begins & cclabel::below(b)) + cls * shape.nodes);
      const auto* numbers = reinterpret_cast<const uint16_t*>(component);
#pragma unroll
      for (int k = 0; k < 4; ++k) {
        if (!(here >> k & 1)) continue;
        const auto more = static_cast<uint32_t>(__popc(begins >> b & cclabel::up_to(k)));
        label[k] = labels[static_cast<uint32_t>(cls * shape.nodes) + numbers[node + more]];
      }
    }
  }
};

template <class Writer>
__global__ __launch_bounds__(kThreads) void write_kernel(Volume v, TileRows shape, Writer writer) {
  extern __shared__ uint4 shared[];
  __shared__ uint32_t warp_sums[kThreads / 32];
  const WrittenTile tile(v, shape, shared);
  wait_for_earlier();
  const uint32_t parts = tile.read();
  for (int cls = 0; cls < v.classes; ++cls) {
    __syncthreads();  // rows are there, and warp_sums is free
    const int count = tile.count(parts, cls, warp_sums);
    __syncthreads();  // first voxels are there
    tile.find_labels(cls, count);
  }
  __syncthreads();  // labels are there
  // Eight threads write a row.
  const int bit = static_cast<int>(threadIdx.x % 8) * 4, x = tile.place.w * 32 + bit;
  if (x >= v.stack.slice.width) return;
#pragma unroll 2
  for (int r = static_cast<int>(threadIdx.x / 8); r < kRows; r += kThreads / 8) {
    if (!tile.holds(r)) continue;
    uint32_t labels[4] = {};
    tile.find(r, bit, labels);
    writer.write(x, tile.row_of(r), labels);
  }
}

struct Launch {
  const Volume& volume;
  cudaStream_t stream;
  template <class Writer>
  void operator()(const Writer& writer) const {
    const TileRows shape(volume);
    const dim3 grid(volume.tiles(), static_cast<unsigned>(volume.stack.layers));
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

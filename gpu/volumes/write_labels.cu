// Writes what each voxel's region gives. A block has a tile: first the labels of its components,
// then its voxels, four a thread. The output is written once and never read.
#include <bit>

#include "gpu/cclabel/runs.hpp"
#include "gpu/cclabel/writers.hpp"
#include "gpu/volumes/phases.hpp"
#include "gpu/volumes/tuning.hpp"

namespace regions::volumes {
namespace {

constexpr int kThreads = RowBlock::threads;
static_assert(CubeTile::threads == kThreads && FlatTile::threads == kThreads,
              "a thread has a row of its tile");

// How a tile's rows and bands are counted: from its first. All numbers are powers of two.
struct TileRows {
  int row_bits;     // rows of a slice of the tile
  int across_bits;  // bands
  int bands, nodes;
  explicit TileRows(const Volume& v)
      : row_bits(std::countr_zero(static_cast<unsigned>(v.tile_rows))),
        across_bits(row_bits - (v.band_rows - 1)),
        bands(v.tile_bands()),
        nodes(v.tile_nodes()) {}
  size_t shared_words(const Volume& v) const {
    return 3 * kThreads + static_cast<size_t>(v.classes * (2 * bands + nodes));
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
  uint32_t* bands;   // [class][bands]
  uint32_t* nodes;   // [class][bands] nodes before the word
  uint32_t* labels;  // [class][nodes] of components; their first voxels before that is known

  __device__ WrittenTile(const Volume& volume, const TileRows& rows, uint32_t* shared)
      : v(volume), shape(rows), place(volume) {
    bits = shared;
    firsts = bits + kThreads;
    before = firsts + kThreads;
    bands = before + kThreads;
    nodes = bands + v.classes * shape.bands;
    labels = nodes + v.classes * shape.bands;
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
           ((r & (v.tile_rows - 1)) >> (v.band_rows - 1));
  }
  __device__ uint32_t of_class(uint32_t foreground, int cls) const {
    return cls == 0 ? foreground : ~foreground & inside(v, place.w);
  }

  // Reads the rows; returns the first voxels of components in the thread's.
  __device__ uint32_t read() const {
    const int r = static_cast<int>(threadIdx.x);
    const bool exists = holds(r);
    const size_t at = exists ? static_cast<size_t>(row_of(r)) * v.words + place.w : 0;
    bits[r] = exists ? v.bits[at] : 0;
    firsts[r] = exists ? v.firsts[at] : 0;
    before[r] = exists ? v.before[at] : 0;
    return exists ? v.parts[at] : 0;
  }

  // Counts nodes and components of a class as label_tiles did; returns how many components.
  __device__ int count(uint32_t parts, int cls, uint32_t (&warp_sums)[kThreads / 32]) const {
    const int r = static_cast<int>(threadIdx.x);
    uint32_t band = 0;
    if (r < shape.bands) {
      const int first = (r & ((1 << shape.across_bits) - 1)) * v.band_rows +
                        (r >> shape.across_bits) * v.band_slices * v.tile_rows;
      for (int k = 0; k < v.band_rows * v.band_slices; ++k) {
        const int row = first + k % v.band_rows + k / v.band_rows * v.tile_rows;
        if (holds(row)) band |= of_class(bits[row], cls);
      }
      bands[cls * shape.bands + r] = band;
    }
    parts = holds(r) ? parts & of_class(bits[r], cls) : 0;
    uint32_t all;
    const uint32_t both =
        static_cast<uint32_t>(__popc(parts)) << 16 | static_cast<uint32_t>(__popc(starts_of(band)));
    const uint32_t sums = cclabel::sum_before<kThreads>(both, warp_sums, all);
    if (r < shape.bands) nodes[cls * shape.bands + r] = sums & 0xffff;
    uint32_t* voxel = labels + cls * shape.nodes + (sums >> 16);
    for (; parts; parts &= parts - 1) {
      *voxel++ = static_cast<uint32_t>(r * 32 + __ffs(static_cast<int>(parts)) - 1);
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
        if (is_lost) label = label_of_id(v, root);
      }
      if (c < count) of_class[c] = label;
    }
  }

  // The label of bit b of row r, whose foreground this is, if it is in the volume.
  __device__ uint32_t label_at(uint32_t foreground, int r, int b) const {
    const int cls = foreground >> b & 1 ? 0 : 1;
    if (cls == v.classes) return 0;
    const int band = cls * shape.bands + band_of(r);
    const auto node =
        static_cast<int>(nodes[band]) - 1 + __popc(starts_of(bands[band]) & cclabel::up_to(b));
    const uint16_t* component =
        v.component + (place.index * v.classes + cls) * static_cast<size_t>(shape.nodes);
    return labels[cls * shape.nodes + __ldg(component + node)];
  }
};

template <class Writer>
__global__ __launch_bounds__(kThreads) void write_kernel(Volume v, TileRows shape, Writer writer) {
  extern __shared__ uint32_t shared[];
  __shared__ uint32_t warp_sums[kThreads / 32];
  const WrittenTile tile(v, shape, shared);
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
  const uint32_t within = inside(v, tile.place.w);
#pragma unroll 2
  for (int r = static_cast<int>(threadIdx.x / 8); r < kThreads; r += kThreads / 8) {
    if (!tile.holds(r)) continue;
    const uint32_t foreground = tile.bits[r];
    uint32_t labels[4];
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      labels[k] = within >> (bit + k) & 1 ? tile.label_at(foreground, r, bit + k) : 0;
    }
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
    launch(write_kernel<Writer>, grid, kThreads, shape.shared_words(volume) * sizeof(uint32_t),
           stream, volume, shape, writer);
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

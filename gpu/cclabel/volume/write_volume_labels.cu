// Pass 6 for volumes: writes the label, mask or colour of each voxel's region. A block writes one
// tile. It first looks up the labels of the tile's components. Then each thread writes four voxels
// at a time.
#include <algorithm>
#include <bit>

#include "gpu/cclabel/first_pixels.hpp"
#include "gpu/cclabel/pixel_writers.hpp"
#include "gpu/cclabel/volume/volume.hpp"
#include "gpu/primitives/warp.hpp"

namespace regions::volume {
namespace {

// Block shape of write_kernel().
template <int threads_>
struct WriteBlock {
  static constexpr int threads = threads_;
  // Maximum number of nodes in shared memory, per class.
  static constexpr uint32_t max_nodes = 2048;
};
using UsualWriteBlock = WriteBlock<256>;
// For few tiles. Measured with 128^3 voxels, noise with 30% foreground (H200, 2026-11-22): 28.9 µs
// (256 threads: 30.3 µs) with 6-connectivity, 26.8 µs (27.1 µs) with 26-connectivity. Slower for
// 256^3 voxels: 103 µs (256 threads: 98 µs).
using LargeWriteBlock = WriteBlock<512>;

// Number of resident threads per multiprocessor, for __launch_bounds__. 2048 is the maximum of the
// device. Writing colours needs more registers, so fewer threads are resident.
template <cclabel::PixelWriter Writer>
inline constexpr int kThreadsPerMultiprocessor = 2048;
template <>
inline constexpr int kThreadsPerMultiprocessor<cclabel::ColorWriter> = 512;

// The sizes of a tile and of its arrays in shared memory. All sizes are powers of two.
template <class Block>
struct TileGeometry {
  static constexpr int kRows = VolumeTile::words;
  static_assert(FlatTile::words == kRows && kRows <= Block::threads, "one row per thread");
  int row_bits;       // log2 of the number of rows per slice of the tile
  int band_bits;      // log2 of the number of bands per slice of the tile
  int bands;          // number of bands of the tile
  uint32_t capacity;  // maximum number of nodes per class in shared memory
  explicit TileGeometry(const VolumeArrays& v)
      : row_bits(std::countr_zero(static_cast<unsigned>(v.tile_rows))),
        band_bits(row_bits - 1),
        bands(v.max_tile_bands()),
        capacity(std::min(static_cast<uint32_t>(v.max_tile_nodes()), Block::max_nodes)) {}
  // Bytes of shared memory: one 32-bit word per row; for each class, two words per band and two
  // words per node.
  size_t shared_bytes(const VolumeArrays& v) const {
    static_assert(shared_bytes(2, kRows / kBandRows, Block::max_nodes) <= 48 * 1024,
                  "a kernel must set an attribute to use more shared memory");
    return shared_bytes(static_cast<size_t>(v.classes), static_cast<size_t>(bands), capacity);
  }

 private:
  static constexpr size_t shared_bytes(size_t classes, size_t bands, size_t capacity) {
    return kRows * sizeof(uint32_t) + classes * (bands + capacity) * 2 * sizeof(uint32_t);
  }
};

// Returns the label of a component's region. `index` is the index of the component's entry;
// `parent` is this entry's value. Follows parents until it finds a component that has a label.
// Loads the grandparent while it looks up the parent's label, because memory latency dominates.
__device__ inline uint32_t label_of_component(const VolumeArrays& v, uint32_t index,
                                              ForestEntry parent) {
  while (true) {
    const bool is_root = index_of_entry(parent) == index;
    const ForestEntry grandparent = is_root ? parent : v.forest[index_of_entry(parent)];
    const uint32_t label = label_of_region(v, id_of_entry(parent));
    // If the root has no label, a filter removed the region, and the result is 0.
    if (static_cast<uint32_t>(label != 0) | static_cast<uint32_t>(grandparent == parent)) {
      return label;
    }
    parent = grandparent;
  }
}

// A tile in shared memory: its rows, and the labels of its nodes. The whole block must call the
// functions whose names begin with load, label or store.
template <class Block>
struct TileLabels {
  using Geometry = TileGeometry<Block>;
  static constexpr int kThreads = Block::threads, kRows = Geometry::kRows;
  const VolumeArrays& v;
  const Geometry& geometry;
  const VolumeTilePosition tile;
  uint32_t* bits;           // [kRows] foreground
  uint32_t* starts;         // [class][bands] first columns of nodes
  uint32_t* nodes_before;   // [class][bands] number of nodes of the tile before the band
  uint32_t* label_of;       // [class][capacity] by component: label of its region
  uint32_t* label_of_node;  // [class][capacity] by node: label of its region

  __device__ TileLabels(const VolumeArrays& volume, const Geometry& tile_geometry, uint4* shared)
      : v(volume), geometry(tile_geometry), tile(volume) {
    bits = reinterpret_cast<uint32_t*>(shared);
    starts = bits + kRows;
    nodes_before = starts + v.classes * geometry.bands;
    label_of = nodes_before + v.classes * geometry.bands;
    label_of_node = label_of + v.classes * geometry.capacity;
  }

  // For row r of the tile: its position, whether it is inside the volume, and its row in the
  // output.
  __device__ int y_of(int r) const { return tile.y + (r & (v.tile_rows - 1)); }
  __device__ int z_of(int r) const { return tile.z + (r >> geometry.row_bits); }
  __device__ bool has_row(int r) const {
    return y_of(r) < v.layout.slice.height && z_of(r) < v.layout.slices;
  }
  __device__ int output_row(int r) const { return v.layout.row({y_of(r), z_of(r), tile.layer}); }
  __device__ uint32_t class_bits(uint32_t foreground, int voxel_class) const {
    return voxel_class == 0 ? foreground : ~foreground & valid_bits(v, tile.w);
  }

  __device__ void load_rows() const {
    const int r = static_cast<int>(threadIdx.x);
    if (r < kRows) bits[r] = has_row(r) ? v.bits[v.word_index(output_row(r), tile.w)] : 0;
  }

  // Returns the index of the tile's first node of a class.
  __device__ uint32_t first_node(int voxel_class) const {
    return tile_class_index(v, tile.index, voxel_class) * static_cast<uint32_t>(v.max_tile_nodes());
  }

  // Loads the nodes of all bands of a class.
  __device__ void load_nodes(int voxel_class) const {
    const int b = static_cast<int>(threadIdx.x), band = voxel_class * geometry.bands + b;
    if (b >= geometry.bands) return;
    const int y = tile.y + (b & ((1 << geometry.band_bits) - 1)) * kBandRows;
    const int z = tile.z + (b >> geometry.band_bits) * v.band_slices;
    WordNodes nodes = {0, first_node(voxel_class)};
    if (y < v.layout.slice.height && z < v.layout.slices) {
      nodes = v.nodes[band_word_index(v, voxel_class, tile.layer, tile.w, y, z)];
    }
    starts[band] = nodes.starts;
    nodes_before[band] = nodes.first - first_node(voxel_class);
  }

  // Looks up the labels of the components of a class.
  __device__ void label_components(int voxel_class, uint32_t components) const {
    // Each thread loads several components at once to hide the memory latency. A tile of noise has
    // about 768 components.
    constexpr uint32_t kSteps = 768 / kThreads;
    const uint32_t begin = first_node(voxel_class);
    uint32_t* to = label_of + voxel_class * geometry.capacity;
    for (uint32_t start = threadIdx.x; start < components; start += kSteps * kThreads) {
      ForestEntry parent[kSteps];
#pragma unroll
      for (uint32_t k = 0; k < kSteps; ++k) {
        const uint32_t component = start + k * kThreads;
        if (component < components) parent[k] = v.forest[begin + component];
      }
#pragma unroll
      for (uint32_t k = 0; k < kSteps; ++k) {
        const uint32_t component = start + k * kThreads;
        if (component < components) {
          to[component] = label_of_component(v, begin + component, parent[k]);
        }
      }
    }
  }

  // The component numbers of the thread's share of the nodes of a class. They are loaded early, so
  // that the loads overlap with label_components().
  struct LoadedNodes {
    static constexpr uint32_t kNodesPerLoad = sizeof(uint4) / sizeof(uint16_t);
    static constexpr uint32_t kLoads = kRows / kBandRows * 32 / (kThreads * kNodesPerLoad);
    static_assert(kLoads * kThreads * kNodesPerLoad == kRows / kBandRows * 32,
                  "one node per column");
    uint4 components[kLoads];
  };
  __device__ LoadedNodes load_components(int voxel_class, uint32_t nodes) const {
    LoadedNodes loaded = {};
    const auto* from =
        reinterpret_cast<const uint4*>(v.component_of_node + first_node(voxel_class));
#pragma unroll
    for (uint32_t k = 0; k < LoadedNodes::kLoads; ++k) {
      const uint32_t i = k * kThreads + threadIdx.x;
      if (i * LoadedNodes::kNodesPerLoad < nodes) loaded.components[k] = from[i];
    }
    return loaded;
  }
  // Stores the label of each node, which is the label of its component, in label_of_node.
  __device__ void store_node_labels(int voxel_class, uint32_t nodes,
                                    const LoadedNodes& loaded) const {
    const uint32_t* labels = label_of + voxel_class * geometry.capacity;
    auto* to = reinterpret_cast<uint4*>(label_of_node + voxel_class * geometry.capacity);
    // The last load may contain undefined numbers after the last node. The mask keeps the index
    // inside the array.
    const auto label = [&](uint32_t component) {
      return labels[component & (geometry.capacity - 1)];
    };
    const auto label_pair = [&](uint32_t two_components) {
      return uint2{label(two_components), label(two_components >> 16)};
    };
#pragma unroll
    for (uint32_t k = 0; k < LoadedNodes::kLoads; ++k) {
      const uint32_t i = k * kThreads + threadIdx.x;
      if (i * LoadedNodes::kNodesPerLoad >= nodes) continue;
      const uint4& eight_components = loaded.components[k];
      const uint2 a = label_pair(eight_components.x), b = label_pair(eight_components.y),
                  c = label_pair(eight_components.z), d = label_pair(eight_components.w);
      to[2 * i] = make_uint4(a.x, a.y, b.x, b.y);
      to[2 * i + 1] = make_uint4(c.x, c.y, d.x, d.y);
    }
  }

  // The rows of a band of the tile that are inside the volume.
  struct Band {
    int rows, slices;  // numbers of rows and slices inside the volume, at most 2
    int tile_row;  // the band's first row in the tile; its second slice is 1 << row_bits rows later
    int output_row;  // the band's first row in the output; its second slice is slice.height rows
                     // later
  };
  __device__ Band band(int i) const {
    const int y = (i & ((1 << geometry.band_bits) - 1)) * kBandRows;
    const int z = (i >> geometry.band_bits) * v.band_slices;
    const int row = (z << geometry.row_bits) + y;
    return {min(kBandRows, v.layout.slice.height - tile.y - y),
            min(v.band_slices, v.layout.slices - tile.z - z), row, output_row(row)};
  }
  // Calls visit(bits, row of the output) for the rows of a band.
  template <class Visit>
  __device__ void for_each_row(const Band& band, const Visit& visit) const {
#pragma unroll
    for (int s = 0; s < 2; ++s) {
#pragma unroll
      for (int k = 0; k < kBandRows; ++k) {
        if (s >= band.slices || k >= band.rows) continue;
        visit(bits[band.tile_row + (s << geometry.row_bits) + k],
              band.output_row + s * v.layout.slice.height + k);
      }
    }
  }

  // Loads the labels of columns b..b+3 of a band. Bit k of `columns` is set if column b + k has a
  // voxel of the class; other entries of `label` are not changed.
  __device__ void load_labels(int band, int b, int voxel_class, uint32_t columns,
                              uint32_t (&label)[4]) const {
    if (!columns) return;
    const uint32_t node_starts = starts[voxel_class * geometry.bands + band];
    const uint32_t* labels = label_of_node + voxel_class * geometry.capacity;
    int node = static_cast<int>(nodes_before[voxel_class * geometry.bands + band]) +
               __popc(node_starts & bits_up_to(b)) - 1;
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      if (k > 0) node += static_cast<int>(node_starts >> (b + k) & 1);
      if (columns >> k & 1) label[k] = labels[node];
    }
  }

  // Like load_labels(), for a class that has more nodes than fit into shared memory: looks up each
  // node's region in device memory.
  __device__ void look_up_labels(int band, int b, int voxel_class, uint32_t columns,
                                 uint32_t (&label)[4]) const {
    const uint32_t node_starts = starts[voxel_class * geometry.bands + band];
#pragma unroll 1
    for (int k = 0; k < 4; ++k) {
      if (!(columns >> k & 1)) continue;
      const uint32_t node = first_node(voxel_class) +
                            nodes_before[voxel_class * geometry.bands + band] +
                            static_cast<uint32_t>(__popc(node_starts & bits_up_to(b + k))) - 1;
      const uint32_t component = entry_index_of_node(v, node);
      const uint32_t component_label = label_of_component(v, component, v.forest[component]);
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        if (i == k) label[i] = component_label;
      }
    }
  }
};

template <class Block, cclabel::PixelWriter Writer>
__global__ __launch_bounds__(Block::threads, kThreadsPerMultiprocessor<Writer> / Block::threads)  //
    void write_kernel(VolumeArrays v, TileGeometry<Block> geometry, Writer writer) {
  extern __shared__ uint4 shared[];
  const TileLabels<Block> labels(v, geometry, shared);
  pdl_wait();
  labels.load_rows();
  bool all_fit = true;  // whether the nodes of all classes fit into shared memory
  for (int voxel_class = 0; voxel_class < v.classes; ++voxel_class) {
    const TileClassCounts counts = v.counts[tile_class_index(v, labels.tile.index, voxel_class)];
    labels.load_nodes(voxel_class);
    const bool fits = counts.nodes <= geometry.capacity;
    all_fit &= fits;
    if (!fits) continue;
    const auto loaded = labels.load_components(voxel_class, counts.nodes);
    labels.label_components(voxel_class, counts.components);
    __syncthreads();  // label_of is complete
    labels.store_node_labels(voxel_class, counts.nodes, loaded);
  }
  __syncthreads();  // the rows, bands and label_of_node are complete
  const int bit = static_cast<int>(threadIdx.x % 8) * 4, x = labels.tile.w * 32 + bit;
  if (x >= v.layout.slice.width) return;
  // Each thread writes four columns of all rows of a band, because the rows have the same nodes in
  // these columns. Measured (H200, 2026-11-22): 256^3 voxels take 23.7 µs (was 25.4 µs) with
  // 26-connectivity and 33.8 µs (was 33.1 µs) with 6-connectivity; 128^3 voxels take 6.5 µs (was
  // 7.1 µs).
  const auto write = [&](const auto& find) {
    for (int b = static_cast<int>(threadIdx.x / 8); b < geometry.bands; b += Block::threads / 8) {
      const auto band = labels.band(b);
      uint32_t any_row = 0, all_rows = ~0u;
      labels.for_each_row(band, [&](uint32_t row, int) {
        any_row |= row;
        all_rows &= row;
      });
      uint32_t foreground[4] = {}, background[4] = {};
      find(b, 0, any_row >> bit & 15, foreground);
      if (v.classes > 1) find(b, 1, labels.class_bits(all_rows, 1) >> bit & 15, background);
#pragma unroll
      for (int k = 0; k < 4; ++k) {
        foreground[k] = writer.value(foreground[k]);
        background[k] = writer.value(background[k]);
      }
      labels.for_each_row(band, [&](uint32_t row, int output_row) {
        uint32_t values[4];
#pragma unroll
        for (int k = 0; k < 4; ++k) {
          values[k] = row >> (bit + k) & 1 ? foreground[k] : background[k];
        }
        writer.put(x, output_row, values);
      });
    }
  };
  if (all_fit) {
    write([&](int band, int voxel_class, uint32_t columns, uint32_t(&label)[4]) {
      labels.load_labels(band, bit, voxel_class, columns, label);
    });
  } else {
    write([&](int band, int voxel_class, uint32_t columns, uint32_t(&label)[4]) {
      labels.look_up_labels(band, bit, voxel_class, columns, label);
    });
  }
}

// Launches write_kernel() with a writer.
struct WriteLaunch {
  const VolumeArrays& volume;
  cudaStream_t stream;
  template <cclabel::PixelWriter Writer>
  void operator()(const Writer& writer) const {
    if (volume.all_tiles() <= cclabel::kFewTiles) {
      launch_blocks<LargeWriteBlock>(writer);
    } else {
      launch_blocks<UsualWriteBlock>(writer);
    }
  }

 private:
  template <class Block, cclabel::PixelWriter Writer>
  void launch_blocks(const Writer& writer) const {
    const TileGeometry<Block> geometry(volume);
    const auto kernel = write_kernel<Block, Writer>;
    cclabel::set_carveout(kernel, volume.all_tiles());
    launch_pdl(kernel, tile_grid(volume), Block::threads, geometry.shared_bytes(volume), stream,
               volume, geometry, writer);
  }
};

}  // namespace

void write_labels(const VolumeArrays& volume, LabelMap labels, cudaStream_t stream) {
  cclabel::with_label_writer(labels, 1, UINT32_MAX, WriteLaunch{volume, stream});
}

void write_labels(const VolumeArrays& volume, const Frame& out, uint32_t limit,
                  cudaStream_t stream) {
  cclabel::with_label_writer(out, 1, limit, WriteLaunch{volume, stream});
}

void write_mask(const VolumeArrays& volume, const Frame& out, cudaStream_t stream) {
  const uint32_t full = max_label_of(out.layout);
  cclabel::with_label_writer(out, full, full, WriteLaunch{volume, stream});
}

void write_colors(const VolumeArrays& volume, const Frame& out, cudaStream_t stream) {
  WriteLaunch{volume, stream}(cclabel::ColorWriter{out});
}

}  // namespace regions::volume

// Writes what each voxel's region gives. A block has a tile: first the labels of its components,
// then its voxels, four a thread. The output is written once and never read.
#include "gpu/cclabel/writers.hpp"
#include "gpu/volumes/launch.hpp"
#include "gpu/volumes/phases.hpp"
#include "gpu/volumes/written_tile.hpp"

namespace regions::volumes {
namespace {

// Threads of a multiprocessor: as many as there is room for. Colours take more registers.
template <class Writer>
inline constexpr int kMostThreads = 2048;
template <>
inline constexpr int kMostThreads<cclabel::ColorWriter> = 512;

template <class Block, class Writer>
__global__ __launch_bounds__(Block::threads, kMostThreads<Writer> / Block::threads)  //
    void write_kernel(Volume v, TileRows<Block> shape, Writer writer) {
  extern __shared__ uint4 shared[];
  using Rows = TileRows<Block>;
  const WrittenTile<Block> tile(v, shape, shared);
  wait_for_earlier();
  tile.read();
  bool have_room = true;  // all classes
  for (int cls = 0; cls < v.classes; ++cls) {
    const TileCounts counts = v.counts[tile_of_class(v, tile.place.index, cls)];
    tile.read_nodes(cls);
    const bool has_room = counts.nodes <= shape.room;
    have_room &= has_room;
    if (!has_room) continue;
    const auto fetched = tile.fetch_components(cls, counts.nodes);
    tile.label_components(cls, counts.components);
    __syncthreads();  // components are labelled
    tile.put(cls, counts.nodes, fetched);
  }
  __syncthreads();  // labels are there
  const int bit = static_cast<int>(threadIdx.x % 8) * 4, x = tile.place.w * 32 + bit;
  if (x >= v.stack.slice.width) return;
  const auto write = [&](const auto& find) {
    int r = static_cast<int>(threadIdx.x / 8), y = tile.y_of(r), z = tile.z_of(r);
    int row = tile.row_of(r), band = tile.band_of(r);
#pragma unroll 2
    for (; r < Rows::kRows && y < v.stack.slice.height && z < v.stack.slices; r += Rows::kStep) {
      uint32_t labels[4] = {};
      find(r, band, 0, labels);
      if (v.classes > 1) find(r, band, 1, labels);
      writer.write(x, row, labels);
      y += shape.step_y;
      z += shape.step_z;
      row += shape.step_rows;
      band += shape.step_bands;
    }
  };
  if (have_room) {
    write([&](int r, int band, int cls, uint32_t(&label)[4]) {
      tile.find(r, band, bit, cls, label);
    });
  } else {
    write([&](int r, int band, int cls, uint32_t(&label)[4]) {
      tile.look_up(r, band, bit, cls, label);
    });
  }
}

struct Launch {
  const Volume& volume;
  cudaStream_t stream;
  template <class Writer>
  void operator()(const Writer& writer) const {
    if (volume.all_tiles() <= kFewTiles) {
      launch_blocks<BusyWriteBlock>(writer);
    } else {
      launch_blocks<WriteBlock>(writer);
    }
  }

 private:
  template <class Block, class Writer>
  void launch_blocks(const Writer& writer) const {
    const TileRows<Block> shape(volume);
    const auto kernel = write_kernel<Block, Writer>;
    divide_memory(kernel, volume.all_tiles());
    const size_t bytes = shape.shared_bytes(volume);
    constexpr size_t kUsual = 48 * 1024;  // more must be asked for
    if (bytes > kUsual) {
      check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                 static_cast<int>(bytes)),
            "asking for shared memory");
    }
    launch_chained(kernel, tile_grid(volume), Block::threads, bytes, stream, volume, shape, writer);
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

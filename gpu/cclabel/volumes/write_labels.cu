// Writes what each voxel's region gives. A block has a tile: first the labels of its components,
// then its voxels, four a thread. The output is written once and never read.
#include "gpu/cclabel/base/divide_memory.hpp"
#include "gpu/cclabel/base/writers.hpp"
#include "gpu/cclabel/volumes/phases.hpp"
#include "gpu/cclabel/volumes/tile_labels.hpp"

namespace regions::volumes {
namespace {

// Threads of a multiprocessor: as many as there is room for. Colours take more registers.
template <cclabel::PixelWriter Writer>
inline constexpr int kMaxThreads = 2048;
template <>
inline constexpr int kMaxThreads<cclabel::ColorWriter> = 512;

template <class Block, cclabel::PixelWriter Writer>
__global__ __launch_bounds__(Block::threads, kMaxThreads<Writer> / Block::threads)  //
    void write_kernel(Volume v, TileRows<Block> shape, Writer writer) {
  extern __shared__ uint4 shared[];
  using Rows = TileRows<Block>;
  const TileLabels<Block> tile(v, shape, shared);
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
  // A thread has four columns of a band, of which all rows have the same nodes there (256^3, 23.7
  // us for 25.4 with 26 neighbours, 33.8 for 33.1 with 6; 128^3, 6.5 for 7.1; H200, 2026-11-22).
  const auto write = [&](const auto& find) {
    for (int b = static_cast<int>(threadIdx.x / 8); b < shape.bands; b += Block::threads / 8) {
      const auto band = tile.band(b);
      uint32_t any = 0, all = ~0u;
      tile.for_each_row(band, [&](uint32_t row, int) {
        any |= row;
        all &= row;
      });
      uint32_t of_foreground[4] = {}, of_background[4] = {};
      find(b, 0, any >> bit & 15, of_foreground);
      if (v.classes > 1) find(b, 1, tile.of_class(all, 1) >> bit & 15, of_background);
#pragma unroll
      for (int k = 0; k < 4; ++k) {
        of_foreground[k] = writer.value(of_foreground[k]);
        of_background[k] = writer.value(of_background[k]);
      }
      tile.for_each_row(band, [&](uint32_t row, int of_stack) {
        uint32_t values[4];
#pragma unroll
        for (int k = 0; k < 4; ++k) {
          values[k] = row >> (bit + k) & 1 ? of_foreground[k] : of_background[k];
        }
        writer.put(x, of_stack, values);
      });
    }
  };
  if (have_room) {
    write([&](int band, int cls, uint32_t columns, uint32_t(&label)[4]) {
      tile.find(band, bit, cls, columns, label);
    });
  } else {
    write([&](int band, int cls, uint32_t columns, uint32_t(&label)[4]) {
      tile.look_up(band, bit, cls, columns, label);
    });
  }
}

struct Launch {
  const Volume& volume;
  cudaStream_t stream;
  template <cclabel::PixelWriter Writer>
  void operator()(const Writer& writer) const {
    if (volume.all_tiles() <= cclabel::kFewTiles) {
      launch_blocks<BusyWriteBlock>(writer);
    } else {
      launch_blocks<WriteBlock>(writer);
    }
  }

 private:
  template <class Block, cclabel::PixelWriter Writer>
  void launch_blocks(const Writer& writer) const {
    const TileRows<Block> shape(volume);
    const auto kernel = write_kernel<Block, Writer>;
    cclabel::divide_memory(kernel, volume.all_tiles());
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

// Passes 7 and 8 for images: write the label, mask or colour of each pixel's region, and copy the
// records of the regions to the host.
#include <algorithm>

#include "gpu/cclabel/labelling_passes.hpp"
#include "gpu/cclabel/pixel_writers.hpp"
#include "gpu/runtime/launch.hpp"

namespace regions::cclabel {
namespace {

// Shared memory of a block: the runs of its tile, and the value of each run and component.
template <class Shape>
struct TileValues {
  uint32_t foreground[Shape::all_words];
  uint32_t run_starts[Shape::all_words];
  uint16_t runs_before[Shape::all_words];
  uint32_t component_value[Shape::max_runs];
  uint32_t run_value[Shape::max_runs];
};

// A block writes one tile. The results of label_tiles() are loaded before pdl_wait(), while
// number_regions() may still run.
template <class Shape, PixelWriter Writer>
__global__ __launch_bounds__(Shape::threads,
                             Shape::min_blocks) void write_labels_kernel(ImageTiles tiles,
                                                                         Writer writer,
                                                                         ShownValues shown) {
  __shared__ TileValues<Shape> shared;
  const TilePosition position = tile_of_block(tiles);
  const int thread_index = static_cast<int>(threadIdx.x);
  const size_t begin = static_cast<size_t>(position.tile_index) * Shape::max_runs;
  const TileCounts count = tiles.counts[position.tile_index];
  for (int w = thread_index; w < Shape::all_words; w += Shape::threads) {
    const size_t index = static_cast<size_t>(position.tile_index) * Shape::all_words + w;
    shared.foreground[w] = tiles.foreground[index];
    shared.run_starts[w] = tiles.run_starts[index];
    shared.runs_before[w] = tiles.runs_before[index];
  }
  // At first, component_value contains the components' first pixels, and run_value the runs'
  // components.
  for (int c = thread_index; c < count.components; c += Shape::threads)
    shared.component_value[c] = tiles.first_pixel[begin + c];
  for (int r = thread_index; r < count.runs; r += Shape::threads)
    shared.run_value[r] = tiles.component_of_run[begin + r];
  if (!tiles.are_numbered) pdl_wait_and_trigger();
  for (int c = thread_index; c < count.components; c += Shape::threads) {
    const auto first = static_cast<uint16_t>(shared.component_value[c]);
    const uint32_t root = root_of_component(tiles, position, c, count.border, first);
    shared.component_value[c] = shown.value_of(label_of_root(tiles, root));
  }
  __syncthreads();  // component_value now contains the values to show
  for (int r = thread_index; r < count.runs; r += Shape::threads)
    shared.run_value[r] = shared.component_value[shared.run_value[r]];
  __syncthreads();  // the words and run_value are complete
  write_words<Shape>(shared, shared.run_value, position.x, position.y, tiles.size, writer);
  if (tiles.are_numbered) pdl_wait_and_trigger();
}

template <PixelWriter Writer>
void launch_writer(const ImageTiles& tiles, const Writer& writer, const ShownValues& shown,
                   cudaStream_t stream) {
  const dim3 grid(static_cast<unsigned>(tiles.tile_columns),
                  static_cast<unsigned>(tiles.tile_rows));
  if (tiles.tile_width == BinaryTile::width) {
    launch_pdl(write_labels_kernel<BinaryTile, Writer>, grid, BinaryTile::threads, 0, stream, tiles,
               writer, shown);
  } else {
    launch_pdl(write_labels_kernel<LinkedTile, Writer>, grid, LinkedTile::threads, 0, stream, tiles,
               writer, shown);
  }
}

struct TilesLaunch {
  const ImageTiles& tiles;
  const ShownValues& shown;
  cudaStream_t stream;
  template <PixelWriter Writer>
  void operator()(const Writer& writer) const {
    launch_writer(tiles, writer, shown, stream);
  }
};

constexpr int kPublishThreads = 256;

__global__ void publish_kernel(const uint32_t* total, const Region* records, RegionTable table) {
  pdl_wait_and_trigger();
  publish_words(total[0], total[1], records, table,
                static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x,
                static_cast<size_t>(gridDim.x) * blockDim.x);
}

}  // namespace

void write_labels(const ImageTiles& tiles, LabelMap labels, cudaStream_t stream) {
  with_label_writer(labels, 1, UINT32_MAX, TilesLaunch{tiles, {}, stream});
}

void write_labels(const ImageTiles& tiles, const Frame& out, uint32_t limit,
                  const ShownValues& shown, cudaStream_t stream) {
  with_label_writer(out, 1, limit, TilesLaunch{tiles, shown, stream});
}

void write_mask(const ImageTiles& tiles, const Frame& out, cudaStream_t stream) {
  const uint32_t full = max_label_of(out.layout);
  with_label_writer(out, full, full, TilesLaunch{tiles, {}, stream});
}

void write_colors(const ImageTiles& tiles, const Frame& out, const ShownValues& shown,
                  cudaStream_t stream) {
  launch_writer(tiles, ColorWriter{out}, shown, stream);
}

void publish_table(const uint32_t* total, const Records& records, const RegionTable& table,
                   cudaStream_t stream) {
  const size_t words = static_cast<size_t>(table.capacity) * (sizeof(Region) / sizeof(uint64_t));
  const unsigned blocks = std::max(blocks_for(words, kPublishThreads), 1u);
  launch_pdl(publish_kernel, blocks, kPublishThreads, 0, stream, total, records.region, table);
}

}  // namespace regions::cclabel

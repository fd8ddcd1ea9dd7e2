// Writes what each pixel's region gives: its label, a mask, a colour. The output is written once
// and never read.
#include "gpu/cclabel/pictures/phases.hpp"
#include "gpu/cclabel/pictures/runs.hpp"
#include "gpu/cclabel/pictures/tuning.hpp"
#include "gpu/cclabel/pictures/write_words.hpp"
#include "gpu/runtime/chain.hpp"

namespace regions::cclabel {
namespace {

template <class T>
struct TileLabels {
  uint32_t foreground[T::all_words];
  uint32_t starts[T::all_words];
  uint16_t rank[T::all_words];
  uint32_t of_component[T::runs];
  uint32_t of_run[T::runs];
};

// What label_tiles wrote is read while regions are numbered.
template <class T, PixelWriter Writer>
__global__ __launch_bounds__(T::threads, T::together) void write_labels_kernel(Tiles tiles,
                                                                               Writer writer,
                                                                               Shown shown) {
  __shared__ TileLabels<T> s;
  const TilePlace place = place_of_block(tiles);
  const int me = static_cast<int>(threadIdx.x);
  const size_t begin = static_cast<size_t>(place.tile) * T::runs;
  const TileCount count = tiles.count[place.tile];
  for (int w = me; w < T::all_words; w += T::threads) {
    const size_t at = static_cast<size_t>(place.tile) * T::all_words + w;
    s.foreground[w] = tiles.foreground[at];
    s.starts[w] = tiles.starts[at];
    s.rank[w] = tiles.rank[at];
  }
  // Until they are labels: components' first pixels, and runs' components.
  for (int c = me; c < count.components; c += T::threads)
    s.of_component[c] = tiles.first[begin + c];
  for (int r = me; r < count.runs; r += T::threads) s.of_run[r] = tiles.component[begin + r];
  if (!tiles.are_numbered) wait_then_let_start();
  for (int c = me; c < count.components; c += T::threads) {
    const auto first = static_cast<uint16_t>(s.of_component[c]);
    const uint32_t root = root_of_component(tiles, place, c, count.border, first);
    s.of_component[c] = shown.of(label_of_root(tiles, root));
  }
  __syncthreads();  // components' labels are there
  for (int r = me; r < count.runs; r += T::threads) s.of_run[r] = s.of_component[s.of_run[r]];
  __syncthreads();  // words and runs' labels are there
  write_words<T>(s, s.of_run, place.x, place.y, tiles.size, writer);
  if (tiles.are_numbered) wait_then_let_start();
}

template <PixelWriter Writer>
void launch_writer(const Tiles& tiles, const Writer& writer, const Shown& shown,
                   cudaStream_t stream) {
  const dim3 grid(static_cast<unsigned>(tiles.columns), static_cast<unsigned>(tiles.rows));
  if (tiles.width == BinaryTile::width) {
    launch_chained(write_labels_kernel<BinaryTile, Writer>, grid, BinaryTile::threads, 0, stream,
                   tiles, writer, shown);
  } else {
    launch_chained(write_labels_kernel<LinkedTile, Writer>, grid, LinkedTile::threads, 0, stream,
                   tiles, writer, shown);
  }
}

struct Launch {
  const Tiles& tiles;
  const Shown& shown;
  cudaStream_t stream;
  template <PixelWriter Writer>
  void operator()(const Writer& writer) const {
    launch_writer(tiles, writer, shown, stream);
  }
};

}  // namespace

void write_labels(const Tiles& tiles, LabelMap labels, cudaStream_t stream) {
  with_label_writer(labels, 1, UINT32_MAX, Launch{tiles, {}, stream});
}

void write_labels(const Tiles& tiles, const Frame& out, uint32_t limit, const Shown& shown,
                  cudaStream_t stream) {
  with_label_writer(out, 1, limit, Launch{tiles, shown, stream});
}

void write_mask(const Tiles& tiles, const Frame& out, cudaStream_t stream) {
  const uint32_t full = label_limit(out.layout);
  with_label_writer(out, full, full, Launch{tiles, {}, stream});
}

void write_colors(const Tiles& tiles, const Frame& out, const Shown& shown, cudaStream_t stream) {
  launch_writer(tiles, ColorWriter{out}, shown, stream);
}

}  // namespace regions::cclabel

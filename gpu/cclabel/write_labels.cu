// Writes what each pixel's region gives: its label, a mask, a colour. The output is written once
// and never read.
#include "gpu/cclabel/phases.hpp"
#include "gpu/cclabel/runs.hpp"
#include "gpu/cclabel/tuning.hpp"

namespace regions::cclabel {
namespace {

// One label a pixel as a number of type T; four at once where the rows are aligned for it.
template <class T>
struct LabelWriter {
  Image<T> image;
  uint32_t limit;  // greatest label
  bool aligned;    // four pixels may be written at once

  __device__ void write(int x, int y, const uint32_t (&labels)[4]) const {
    struct alignas(4 * sizeof(T)) Four {
      T label[4];
    } four;
#pragma unroll
    for (int k = 0; k < 4; ++k) four.label[k] = static_cast<T>(min(labels[k], limit));
    T* to = image.row(y) + x;
    if (aligned && x + 4 <= image.width) {
      *reinterpret_cast<Four*>(to) = four;
      return;
    }
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      if (x + k < image.width) to[k] = four.label[k];
    }
  }
};

template <class T>
struct TileLabels {
  uint32_t foreground[T::all_words];
  uint32_t starts[T::all_words];
  uint16_t rank[T::all_words];
  uint32_t of_component[T::runs];
  uint32_t of_run[T::runs];
};

template <class T, class Writer>
__global__ __launch_bounds__(T::threads) void write_labels_kernel(Tiles tiles, Writer writer) {
  __shared__ TileLabels<T> s;
  const TilePlace place = place_of_block(tiles);
  const TileCount count = tiles.count[place.tile];
  for (int w = static_cast<int>(threadIdx.x); w < T::all_words; w += T::threads) {
    const size_t at = static_cast<size_t>(place.tile) * T::all_words + w;
    s.foreground[w] = tiles.foreground[at];
    s.starts[w] = tiles.starts[at];
    s.rank[w] = tiles.rank[at];
  }
  for (int c = static_cast<int>(threadIdx.x); c < count.components; c += T::threads) {
    s.of_component[c] = label_of_root(tiles, root_of_component(tiles, place, c, count.border));
  }
  __syncthreads();  // words and components' labels are there
  const uint16_t* component = tiles.component + static_cast<size_t>(place.tile) * T::runs;
  for (int r = static_cast<int>(threadIdx.x); r < count.runs; r += T::threads) {
    s.of_run[r] = s.of_component[component[r]];
  }
  __syncthreads();  // runs' labels are there
  for (int i = static_cast<int>(threadIdx.x); i < T::all_words * 8; i += T::threads) {
    const int w = i / 8, bit = i % 8 * 4;
    const int x = place.x + w % T::words * 32 + bit, y = place.y + w / T::words;
    if (x >= tiles.size.width || y >= tiles.size.height) continue;
    const uint32_t foreground = s.foreground[w] >> bit, starts = s.starts[w];
    int run = s.rank[w] + __popc(starts & up_to(bit)) - 1;
    uint32_t labels[4];
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      if (k > 0) run += starts >> (bit + k) & 1;
      labels[k] = foreground >> k & 1 ? s.of_run[run] : 0;
    }
    writer.write(x, y, labels);
  }
}

template <class Writer>
void launch_writer(const Tiles& tiles, const Writer& writer, cudaStream_t stream) {
  const dim3 grid(static_cast<unsigned>(tiles.columns), static_cast<unsigned>(tiles.rows));
  if (tiles.width == BinaryTile::width) {
    launch(write_labels_kernel<BinaryTile, Writer>, grid, BinaryTile::threads, 0, stream, tiles,
           writer);
  } else {
    launch(write_labels_kernel<LinkedTile, Writer>, grid, LinkedTile::threads, 0, stream, tiles,
           writer);
  }
}

template <class T>
LabelWriter<T> writer_of(Image<T> image, uint32_t limit) {
  const auto address = reinterpret_cast<uintptr_t>(image.data);
  const bool aligned = (address | static_cast<uintptr_t>(image.pitch)) % (4 * sizeof(T)) == 0;
  return {image, limit, aligned};
}

}  // namespace

void write_labels(const Tiles& tiles, LabelMap labels, cudaStream_t stream) {
  launch_writer(tiles, writer_of(labels, UINT32_MAX), stream);
}

}  // namespace regions::cclabel

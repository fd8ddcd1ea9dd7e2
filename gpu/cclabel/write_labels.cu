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
  uint32_t least;  // value of label 1, and
  uint32_t limit;  // greatest value: a mask has both the same
  bool aligned;    // four pixels may be written at once

  __device__ void write(int x, int y, const uint32_t (&labels)[4]) const {
    struct alignas(4 * sizeof(T)) Four {
      T label[4];
    } four;
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      four.label[k] = static_cast<T>(labels[k] ? min(max(labels[k], least), limit) : 0);
    }
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

// Each region in the colour of its label, opaque; background is all zero.
struct ColorWriter {
  Frame out;

  __device__ void write(int x, int y, const uint32_t (&labels)[4]) const {
    for (int k = 0; k < 4 && x + k < out.width; ++k) {
      const Rgb color = labels[k] ? track_color(labels[k]) : Rgb{};
      out.set_sample(0, x + k, y, color.red);
      out.set_sample(1, x + k, y, color.green);
      out.set_sample(2, x + k, y, color.blue);
      if (out.layout.component[0].step == 4) out.set_sample(3, x + k, y, labels[k] ? 255 : 0);
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
__global__ __launch_bounds__(T::threads) void write_labels_kernel(Tiles tiles, Writer writer,
                                                                  Shown shown) {
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
    const uint32_t root = root_of_component(tiles, place, c, count.border);
    s.of_component[c] = shown.of(label_of_root(tiles, root));
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
void launch_writer(const Tiles& tiles, const Writer& writer, const Shown& shown,
                   cudaStream_t stream) {
  const dim3 grid(static_cast<unsigned>(tiles.columns), static_cast<unsigned>(tiles.rows));
  if (tiles.width == BinaryTile::width) {
    launch(write_labels_kernel<BinaryTile, Writer>, grid, BinaryTile::threads, 0, stream, tiles,
           writer, shown);
  } else {
    launch(write_labels_kernel<LinkedTile, Writer>, grid, LinkedTile::threads, 0, stream, tiles,
           writer, shown);
  }
}

template <class T>
void write_values(const Tiles& tiles, Image<T> image, uint32_t least, uint32_t limit,
                  const Shown& shown, cudaStream_t stream) {
  const auto address = reinterpret_cast<uintptr_t>(image.data);
  const bool aligned = (address | static_cast<uintptr_t>(image.pitch)) % (4 * sizeof(T)) == 0;
  launch_writer(tiles, LabelWriter<T>{image, least, limit, aligned}, shown, stream);
}

void write_values(const Tiles& tiles, const Frame& out, uint32_t least, uint32_t limit,
                  const Shown& shown, cudaStream_t stream) {
  const auto as = [&]<class T>(T) { return out.plane_as<T>(0, out.width, out.height); };
  switch (out.layout.sample_bytes) {
    case 1:
      return write_values(tiles, as(uint8_t{}), least, limit, shown, stream);
    case 2:
      return write_values(tiles, as(uint16_t{}), least, limit, shown, stream);
    default:
      return write_values(tiles, as(uint32_t{}), least, limit, shown, stream);
  }
}

}  // namespace

void write_labels(const Tiles& tiles, LabelMap labels, cudaStream_t stream) {
  write_values(tiles, labels, 1, UINT32_MAX, {}, stream);
}

void write_labels(const Tiles& tiles, const Frame& out, uint32_t limit, const Shown& shown,
                  cudaStream_t stream) {
  write_values(tiles, out, 1, limit, shown, stream);
}

void write_mask(const Tiles& tiles, const Frame& out, cudaStream_t stream) {
  const uint32_t full = label_limit(out.layout);
  write_values(tiles, out, full, full, {}, stream);
}

void write_colors(const Tiles& tiles, const Frame& out, const Shown& shown, cudaStream_t stream) {
  launch_writer(tiles, ColorWriter{out}, shown, stream);
}

}  // namespace regions::cclabel

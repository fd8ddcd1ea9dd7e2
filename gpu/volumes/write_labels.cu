// Writes what each voxel's region gives. A block has a tile: first the labels of its nodes, then
// its voxels, four a thread. The output is written once and never read.
#include <bit>

#include "gpu/cclabel/writers.hpp"
#include "gpu/volumes/phases.hpp"
#include "gpu/volumes/tuning.hpp"

namespace regions::volumes {
namespace {

constexpr int kThreads = RowBlock::threads;
constexpr int kAtOnce = RowBlock::nodes;

// How a tile's bands are counted: from its first, row by row. All numbers are powers of two.
struct TileBands {
  int row_bits;            // rows of a tile
  int across_bits, count;  // bands in y, and in all
  explicit TileBands(const Volume& v)
      : row_bits(std::countr_zero(static_cast<unsigned>(v.tile_rows))),
        across_bits(row_bits - (v.band_rows - 1)),
        count((v.tile_slices + v.band_slices - 1) / v.band_slices << across_bits) {}
};

// The word of the volume's bands that the tile's word k, of any class, is; kNone outside.
__device__ uint32_t word_of(const Volume& v, const TileBands& bands, const TilePlace& place,
                            int k) {
  const int cls = k >= bands.count, band = k - cls * bands.count;
  const int y = place.y + ((band & ((1 << bands.across_bits) - 1)) << (v.band_rows - 1));
  const int z = place.z + (band >> bands.across_bits << (v.band_slices - 1));
  const bool exists = y < v.stack.slice.height && z < v.stack.slices;
  return exists ? band_word(v, cls, place.layer, place.w, y, z) : kNone;
}

template <class Writer>
__global__ __launch_bounds__(kThreads) void write_kernel(Volume v, TileBands bands, Writer writer) {
  extern __shared__ uint32_t shared[];
  const TilePlace place(v);
  const int all = v.classes * bands.count, rows = v.tile_rows * v.tile_slices;
  uint32_t* words = shared;           // [class][bands]
  uint32_t* bits = words + all;       // [rows]
  uint32_t* labels_of = bits + rows;  // [class][bands][16]
  // Where a row of the tile lies in the stack, or -1.
  const auto row_at = [&](int r) {
    const int y = place.y + (r & (v.tile_rows - 1)), z = place.z + (r >> bands.row_bits);
    if (y >= v.stack.slice.height || z >= v.stack.slices) return -1;
    return (place.layer * v.stack.slices + z) * v.stack.slice.height + y;
  };
  for (int i = static_cast<int>(threadIdx.x); i < all; i += kThreads) {
    const uint32_t word = word_of(v, bands, place, i);
    words[i] = word == kNone ? 0 : v.band[word];
  }
  for (int r = static_cast<int>(threadIdx.x); r < rows; r += kThreads) {
    const int row = row_at(r);
    bits[r] = row < 0 ? 0 : v.bits[static_cast<size_t>(row) * v.words + place.w];
  }
  __syncthreads();  // words and bits are there
  // Several nodes a thread at a time, so that their ways through memory overlap.
  for (int start = static_cast<int>(threadIdx.x); start < all * 16; start += kAtOnce * kThreads) {
    uint32_t node[kAtOnce], label[kAtOnce];
#pragma unroll
    for (int k = 0; k < kAtOnce; ++k) {
      const int i = start + k * kThreads, word = i / 16, half = i % 16;
      const bool exists = i < all * 16 && (starts_of(words[word]) >> 2 * half & 3);
      node[k] = exists ? word_of(v, bands, place, word) * 16 + static_cast<uint32_t>(half) : kNone;
    }
    labels_of_nodes(v, node, label);
#pragma unroll
    for (int k = 0; k < kAtOnce; ++k) {
      if (node[k] != kNone) labels_of[start + k * kThreads] = label[k];
    }
  }
  __syncthreads();  // nodes' labels are there
  // Eight threads write a row.
  const int bit = static_cast<int>(threadIdx.x % 8) * 4, x = place.w * 32 + bit;
  if (x >= v.stack.slice.width) return;
  const uint32_t within = inside(v, place.w);
  for (int r = static_cast<int>(threadIdx.x / 8); r < rows; r += kThreads / 8) {
    const int row = row_at(r);
    if (row < 0) continue;
    const uint32_t foreground = bits[r];
    const int band = (r >> bands.row_bits >> (v.band_slices - 1) << bands.across_bits) +
                     ((r & (v.tile_rows - 1)) >> (v.band_rows - 1));
    uint32_t labels[4];
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      const int b = bit + k, cls = foreground >> b & 1 ? 0 : 1;
      labels[k] = 0;
      if (cls == v.classes || !(within >> b & 1)) continue;
      const int word = cls * bands.count + band;
      labels[k] = labels_of[node_of(static_cast<uint32_t>(word), words[word], b)];
    }
    writer.write(x, row, labels);
  }
}

struct Launch {
  const Volume& volume;
  cudaStream_t stream;
  template <class Writer>
  void operator()(const Writer& writer) const {
    const TileBands bands(volume);
    const auto words = static_cast<size_t>(volume.classes * bands.count) * 17 +
                       static_cast<size_t>(volume.tile_rows * volume.tile_slices);
    const dim3 grid(volume.tiles(), static_cast<unsigned>(volume.stack.layers));
    launch(write_kernel<Writer>, grid, kThreads, words * sizeof(uint32_t), stream, volume, bands,
           writer);
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

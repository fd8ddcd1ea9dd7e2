// Writes what each voxel's region gives. A block has a tile: first the labels of its nodes, then
// its voxels, four a thread. The output is written once and never read.
#include "gpu/cclabel/writers.hpp"
#include "gpu/volumes/phases.hpp"
#include "gpu/volumes/tuning.hpp"

namespace regions::volumes {
namespace {

constexpr int kThreads = RowBlock::threads;

// A tile's bands. Their words are counted from the tile's first, row by row.
struct TileBands {
  int across, count;  // in y, and in all
  __device__ __host__ explicit TileBands(const Volume& v)
      : across(v.tile_rows / v.band_rows),
        count(across * ((v.tile_slices + v.band_slices - 1) / v.band_slices)) {}
};

template <class Writer>
__global__ __launch_bounds__(kThreads) void write_kernel(Volume v, Writer writer) {
  extern __shared__ uint32_t shared[];
  const TileBands bands(v);
  const TilePlace place(v);
  uint32_t* words = shared;                                // [class][bands]
  uint32_t* labels_of = shared + v.classes * bands.count;  // [class][bands][16]
  for (int i = static_cast<int>(threadIdx.x); i < v.classes * bands.count; i += kThreads) {
    const int cls = i / bands.count, band = i % bands.count;
    const int y = place.y + band % bands.across * v.band_rows;
    const int z = place.z + band / bands.across * v.band_slices;
    const bool exists = y < v.stack.slice.height && z < v.stack.slices;
    words[i] = exists ? v.band[band_word(v, cls, place.layer, place.w, y, z)] : 0;
  }
  __syncthreads();  // words are there
  for (int i = static_cast<int>(threadIdx.x); i < v.classes * bands.count * 16; i += kThreads) {
    const uint32_t word = static_cast<uint32_t>(i) / 16, k = static_cast<uint32_t>(i) % 16;
    if (!(starts_of(words[word]) >> 2 * k & 3)) continue;
    const int cls = i / 16 / bands.count, band = i / 16 % bands.count;
    const int y = place.y + band % bands.across * v.band_rows;
    const int z = place.z + band / bands.across * v.band_slices;
    labels_of[i] = label_of_node(v, band_word(v, cls, place.layer, place.w, y, z) * 16 + k);
  }
  __syncthreads();  // nodes' labels are there
  // Eight threads write a row.
  const int bit = static_cast<int>(threadIdx.x % 8) * 4, x = place.w * 32 + bit;
  if (x >= v.stack.slice.width) return;
  const uint32_t within = inside(v, place.w);
  for (int r = static_cast<int>(threadIdx.x / 8); r < v.tile_rows * v.tile_slices;
       r += kThreads / 8) {
    const int in_y = r % v.tile_rows, in_z = r / v.tile_rows;
    if (place.y + in_y >= v.stack.slice.height || place.z + in_z >= v.stack.slices) continue;
    const int row =
        (place.layer * v.stack.slices + place.z + in_z) * v.stack.slice.height + place.y + in_y;
    const uint32_t bits = v.bits[static_cast<size_t>(row) * v.words + place.w];
    const int band = (in_z >> (v.band_slices - 1)) * bands.across + (in_y >> (v.band_rows - 1));
    uint32_t labels[4];
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      const int b = bit + k, cls = bits >> b & 1 ? 0 : 1;
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
    const auto words = static_cast<size_t>(volume.classes * bands.count);
    const dim3 grid(volume.tiles(), static_cast<unsigned>(volume.stack.layers));
    launch(write_kernel<Writer>, grid, kThreads, words * 17 * sizeof(uint32_t), stream, volume,
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

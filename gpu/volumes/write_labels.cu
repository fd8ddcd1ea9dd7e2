// Writes what each voxel's region gives, four voxels a thread.
#include "gpu/cclabel/writers.hpp"
#include "gpu/volumes/phases.hpp"
#include "gpu/volumes/rows.hpp"
#include "gpu/volumes/tuning.hpp"

namespace regions::volumes {
namespace {

constexpr int kThreads = RowBlock::threads;

template <class Writer>
__global__ __launch_bounds__(kThreads) void write_kernel(Volume v, Writer writer) {
  // A warp has four words of one row.
  const int lane = static_cast<int>(threadIdx.x % 32);
  const int y = static_cast<int>(blockIdx.x * (kThreads / 32) + threadIdx.x / 32);
  const int bit = lane % 8 * 4, x = static_cast<int>(blockIdx.y * 128) + lane * 4;
  if (y >= v.stack.rows() || x >= v.stack.slice.width) return;
  const RowWord row(v, y, x / 32);
  const uint32_t within = inside(v, row.w);
  uint32_t labels[4];
  uint32_t known = kNone, label = 0;  // the node of the voxel before, and its label
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    const int b = bit + k;
    const int c = row.bits >> b & 1 ? 0 : 1;
    labels[k] = 0;
    if (c == v.classes || !(within >> b & 1)) continue;
    const uint32_t node = node_of(row.band[c], row.whole[c], b);
    if (node != known) label = v.label[v.parent[node]];
    known = node;
    labels[k] = label;
  }
  writer.write(x, row.row, labels);
}

struct Launch {
  const Volume& volume;
  cudaStream_t stream;
  template <class Writer>
  void operator()(const Writer& writer) const {
    const dim3 grid(blocks_for(static_cast<size_t>(volume.stack.rows()), kThreads / 32),
                    blocks_for(static_cast<size_t>(volume.words), 4));
    launch(write_kernel<Writer>, grid, kThreads, 0, stream, volume, writer);
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

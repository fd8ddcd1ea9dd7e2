// Measures regions: a word's runs, added up over the warp by region, go to the records by atomics.
#include "gpu/volumes/groups.hpp"
#include "gpu/volumes/phases.hpp"
#include "gpu/volumes/rows.hpp"
#include "gpu/volumes/tuning.hpp"

namespace regions::volumes {
namespace {

constexpr int kThreads = RowBlock::threads;

__device__ void add64(uint64_t& sum, uint64_t value) {
  if (value) {
    atomicAdd(reinterpret_cast<unsigned long long*>(&sum), static_cast<unsigned long long>(value));
  }
}

// What a lane adds: some voxels of one row.
struct Piece {
  uint32_t area = 0;
  int left = 0, right = 0, y = 0, z = 0;
  uint32_t value[3] = {};  // 32 voxels of 16 bits
};

// Integer sums, minima and maxima: the order of the additions does not matter.
__device__ void add_group(const Piece& piece, bool joins, int channels, Region& record) {
  using cclabel::warp_max, cclabel::warp_min, cclabel::warp_sum;
  const auto u = [](int value) { return static_cast<uint32_t>(value); };
  const uint32_t area = joins ? piece.area : 0;
  const uint32_t all = warp_sum(area);
  // Sides are below 2^16 and areas at most 32, so that sums over a warp fit; those of x twofold.
  const uint32_t x = warp_sum(u(piece.left + piece.right) * area);
  const uint32_t y = warp_sum(u(piece.y) * area), z = warp_sum(u(piece.z) * area);
  const int left = static_cast<int>(warp_min(joins ? u(piece.left) : kNone));
  const int right = static_cast<int>(warp_max(joins ? u(piece.right) : 0));
  const int top = static_cast<int>(warp_min(joins ? u(piece.y) : kNone));
  const int bottom = static_cast<int>(warp_max(joins ? u(piece.y) : 0));
  const int front = static_cast<int>(warp_min(joins ? u(piece.z) : kNone));
  const int back = static_cast<int>(warp_max(joins ? u(piece.z) : 0));
  uint32_t value[3];
  for (int c = 0; c < 3; ++c) value[c] = c < channels ? warp_sum(joins ? piece.value[c] : 0) : 0;
  if (!is_first_lane()) return;
  if (left < record.left) atomicMin(&record.left, left);
  if (top < record.top) atomicMin(&record.top, top);
  if (front < record.front) atomicMin(&record.front, front);
  if (right > record.right) atomicMax(&record.right, right);
  if (bottom > record.bottom) atomicMax(&record.bottom, bottom);
  if (back > record.back) atomicMax(&record.back, back);
  add64(record.area, all);
  add64(record.sum_x, x / 2);  // every lane adds an even number
  add64(record.sum_y, y);
  add64(record.sum_z, z);
  for (int c = 0; c < channels; ++c) add64(record.sum_value[c], value[c]);
}

__global__ __launch_bounds__(kThreads) void measure_kernel(Volume v, ConstFrame frame,
                                                           Records records) {
  const uint32_t word = blockIdx.x * kThreads + threadIdx.x;
  const bool exists = word < v.row_words();
  const RowWord row(v, exists ? word : 0);
  const int frame_row = row.row % v.stack.volume_rows();
  const int channels = frame.layout.channels;
  for (int c = 0; c < v.classes; ++c) {
    uint32_t left = exists ? row.of_class(v, c) : 0;
    while (__any_sync(cclabel::kAllLanes, left != 0)) {
      uint32_t label = 0;
      Piece piece;
      if (left) {
        const int b = __ffs(static_cast<int>(left)) - 1;
        const uint32_t run = run_from(left, b);
        left &= ~run;
        label = label_of_node(v, row.node_at(c, b));
        if (label > records.capacity) label = 0;
        if (label) {
          piece.area = static_cast<uint32_t>(__popc(run));
          piece.left = row.w * 32 + b;
          // (left + right) * area is even: of an odd area both ends are odd or both even.
          piece.right = piece.left + static_cast<int>(piece.area) - 1;
          piece.y = row.place.y;
          piece.z = row.place.z;
          for (int x = piece.left; x <= piece.right; ++x) {
            for (int k = 0; k < channels; ++k) {
              piece.value[k] += static_cast<uint32_t>(frame.sample(k, x, frame_row));
            }
          }
        }
      }
      for_each_key(label, [&](uint32_t common, bool joins) {
        add_group(piece, joins, channels, records.region[common - 1]);
      });
    }
  }
}

}  // namespace

void measure_regions(const Volume& volume, const ConstFrame& frame, const Records& records,
                     cudaStream_t stream) {
  launch(measure_kernel, blocks_for(volume.row_words(), kThreads), kThreads, 0, stream, volume,
         frame, records);
}

}  // namespace regions::volumes

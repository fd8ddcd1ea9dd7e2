// Walking down the columns of a label map: a warp's lanes side by side, each summing in registers
// while the label below stays the same.
#pragma once

#include "core/frame.hpp"
#include "gpu/slicsuperpixel/tuning.hpp"

#ifdef __CUDACC__

namespace regions::slic {

// Where a thread walks: column x, rows y..end-1; `inside` where x is in the picture.
struct Column {
  int x, y, end;
  bool inside;

  __device__ explicit Column(Size size, int rows = ColumnWalk::rows) {
    x = static_cast<int>(blockIdx.x) * 32 + static_cast<int>(threadIdx.x % 32);
    const int warps = ColumnWalk::threads / 32;
    y = (static_cast<int>(blockIdx.y) * warps + static_cast<int>(threadIdx.x / 32)) * rows;
    end = min(y + rows, size.height);
    inside = x < size.width;
  }
};

inline dim3 column_grid(Size size, int rows = ColumnWalk::rows) {
  const int block_rows = rows * (ColumnWalk::threads / 32);
  return {static_cast<unsigned>((size.width + 31) / 32),
          static_cast<unsigned>((size.height + block_rows - 1) / block_rows)};
}

// Calls begin(label) at each new label, add(value, x, y) for every pixel, and end(label) behind the
// last one of a label; `value` is load(x, y). Rows are fetched in batches, so that a thread waits
// for memory once a batch.
template <class Load, class Begin, class Add, class End>
__device__ void walk(ConstLabelMap labels, Load load, Begin begin, Add add, End end) {
  constexpr int kBatch = ColumnWalk::batch;
  static_assert(ColumnWalk::rows % kBatch == 0);
  const Column column({labels.width, labels.height});
  if (!column.inside || column.y >= column.end) return;
  uint32_t label = labels(column.x, column.y);
  begin(label);
  for (int top = column.y; top < column.end; top += kBatch) {
    uint32_t here[kBatch];
    decltype(load(0, 0)) value[kBatch];
#pragma unroll
    for (int k = 0; k < kBatch; ++k) {
      const int y = min(top + k, column.end - 1);
      here[k] = labels(column.x, y);
      value[k] = load(column.x, y);
    }
#pragma unroll
    for (int k = 0; k < kBatch; ++k) {
      if (top + k >= column.end) continue;
      if (here[k] != label) {
        end(label);
        label = here[k];
        begin(label);
      }
      add(value[k], column.x, top + k);
    }
  }
  end(label);
}

}  // namespace regions::slic

#endif

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

  __device__ explicit Column(Size size) {
    x = static_cast<int>(blockIdx.x) * 32 + static_cast<int>(threadIdx.x % 32);
    const int warps = ColumnWalk::threads / 32;
    y = (static_cast<int>(blockIdx.y) * warps + static_cast<int>(threadIdx.x / 32)) *
        ColumnWalk::rows;
    end = min(y + ColumnWalk::rows, size.height);
    inside = x < size.width;
  }
};

inline dim3 column_grid(Size size) {
  constexpr int kRows = ColumnWalk::rows * (ColumnWalk::threads / 32);
  return {static_cast<unsigned>((size.width + 31) / 32),
          static_cast<unsigned>((size.height + kRows - 1) / kRows)};
}

// Calls begin(label) at each new label, add(x, y) for every pixel, and end(label) behind the last
// one of a label.
template <class Begin, class Add, class End>
__device__ void walk(ConstLabelMap labels, Begin begin, Add add, End end) {
  const Column column({labels.width, labels.height});
  if (!column.inside || column.y >= column.end) return;
  uint32_t label = labels(column.x, column.y);
  begin(label);
  for (int y = column.y; y < column.end; ++y) {
    const uint32_t here = labels(column.x, y);
    if (here != label) {
      end(label);
      label = here;
      begin(label);
    }
    add(column.x, y);
  }
  end(label);
}

}  // namespace regions::slic

#endif

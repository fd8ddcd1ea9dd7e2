// The phases of listing the pixels of regions as runs, in the order in which they are called. Each
// puts its kernels on the stream and returns. How many runs there are is known on the device alone.
#pragma once

#include "core/region.hpp"
#include "gpu/runtime/launch.hpp"

namespace regions::runs {

// Workspace for so many runs.
struct Runs {
  static constexpr int kChunk = 1024;      // pixels of a row that a warp reads
  static constexpr int kDigits = 256;      // values of a sort's digit
  static constexpr int kSortBlock = 1024;  // runs that a block sorts

  uint32_t capacity;
  uint32_t* before;   // [chunks] runs in a chunk, then in those before it
  uint32_t* total;    // [1] runs, also those beyond the capacity
  PixelRun* list[2];  // [capacity]; in the place of its width a run has its end
  uint32_t* digits;   // [kDigits][blocks in use] runs by digit, then the places before them

  REGIONS_HD static int chunks_of_row(int width) { return (width + kChunk - 1) / kChunk; }
};

// Lists the runs of labels 1..most in raster order, in list[0].
void list_runs(ConstLabelMap labels, uint32_t most, const Runs& runs, cudaStream_t stream);
// Sorts them by label; those of one label stay in order. They end up in list[0] again.
void sort_runs(const Runs& runs, cudaStream_t stream);
// Brings them, and the total, to the table in pinned memory.
void publish_runs(const Runs& runs, const RegionTable& table, cudaStream_t stream);

}  // namespace regions::runs

// Lists the pixels of regions as run lengths, from the final label map. Run lengths are listed in
// raster order, sorted by label and copied to the table. Their number is only available on the
// device.
#pragma once

#include "core/algorithm.hpp"
#include "core/frame.hpp"
#include "core/region.hpp"
#include "gpu/runtime/launch.hpp"
#include "gpu/runtime/workspace.hpp"

namespace regions::cclabel {

// Device buffers for `capacity` runs.
struct RunBuffers {
  static constexpr int kChunk = 1024;      // pixels of a row that a warp reads
  static constexpr int kDigits = 256;      // values of a digit for sorting
  static constexpr int kSortBlock = 1024;  // runs that a block sorts

  uint32_t capacity;
  uint32_t*
      runs_before;    // [chunks] number of runs in a chunk, later number of runs before the chunk
  uint32_t* total;    // [1] number of runs, including those beyond the capacity
  PixelRun* list[2];  // [capacity]; `width` contains the end of the run until it is published
  uint32_t* digit_offsets;  // [kDigits][blocks in use] number of runs by digit, later their offsets

  REGIONS_HD static int chunks_of_row(int width) { return (width + kChunk - 1) / kChunk; }
};

// The run lengths of one in-flight frame.
class RunLengths {
 public:
  // Allocates the buffers for setup.max_runs runs. Throws InputError if there may be more than
  // 65536 regions.
  void allocate(Backend& backend, const Setup& setup);

  // A label map for jobs that do not request labels.
  LabelMap labels(const VolumeLayout& volume_layout) const;
  // Enqueues the kernels that write the runs of labels 1..table.capacity to the table. The
  // table must be in pinned host memory.
  void fill(ConstLabelMap labels, const RegionTable& table, cudaStream_t stream) const;

 private:
  Workspace memory_;
  RunBuffers runs_ = {};
  uint32_t* labels_ = nullptr;  // [height][width]
};

}  // namespace regions::cclabel

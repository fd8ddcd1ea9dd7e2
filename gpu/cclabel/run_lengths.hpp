// RunLengths lists the pixels of all regions as runs (run-length encoding), from the final label
// map. Kernels list the runs in raster order, sort them by label and copy them to the table. The
// host does not know the number of runs.
#pragma once

#include "core/algorithm.hpp"
#include "core/frame.hpp"
#include "core/region.hpp"
#include "core/workspace.hpp"
#include "gpu/runtime/launch.hpp"

namespace regions::cclabel {

// The device buffers for a list of at most `capacity` runs. Copied to kernels by value.
struct RunBuffers {
  static constexpr int kChunk = 1024;      // number of pixels of a row per warp
  static constexpr int kDigits = 256;      // number of values of a digit, for sorting by label
  static constexpr int kSortBlock = 1024;  // number of runs per thread block when sorting

  uint32_t capacity;
  uint32_t* runs_before;    // [chunks] number of runs per chunk, later in earlier chunks
  uint32_t* total;          // [1] number of runs, including those beyond the capacity
  PixelRun* list[2];        // [capacity] `width` contains the end of the run until publish_runs()
  uint32_t* digit_offsets;  // [kDigits][blocks in use] number of runs by digit, later their offset

  REGIONS_HD static int chunks_of_row(int width) { return (width + kChunk - 1) / kChunk; }
};

// Lists the runs of one in-flight frame.
class RunLengths {
 public:
  // Allocates the buffers for setup.max_runs runs. Throws InputError if setup.max_regions is
  // greater than 65536.
  void allocate(Backend& backend, const Setup& setup);

  // Returns a label map for tasks that do not request one; its height includes all slices and
  // layers.
  LabelMap labels(const VolumeLayout& volume_layout) const;
  // Enqueues the kernels that write the runs of labels 1..table.capacity to the table. The
  // table must be in pinned host memory.
  void fill(ConstLabelMap labels, const RegionTable& table, cudaStream_t stream) const;

 private:
  Workspace memory_;
  RunBuffers runs_ = {};
  uint32_t* labels_ = nullptr;  // [height][width] the label map that labels() returns
};

}  // namespace regions::cclabel

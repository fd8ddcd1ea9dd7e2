// Connected-component labelling on the CPU: the memory of one frame, and the phases of labelling in
// the order in which cclabel.cpp calls them.
#pragma once

#include <span>
#include <vector>

#include "core/cclabel/cclabel.hpp"
#include "core/drawing/paint.hpp"
#include "core/workspace.hpp"
#include "cpu/cclabel/run_adjacency.hpp"
#include "cpu/cclabel/run_forest.hpp"
#include "cpu/pixel_rows.hpp"

namespace regions {

// The memory of one in-flight frame.
struct LabelBuffers {
  RunForest forest;
  BitImage pixels;      // the foreground, or all pixels if all of them are in regions
  BitImage background;  // while holes are filled. The foreground if background is labelled too.
  // For each chunk of rows:
  LinkBuffers links[RunForest::kMaxChunks];
  uint32_t* value[RunForest::kMaxChunks];  // [width], output value of each run of a band
  Region* records[RunForest::kMaxChunks];  // [max_regions]
  // Used if the job has no label map, but labels are drawn or listed as runs. (If the job has no
  // table, records[0] is used.)
  LabelMap labels;
  RunList runs;
  std::vector<std::byte> full_size_mask;  // a small mask scaled up, if values are compared
  Ink ink;
  Tracks tracks;  // of this frame's labels, once they have been assigned

  // Allocates the memory for pictures that are divided into at most `max_chunks` chunks.
  void allocate(Backend& backend, const Setup& setup, int max_chunks);

  Region* table_of(const FrameTask& job) const {
    return job.table.regions ? job.table.regions : records[0];
  }
  uint32_t capacity_of(const FrameTask& job) const {
    if (job.table.regions) return job.table.capacity;
    return draws_ || tracks_ ? max_regions_ : 0;
  }
  LabelMap labels_of(const FrameTask& job) const {
    return job.labels.empty() ? labels : job.labels;
  }

 private:
  bool draws_ = false;
  bool tracks_ = false;
  uint32_t max_regions_ = 0;
  Workspace memory_;
};

// Thresholds the frame or links its values, in at most `max_chunks` chunks. Leaves the merged
// forest and its pixels in the buffers.
void build_forest(const FrameTask& job, const CcLabelParams& params, const Setup& setup,
                  int max_chunks, LabelBuffers& buffers, const Workers& workers);

// The following functions process one row of runs. `pixels` has the row's foreground bits, `starts`
// the run starts of its band, `label` or `value` one entry per run of the band.

// The colour components of one row, as channel_row() returns them.
struct ChannelRows {
  const std::byte* row[3] = {};  // [channels]
  int channels = 0;
  int bytes = 1;  // of a value: 1 or 2
};

// Adds a row to the records of the labels 1..count. A record with area 0 is initialised first.
void measure_row(const Word* pixels, const Word* starts, const uint32_t* label, int width,
                 const VolumeLayout::Position& position, const ChannelRows& values, Region* records,
                 uint32_t count);

// Adds the record of the same region from another chunk, which is further down.
void add_record(const Region& more, Region& record);

// Returns the values that the output shows for `runs` runs: `label` itself, or `scratch` with the
// colour, mask, track or limited number of each label, according to the parameters.
const uint32_t* output_values(const uint32_t* label, uint32_t runs, uint32_t* scratch,
                              const FrameTask& job, const CcLabelParams& params,
                              const Tracks& tracks);

// Writes a row of `width` pixels of 1, 2, 3 or 4 bytes: the low bytes of value[run], or 0 for
// background. kValuePadding entries before and after the values of the runs must be readable.
void write_row(const Word* pixels, const Word* starts, const uint32_t* value, int width, int bytes,
               std::byte* out);

// Counts the pixels that each label 1..count shares with each label of the previous frame, `rows`
// times. `previous` holds the labels of the previous frame in this row; they are replaced by the
// labels of this frame. `labelled` has a set bit for each label that is not 0, and possibly others.
void share_row(const Word* pixels, const Word* starts, const uint32_t* label, int width,
               uint32_t count, int rows, const PairTable& pairs, uint16_t* previous,
               Word* labelled);

// Makes the labeller of frames and volumes. It does not implement windows, see sliding_window.cpp.
std::unique_ptr<CcLabel> make_labeller(const std::shared_ptr<Backend>& backend);

}  // namespace regions

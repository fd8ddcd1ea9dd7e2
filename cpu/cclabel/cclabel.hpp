// Connected-component labelling on the CPU: the memory of one frame, and the functions that
// cclabel.cpp calls for each frame.
#pragma once

#include <span>
#include <vector>

#include "core/cclabel/cclabel.hpp"
#include "core/drawing/paint.hpp"
#include "cpu/cclabel/run_adjacency.hpp"
#include "cpu/cclabel/run_forest.hpp"
#include "cpu/pixel_rows.hpp"

namespace regions {

// The tracks that an output picture shows: the records and states of the labels 1..count.
struct ShownTracks {
  const Region* regions = nullptr;
  const TrackState* states = nullptr;
  uint32_t count = 0;
};

// The memory of one in-flight frame.
struct LabelBuffers {
  RunForest forest;
  // The bits of all pixels that belong to a region: the foreground, or every pixel of the picture.
  BitImage pixels;
  // While holes are filled: bits of the background. If the background is labelled too: bits of the
  // foreground.
  BitImage background;
  BitImage codes[kMaxPlanes];  // the codes of the pixels, see LinkRule; may be empty
  // The arrays links, value and records have one entry per chunk of rows.
  LinkBuffers links[RunForest::kMaxChunks];
  uint32_t* value[RunForest::kMaxChunks];  // [width], output_values() of a band's runs
  Region* records[RunForest::kMaxChunks];  // [max_regions], records of the pixels in the chunk
  // The labels of the frame, if the frame task has no label map but labels are drawn or listed as
  // runs.
  LabelMap labels;
  RunList runs;
  std::vector<std::byte> full_size_mask;  // a small mask, scaled up to the size of the picture
  Ink ink;
  ShownTracks tracks;  // the tracks of this frame's regions; empty until they have been assigned
  TrackState* states = nullptr;  // [max_regions], states of the regions; null without tracking

  // Allocates the memory for pictures that are divided into at most `max_chunks` chunks. Allocates
  // `codes` only if `has_codes` is true.
  void allocate(Backend& backend, const Setup& setup, int max_chunks, bool has_codes);

  // Returns the table of the frame task, or records[0] if the frame task has no table.
  Region* table_of(const FrameTask& task) const {
    return task.table.regions ? task.table.regions : records[0];
  }
  // Returns the maximum number of regions that get a record.
  uint32_t capacity_of(const FrameTask& task) const {
    if (task.table.regions) return task.table.capacity;
    return may_draw_ || may_track_ ? max_regions_ : 0;
  }
  LabelMap labels_of(const FrameTask& task) const {
    return task.labels.empty() ? labels : task.labels;
  }

 private:
  bool may_draw_ = false;
  bool may_track_ = false;
  uint32_t max_regions_ = 0;
  Block memory_;
};

// Builds the forest of runs of a frame, in at most `max_chunks` chunks of rows: thresholds the
// frame, or links pixels that have similar values. Writes the merged forest and the bits of its
// pixels to `buffers`.
void build_forest(const FrameTask& task, const CcLabelParams& params, const Setup& setup,
                  int max_chunks, LabelBuffers& buffers, const Workers& workers);

// measure_row(), write_row() and count_shared_in_row() process one row. `pixels` contains the row's
// foreground bits. `starts` marks the first pixels of the runs of the row's band (see
// run_forest.hpp). `label` and `value` have one entry per run of the band.

// The colour components of one row, as channel_row() returns them.
struct ChannelRows {
  const std::byte* row[3] = {};  // [channels], the values of each channel
  int channels = 0;
  int bytes = 1;  // bytes per value: 1 or 2
};

// Adds the pixels of a row to the records of the labels 1..count. A record with area 0 is
// initialised before the first pixel is added.
void measure_row(const Word* pixels, const Word* starts, const uint32_t* label, int width,
                 const VolumeLayout::Position& position, const ChannelRows& values, Region* records,
                 uint32_t count);

// Adds `lower` to `record`. Both describe parts of the same region. `lower` describes the part in a
// later chunk of rows.
void add_record(const Region& lower, Region& record);

// Returns the values that the output picture shows for `runs` runs, according to the parameters:
// `label` itself, or `scratch` filled with each label's colour, mask value, track or clamped
// number.
const uint32_t* output_values(const uint32_t* label, uint32_t runs, uint32_t* scratch,
                              const FrameTask& task, const CcLabelParams& params,
                              const ShownTracks& tracks);

// Writes a row of `width` pixels of 1, 2, 3 or 4 bytes: the low bytes of value[run], or 0 for
// background. kValuePadding entries before and after the values of the runs must be readable.
void write_row(const Word* pixels, const Word* starts, const uint32_t* value, int width, int bytes,
               std::byte* out);

// Adds to `pairs` how many pixels each label 1..count shares with each label of the previous frame.
// The row represents `rows` equal rows, so each pixel counts `rows` times. `previous` contains the
// labels of the previous frame in this row; they are replaced by the labels of this frame.
// `labelled` has a set bit at each pixel with a label other than 0. Other bits may be set too.
void count_shared_in_row(const Word* pixels, const Word* starts, const uint32_t* label, int width,
                         uint32_t count, int rows, const PairTable& pairs, uint16_t* previous,
                         Word* labelled);

// Creates the algorithm that labels frames and volumes. It does not implement sliding windows:
// sliding_window.cpp does.
std::unique_ptr<CcLabel> make_labeller(const std::shared_ptr<Backend>& backend);

}  // namespace regions

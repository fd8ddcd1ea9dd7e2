// What the historic methods have in common: what they label, and the phases after theirs, in the
// order in which they are called. Each puts its kernels on the stream and returns.
#pragma once

#include "gpu/cclabel/base/records.hpp"
#include "gpu/cclabel/base/subject.hpp"
#include "gpu/cclabel/cells/cells.hpp"

namespace regions::cells {

using cclabel::Records;

// What is labelled: the picture, and for `binary` the level of each layer.
struct Source {
  cclabel::Subject subject;
  cclabel::Levels levels;
  bool has_background;
};

// Finds each region's first cell, by which regions are numbered, and counts them.
void find_regions(const Cells& cells, cudaStream_t stream);
void sum_areas(const Cells& cells, cudaStream_t stream);
void measure_cells(const Cells& cells, const ConstFrame& frame, const Records& records,
                   cudaStream_t stream);
void write_labels(const Cells& cells, LabelMap labels, cudaStream_t stream);
void write_labels(const Cells& cells, const Frame& out, uint32_t least, uint32_t limit,
                  cudaStream_t stream);
void write_colors(const Cells& cells, const Frame& out, cudaStream_t stream);

}  // namespace regions::cells

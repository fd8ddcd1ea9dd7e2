// The phases of the historic methods, in the order in which they are called. Each puts its kernels
// on the stream and returns.
#pragma once

#include "gpu/cclabel/phases.hpp"
#include "gpu/propagation/cells.hpp"
#include "gpu/volumes/volume.hpp"

namespace regions::propagation {

using cclabel::Records;
using cclabel::Subject;
using volumes::Levels;

// What is labelled: the picture, and for `binary` the level of each layer.
struct Source {
  Subject subject;
  Levels levels;
  bool has_background;
};

// Links every cell to its neighbours, and begins its label: its own number + 1.
void link_cells(const Source& source, const Cells& cells, cudaStream_t stream);
// Finds the farthest cells, up to `length` away: by pointer doubling.
void find_far(const Cells& cells, int length, cudaStream_t stream);
// Blocks of propagate() that the device runs at once.
int propagation_blocks(const Variant& variant);
// Passes until no label changes: the largest wins. Decided on the device.
void propagate(const Cells& cells, const Variant& variant, int blocks, cudaStream_t stream);

// Finds each region's first cell, by which regions are numbered, and counts them.
void find_regions(const Cells& cells, cudaStream_t stream);
void sum_areas(const Cells& cells, cudaStream_t stream);
void measure_cells(const Cells& cells, const ConstFrame& frame, const Records& records,
                   cudaStream_t stream);
void write_labels(const Cells& cells, LabelMap labels, cudaStream_t stream);
void write_labels(const Cells& cells, const Frame& out, uint32_t least, uint32_t limit,
                  cudaStream_t stream);
void write_colors(const Cells& cells, const Frame& out, cudaStream_t stream);

}  // namespace regions::propagation

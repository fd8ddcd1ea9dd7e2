// The phases of label propagation, in the order in which they are called. Each puts its kernels on
// the stream and returns.
#pragma once

#include "gpu/cclabel/cells/phases.hpp"
#include "gpu/cclabel/propagation/variant.hpp"

namespace regions::propagation {

using cells::Cells, cells::Source;
using cells::kAxes, cells::kNeighbours, cells::neighbour_along, cells::neighbours_of;

// Links every cell to its neighbours, and begins its label: its own number + 1.
void link_cells(const Source& source, const Cells& cells, cudaStream_t stream);
// Finds the farthest cells, up to `length` away: by pointer doubling.
void find_far(const Cells& cells, int length, cudaStream_t stream);
// Blocks of propagate() that the device runs at once.
int propagation_blocks(const Variant& variant);
// Passes until no label changes: the largest wins. Decided on the device.
void propagate(const Cells& cells, const Variant& variant, int blocks, cudaStream_t stream);

}  // namespace regions::propagation

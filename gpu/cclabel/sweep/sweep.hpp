// Sweeps (GTC 2015, "Binary Segmentation of Many 3D Cubes in CUDA"), launched.
#pragma once

#include "gpu/cclabel/cells/phases.hpp"

namespace regions::sweep {

using cells::Cells, cells::Source;

// Labels of a row, filled up to whole warps of four each at the least.
int stride_for(int width);
// Blocks of the sweeps that the device runs at once.
int sweep_blocks(int width);
// Labels all cells: every cell's label becomes its region's first cell + 1, 0 outside regions.
void sweep(const Source& source, const Cells& cells, int blocks, cudaStream_t stream);

}  // namespace regions::sweep

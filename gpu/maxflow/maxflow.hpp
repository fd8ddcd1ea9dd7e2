// Minimum cuts on CUDA with an explicit choice of the solver, for tests and benchmarks. All other
// code uses make_grid_cut(), which selects CutTier::automatic.
//
// All solvers use push-relabel (Goldberg and Tarjan 1988). The excess of a pixel is its inflow
// minus its outflow. Its height is a lower bound of its distance to the sink in the residual graph.
// A pixel is active if it has positive excess and can reach the sink. The solvers alternate two
// steps until a global relabel finds no active pixel:
//
//   global relabel  computes exact heights of all pixels
//   pushes          in each round, relabels active pixels and pushes their excess downhill
//
// Then no residual path connects source and sink, so the flow is maximum. The pixels that cannot
// reach the sink are the foreground. These are the kernels of each solver (files in brackets):
//
//   sparse     load_kernel: each warp loads one tile of 32x16 pixels, with 16 bits per number, and
//              discharges it locally. worklist_kernel: a few blocks process worklists of the tiles
//              that still have work [sparse.cu]; they use the plain algorithm if 16 bits do not
//              suffice
//   resident   resident_kernel: all tiles are kept in the shared memory of all multiprocessors
//              [resident.cu]. plain_kernel: does nothing if the frame is already solved
//   plain      plain_kernel: heights, flows and excess in arrays of 32 and 64 bits [plain.hpp]
//
// Neighbouring tiles exchange heights and flows through halo buffers [graph_tile.hpp].
#pragma once

#include "core/maxflow/maxflow.hpp"

namespace regions {

// The solver of a cut. `resident` keeps the residual graph in shared memory; `sparse` replaces it
// if the picture is too large for shared memory. `sparse` keeps tiles in global memory and
// processes only tiles that have work. Both store numbers in 16 bits. For frames that need more
// bits they use `plain`, which stores numbers of 32 and 64 bits. `automatic` usually uses `sparse`.
// If the process has only one cut, it uses `resident` when this is faster.
enum class CutTier { automatic, resident, sparse, plain };

// Creates a cut for `backend`, which must be a CUDA backend. An iteration in the sense of CutLimits
// and CutResult is a round of pushes. Negative capacities of links count as zero. The device memory
// is allocated by GridCut::configure(), which also throws InputError for pictures larger than
// 65535x65535 pixels.
std::unique_ptr<GridCut> make_cuda_grid_cut(std::shared_ptr<Backend> backend, CutTier tier);

}  // namespace regions

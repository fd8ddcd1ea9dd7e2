// Minimum cuts on CUDA with an explicit choice of the solver, for tests and benchmarks. Everything
// else uses make_grid_cut(), which selects CutTier::automatic.
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
// reach the sink are the foreground. The passes of a frame (files in brackets):
//
//   sparse     load_kernel: each warp loads one tile of 32x16 pixels in 16 bits and discharges it
//              locally. worklist_kernel: a few blocks process worklists of the tiles that still
//              have work [sparse.cu]; its blocks continue with the plain algorithm if needed
//   resident   resident_kernel: all tiles stay in the shared memory of all multiprocessors
//              [resident.cu]; then plain_kernel, which returns at once if the frame is solved
//   plain      plain_kernel: heights, flows and excess in arrays of 32 and 64 bits [plain.hpp]
//
// Neighbouring tiles exchange heights and flows through halo buffers [graph_tile.hpp].
#pragma once

#include "core/maxflow/maxflow.hpp"

namespace regions {

// The solver of a cut. `resident` keeps the residual graph in shared memory; if the picture is too
// large for it, `sparse` is used. `sparse` keeps tiles in global memory and processes only tiles
// with work. Both store numbers in 16 bits and leave frames that need more to `plain`, which uses
// wider arrays. `automatic` uses `sparse`, or `resident` for the only cut of a process if this is
// faster.
enum class CutTier { automatic, resident, sparse, plain };

// Creates a cut for `backend`, which must be a CUDA backend. An iteration (CutLimits, CutResult) is
// a round of pushes. Negative capacities of links count as zero. The device memory is allocated by
// GridCut::configure(), which also throws InputError for pictures larger than 65535x65535 pixels.
std::unique_ptr<GridCut> make_cuda_grid_cut(std::shared_ptr<Backend> backend, CutTier tier);

}  // namespace regions

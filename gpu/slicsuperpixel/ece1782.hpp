// The implementation of method=report: SLIC as in the course report "Superpixels" (ECE1782, 2020),
// with the four kernels of the report: sum, averaging, reset and ownership.
//
// At first every pixel belongs to the superpixel of the cell that contains it. In each iteration,
// the nearest of nine superpixels becomes the owner of the pixel. Means are truncated to integers.
// This defines the owner of each pixel exactly, so all optimisation steps of the report give the
// same labels.
#pragma once

#include "core/slicsuperpixel/clusters.hpp"
#include "gpu/slicsuperpixel/fragments.hpp"

namespace regions::slicsuperpixel {

// The optimisations of the report. Each step includes the earlier ones.
enum Ece1782Step : int {
  kAtomics = 1,        // one thread per pixel, all data in global memory
  kCells = 2,          // one block per cell sums its pixels, whose owners are nine superpixels
  kNeighbours = 3,     // ownership reads the nine means from shared memory
  kWideLoads = 4,      // one load for a pixel's colour, one load for its owner
  kAccumulators = 5,   // nine accumulators per thread and per superpixel instead of atomics
  kSeveralPixels = 6,  // several pixels per thread, loaded together
  kFloatDistances = 7  // colour distances in floats, position distances in integers
};
// Minimum width and height of a cell, in pixels. It limits the memory of the accumulators.
inline constexpr int kMinEce1782Cell = 8;

// The superpixel that owns a pixel.
struct alignas(4) Owner {
  uint16_t column, row;  // position of the superpixel's cell in the grid
};

// The mean colour and position of a superpixel.
struct Ece1782Mean {
  int color[3];  // mean of each colour component + 128
  int x, y;      // position in the picture
  int alive;     // 0 if the superpixel has no pixels; then it never gets pixels again
};

// The data of the method for one frame.
struct Ece1782 {
  SlicGrid grid;
  Image<uint32_t> colors;  // colours of the pixels, in the format of Clusters::colors
  float factor;            // weight of squared position distances relative to colour distances
  int ece1782_step;        // the Ece1782Step that is used
  Image<Owner> owners;
  // The accumulators (partial sums) of each superpixel: one for each of the nine cells whose pixels
  // it can own, in raster order. Before step kAccumulators only the first accumulator is used.
  // Positions are relative to the same corner as in ClusterSums.
  ClusterSums* sums;   // [rows][columns][kCandidates]
  Ece1782Mean* means;  // [rows][columns], mean of each superpixel
};
// Returns the maximum number of cells in a picture of this size.
inline size_t max_ece1782_cells(Size size) {
  constexpr int kSide = kMinEce1782Cell;
  return static_cast<size_t>((size.width + kSide - 1) / kSide) *
         static_cast<size_t>((size.height + kSide - 1) / kSide);
}

// Assigns every pixel to the superpixel of the cell that contains it.
void assign_own_cells(const Ece1782& state, cudaStream_t stream);
// The four kernels of an iteration, in the order of execution.
void reset_sums(const Ece1782& state, cudaStream_t stream);
void sum_owned_pixels(const Ece1782& state, cudaStream_t stream);
void average_sums(const Ece1782& state, cudaStream_t stream);
void choose_owners(const Ece1782& state, cudaStream_t stream);
// Writes the cluster_code() of each pixel and clears the counts of the merge lists.
void write_owner_codes(const Ece1782& state, Image<uint8_t> codes, MergeCounts* counts,
                       cudaStream_t stream);

}  // namespace regions::slicsuperpixel

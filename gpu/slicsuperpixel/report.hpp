// The method of ECE1782's "Superpixels" (2020), after its text and in its four kernels: sum,
// averaging, reset and ownership. Every pixel begins in its own cell; means are integers, cut off.
// What a pixel belongs to changes nothing here but by its definition, so all steps of the ladder of
// optimisations give the same labels.
#pragma once

#include "gpu/slicsuperpixel/phases.hpp"

namespace regions::slic {

// Each step has those before it, too.
enum ReportStep : int {
  kAtomics = 1,       // a thread a pixel, everything in global memory
  kCells = 2,         // a block sums one cell's pixels, which only nine superpixels can own
  kNeighbours = 3,    // ownership reads the nine from shared memory
  kWideLoads = 4,     // a pixel's colours are one load, its owner another
  kAccumulators = 5,  // nine a thread in place of atomics, and nine a superpixel
  kSeveral = 6,       // pixels a thread, fetched together
  kShared = 7         // colour distances in floats, those of places in integers
};
inline constexpr int kMinReportCell = 8;  // pixels: bounds the accumulators' memory

// The owner of a pixel.
struct alignas(4) Owner {
  uint16_t column, row;  // of its cell
};

struct ReportMean {
  int color[3];  // component + 128
  int x, y;      // in the picture
  int alive;     // a superpixel without pixels owns none any more
};

struct Report {
  SlicGrid grid;
  Image<uint32_t> colors;  // as in Clusters
  float factor;            // from a squared distance of places to one of colours
  int step;
  Image<Owner> owners;
  // A cell's accumulators by the place of the cell that gives, 0..8 in raster order; without
  // kAccumulators the first has all. Places count as in ClusterSums.
  ClusterSums* sums;  // [rows][columns][kCandidates]
  ReportMean* means;  // [rows][columns]
};
inline size_t most_report_cells(Size size) {
  constexpr int kSide = kMinReportCell;
  return static_cast<size_t>((size.width + kSide - 1) / kSide) *
         static_cast<size_t>((size.height + kSide - 1) / kSide);
}

void own_cells(const Report& report, cudaStream_t stream);
void reset_sums(const Report& report, cudaStream_t stream);
void sum_owned(const Report& report, cudaStream_t stream);
void average_sums(const Report& report, cudaStream_t stream);
void choose_owners(const Report& report, cudaStream_t stream);
// Each pixel's cluster_code; clears the counts of what comes next.
void write_owner_codes(const Report& report, Image<uint8_t> codes, JoinCounts* counts,
                       cudaStream_t stream);

#ifdef __CUDACC__

// The pixels of a cell that are in the picture, counted in raster order.
struct CellPixels {
  int left, top, width, count;

  __device__ CellPixels(const SlicGrid& grid, int column, int row) {
    left = column * grid.width;
    top = row * grid.height;
    width = min(grid.width, grid.size.width - left);
    count = width * min(grid.height, grid.size.height - top);
  }
  __device__ int x(int pixel) const { return left + pixel % width; }
  __device__ int y(int pixel) const { return top + pixel / width; }
};

template <bool kWide>
__device__ inline uchar4 color_at(const Image<uint32_t>& colors, int x, int y) {
  if constexpr (kWide) {
    const uint32_t color = colors(x, y);
    return make_uchar4(color & 255, color >> 8 & 255, color >> 16 & 255, 0);
  } else {
    // Volatile, lest the compiler makes one load of them.
    const volatile auto* bytes = reinterpret_cast<const volatile uint8_t*>(&colors(x, y));
    return make_uchar4(bytes[0], bytes[1], bytes[2], 0);
  }
}

template <bool kWide>
__device__ inline Owner owner_at(const Image<Owner>& owners, int x, int y) {
  if constexpr (kWide) {
    const uint32_t both = *reinterpret_cast<const uint32_t*>(&owners(x, y));
    return {static_cast<uint16_t>(both), static_cast<uint16_t>(both >> 16)};
  } else {
    const volatile auto* halves = reinterpret_cast<const volatile uint16_t*>(&owners(x, y));
    return {halves[0], halves[1]};
  }
}

#endif

}  // namespace regions::slic

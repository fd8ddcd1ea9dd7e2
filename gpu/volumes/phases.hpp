// The phases of labelling volumes, in the order in which they are called. Each puts its kernels on
// the stream and returns.
#pragma once

#include "gpu/cclabel/phases.hpp"
#include "gpu/volumes/volume.hpp"

namespace regions::volumes {

using cclabel::Subject;

// Cut for the connectivity of these parameters.
Volume shaped(Volume volume, const Stack& stack, Connectivity connectivity);

// Thresholds the stack once for each layer, and finds the components of every tile.
void label_tiles(const Subject& subject, const Levels& levels, const Volume& volume,
                 cudaStream_t stream);
// Joins components across tiles to regions, gives each its root, and counts regions.
void join_tiles(const Volume& volume, cudaStream_t stream);
// Sums the areas of regions.
void sum_areas(const Volume& volume, cudaStream_t stream);
// Sums up the records.
void measure_regions(const Volume& volume, const ConstFrame& frame, const Records& records,
                     cudaStream_t stream);
// Each voxel's label, at most `limit`; a mask; each region's colour.
void write_labels(const Volume& volume, LabelMap labels, cudaStream_t stream);
void write_labels(const Volume& volume, const Frame& out, uint32_t limit, cudaStream_t stream);
void write_mask(const Volume& volume, const Frame& out, cudaStream_t stream);
void write_colors(const Volume& volume, const Frame& out, cudaStream_t stream);

}  // namespace regions::volumes

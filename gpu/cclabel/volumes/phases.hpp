// The phases of labelling volumes, in the order in which they are called. Each puts its kernels on
// the stream and returns.
#pragma once

#include "gpu/cclabel/base/records.hpp"
#include "gpu/cclabel/volumes/volume.hpp"

namespace regions::volumes {

// Cut for the connectivity of these parameters.
Volume shaped(Volume volume, const Stack& stack, Connectivity connectivity);

// Holes are filled before foreground is labelled: the background is labelled in its place first, by
// the same phases. What they label then is no picture but a rank for each voxel: in how many
// layers, those of lower thresholds first, it is foreground; or, for background, it is not. Filled
// voxels of a threshold are also those of any lower one, so that one rank still says all.
struct Ranks {
  int count = 0;             // different levels
  int level[kMaxLayers];     // those, in ascending order
  int of_layer[kMaxLayers];  // 1..count; the layer's voxels have at least that rank

  Ranks(const Levels& levels, int layers);
  // To be labelled in the layers' places: ranks of foreground, and of background.
  Levels foreground(int layers) const;
  Levels background(int layers) const;
};
// Ranks the background of the subject.
void rank_background(const Subject& subject, const Ranks& ranks, const Image<uint8_t>& voxels,
                     cudaStream_t stream);
// Given the background's regions and their areas, makes its ranks those of foreground with all
// regions of up to `most` voxels that touch no side of their volume.
void rank_filled(const Volume& background, const Ranks& ranks, uint32_t most,
                 const Image<uint8_t>& voxels, cudaStream_t stream);

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

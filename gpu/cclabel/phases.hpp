// The phases of labelling, in the order in which enqueue() calls them. Each puts its kernel on the
// stream and returns.
#pragma once

#include "gpu/cclabel/subject.hpp"
#include "gpu/launch.hpp"

namespace regions::cclabel {

// Finds runs and components of every tile.
void label_tiles(const Subject& subject, const Tiles& tiles, Connectivity connectivity,
                 cudaStream_t stream);
// Joins components that touch across tile edges.
void join_seams(const Subject& subject, const Tiles& tiles, Connectivity connectivity,
                cudaStream_t stream);
// Counts regions in raster order and gives every border component its root as parent.
void number_regions(const Tiles& tiles, cudaStream_t stream);
// Writes one label a pixel.
void write_labels(const Tiles& tiles, LabelMap labels, cudaStream_t stream);

}  // namespace regions::cclabel

// The phases of labelling, in the order in which enqueue() calls them. Each puts its kernels on the
// stream and returns.
#pragma once

#include "core/cclabel/cclabel.hpp"
#include "gpu/cclabel/base/largest.hpp"
#include "gpu/cclabel/base/records.hpp"
#include "gpu/cclabel/base/subject.hpp"
#include "gpu/cclabel/pictures/tiles.hpp"
#include "gpu/runtime/launch.hpp"
#include "gpu/tracking/phases.hpp"

namespace regions::cclabel {

// Finds runs and components of every tile.
void label_tiles(const Subject& subject, const Tiles& tiles, Connectivity connectivity,
                 cudaStream_t stream);
// Joins components that touch across tile edges, and clears the records, if any, for what
// measure_regions adds up.
void join_seams(const Subject& subject, const Tiles& tiles, Connectivity connectivity,
                const Records& records, cudaStream_t stream);

// Sums the area of every region. Needs joined seams.
void measure_areas(const Tiles& tiles, const Areas& areas, cudaStream_t stream);
// Takes regions outside least..most out of the numbering.
void drop_by_area(const Tiles& tiles, const Areas& areas, uint32_t least, uint32_t most,
                  cudaStream_t stream);
// Takes regions that hold no seed out of the numbering. Overwrites the areas.
void keep_chosen(const Tiles& tiles, const Areas& areas, const Seeds& seeds, cudaStream_t stream);
// With tiles and areas of the background: sets `bits` ([height][stride / 32]) where the picture is
// foreground or in a part of the background of at most that area that touches no picture edge.
void fill_holes(const Tiles& tiles, const Areas& areas, uint32_t most, uint32_t* bits,
                cudaStream_t stream);

// Counts regions in raster order, and gives every border component its root as parent.
void number_regions(const Tiles& tiles, Count count, cudaStream_t stream);
// Takes all others than those that find_largest() found out of the numbering, which is to be done
// again.
void keep_largest(const Tiles& tiles, const Areas& areas, const Selection* selection,
                  cudaStream_t stream);

// Counts the pixels that the labels 1..capacity share with the last frame's in memory.pairs, and
// leaves them for the next: where they are in `past`, and in memory.labels at the first pixels of
// their pieces.
void share_pixels(const Tiles& tiles, const TrackMemory& memory, const Image<PastWord>& past,
                  uint32_t capacity, cudaStream_t stream);

// Writes each pixel's label, at most `limit`; each region's colour; or the full value in regions.
void write_labels(const Tiles& tiles, LabelMap labels, cudaStream_t stream);
void write_labels(const Tiles& tiles, const Frame& out, uint32_t limit, const Shown& shown,
                  cudaStream_t stream);
void write_colors(const Tiles& tiles, const Frame& out, const Shown& shown, cudaStream_t stream);
void write_mask(const Tiles& tiles, const Frame& out, cudaStream_t stream);

// Fills the records, which join_seams has cleared.
void measure_regions(const Tiles& tiles, const ConstFrame& frame, const Records& records,
                     cudaStream_t stream);
}  // namespace regions::cclabel

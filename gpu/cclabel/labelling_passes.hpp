// The passes of connected-component labelling on CUDA: an overview, then the passes for images.
// Each function enqueues its kernels on the stream and returns without waiting.
//
// Images (called by cclabel.cpp; buffers are members of ImageTiles unless noted):
//   1. label_tiles()      reads the image; writes the runs and components of each tile (foreground,
//                         starts, rank, component, first_pixel, counts), component ids along tile
//                         edges (top, bottom, left, right), parent, region_bits, region_count.
//   2. merge_tiles()      reads the edges; merges trees in parent; updates region_bits and
//                         region_count; clears Records.
//   3. measure_areas(), drop_by_area(), keep_seeded(), keep_largest(), only if a filter is set:
//                         sum RegionAreas; remove regions from region_bits and region_count.
//   4. number_regions()   reads region_bits and region_count; writes before and total; sets parent
//                         to the root.
//   5. measure_regions()  reads all of these buffers and the image; adds to Records.
//   6. share_pixels()     only with tracking: counts the pixels shared with the previous frame's
//                         regions in TrackMemory. gpu/tracking then assigns tracks to Records.
//   7. write_labels(), write_colors(), write_mask()  write the label map and the output picture.
//   8. publish_table()    copies Records and total to the table in host memory.
// With fill-holes, passes 1 to 3 first label the background, and fill_holes() writes a bitmap that
// replaces the image as the input of pass 1.
//
// Small images: label_small_image() does the same in a single launch, with all buffers in shared
// memory. With attach-runs, RunLengths::fill() (run_lengths.hpp) lists runs from the label map.
//
// Windows of frames (window.cu): the window is labelled as a volume. The newest frame's slice of
// the label map is then measured, compared with the previous window, tracked and written.
//
// Volumes (gpu/cclabel/volume): the same sequence with tiles of voxels. A FirstPixelBitmap
// (first_pixels.hpp) replaces region_bits, region_count, before and total.
//
// Propagation (gpu/cclabel/propagation): labels move between linked cells until none changes; then
// the passes on a FirstPixelBitmap follow as for volumes.
#pragma once

#include "core/cclabel/cclabel.hpp"
#include "gpu/cclabel/device_records.hpp"
#include "gpu/cclabel/first_pixels.hpp"
#include "gpu/cclabel/image_tiles.hpp"
#include "gpu/cclabel/label_input.hpp"
#include "gpu/runtime/launch.hpp"
#include "gpu/tracking/tracking.hpp"

namespace regions::cclabel {

// Finds the runs and components of every tile.
void label_tiles(const LabelInput& input, const ImageTiles& tiles, Connectivity connectivity,
                 cudaStream_t stream);
// Merges components that touch across tile edges to regions. Also clears the records, if any, for
// measure_regions().
void merge_tiles(const LabelInput& input, const ImageTiles& tiles, Connectivity connectivity,
                 const Records& records, cudaStream_t stream);

// Sums the area of every region. Requires merged tiles.
void measure_areas(const ImageTiles& tiles, const RegionAreas& areas, cudaStream_t stream);
// Removes the regions whose area is outside min..max from the numbering.
void drop_by_area(const ImageTiles& tiles, const RegionAreas& areas, uint32_t min, uint32_t max,
                  cudaStream_t stream);
// Removes the regions that contain no seed from the numbering. Overwrites the areas.
void keep_seeded(const ImageTiles& tiles, const RegionAreas& areas, const Seeds& seeds,
                 cudaStream_t stream);
// Requires tiles and areas of the background. Sets the pixels of `bits` ([height][stride / 32])
// that are foreground, or belong to a background region that has at most `max_area` pixels and does
// not touch the edge of the image. Clears all other bits.
void fill_holes(const ImageTiles& tiles, const RegionAreas& areas, uint32_t max_area,
                uint32_t* bits, cudaStream_t stream);

// Numbers the regions 1..n in raster order, and sets the parent of every border component to its
// root.
void number_regions(const ImageTiles& tiles, Totals totals, cudaStream_t stream);
// If there are more than areas.limit regions, removes all except the largest from the numbering.
// Among equal areas, the first in raster order remain. Requires areas and a first numbering, and is
// followed by a second numbering.
void keep_largest(const ImageTiles& tiles, const RegionAreas& areas, LargestSelection* selection,
                  cudaStream_t stream);

// Fills the records of labels 1..records.capacity. merge_tiles() must have cleared them.
void measure_regions(const ImageTiles& tiles, const ConstFrame& frame, const Records& records,
                     cudaStream_t stream);

// Counts the pixels that the regions with labels 1..capacity share with the regions of the previous
// frame, in memory.pairs. Then stores this frame's regions for the next call: their pixels in
// `past` and their labels in memory.labels, at the first pixel of each run within a 32-pixel word.
void share_pixels(const ImageTiles& tiles, const TrackMemory& memory,
                  const Image<PreviousFrameWord>& past, uint32_t capacity, cudaStream_t stream);

// Writes the label of each pixel to a label map.
void write_labels(const ImageTiles& tiles, LabelMap labels, cudaStream_t stream);
// Writes the shown value of each pixel's region, at most `limit`, to an output picture.
void write_labels(const ImageTiles& tiles, const Frame& out, uint32_t limit,
                  const ShownValues& shown, cudaStream_t stream);
// Writes the colour of each pixel's shown value.
void write_colors(const ImageTiles& tiles, const Frame& out, const ShownValues& shown,
                  cudaStream_t stream);
// Writes the greatest value of the format in regions, and 0 elsewhere.
void write_mask(const ImageTiles& tiles, const Frame& out, cudaStream_t stream);

// Whether label_small_image() can label images of this size on the current device: the device
// supports clusters of 16 blocks and the runs fit into their shared memory. Also sets the kernels'
// attributes for this.
bool fits_small_image(Size size);

struct SmallImageOutputs {
  LabelMap labels;
  Records records;    // scratch memory for records; an empty object: labels only
  RegionTable table;  // receives the records if there are any
};

// Labels, numbers, measures and writes an image of criterion `binary` in a single launch, without
// intermediate buffers in device memory. Requires fits_small_image(). `frame` contains the colours
// of the regions.
void label_small_image(const LabelInput& input, Connectivity connectivity, const ConstFrame& frame,
                       const SmallImageOutputs& out, cudaStream_t stream);

}  // namespace regions::cclabel

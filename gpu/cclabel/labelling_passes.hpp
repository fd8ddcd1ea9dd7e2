// Overview of connected-component labelling on CUDA, and the passes for images. A pass is one
// function: it enqueues a few kernels on the stream and returns without waiting. The passes
// exchange data only through buffers in device memory.
//
// Which class labels a frame:
//
//   SlidingCuda (window.cu)             the algorithm that make_algorithm<CcLabelParams>() returns.
//    |                                  It owns a CcLabelCuda.
//    |- sliding=true                    labels windows of frames, see below
//    '- sliding=false                   passes each frame on to CcLabelCuda
//   CcLabelCuda (cclabel.cpp)           chooses the method of a stream in configure()
//    |- method=propagation or sweep,
//    |  or a volume with
//    |  criterion=equal or difference   PropagationLabeller (propagation/propagation.cpp)
//    |- other volumes, several
//    |  thresholds, or background
//    |  regions                         CudaVolumeLabeller (volume/volume_labeller.cpp)
//    |- small images, see below         label_small_image() (small_image.cu)
//    '- other images                    the passes below, on the buffers of ImageTiles
//
// expects_consistent() and expects_method() in core/cclabel/cclabel.cpp reject combinations of
// parameters that a method does not support.
//
// Terms:
//   tile              a rectangle of pixels; a thread block processes one tile
//   run               consecutive linked pixels of one row of a tile
//   component         connected runs of one tile
//   border component  a component with a pixel next to another tile
//   inner component   any other component; it is a region by itself
//   region            one component, or components of several tiles that touch each other; its
//                     label is its number in raster order
//   parent            the union-find forest of border components; each root represents a region
//
// Passes for images, in the order in which CcLabelCuda::label_image() calls them. Buffers in lower
// case are members of ImageTiles (image_tiles.hpp). Records is defined in device_records.hpp,
// RegionAreas in first_pixels.hpp, and TrackMemory in gpu/tracking. ImageBuffers
// (image_buffers.hpp) owns the memory.
//
//   1. label_tiles() (label_tiles.cu) finds the runs and components of each tile.
//        reads:  the image
//        writes: foreground, run_starts, runs_before, component_of_run, first_pixel, counts,
//                top_edge, bottom_edge, left_edge, right_edge, parent, region_starts, region_count
//   2. merge_tiles() (merge_tiles.cu) merges components across tile edges into regions.
//        reads:  the four edge buffers; also the image, unless criterion=binary
//        writes: parent, region_starts, region_count; clears Records
//   3. measure_areas(), drop_by_area(), keep_seeded() (filter_regions.cu), only if a filter is set,
//      remove regions.
//        reads:  the tiles' runs and components, parent
//        writes: RegionAreas; clears bits in region_starts, reduces region_count
//   4. number_regions() (number_regions.cu) numbers the regions in raster order.
//        reads:  counts, first_pixel, region_starts, region_count, parent
//        writes: regions_before, total; sets each parent to the root
//      If the output format is too small for all labels, keep_largest() (filter_regions.cu) then
//      removes the smallest regions, and pass 4 runs again.
//   5. measure_regions() (measure.cu) sums area, position and colour of each region.
//        reads:  the image, the buffers of passes 1 to 4
//        writes: Records
//   6. count_shared_pixels() (share.cu), only with tracking, counts the pixels that each region
//      shares with each region of the previous frame. Then gpu/tracking writes tracks to Records.
//        reads:  the buffers of passes 1 to 4, the previous frame's labels
//        writes: TrackMemory::pairs, this frame's labels for the next frame
//   7. write_labels(), write_mask(), write_colors() (write.cu) write the outputs.
//        reads:  the buffers of passes 1 to 4; Records, if the output shows tracks
//        writes: the label map, the output picture
//   8. publish_table() (write.cu) copies the table to the host.
//        reads:  total, Records
//        writes: RegionTable, in pinned host memory
//   9. draw() (folder gpu/drawing), only with output=overlay, draws on the picture.
//        reads:  the label map, Records
//        writes: the output picture
//
// With tracking, CcLabelCuda::track() calls passes 5 to 8 in another order, on two streams.
// filter_and_number_regions() in first_pixels.hpp is the sequence of passes 3 and 4 for all
// methods. With many tiles, passes 5 and 7 run at the same time on two streams.
//
// ImageBuffers::graph_cache() launches all passes of an image as one CUDA graph (GraphCache in
// gpu/runtime), unless regions are tracked. The kernels of the other methods are launched one by
// one.
//
// Union-find connects the runs of a tile (image_runs.hpp), border components (merge_tiles.cu), the
// strips of small images (small_image.cu), and components of volumes (merge_volume_tiles.cu). They
// all use gpu/primitives/union_find.hpp. The nodes of one tile of a volume have their own
// implementation in label_volume_tiles.cu, in which the lanes of a warp advance together.
//
// There are no work lists in device memory. A thread block keeps its lists in shared memory, for
// example the pairs of runs that it must still merge (RunsToMerge in image_runs.hpp).
//
// With fill-holes, passes 1 and 2 and measure_areas() first label the background. fill_holes()
// (filter_regions.cu) then writes a bitmap of the foreground with filled holes. Pass 1 reads this
// bitmap instead of the image.
//
// The other methods:
//
//   Small images (small_image.cu): binary images of up to 640x512 pixels, without filters,
//   fill-holes, tracking and an output picture, on devices with clusters of 16 blocks. One kernel
//   does the work of passes 1, 2, 4, 5, 8, and the label map of pass 7. Its buffers are in shared
//   memory.
//
//   Volumes (folder volume, overview in volume/volume.hpp): similar passes, on tiles of voxels. The
//   buffers are members of VolumeArrays. A FirstPixelBitmap (first_pixels.hpp) marks the first
//   voxel of each region. It has the role of region_starts, region_count, regions_before and total.
//
//   Propagation and sweep (folder propagation, overview in propagation/cell_arrays.hpp): labels
//   move between neighbouring pixels until none changes. The later passes use a FirstPixelBitmap
//   too.
//
//   Windows of frames (window.cu): SlidingWindow (core/cclabel/sliding_window.hpp) copies each
//   frame to a buffer of the last `depth` frames. CcLabelCuda labels this buffer as a volume.
//   Kernels of window.cu then measure the newest frame, count the pixels that it shares with the
//   previous window, and write its outputs.
//
// Headers with device code that several passes share: label_input.hpp (which value of a pixel is
// compared), image_runs.hpp (runs in shared memory), color_sums.hpp (sums of colours),
// pixel_writers.hpp (output pixels).
//
// Two steps work on finished label maps: RunLengths::fill() (run_lengths.hpp) lists the pixels of
// regions for the property attach-runs. drop_value() (drop_value.cu) removes the regions of one
// pixel value, for the Python package.
#pragma once

#include "core/cclabel/cclabel.hpp"
#include "gpu/cclabel/device_records.hpp"
#include "gpu/cclabel/first_pixels.hpp"
#include "gpu/cclabel/image_tiles.hpp"
#include "gpu/cclabel/label_input.hpp"
#include "gpu/runtime/launch.hpp"
#include "gpu/tracking/tracking.hpp"

namespace regions::cclabel {

// Finds the runs and components of every tile. `input` is the image, or its background if
// input.complement is set.
void label_tiles(const LabelInput& input, const ImageTiles& tiles, Connectivity connectivity,
                 cudaStream_t stream);
// Merges components that touch across tile edges into regions. Also clears `records` (may be empty)
// for measure_regions().
void merge_tiles(const LabelInput& input, const ImageTiles& tiles, Connectivity connectivity,
                 const Records& records, cudaStream_t stream);

// Sums the area of every region, in pixels. merge_tiles() must have run.
void measure_areas(const ImageTiles& tiles, const RegionAreas& areas, cudaStream_t stream);
// Removes each region whose area is outside the bounds, so that number_regions() skips it.
void drop_by_area(const ImageTiles& tiles, const RegionAreas& areas, const AreaBounds& bounds,
                  cudaStream_t stream);
// Removes each region that contains no seed pixel. Overwrites `areas`.
void keep_seeded(const ImageTiles& tiles, const RegionAreas& areas, const Seeds& seeds,
                 cudaStream_t stream);
// Writes the foreground with filled holes to `bits`, [height][stride / 32], one bit per pixel. A
// hole is a background region that has at most `max_hole_area` pixels and does not touch the edge
// of the image. `tiles` and `areas` must describe the background.
void fill_holes(const ImageTiles& tiles, const RegionAreas& areas, uint32_t max_hole_area,
                uint32_t* bits, cudaStream_t stream);

// Numbers the remaining regions 1..n in raster order of their first pixels. Also sets the parent of
// every component at a tile edge to its root.
void number_regions(const ImageTiles& tiles, Totals totals, cudaStream_t stream);
// If there are more than areas.limit regions, removes all except the areas.limit largest regions.
// Among regions of equal area, the first in raster order remain. measure_areas() and
// number_regions() must have run. number_regions() must run again afterwards.
void keep_largest(const ImageTiles& tiles, const RegionAreas& areas, LargestSelection* selection,
                  cudaStream_t stream);

// Fills the records of labels 1..records.capacity. merge_tiles() must have cleared the records.
void measure_regions(const ImageTiles& tiles, const ConstFrame& frame, const Records& records,
                     cudaStream_t stream);

// Counts how many pixels each region with a label up to `capacity` shares with each region of the
// previous frame. Adds the counts to memory.pairs. Then replaces the stored previous frame by this
// frame: its foreground and run starts in `previous_words`, [height][width / 32], and its labels in
// memory.labels, at the first pixel of each run within a 32-pixel word.
void count_shared_pixels(const ImageTiles& tiles, const TrackMemory& memory,
                         const Image<PreviousFrameWord>& previous_words, uint32_t capacity,
                         cudaStream_t stream);

// Writes the label of each pixel to a label map.
void write_labels(const ImageTiles& tiles, LabelMap labels, cudaStream_t stream);
// Writes the shown value (label or track) of each pixel's region to an output picture. Values are
// at most `limit`.
void write_labels(const ImageTiles& tiles, const Frame& out, uint32_t limit,
                  const ShownValues& shown, cudaStream_t stream);
// Writes the colour of each pixel's shown value.
void write_colors(const ImageTiles& tiles, const Frame& out, const ShownValues& shown,
                  cudaStream_t stream);
// Writes the greatest value of the format in regions, and 0 elsewhere.
void write_mask(const ImageTiles& tiles, const Frame& out, cudaStream_t stream);

// Returns whether label_small_image() can label images of this size on the current device. The
// device must support clusters of 16 blocks, and the runs must fit into the shared memory of these
// blocks. Also sets the kernels' attributes for such clusters.
bool fits_small_image(Size size);

// The outputs of label_small_image().
struct SmallImageOutputs {
  LabelMap labels;    // label map, always written
  Records records;    // scratch memory for records; if empty, only labels are written
  RegionTable table;  // receives the records, unless `records` is empty
};

// Labels and measures an image with criterion=binary in a single launch. Uses shared memory instead
// of ImageTiles. fits_small_image() must have returned true. `frame` is the picture whose colours
// are summed per region.
void label_small_image(const LabelInput& input, Connectivity connectivity, const ConstFrame& frame,
                       const SmallImageOutputs& out, cudaStream_t stream);

}  // namespace regions::cclabel

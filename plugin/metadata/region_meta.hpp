// The `regions` metadata: our public contract with applications and between our elements.
//
// A GstCustomMeta named "regions", whose structure has these fields:
//
// clang-format off
//
// | field           | type          | holds
// |-----------------|---------------|------------------------------------------------------------
// | algorithm       | string        | the element that found the regions: "cclabel"
// | width, height   | int           | size that all coordinates refer to (pixels)
// | regions-total   | uint          | regions found; the array may hold fewer
// | regions         | GstValueArray | structures named "region", see the next table
// | table           | GstBuffer     | the same as one array, a row a region without gaps; not
// |                 |               | there where no region is, or an element moved them
// | table-columns   | string        | names and types of its columns, as NumPy spells them:
// |                 |               | "id:<u4 track:<u4 x:<i4 …"
// |                 |               | where a label map or mask is attached:
// | labels          | GstBuffer     | its pixels, rows without padding
// | labels-format   | string        | U32_LE: labels; GRAY8: a mask, 0 background..255 foreground
// | labels-width,   | int           | its size (pixels), where the picture was scaled since
// |   labels-height |               |
// |                 |               | of volumes (depth):
// | slice, slices   | int           | this frame's index in its volume, and the volume's frames;
// |                 |               | its regions are those whose boxes it crosses, regions-total
// |                 |               | and area are the volume's
// |                 |               | of lists of thresholds:
// | layers          | int           | thresholds; pictures and label map are so many, one below
// |                 |               | another
// |                 |               | on request (attach-adjacency):
// | adjacency       | GstBuffer     | pairs of recorded superpixels that touch, three U32_LE each:
// |                 |               | the lower id, the other, sides of pixels they share; in
// |                 |               | order of ids
// |                 |               | on request (attach-runs):
// | runs            | GstBuffer     | pixels of the recorded regions as runs of a row, four U32_LE
// |                 |               | each: id, x and y of the first pixel, width; in order of id,
// |                 |               | y, x. Of a volume: this frame's pixels, and the region's
// |                 |               | `layer` is theirs
// | runs-truncated  | gboolean      | there were more than max-runs: those later in raster order
// |                 |               | are missing
//
// and what else an element says of the frame, see its page in docs/elements.md. Each region has:
//
// | field           | type          | holds
// |-----------------|---------------|------------------------------------------------------------
// | id              | uint          | label in this frame, 1..n; of tracks that share a region (see
// |                 |               | docs/metadata.md) the same
// | track           | uint          | id that stays from frame to frame; `id` where none is tracked
// | x, y,           | int           | box (pixels)
// |   width, height |               |
// | area            | guint64       | pixels
// | cx, cy          | double        | centroid (pixels)
// | first-x,        | int           | first pixel in raster order
// |   first-y       |               |
// | red, green,     | double        | mean colour, 0..255
// |   blue          |               |
// |                 |               | where regions are tracked:
// | first-seen      | guint64       | timestamp of the track's first frame (ns)
// |                 |               | of superpixels:
// | lab-l           | double        | mean of CIELAB (D65), 0..100
// | lab-a, lab-b    | double        | likewise, -128..127
// | cov-xx, cov-xy, | double        | on request (attach-covariance): covariance of the pixels'
// |   cov-yy        |               | positions (pixels squared)
// |                 |               | of volumes and lists of thresholds:
// | z, depth        | int           | box (slices)
// | cz              | double        | centroid (slices)
// | first-z         | int           | first pixel's slice
// | layer           | uint          | index of the threshold
//
// clang-format on
//
// Numbers in buffers are read in C as `guint32 (*run)[4] = (void *) map.data;`, in Python by
// `struct.iter_unpack("<4I", data)`; the table by
// `numpy.frombuffer(data, [tuple(column.split(":")) for column in columns.split()])`.
//
// Beside it stand GStreamer's own metadata for the largest 256 regions, see standard_metas.hpp.
// docs/metadata.md tells what becomes of the metadata in elements that scale, crop, turn or encode.
#pragma once

#include <gst/gst.h>
#include <gst/video/video.h>

#include <span>
#include <vector>

#include "core/region.hpp"
#include "core/workers.hpp"
#include "plugin/metadata/structure_pool.hpp"
#include "plugin/stream/engine.hpp"

namespace regions {

constexpr const char* kRegionMeta = "regions";  // its name

// To be called once, before the first buffer (in plugin_init).
void register_region_meta();

// What an element found in one frame.
struct Findings {
  const char* algorithm = "";
  Size size;
  uint32_t total = 0;
  std::span<const Region> regions;
  Details details;                           // wanted, of what follows
  std::span<const Moments> moments;          // one a region, or none
  std::span<const GstClockTime> first_seen;  // of each region's track, or none
  std::span<const Border> borders;
  std::span<const PixelRun> runs;
  bool runs_truncated = false;
  int slice = 0;   // this frame's in its volume
  int slices = 0;  // of the volume; 0: no volume
  int layers = 1;  // thresholds
  bool is_stacked() const { return slices > 0 || layers > 1; }
  Layout layout;  // of the picture the colour sums come from
  Colorimetry color;
  GstBuffer* labels = nullptr;  // borrowed; null if not attached
  PixelFormat labels_format = PixelFormat::labels32;
  std::vector<Fact> facts;
};

// Puts the findings on the buffer, in place of what another element left there. Returns the
// structure, which belongs to the buffer.
const GstStructure* attach(GstBuffer* buffer, const Findings& findings, const Workers& workers,
                           StructurePool& structures);

// Whether a label map or mask came with it.
bool has_labels(GstBuffer* buffer);

// Takes the label map or mask off, and leaves the regions.
void release_labels(GstBuffer* buffer);

// Writes the standard metas anew, from the regions in the metadata. Throws InputError if it is
// malformed.
void renew_standard_metas(GstBuffer* buffer);

// The regions in the metadata's structure. Throws InputError if it has none.
const GValue* region_array(const GstStructure* structure);

// What came with a buffer, scaled to `size`.
struct Attached {
  std::vector<Region> regions;
  std::vector<GstClockTime> first_seen;  // of each region's track; empty where nothing is tracked,
                                         // or the regions came as a table
  GstBuffer* labels = nullptr;           // owned by the meta
  PixelFormat labels_format = PixelFormat::labels32;
  Size labels_size;
};
// False if there is no such metadata. Throws InputError if it is malformed.
bool read(GstBuffer* buffer, Size size, Attached& attached);

}  // namespace regions

// The `regions` metadata: the public contract with applications and between the elements of this
// plugin.
//
// It is a GstCustomMeta named "regions". Its structure has these fields:
//
// clang-format off
//
// | field           | type          | content
// |-----------------|---------------|------------------------------------------------------------
// | algorithm       | string        | the element that found the regions: "cclabel"
// | width, height   | int           | size that all coordinates refer to (pixels)
// | regions-total   | uint          | regions found; the array may hold fewer
// | regions         | GstValueArray | structures named "region", see the next table
// | table           | GstBuffer     | the same as one array: one row per region, no gaps. Absent
// |                 |               | if the frame lacks regions or an element has moved them
// | table-columns   | string        | names and types of its columns, as NumPy spells them:
// |                 |               | "id:<u4 track:<u4 x:<i4 …"
// |                 |               | if a label map or mask is attached:
// | labels          | GstBuffer     | its pixels, rows without padding
// | labels-format   | string        | U32_LE: labels; GRAY8: a mask, 0 background..255 foreground
// | labels-width,   | int           | its size (pixels), if the picture was scaled afterwards
// |   labels-height |               |
// |                 |               | for volumes (depth):
// | slice, slices   | int           | index of this frame in its volume, and number of frames of
// |                 |               | the volume. The array has the regions whose boxes include
// |                 |               | this frame; regions-total and area refer to the volume
// |                 |               | for lists of thresholds:
// | layers          | int           | number of thresholds. Picture and label map consist of this
// |                 |               | many layers, one below the other
// |                 |               | on request (attach-adjacency):
// | adjacency       | GstBuffer     | pairs of recorded superpixels that touch, three U32_LE each:
// |                 |               | lower id, higher id, number of common pixel sides; in order
// |                 |               | of ids
// |                 |               | on request (attach-runs):
// | runs            | GstBuffer     | pixels of the recorded regions as horizontal runs, four
// |                 |               | U32_LE each: id, x and y of the first pixel, width; in order
// |                 |               | of id, y, x. In a volume: the pixels of this frame. With
// |                 |               | several layers, `layer` of the region is the layer of its
// |                 |               | runs
// | runs-truncated  | gboolean      | there were more than max-runs runs: the last runs in raster
// |                 |               | order are missing
//
// The element may add further fields about the frame, see docs/elements.md. The structure of
// each region has these fields:
//
// | field           | type          | content
// |-----------------|---------------|------------------------------------------------------------
// | id              | uint          | label in this frame, 1..n. Tracks that share a region (see
// |                 |               | docs/metadata.md) have the same id
// | track           | uint          | id that stays the same from frame to frame; equal to `id` if
// |                 |               | nothing is tracked
// | x, y,           | int           | box (pixels)
// |   width, height |               |
// | area            | guint64       | pixels
// | cx, cy          | double        | centroid (pixels)
// | first-x,        | int           | first pixel in raster order
// |   first-y       |               |
// | red, green,     | double        | mean colour, 0..255
// |   blue          |               |
// |                 |               | if regions are tracked:
// | first-seen      | guint64       | timestamp of the track's first frame (ns)
// |                 |               | for superpixels:
// | lab-l           | double        | mean of CIELAB (D65), 0..100
// | lab-a, lab-b    | double        | mean of CIELAB, -128..127
// | cov-xx, cov-xy, | double        | on request (attach-covariance): covariance of the pixels'
// |   cov-yy        |               | coordinates (pixels squared)
// |                 |               | for volumes and lists of thresholds:
// | z, depth        | int           | box (slices)
// | cz              | double        | centroid (slices)
// | first-z         | int           | slice of the first pixel
// | layer           | uint          | index of the threshold
//
// clang-format on
//
// Numbers in buffers can be read in C by `guint32 (*run)[4] = (void *) map.data;`, in Python by
// `struct.iter_unpack("<4I", data)`, and the table by
// `numpy.frombuffer(data, [tuple(column.split(":")) for column in columns.split()])`.
//
// The buffer also has GStreamer's own metadata of the largest 256 regions, see standard_metas.hpp.
// docs/metadata.md describes how elements that scale, crop, rotate or encode change the metadata.
#pragma once

#include <gst/gst.h>
#include <gst/video/video.h>

#include <span>
#include <vector>

#include "core/backend.hpp"
#include "core/field.hpp"
#include "core/region.hpp"
#include "core/work_area.hpp"
#include "core/workers.hpp"
#include "plugin/metadata/region_structure.hpp"

namespace regions {

constexpr const char* kRegionMeta = "regions";  // name of the GstCustomMeta

// Must be called once, before the first buffer (in plugin_init).
void register_region_meta();

// A value that an algorithm reports about a finished frame. It becomes a field of the metadata.
struct Fact {
  const char* name;
  Value value;
};

// The optional results of an algorithm, see RegionTable.
struct RegionDetails {
  bool lab = false;         // mean colours in CIELAB
  bool covariance = false;  // of pixel coordinates
  bool borders = false;     // pairs of regions that touch
  uint32_t runs = 0;        // maximum number of pixel runs; 0: no runs
};

// The results of an element for one frame.
struct FrameResults {
  const char* algorithm = "";
  Size size;
  uint32_t total = 0;
  std::span<const Region> regions;
  RegionDetails details;                     // which of the optional results to attach
  std::span<const Moments> moments;          // [region], or empty
  std::span<const GstClockTime> first_seen;  // [region] of its track, or empty
  std::span<const Border> borders;
  std::span<const PixelRun> runs;
  bool runs_truncated = false;
  int slice = 0;   // index of this frame in its volume
  int slices = 0;  // frames of the volume; 0: no volume
  int layers = 1;  // number of thresholds
  bool is_stacked() const { return slices > 0 || layers > 1; }
  Layout layout;  // of the picture whose colours were summed
  Colorimetry color;
  GstBuffer* labels = nullptr;  // borrowed; null if not attached
  PixelFormat labels_format = PixelFormat::labels32;
  std::vector<Fact> facts;
};

// Attaches the results to the buffer. They replace the results of another element. Returns the
// structure, which belongs to the buffer.
const GstStructure* attach_regions(GstBuffer* buffer, const FrameResults& results,
                                   const Workers& workers, StructurePool& pool);

// Whether a label map or mask is attached to the buffer.
bool has_labels(GstBuffer* buffer);

// Removes the label map or mask, but not the regions.
void remove_labels(GstBuffer* buffer);

// Makes the standard metas agree with the regions in the metadata. Throws InputError if the
// metadata is malformed.
void replace_standard_metas(GstBuffer* buffer);

// The array of regions in the structure of the metadata. Throws InputError if it is missing.
const GValue* region_array(const GstStructure* structure);

// The regions and the label map that are attached to a buffer, with coordinates scaled to another
// size.
struct AttachedRegions {
  std::vector<Region> regions;
  std::vector<GstClockTime> first_seen;  // [region] of its track; empty if nothing is tracked, or
                                         // if the regions were read from a StructurePool's table
  GstBuffer* labels = nullptr;           // belongs to the meta
  PixelFormat labels_format = PixelFormat::labels32;
  Size labels_size;
};
// Reads the metadata and scales its coordinates to `size`. Returns false if the buffer has no such
// metadata. Throws InputError if it is malformed.
bool read_regions(GstBuffer* buffer, Size size, AttachedRegions& attached);

// Throws InputError if no mask or label map is attached.
void expect_mask(const AttachedRegions& attached);

// Keeps an attached map mapped, and a reference to its buffer, until unmap().
class AttachedMask {
 public:
  AttachedMask() = default;
  AttachedMask(const AttachedMask&) = delete;
  AttachedMask& operator=(const AttachedMask&) = delete;
  ~AttachedMask() { unmap(); }

  // The attached map: in the backend's memory if it is there already, else mapped on the host.
  // Valid until unmap(). `attached.labels` must not be null. Throws InputError if the map cannot be
  // mapped or is smaller than the metadata states.
  ConstFrame map(const AttachedRegions& attached, const Backend& backend);
  // The attached map at the size of its working picture, in host memory. Empty if the map is not a
  // small map (see block_memory.hpp). Also empty if an element with the work area `area` cannot use
  // it: `area` must have the same working picture or be the whole picture.
  ConstFrame map_small(const AttachedRegions& attached, const WorkArea& area);
  bool is_small() const { return is_small_; }  // map_small() returned a map
  void unmap();

 private:
  bool is_small_ = false;
  GstBuffer* buffer_ = nullptr;
  GstMapInfo map_ = {};
};

// The GstCustomMetaTransformFunction of the metadata, called when a frame is copied, scaled,
// cropped, rotated or encoded; see region_transform.cpp. Gives `to` the parts of the metadata of
// `from` that hold for its picture, and the matching standard metas. If the position of the pixels
// is unknown, `to` gets neither.
gboolean transform_region_meta(GstBuffer* to, GstCustomMeta* meta, GstBuffer* from, GQuark type,
                               gpointer data, gpointer unused);

}  // namespace regions

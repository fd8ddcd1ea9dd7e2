// The `regions` metadata. Applications and the elements of this plugin read it, so its format is a
// public interface.
//
// It is a GstCustomMeta named "regions". Its structure has these fields:
//
// clang-format off
//
// | field           | type          | content
// |-----------------|---------------|------------------------------------------------------------
// | algorithm       | string        | the element that found the regions: "cclabel"
// | width, height   | int           | picture size that all coordinates refer to (pixels)
// | regions-total   | uint          | number of regions found; the array may contain fewer
// | regions         | GstValueArray | structures named "region", see the next table. Absent if the
// |                 |               | element's property `describe` lacks `structures` and there is
// |                 |               | a table
// | table           | GstBuffer     | the regions as a binary table: one row per region, no gaps.
// |                 |               | Absent if there are no regions or an element scaled, cropped
// |                 |               | or rotated the picture; then `regions` is present
// | table-columns   | string        | names and NumPy types of the columns of `table`:
// |                 |               | "id:<u4 track:<u4 x:<i4 …"
// |                 |               | if a label map or mask is attached:
// | labels          | GstBuffer     | pixels of the label map or mask, rows without padding
// | labels-format   | string        | U32_LE: labels; GRAY8: a mask, 0 background..255 foreground
// | labels-width,   | int           | size of the map (pixels); only if the picture was scaled
// |   labels-height |               | afterwards
// |                 |               | for volumes (depth):
// | slice, slices   | int           | index of this frame in its volume, and number of frames of
// |                 |               | the volume. The array has the regions whose boxes include
// |                 |               | this frame; regions-total and area refer to the volume
// |                 |               | for lists of thresholds:
// | layers          | int           | number of thresholds. Picture and label map consist of this
// |                 |               | number of layers, one below another
// |                 |               | on request (attach-adjacency):
// | adjacency       | GstBuffer     | pairs of superpixels in `regions` that touch, three U32_LE
// |                 |               | each: lower id, higher id, number of common pixel sides; in
// |                 |               | order of ids
// |                 |               | on request (attach-runs):
// | runs            | GstBuffer     | pixels of the regions in `regions` as horizontal runs, four
// |                 |               | U32_LE each: id, x and y of the first pixel, width; in order
// |                 |               | of id, y, x. In a volume: only the runs of this frame. With
// |                 |               | several layers, the field `layer` of the region with this id
// |                 |               | is the layer of the run
// | runs-truncated  | gboolean      | there were more than max-runs runs: the last runs in raster
// |                 |               | order are missing
//
// The element may add further fields about the frame, see docs/elements.md. regionevents adds events
// and tables, see docs/elements/regionevents.md. The structure of
// each region has these fields:
//
// | field           | type          | content
// |-----------------|---------------|------------------------------------------------------------
// | id              | uint          | label in this frame, 1..n. Tracks that share a region (see
// |                 |               | docs/metadata.md) have the same id
// | track           | uint          | id that stays the same from frame to frame; equal to `id` if
// |                 |               | nothing is tracked
// | x, y,           | int           | bounding box (pixels)
// |   width, height |               |
// | area            | guint64       | number of pixels
// | cx, cy          | double        | centroid (pixels)
// | first-x,        | int           | first pixel in raster order
// |   first-y       |               |
// | red, green,     | double        | mean colour, 0..255
// |   blue          |               |
// |                 |               | if regions are tracked:
// | first-seen      | guint64       | timestamp of the track's first frame (ns)
// | still           | uint          | number of frames for which the region has not moved
// | part-of         | uint          | track of the object that the region is a piece of, or 0
// |                 |               | for superpixels:
// | lab-l           | double        | mean of CIELAB (D65), 0..100
// | lab-a, lab-b    | double        | mean of CIELAB, -128..127
// | cov-xx, cov-xy, | double        | on request (attach-covariance): covariance of the pixels'
// |   cov-yy        |               | coordinates (pixels squared)
// |                 |               | for volumes and lists of thresholds:
// | z, depth        | int           | bounding box along the time axis (slices)
// | cz              | double        | centroid along the time axis (slices)
// | first-z         | int           | slice of the first pixel
// | layer           | uint          | index of the threshold
//
// clang-format on
//
// Numbers in buffers can be read in C by `guint32 (*run)[4] = (void *) map.data;`, in Python by
// `struct.iter_unpack("<4I", data)`, and the table by
// `numpy.frombuffer(data, [tuple(column.split(":")) for column in columns.split()])`.
//
// The buffer also has GStreamer's standard metadata for the largest 256 regions, see
// standard_metas.hpp. docs/metadata.md describes how elements that scale, crop, rotate or encode
// change the metadata.
#pragma once

#include <gst/gst.h>
#include <gst/video/video.h>

#include <span>
#include <string>
#include <variant>
#include <vector>

#include "core/backend.hpp"
#include "core/field.hpp"
#include "core/region.hpp"
#include "core/work_area.hpp"
#include "core/workers.hpp"
#include "plugin/metadata/region_structure.hpp"
#include "plugin/metadata/standard_metas.hpp"

namespace regions {

constexpr const char* kRegionMeta = "regions";  // name of the GstCustomMeta
// Name of the field with the change of the scene. Elements downstream keep it.
constexpr const char* kSceneChangeField = "scene-change";
// Names of the fields with the number of boxes that graphcutbg cut, and with their labels. Only
// frames of source=boxes have them.
constexpr const char* kBoxesField = "boxes";
constexpr const char* kBoxLabelsField = "box-labels";

// Must be called once, before the first buffer (in plugin_init).
void register_region_meta();

// A value that an algorithm reports about a finished frame. It becomes a field of the metadata.
struct Fact {
  const char* name;
  std::variant<bool, int64_t, std::string> value;
};

// The optional results of an algorithm, see RegionTable.
struct RegionDetails {
  bool lab = false;         // mean colours in CIELAB
  bool covariance = false;  // covariance of the pixels' coordinates
  bool borders = false;     // pairs of regions that touch
  uint32_t runs = 0;        // maximum number of runs; 0: no runs are attached
};

// The forms in which regions are attached, as bits of the property `describe`. The field `table` is
// always attached.
enum Forms : int {
  kTableForm = 1,
  kStructuresForm = 2,  // the field `regions`
  kRoisForm = 4,        // regions of interest, see standard_metas.hpp
  kAnalyticsForm = 8,   // analytics metadata, see standard_metas.hpp
  kAllForms = 15
};

// What the descriptions of a frame's regions are computed from.
struct RegionResults {
  std::span<const Region> regions;           // the regions to attach
  RegionDetails details;                     // which of the optional results to attach
  std::span<const Moments> moments;          // [region] sums over its pixels, or empty
  std::span<const GstClockTime> first_seen;  // [region] time of the track's first frame, or empty
  std::span<const TrackState> track_states;  // [region] rest and pieces of tracks, or empty
  int slices = 0;  // number of frames of the volume; 0: the frame is not part of a volume
  int layers = 1;  // number of thresholds
  // Whether the frame belongs to a volume or consists of several layers.
  bool is_stacked() const { return slices > 0 || layers > 1; }
  Layout layout;      // format of the picture whose colours were summed
  Colorimetry color;  // colorimetry of the picture whose colours were summed
};

// The results of an element for one frame.
struct FrameResults : RegionResults {
  const char* algorithm = "";
  Size size;                        // picture size that all coordinates refer to
  int forms = kAllForms;            // bits of Forms
  uint32_t total = 0;               // number of regions found; `regions` may contain fewer
  std::span<const Border> borders;  // pairs of regions that touch
  std::span<const PixelRun> runs;
  bool runs_truncated = false;  // there were more runs than RegionDetails::runs
  int slice = 0;                // index of this frame in its volume
  GstBuffer* labels = nullptr;  // label map or mask, borrowed; null if none is attached
  PixelFormat labels_format = PixelFormat::labels32;
  std::vector<Fact> facts;
  // The `scene-change` that an element upstream found. If empty, that of the buffer is kept.
  std::string scene_change;
};

// Attaches the results to the buffer. They replace the results of another element. Returns the
// structure, which belongs to the buffer.
const GstStructure* attach_regions(GstBuffer* buffer, const FrameResults& results,
                                   const Workers& workers, StructurePool& pool);

// Whether a label map or mask is attached to the buffer.
bool has_labels(GstBuffer* buffer);

// Removes the attached label map or mask from the buffer, but not the regions.
void remove_labels(GstBuffer* buffer);

// Replaces the standard metas of the given kinds by new metas that agree with the regions in the
// metadata, and removes the others. Throws InputError if the metadata is malformed.
void replace_standard_metas(GstBuffer* buffer, StandardMetas kinds);

// The regions of the metadata as an array of structures. The structures are made from the table if
// the metadata has no such array.
class RegionArray {
 public:
  // `structure` is the structure of the metadata. Throws InputError if it has neither array nor
  // table, or a malformed table.
  explicit RegionArray(const GstStructure* structure);
  RegionArray(const RegionArray&) = delete;
  RegionArray& operator=(const RegionArray&) = delete;
  ~RegionArray();
  const GValue* get() const { return array_; }

 private:
  GValue made_ = G_VALUE_INIT;
  const GValue* array_;
};

// The regions and the label map that are attached to a buffer, with coordinates scaled to another
// size.
struct AttachedRegions {
  std::vector<Region> regions;
  // [region] time of the track's first frame. Empty if nothing is tracked, or if the regions were
  // read from PooledStructures::table.
  std::vector<GstClockTime> first_seen;
  bool is_tracked = false;      // Region::track identifies a region across frames
  GstBuffer* labels = nullptr;  // borrowed from the metadata or from `made`; null if none
  PixelFormat labels_format = PixelFormat::labels32;
  Size labels_size;
  BufferPtr made;  // a mask that was made from the metadata of other elements; may be null
};
// Reads the metadata and scales its coordinates to `size`. Returns false if the buffer has no such
// metadata. Throws InputError if it is malformed.
bool read_regions(GstBuffer* buffer, Size size, AttachedRegions& attached);

// Throws InputError if no mask or label map is attached.
void expect_mask(const AttachedRegions& attached);

// Keeps an attached label map or mask mapped, and a reference to its buffer, until unmap().
class AttachedMask {
 public:
  AttachedMask() = default;
  AttachedMask(const AttachedMask&) = delete;
  AttachedMask& operator=(const AttachedMask&) = delete;
  ~AttachedMask() { unmap(); }

  // Returns the attached map: in the backend's memory if it is there already, else mapped on the
  // host. The result is valid until unmap(). `attached.labels` must not be null. Throws InputError
  // if the map cannot be mapped or is smaller than the metadata states.
  ConstFrame map(const AttachedRegions& attached, const Backend& backend);
  // Returns the attached map at the size of its working picture, in host memory. The result is
  // empty if the map is not a small map (see block_memory.hpp), or if an element with the work area
  // `area` cannot use it. The element can use it if both work areas cover the whole picture, and
  // `area` has either the same scale or no scaling.
  ConstFrame map_small(const AttachedRegions& attached, const WorkArea& area);
  bool is_small() const { return is_small_; }  // the current map is from map_small()
  void unmap();

 private:
  bool is_small_ = false;
  GstBuffer* buffer_ = nullptr;
  GstMapInfo map_ = {};
};

// The GstCustomMetaTransformFunction of the metadata, called when a frame is copied, scaled,
// cropped, rotated or encoded; see region_transform.cpp. It attaches metadata of `from` to `to`:
// the parts that are valid for the picture in `to`, and the matching standard metas. If the new
// position of the pixels is unknown, it attaches nothing.
gboolean transform_region_meta(GstBuffer* to, GstCustomMeta* meta, GstBuffer* from, GQuark type,
                               gpointer data, gpointer unused);

}  // namespace regions

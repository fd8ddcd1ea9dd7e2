// GStreamer's standard metadata for the largest 256 regions: regions of interest and, with
// GStreamer 1.24 or later, analytics metadata. Elements that do not read the metadata `regions` can
// use it.
//
// clang-format off
//
// Each of the largest regions has a GstVideoRegionOfInterestMeta with roi_type "region", the region's id
// and box, parent_id 0, and the parameters that DL Streamer's elements read:
//
//   detection, label=(string)region, confidence=(double)1,
//              x_min, y_min, x_max, y_max=(double) box as fractions of the picture, 0..1
//   object_id, id=(int) the track; only if regions are tracked
//
// The frame's GstAnalyticsRelationMeta has these entries:
//
// | entry            | for                 | content
// |------------------|---------------------|-------------------------------------------------------
// | object detection | each of the largest | type "region", the box, confidence 1
// |                  |   256 regions       |
// | tracking         | each of these       | the track, the time of its first frame (first seen) and
// |                  |   regions, if it is | the time of this frame (last seen). The object detection
// |                  |   tracked           | has the relation RELATE_TO with the tracking entry.
// | segmentation     | an attached label   | GRAY8: 0 background, i for the i-th largest region, up
// |   (1.26)         |   map               | to 255 (instance segmentation). The segmentation has the
// |                  |                     | relation CONTAIN with the object detections.
// |                  | an attached mask    | GRAY8: 0 background, 1 foreground (semantic
// |                  |                     | segmentation)
//
// clang-format on
#pragma once

#include <gst/gst.h>

#include <span>
#include <string>
#include <vector>

#include "core/frame.hpp"
#include "core/region.hpp"
#include "plugin/memory/gst_object.hpp"
#include "plugin/metadata/region_structure.hpp"

namespace regions {

constexpr size_t kMaxRois = 256;  // other elements may not be designed for more regions

// Which kinds of standard metadata are attached.
struct StandardMetas {
  bool rois = true;
  bool analytics = true;
};

// The largest regions of a frame.
struct LargestRegions {
  Size size;                    // picture size that the coordinates refer to
  std::vector<Region> regions;  // in descending order of area
  // [region] Time of the first frame of the region's track. Empty if nothing is tracked.
  std::vector<GstClockTime> first_seen;
  GstBuffer* labels = nullptr;  // borrowed; null if no map is attached or the map has layers
  PixelFormat labels_format = PixelFormat::labels32;
  Size labels_size;
};

// Selects the largest regions. `first_seen` has one value per element of `regions`, or is empty.
LargestRegions largest_regions(Size size, std::span<const Region> regions,
                               std::span<const GstClockTime> first_seen);

// Attaches regions of interest and analytics metadata. The parameters of regions of interest are
// taken from `spare_parameters`, and allocated only if that is empty.
void attach_standard_metas(GstBuffer* buffer, const LargestRegions& largest, StandardMetas kinds,
                           std::vector<ParametersPtr>& spare_parameters);

// The next four functions handle only metadata that elements of this plugin have attached.

// Returns the kinds of metadata that the buffer has.
StandardMetas standard_metas_of(GstBuffer* buffer);
// Removes the regions of interest and the analytics metadata.
void remove_standard_metas(GstBuffer* buffer);
// Replaces the regions of interest of `to` by copies from `from`. When a picture is scaled, some
// versions of GStreamer lose the parameters of regions of interest.
void copy_rois(GstBuffer* to, GstBuffer* from);
// Moves the parameters of the regions of interest to the vector `parameters`, up to its capacity,
// so that the vector does not allocate.
void take_parameters(GstBuffer* buffer, std::vector<ParametersPtr>& parameters);

// The functions for analytics metadata (analytics_meta.cpp). Without GStreamer's analytics library
// they do nothing.
void attach_analytics(GstBuffer* buffer, const LargestRegions& largest);
void remove_analytics(GstBuffer* buffer);
// Whether the buffer has analytics metadata of this plugin.
bool has_analytics(GstBuffer* buffer);
// A class of the object whose detection has this box (pixels).
struct ObjectClass {
  int x, y, width, height;
  const char* name;
};
// Attaches the classes to the detections in the analytics metadata, also to those of other
// producers.
void attach_classes(GstBuffer* buffer, std::span<const ObjectClass> classes);
void remove_segmentation(GstBuffer* buffer);

// The foreground that other elements attached as segmentations (GstAnalyticsSegmentationMtd).
struct ForeignMask {
  BufferPtr pixels;     // [size.height][size.width], GRAY8: 0 or 255; null if nothing is attached
  Size size;            // the finest resolution of the segmentations, at most that of the picture
  std::string problem;  // why segmentations are left out; empty if none is
};
// Reads the segmentations for a picture of this size. A pixel is foreground if any of them has one
// of the chosen values there; without a choice, any value except 0.
ForeignMask read_segmentations(GstBuffer* buffer, Size picture, std::span<const uint32_t> chosen);
// Whether another element attached a segmentation.
bool has_segmentation(GstBuffer* buffer);

// An object that a GstAnalyticsODMtd or a region of interest describes.
struct DetectedObject {
  double left = 0, top = 0, right = 0, bottom = 0;  // box, pixels; encloses a rotated object
  double confidence = 1;                            // fraction
  uint64_t track = 0;                               // 0: not tracked
  bool is_tracked = false;                          // it has a tracking entry
  bool is_lost = false;    // the tracker does not see it in this frame; the box is a guess
  bool is_own = false;     // this plugin attached it
  const char* label = "";  // borrowed from GLib's table of strings
};
// Reads the object detections (GstAnalyticsODMtd) of all elements, with their tracks.
std::vector<DetectedObject> read_detections(GstBuffer* buffer);
// Reads the object detections and regions of interest of other elements. A region of interest whose
// edges are at most one pixel away from the edges of a detection describes the same object and is
// left out.
std::vector<DetectedObject> read_objects(GstBuffer* buffer);
// Returns the box of an object as a record with its track. The coordinates are clamped, so that
// their sums and differences do not overflow. The record of an empty box has right < left or
// bottom < top.
Region record_of(const DetectedObject& object);

struct RelationMeta;  // GstAnalyticsRelationMeta

// An entry of a relation meta (GstAnalyticsMtd).
struct AnalyticsEntry {
  guint id = 0;
  RelationMeta* meta = nullptr;
};

// The first members of GstAnalyticsMtdImpl. The address of such a structure identifies the type of
// an entry.
struct AnalyticsType {
  const char* name;
  gboolean (*transform)(GstBuffer* to, AnalyticsEntry* entry, GstBuffer* from, GQuark type,
                        gpointer data);
};

// The initial capacity of a relation meta (GstAnalyticsRelationMetaInitParams).
struct RelationSpace {
  gsize entries;  // number of entries
  gsize bytes;    // total size of all entries
};

// The functions of GStreamer's analytics library (libgstanalytics) that this plugin uses. The
// library is loaded at run time, so that the same plugin file also works with GStreamer 1.22, which
// lacks it.
struct AnalyticsLibrary {
  // Relations between two entries (GstAnalyticsRelTypes).
  static constexpr int kNone = 0, kContain = 1 << 2, kRelateTo = 1 << 3, kAny = G_MAXINT;

  RelationMeta* (*get)(GstBuffer* buffer);
  RelationMeta* (*add)(GstBuffer* buffer, const RelationSpace* space);
  gboolean (*iterate)(RelationMeta* meta, gpointer* state, const AnalyticsType* type,
                      AnalyticsEntry* entry);
  int (*relation)(const RelationMeta* meta, guint first, guint second);
  gboolean (*set_relation)(RelationMeta* meta, int relation, guint first, guint second);
  gboolean (*related)(RelationMeta* meta, guint id, int relation, const AnalyticsType* type,
                      gpointer* state, AnalyticsEntry* entry);

  const AnalyticsType* (*type_of)(const AnalyticsEntry* entry);
  gsize (*size_of)(const AnalyticsEntry* entry);
  gpointer (*data_of)(const RelationMeta* meta, guint id);
  gpointer (*add_entry)(RelationMeta* meta, const AnalyticsType* type, gsize size,
                        AnalyticsEntry* entry);

  const AnalyticsType* (*detection_type)();
  GQuark (*detection_object)(const AnalyticsEntry* entry);
  gboolean (*add_detection)(RelationMeta* meta, GQuark object, gint x, gint y, gint width,
                            gint height, gfloat confidence, AnalyticsEntry* entry);
  const AnalyticsType* (*tracking_type)();
  gboolean (*add_tracking)(RelationMeta* meta, guint64 track, GstClockTime first_seen,
                           AnalyticsEntry* entry);
  gboolean (*update_last_seen)(AnalyticsEntry* entry, GstClockTime last_seen);

  // These two functions classify detections. Both are null if one is missing.
  const AnalyticsType* (*class_type)();
  gboolean (*add_class)(RelationMeta* meta, gfloat confidence, GQuark name, AnalyticsEntry* entry);

  // detection_box() and tracking_info() read entries of other producers. Both are null if one is
  // missing.
  gboolean (*detection_box)(const AnalyticsEntry* entry, gint* x, gint* y, gint* width,
                            gint* height, gfloat* confidence);
  gboolean (*tracking_info)(const AnalyticsEntry* entry, guint64* track, GstClockTime* first_seen,
                            GstClockTime* last_seen, gboolean* is_lost);

  // These three functions exist since GStreamer 1.26 and are null in older versions.
  // add_segmentation() takes ownership of the buffer.
  const AnalyticsType* (*segmentation_type)();
  gboolean (*add_segmentation)(RelationMeta* meta, GstBuffer* map, int type, gsize count,
                               const guint* values, gint x, gint y, guint width, guint height,
                               AnalyticsEntry* entry);
  GstBuffer* (*segmentation_map)(const AnalyticsEntry* entry, gint* x, gint* y, guint* width,
                                 guint* height);

  // Whether the entry is a segmentation or a detection that this plugin attached.
  bool is_own_segmentation(const AnalyticsEntry& entry) const;
  bool is_own_detection(const AnalyticsEntry& entry) const;

  // Returns the library, or null if GStreamer is older than 1.24 or installed without the library.
  static const AnalyticsLibrary* find();
};

}  // namespace regions

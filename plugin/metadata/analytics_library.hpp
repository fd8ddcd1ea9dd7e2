// What we use of GStreamer's analytics library (libgstanalytics), opened while the plugin runs, so
// that one plugin file serves GStreamer 1.22, which lacks it, and what came later.
#pragma once

#include <gst/gst.h>

namespace regions {

struct RelationMeta;  // GstAnalyticsRelationMeta

// GstAnalyticsMtd: an entry of a relation meta.
struct AnalyticsEntry {
  guint id = 0;
  RelationMeta* meta = nullptr;
};

// The first members of GstAnalyticsMtdImpl; a type of entries is the address of its.
struct AnalyticsType {
  const char* name;
  gboolean (*transform)(GstBuffer* to, AnalyticsEntry* entry, GstBuffer* from, GQuark type,
                        gpointer data);
};

struct RelationSpace {  // GstAnalyticsRelationMetaInitParams
  gsize entries;
  gsize bytes;
};

struct AnalyticsLibrary {
  // GstAnalyticsRelTypes
  static constexpr int kNone = 0, kContain = 1 << 2, kRelateTo = 1 << 3;

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

  // Since 1.26; null before. The buffer is consumed.
  const AnalyticsType* (*segmentation_type)();
  gboolean (*add_segmentation)(RelationMeta* meta, GstBuffer* map, int type, gsize count,
                               const guint* values, gint x, gint y, guint width, guint height,
                               AnalyticsEntry* entry);
  GstBuffer* (*segmentation_map)(const AnalyticsEntry* entry, gint* x, gint* y, guint* width,
                                 guint* height);

  // Null where GStreamer is older than 1.24 or comes without the library.
  static const AnalyticsLibrary* find();
};

}  // namespace regions

// A fake libgstanalytics for older versions of GStreamer, with the interface of GStreamer's headers
// that the elements and their tests use: that of 1.26 with REGIONS_FAKE_SEGMENTS, or of 1.24
// without.
#include <gst/video/video.h>

#include <cstring>
#include <map>
#include <vector>

#include "plugin/metadata/standard_metas.hpp"

namespace {

using regions::AnalyticsEntry;
using regions::AnalyticsLibrary;
using regions::AnalyticsType;
using regions::RelationSpace;
using Transform = decltype(AnalyticsType::transform);

struct FakeType {
  AnalyticsType head;
  void (*clear)(void* data);
};
struct FakeEntry {
  const FakeType* type;
  std::vector<std::byte> data;
};

}  // namespace

struct regions::RelationMeta {
  GstMeta meta;
  std::vector<FakeEntry>* entries;
  std::map<std::pair<guint, guint>, int>* relations;
};

namespace {

using regions::RelationMeta;

struct Detection {
  GQuark object;
  gint x, y, width, height;
  gfloat confidence;
};
struct Tracking {
  guint64 id;
  GstClockTime first, last;
  gboolean lost;
};
struct Segmentation {
  GstBuffer* map;
  int type;
  gsize count;
  guint values[256];
  gint x, y;
  guint width, height;
};

void* data_of(const RelationMeta* meta, guint id) { return (*meta->entries).at(id).data.data(); }
template <class T>
T& of(const AnalyticsEntry* entry) {
  return *static_cast<T*>(data_of(entry->meta, entry->id));
}

gboolean scale_detection(GstBuffer*, AnalyticsEntry* entry, GstBuffer*, GQuark type,
                         gpointer data) {
  if (!GST_VIDEO_META_TRANSFORM_IS_SCALE(type)) return TRUE;
  const auto& t = *static_cast<GstVideoMetaTransform*>(data);
  auto& d = of<Detection>(entry);
  d.x = d.x * t.out_info->width / t.in_info->width;
  d.y = d.y * t.out_info->height / t.in_info->height;
  d.width = d.width * t.out_info->width / t.in_info->width;
  d.height = d.height * t.out_info->height / t.in_info->height;
  return TRUE;
}
// The data were copied, so the map needs another reference.
gboolean hold_map(GstBuffer*, AnalyticsEntry* entry, GstBuffer*, GQuark, gpointer) {
  gst_buffer_ref(of<Segmentation>(entry).map);
  return TRUE;
}
void drop_map(void* data) { gst_buffer_unref(static_cast<Segmentation*>(data)->map); }

const FakeType kDetection = {{"object-detection", scale_detection}, nullptr};
struct Class {
  GQuark name;
};

const FakeType kClass = {{"classification", nullptr}, nullptr};
const FakeType kTracking = {{"object-tracking", nullptr}, nullptr};
[[maybe_unused]] const FakeType kSegmentation = {{"segmentation", hold_map}, drop_map};

gboolean init_meta(GstMeta* meta, gpointer, GstBuffer*) {
  auto* self = reinterpret_cast<RelationMeta*>(meta);
  self->entries = new std::vector<FakeEntry>;
  self->relations = new std::map<std::pair<guint, guint>, int>;
  return TRUE;
}
void free_meta(GstMeta* meta, GstBuffer*) {
  auto* self = reinterpret_cast<RelationMeta*>(meta);
  for (FakeEntry& entry : *self->entries) {
    if (entry.type->clear) entry.type->clear(entry.data.data());
  }
  delete self->entries;
  delete self->relations;
}
const GstMetaInfo* meta_info();
gboolean transform_meta(GstBuffer* to, GstMeta* meta, GstBuffer* from, GQuark type, gpointer data) {
  const auto* self = reinterpret_cast<RelationMeta*>(meta);
  auto* copy = reinterpret_cast<RelationMeta*>(gst_buffer_add_meta(to, meta_info(), nullptr));
  *copy->entries = *self->entries;
  *copy->relations = *self->relations;
  for (guint id = 0; id < copy->entries->size(); ++id) {
    AnalyticsEntry entry = {id, copy};
    const Transform transform = (*copy->entries)[id].type->head.transform;
    if (transform) transform(to, &entry, from, type, data);
  }
  return TRUE;
}
const GstMetaInfo* meta_info() {
  static const GstMetaInfo* const kInfo = [] {
    static const gchar* tags[] = {GST_META_TAG_VIDEO_STR, GST_META_TAG_VIDEO_ORIENTATION_STR,
                                  GST_META_TAG_VIDEO_SIZE_STR, nullptr};
    const GType api = gst_meta_api_type_register("FakeRelationMetaAPI", tags);
    return gst_meta_register(api, "FakeRelationMeta", sizeof(RelationMeta), init_meta, free_meta,
                             transform_meta);
  }();
  return kInfo;
}

gpointer add(RelationMeta* meta, const FakeType& type, const void* data, gsize size,
             AnalyticsEntry* entry) {
  std::vector<std::byte> bytes(size);
  if (data) std::memcpy(bytes.data(), data, size);
  meta->entries->push_back({&type, std::move(bytes)});
  *entry = {static_cast<guint>(meta->entries->size() - 1), meta};
  return data_of(meta, entry->id);
}

// Finds the next entry after `state` that suits and has this type, or any type if it is null.
template <class Suits>
gboolean next(RelationMeta* meta, gpointer* state, const AnalyticsType* type, AnalyticsEntry* entry,
              Suits suits) {
  for (auto id = GPOINTER_TO_UINT(*state); id < meta->entries->size(); ++id) {
    if ((type && &(*meta->entries)[id].type->head != type) || !suits(id)) continue;
    *state = GUINT_TO_POINTER(id + 1);
    *entry = {id, meta};
    return TRUE;
  }
  return FALSE;
}

}  // namespace

extern "C" {
RelationMeta* gst_buffer_get_analytics_relation_meta(GstBuffer* buffer) {
  return reinterpret_cast<RelationMeta*>(gst_buffer_get_meta(buffer, meta_info()->api));
}
RelationMeta* gst_buffer_add_analytics_relation_meta_full(GstBuffer* buffer,
                                                          const RelationSpace* space) {
  auto* meta = reinterpret_cast<RelationMeta*>(gst_buffer_add_meta(buffer, meta_info(), nullptr));
  g_return_val_if_fail(space->entries > 0 && space->bytes > 0, meta);
  return meta;
}
gboolean gst_analytics_relation_meta_iterate(RelationMeta* meta, gpointer* state,
                                             const AnalyticsType* type, AnalyticsEntry* entry) {
  return next(meta, state, type, entry, [](guint) { return true; });
}
int gst_analytics_relation_meta_get_relation(const RelationMeta* meta, guint first, guint second) {
  const auto found = meta->relations->find({first, second});
  return found == meta->relations->end() ? AnalyticsLibrary::kNone : found->second;
}
gboolean gst_analytics_relation_meta_set_relation(RelationMeta* meta, int relation, guint first,
                                                  guint second) {
  g_return_val_if_fail(first < meta->entries->size() && second < meta->entries->size(), FALSE);
  (*meta->relations)[{first, second}] = relation;
  return TRUE;
}
gboolean gst_analytics_relation_meta_get_direct_related(RelationMeta* meta, guint id, int relation,
                                                        const AnalyticsType* type, gpointer* state,
                                                        AnalyticsEntry* entry) {
  return next(meta, state, type, entry, [&](guint other) {
    return (gst_analytics_relation_meta_get_relation(meta, id, other) & relation) != 0;
  });
}
const AnalyticsType* gst_analytics_mtd_get_mtd_type(const AnalyticsEntry* entry) {
  return &(*entry->meta->entries).at(entry->id).type->head;
}
gsize gst_analytics_mtd_get_size(const AnalyticsEntry* entry) {
  return (*entry->meta->entries).at(entry->id).data.size();
}
gpointer gst_analytics_relation_meta_get_mtd_data(const RelationMeta* meta, guint id) {
  return data_of(meta, id);
}
gpointer gst_analytics_relation_meta_add_mtd(RelationMeta* meta, const AnalyticsType* type,
                                             gsize size, AnalyticsEntry* entry) {
  return add(meta, *reinterpret_cast<const FakeType*>(type), nullptr, size, entry);
}

const AnalyticsType* gst_analytics_od_mtd_get_mtd_type() { return &kDetection.head; }
GQuark gst_analytics_od_mtd_get_obj_type(const AnalyticsEntry* entry) {
  return of<Detection>(entry).object;
}
gboolean gst_analytics_relation_meta_add_od_mtd(RelationMeta* meta, GQuark object, gint x, gint y,
                                                gint width, gint height, gfloat confidence,
                                                AnalyticsEntry* entry) {
  const Detection detection = {object, x, y, width, height, confidence};
  return add(meta, kDetection, &detection, sizeof detection, entry) != nullptr;
}
gboolean gst_analytics_od_mtd_get_location(const AnalyticsEntry* entry, gint* x, gint* y, gint* w,
                                           gint* h, gfloat* confidence) {
  const auto& d = of<Detection>(entry);
  *x = d.x, *y = d.y, *w = d.width, *h = d.height, *confidence = d.confidence;
  return TRUE;
}

const AnalyticsType* gst_analytics_tracking_mtd_get_mtd_type() { return &kTracking.head; }
gboolean gst_analytics_relation_meta_add_tracking_mtd(RelationMeta* meta, guint64 id,
                                                      GstClockTime first, AnalyticsEntry* entry) {
  const Tracking tracking = {id, first, first, FALSE};
  return add(meta, kTracking, &tracking, sizeof tracking, entry) != nullptr;
}
gboolean gst_analytics_tracking_mtd_update_last_seen(AnalyticsEntry* entry, GstClockTime last) {
  of<Tracking>(entry).last = last;
  return TRUE;
}
gboolean gst_analytics_tracking_mtd_set_lost(AnalyticsEntry* entry) {
  of<Tracking>(entry).lost = TRUE;
  return TRUE;
}
gboolean gst_analytics_tracking_mtd_get_info(const AnalyticsEntry* entry, guint64* id,
                                             GstClockTime* first, GstClockTime* last,
                                             gboolean* lost) {
  const auto& t = of<Tracking>(entry);
  *id = t.id, *first = t.first, *last = t.last, *lost = t.lost;
  return TRUE;
}

const AnalyticsType* gst_analytics_cls_mtd_get_mtd_type() { return &kClass.head; }
gboolean gst_analytics_relation_meta_add_one_cls_mtd(RelationMeta* meta, gfloat, GQuark name,
                                                     AnalyticsEntry* entry) {
  const Class added = {name};
  return add(meta, kClass, &added, sizeof added, entry) != nullptr;
}
GQuark gst_analytics_cls_mtd_get_quark(const AnalyticsEntry* entry, gsize) {
  return of<Class>(entry).name;
}

#if REGIONS_FAKE_SEGMENTS
const AnalyticsType* gst_analytics_segmentation_mtd_get_mtd_type() { return &kSegmentation.head; }
gboolean gst_analytics_relation_meta_add_segmentation_mtd(RelationMeta* meta, GstBuffer* map,
                                                          int type, gsize count,
                                                          const guint* values, gint x, gint y,
                                                          guint width, guint height,
                                                          AnalyticsEntry* entry) {
  Segmentation s = {map, type, count, {}, x, y, width, height};
  g_return_val_if_fail(count <= G_N_ELEMENTS(s.values), FALSE);
  std::memcpy(s.values, values, count * sizeof *values);
  return add(meta, kSegmentation, &s, sizeof s, entry) != nullptr;
}
GstBuffer* gst_analytics_segmentation_mtd_get_mask(const AnalyticsEntry* entry, gint* x, gint* y,
                                                   guint* width, guint* height) {
  const auto& s = of<Segmentation>(entry);
  if (x) *x = s.x, *y = s.y, *width = s.width, *height = s.height;
  return gst_buffer_ref(s.map);
}
gsize gst_analytics_segmentation_mtd_get_region_count(const AnalyticsEntry* entry) {
  return of<Segmentation>(entry).count;
}
guint gst_analytics_segmentation_mtd_get_region_id(const AnalyticsEntry* entry, gsize index) {
  return of<Segmentation>(entry).values[index];
}
#endif
}  // extern "C"

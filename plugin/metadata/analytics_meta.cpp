// Attaches regions as entries of a GstAnalyticsRelationMeta and removes such entries. Loads
// GStreamer's analytics library for this at run time.
#include <dlfcn.h>
#include <gst/video/video.h>

#include <algorithm>
#include <cstring>
#include <mutex>
#include <numeric>
#include <optional>
#include <string>

#include "plugin/metadata/standard_metas.hpp"

namespace regions {
namespace {

// Whether the running GStreamer has an analytics library (1.24 or later). An older GStreamer could
// otherwise load the library of another installation.
bool has_analytics_version() {
  guint major = 0, minor = 0, micro = 0, nano = 0;
  gst_version(&major, &minor, &micro, &nano);
  constexpr guint kFirstMinorVersion = 24;
  return major == 1 && minor >= kFirstMinorVersion;
}

template <class Function>
bool find_symbol(void* library, const char* name, Function*& function) {
  function = reinterpret_cast<Function*>(dlsym(library, (std::string("gst_") + name).c_str()));
  return function != nullptr;
}

std::optional<AnalyticsLibrary> load_analytics_library() {
  if (!has_analytics_version()) return {};
  void* library = dlopen("libgstanalytics-1.0.so.0", RTLD_NOW | RTLD_LOCAL);  // never closed
  if (!library) return {};
  AnalyticsLibrary functions = {};
  const bool is_complete =
      find_symbol(library, "buffer_get_analytics_relation_meta", functions.get) &&
      find_symbol(library, "buffer_add_analytics_relation_meta_full", functions.add) &&
      find_symbol(library, "analytics_relation_meta_iterate", functions.iterate) &&
      find_symbol(library, "analytics_relation_meta_get_relation", functions.relation) &&
      find_symbol(library, "analytics_relation_meta_set_relation", functions.set_relation) &&
      find_symbol(library, "analytics_relation_meta_get_direct_related", functions.related) &&
      find_symbol(library, "analytics_mtd_get_mtd_type", functions.type_of) &&
      find_symbol(library, "analytics_mtd_get_size", functions.size_of) &&
      find_symbol(library, "analytics_relation_meta_get_mtd_data", functions.data_of) &&
      find_symbol(library, "analytics_relation_meta_add_mtd", functions.add_entry) &&
      find_symbol(library, "analytics_od_mtd_get_mtd_type", functions.detection_type) &&
      find_symbol(library, "analytics_od_mtd_get_obj_type", functions.detection_object) &&
      find_symbol(library, "analytics_relation_meta_add_od_mtd", functions.add_detection) &&
      find_symbol(library, "analytics_tracking_mtd_get_mtd_type", functions.tracking_type) &&
      find_symbol(library, "analytics_relation_meta_add_tracking_mtd", functions.add_tracking) &&
      find_symbol(library, "analytics_tracking_mtd_update_last_seen", functions.update_last_seen);
  if (!is_complete) return {};
  const bool has_readers =
      find_symbol(library, "analytics_od_mtd_get_location", functions.detection_box) &&
      find_symbol(library, "analytics_tracking_mtd_get_info", functions.tracking_info);
  if (!has_readers) functions.detection_box = nullptr;
  const bool has_classes =
      find_symbol(library, "analytics_cls_mtd_get_mtd_type", functions.class_type) &&
      find_symbol(library, "analytics_relation_meta_add_one_cls_mtd", functions.add_class);
  if (!has_classes) functions.class_type = nullptr;
  const bool has_segmentation =
      find_symbol(library, "analytics_segmentation_mtd_get_mtd_type",
                  functions.segmentation_type) &&
      find_symbol(library, "analytics_relation_meta_add_segmentation_mtd",
                  functions.add_segmentation) &&
      find_symbol(library, "analytics_segmentation_mtd_get_mask", functions.segmentation_map);
  if (!has_segmentation) functions.segmentation_type = nullptr;
  return functions;
}

// A label map or mask, and the GRAY8 picture of indices that is made from it when a reader first
// maps the picture. The index of a pixel is i in the i-th largest region, 1 in the foreground of a
// mask, and 0 elsewhere.
struct IndexMap {
  GstBuffer* labels;
  PixelFormat format;
  size_t pixel_count;
  std::vector<uint8_t> index_of_label;  // [label], for a label map; empty for a mask
  std::mutex mutex;                     // guards indices
  std::vector<uint8_t> indices;         // [pixel]; empty until a reader maps the memory

  ~IndexMap() { gst_buffer_unref(labels); }
};

constexpr const char* kIndexMemory = "RegionsIndexMap";  // GstAllocator::mem_type

struct IndexMemory {
  GstMemory parent;
  IndexMap* map;
};

struct RegionsIndexAllocator {
  GstAllocator parent;
};
using RegionsIndexAllocatorClass = GstAllocatorClass;
G_DEFINE_TYPE(RegionsIndexAllocator, index_allocator, GST_TYPE_ALLOCATOR)

IndexMap& map_of(GstMemory* memory) { return *reinterpret_cast<IndexMemory*>(memory)->map; }

// Returns the index of a pixel. `labels` are the bytes of the label map or mask.
uint8_t index_of(const IndexMap& map, const uint8_t* labels, size_t pixel) {
  if (map.format == PixelFormat::gray8) return labels[pixel] != 0;
  uint32_t label = 0;
  std::memcpy(&label, labels + pixel * sizeof(label), sizeof(label));
  return label < map.index_of_label.size() ? map.index_of_label[label] : 0;
}

gpointer map_indices(GstMemory* memory, GstMapInfo* info, gsize) {
  if (info->flags & GST_MAP_WRITE) return nullptr;
  IndexMap& map = map_of(memory);
  const std::lock_guard lock(map.mutex);
  if (!map.indices.empty()) return map.indices.data();
  GstMapInfo labels = {};
  if (!gst_buffer_map(map.labels, &labels, GST_MAP_READ)) return nullptr;
  const size_t sample_bytes = map.format == PixelFormat::gray8 ? 1 : sizeof(uint32_t);
  if (labels.size >= map.pixel_count * sample_bytes) {
    map.indices.resize(map.pixel_count);
    for (size_t i = 0; i < map.pixel_count; ++i) map.indices[i] = index_of(map, labels.data, i);
  }
  gst_buffer_unmap(map.labels, &labels);
  return map.indices.empty() ? nullptr : map.indices.data();
}

void unmap_indices(GstMemory*, GstMapInfo*) {}

// Returns null, so that GStreamer copies the bytes when a part of the memory is requested.
GstMemory* refuse_sharing(GstMemory*, gssize, gssize) { return nullptr; }

void free_indices(GstAllocator*, GstMemory* memory) {
  auto* self = reinterpret_cast<IndexMemory*>(memory);
  delete self->map;
  g_free(self);
}

// make_index_map() is the only way to create this memory type.
GstMemory* refuse_allocation(GstAllocator*, gsize, GstAllocationParams*) { return nullptr; }

void index_allocator_class_init(RegionsIndexAllocatorClass* klass) {
  klass->alloc = refuse_allocation;
  klass->free = free_indices;
}

void index_allocator_init(RegionsIndexAllocator* self) {
  GstAllocator* allocator = &self->parent;
  allocator->mem_type = kIndexMemory;
  allocator->mem_map_full = map_indices;
  allocator->mem_unmap_full = unmap_indices;
  allocator->mem_share = refuse_sharing;
  GST_OBJECT_FLAG_SET(allocator, GST_ALLOCATOR_FLAG_CUSTOM_ALLOC);
}

GstAllocator* index_allocator_instance() {
  static auto* const allocator = [] {
    auto* created = static_cast<GstAllocator*>(g_object_new(index_allocator_get_type(), nullptr));
    gst_object_ref_sink(created);
    GST_OBJECT_FLAG_SET(created, GST_OBJECT_FLAG_MAY_BE_LEAKED);
    return created;
  }();
  return allocator;
}

// Makes a GRAY8 buffer with a GstVideoMeta and rows without padding. `labels` is a label map
// (U32_LE) or a mask (GRAY8), to which the buffer keeps a reference. For a label map, the value of
// a pixel is `index_of_label[label]`, or 0 for labels beyond the end of the vector. For a mask, the
// value is 1 where the mask is not 0.
GstBuffer* make_index_map(GstBuffer* labels, PixelFormat format, Size size,
                          std::vector<uint8_t> index_of_label) {
  auto* memory = g_new0(IndexMemory, 1);
  memory->map =
      new IndexMap{gst_buffer_ref(labels), format, size.area(), std::move(index_of_label), {}, {}};
  gst_memory_init(&memory->parent,
                  static_cast<GstMemoryFlags>(GST_MEMORY_FLAG_READONLY | GST_MEMORY_FLAG_NO_SHARE),
                  index_allocator_instance(), nullptr, size.area(), 0, 0, size.area());
  GstBuffer* buffer = gst_buffer_new();
  gst_buffer_append_memory(buffer, &memory->parent);
  gsize offset[GST_VIDEO_MAX_PLANES] = {};
  gint stride[GST_VIDEO_MAX_PLANES] = {size.width};
  gst_buffer_add_video_meta_full(buffer, GST_VIDEO_FRAME_FLAG_NONE, GST_VIDEO_FORMAT_GRAY8,
                                 static_cast<guint>(size.width), static_cast<guint>(size.height), 1,
                                 offset, stride);
  return buffer;
}

bool is_index_map(GstBuffer* buffer) {
  return gst_buffer_n_memory(buffer) == 1 &&
         gst_memory_is_type(gst_buffer_peek_memory(buffer, 0), kIndexMemory);
}

using Library = AnalyticsLibrary;
constexpr size_t kMaxIndices = 255;  // largest index that fits in a byte; 0 is background

// The object type of this plugin's object detections.
GQuark object_type() { return g_quark_from_static_string(kRegionName); }

// Adds the label map or mask as a segmentation. `detections` are the entry ids of the largest
// regions.
void add_segmentation(const Library& library, RelationMeta* meta, const LargestRegions& largest,
                      std::span<const guint> detections) {
  const bool is_mask = largest.labels_format == PixelFormat::gray8;
  const size_t count = is_mask ? 1 : std::min(largest.regions.size(), kMaxIndices);
  std::vector<uint8_t> index_of_label;
  for (size_t i = 0; i < count && !is_mask; ++i) {
    const uint32_t id = largest.regions[i].id;
    if (index_of_label.size() <= id) index_of_label.resize(id + size_t{1});
    index_of_label[id] = static_cast<uint8_t>(i + 1);
  }
  std::vector<guint> index_values(count + 1);
  std::iota(index_values.begin(), index_values.end(), 0U);
  enum { semantic, instance };
  AnalyticsEntry entry;
  GstBuffer* map = make_index_map(largest.labels, largest.labels_format, largest.labels_size,
                                  std::move(index_of_label));
  if (!library.add_segmentation(meta, map, is_mask ? semantic : instance, index_values.size(),
                                index_values.data(), 0, 0, static_cast<guint>(largest.size.width),
                                static_cast<guint>(largest.size.height), &entry)) {
    return;
  }
  for (size_t i = 0; i < count && !is_mask; ++i) {
    library.set_relation(meta, Library::kContain, entry.id, detections[i]);
  }
}

std::vector<AnalyticsEntry> entries_of(const Library& library, RelationMeta* meta) {
  std::vector<AnalyticsEntry> entries;
  gpointer state = nullptr;
  AnalyticsEntry entry;
  while (library.iterate(meta, &state, nullptr, &entry)) entries.push_back(entry);
  return entries;
}

// Returns for each entry id whether the entry stays. If a detection is removed, its tracking
// entries and its classes are removed too.
std::vector<bool> entries_to_keep(const Library& library, std::span<const AnalyticsEntry> entries,
                                  bool keep_detections) {
  std::vector<bool> keep(entries.size(), true);
  for (const AnalyticsEntry& entry : entries) {
    if (!library.type_of(&entry) || library.is_own_segmentation(entry)) keep[entry.id] = false;
    if (keep_detections || !keep[entry.id] || !library.is_own_detection(entry)) continue;
    keep[entry.id] = false;
    for (const AnalyticsType* type :
         {library.tracking_type(), library.class_type ? library.class_type() : nullptr}) {
      gpointer state = nullptr;
      AnalyticsEntry related;
      while (type &&
             library.related(entry.meta, entry.id, Library::kRelateTo, type, &state, &related)) {
        keep[related.id] = false;
      }
    }
  }
  return keep;
}

// Copies entries and the relations between them to a new relation meta of the buffer `to`.
void copy_entries(const Library& library, std::span<const AnalyticsEntry> entries, GstBuffer* from,
                  GstBuffer* to) {
  const RelationSpace space = {entries.size(), 64 * entries.size()};
  RelationMeta* meta = library.add(to, &space);
  std::vector<guint> copied_ids;
  for (const AnalyticsEntry& entry : entries) {
    const AnalyticsType* type = library.type_of(&entry);
    const gsize size = library.size_of(&entry);
    AnalyticsEntry copy;
    gpointer data = library.add_entry(meta, type, size, &copy);
    std::copy_n(static_cast<const std::byte*>(library.data_of(entry.meta, entry.id)), size,
                static_cast<std::byte*>(data));
    GstMetaTransformCopy whole = {FALSE, 0, static_cast<gsize>(-1)};
    if (type->transform) type->transform(to, &copy, from, _gst_meta_transform_copy, &whole);
    copied_ids.push_back(copy.id);
  }
  for (size_t i = 0; i < entries.size(); ++i) {
    for (size_t k = 0; k < entries.size(); ++k) {
      const int relation = library.relation(entries[i].meta, entries[i].id, entries[k].id);
      if (relation != Library::kNone)
        library.set_relation(meta, relation, copied_ids[i], copied_ids[k]);
    }
  }
}

// Removes the entries that this plugin has attached. A relation meta cannot remove single entries,
// so it is replaced by a new meta with the remaining entries.
void remove_plugin_entries(GstBuffer* buffer, bool keep_detections) {
  const Library* library = Library::find();
  RelationMeta* meta = library ? library->get(buffer) : nullptr;
  if (!meta) return;
  std::vector<AnalyticsEntry> entries = entries_of(*library, meta);
  const std::vector<bool> keep = entries_to_keep(*library, entries, keep_detections);
  if (std::find(keep.begin(), keep.end(), false) == keep.end()) return;
  std::erase_if(entries, [&](const AnalyticsEntry& entry) { return !keep[entry.id]; });
  GstBuffer* temporary = gst_buffer_new();
  if (!entries.empty()) copy_entries(*library, entries, buffer, temporary);
  gst_buffer_remove_meta(buffer, reinterpret_cast<GstMeta*>(meta));
  gst_buffer_copy_into(buffer, temporary, GST_BUFFER_COPY_META, 0, static_cast<gsize>(-1));
  gst_buffer_unref(temporary);
}

}  // namespace

bool AnalyticsLibrary::is_own_segmentation(const AnalyticsEntry& entry) const {
  if (!segmentation_type || type_of(&entry) != segmentation_type()) return false;
  GstBuffer* map = segmentation_map(&entry, nullptr, nullptr, nullptr, nullptr);
  const bool is_own_map = map && is_index_map(map);
  gst_clear_buffer(&map);
  return is_own_map;
}

bool AnalyticsLibrary::is_own_detection(const AnalyticsEntry& entry) const {
  return type_of(&entry) == detection_type() && detection_object(&entry) == object_type();
}

const AnalyticsLibrary* AnalyticsLibrary::find() {
  static const std::optional<AnalyticsLibrary> library = load_analytics_library();
  return library ? &*library : nullptr;
}

void attach_analytics(GstBuffer* buffer, const LargestRegions& largest) {
  const Library* library = Library::find();
  const bool has_map = library && library->segmentation_type && largest.labels;
  if (!library || (largest.regions.empty() && !has_map)) return;
  RelationMeta* meta = library->get(buffer);
  if (!meta) {
    constexpr gsize kEntryBytes = 80;  // approximate size of an entry
    // The number should be no larger than necessary, because the library clears a matrix of
    // entries × entries relations.
    const gsize entries = largest.regions.size() + largest.first_seen.size() + (has_map ? 1 : 0);
    const RelationSpace space = {entries, entries * kEntryBytes};
    meta = library->add(buffer, &space);
  }
  std::vector<guint> detections;
  for (size_t i = 0; i < largest.regions.size(); ++i) {
    const Region& r = largest.regions[i];
    AnalyticsEntry detection, track;
    if (!library->add_detection(meta, object_type(), r.left, r.top, r.width(), r.height(), 1.0F,
                                &detection)) {
      return;
    }
    detections.push_back(detection.id);
    if (largest.first_seen.empty() || r.track == 0 ||
        !library->add_tracking(meta, r.track, largest.first_seen[i], &track)) {
      continue;
    }
    library->update_last_seen(&track, GST_BUFFER_PTS(buffer));
    library->set_relation(meta, Library::kRelateTo, detection.id, track.id);
  }
  if (has_map) add_segmentation(*library, meta, largest, detections);
}

void attach_classes(GstBuffer* buffer, std::span<const ObjectClass> classes) {
  const Library* library = Library::find();
  const bool is_able = library && library->class_type && library->detection_box;
  RelationMeta* meta = is_able ? library->get(buffer) : nullptr;
  if (!meta) return;
  struct Detection {
    guint entry;
    gint x, y, width, height;
  };
  std::vector<Detection> detections;  // read first, because new entries move the old ones
  gpointer state = nullptr;
  AnalyticsEntry entry;
  while (library->iterate(meta, &state, library->detection_type(), &entry)) {
    Detection found{.entry = entry.id};
    gfloat confidence = 0;
    if (library->detection_box(&entry, &found.x, &found.y, &found.width, &found.height,
                               &confidence)) {
      detections.push_back(found);
    }
  }
  for (const ObjectClass& wanted : classes) {
    for (const Detection& found : detections) {
      const bool is_same = found.x == wanted.x && found.y == wanted.y &&
                           found.width == wanted.width && found.height == wanted.height;
      if (!is_same || !library->add_class(meta, 1.0F, g_quark_from_string(wanted.name), &entry)) {
        continue;
      }
      library->set_relation(meta, Library::kRelateTo, found.entry, entry.id);
    }
  }
}

bool has_analytics(GstBuffer* buffer) {
  const Library* library = Library::find();
  RelationMeta* meta = library ? library->get(buffer) : nullptr;
  if (!meta) return false;
  return std::ranges::any_of(entries_of(*library, meta), [&](const AnalyticsEntry& entry) {
    return library->is_own_detection(entry) || library->is_own_segmentation(entry);
  });
}

void remove_analytics(GstBuffer* buffer) { remove_plugin_entries(buffer, false); }

void remove_segmentation(GstBuffer* buffer) { remove_plugin_entries(buffer, true); }

}  // namespace regions

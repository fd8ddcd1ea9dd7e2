// GstAllocator and GstMemory of index maps.
#include "plugin/metadata/index_map.hpp"

#include <gst/video/video.h>

#include <algorithm>
#include <cstring>
#include <mutex>

namespace regions {
namespace {

struct IndexMap {
  GstBuffer* labels;
  PixelFormat format;
  size_t pixels;
  std::vector<uint8_t> index_of_label;
  std::mutex mutex;
  std::vector<uint8_t> indices;  // once a reader has mapped it

  ~IndexMap() { gst_buffer_unref(labels); }
};

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
  const size_t sample = map.format == PixelFormat::gray8 ? 1 : sizeof(uint32_t);
  if (labels.size >= map.pixels * sample) {
    map.indices.resize(map.pixels);
    for (size_t i = 0; i < map.pixels; ++i) map.indices[i] = index_of(map, labels.data, i);
  }
  gst_buffer_unmap(map.labels, &labels);
  return map.indices.empty() ? nullptr : map.indices.data();
}

void unmap_indices(GstMemory*, GstMapInfo*) {}

// Parts are copied.
GstMemory* share_nothing(GstMemory*, gssize, gssize) { return nullptr; }

void free_indices(GstAllocator*, GstMemory* memory) {
  auto* self = reinterpret_cast<IndexMemory*>(memory);
  delete self->map;
  g_free(self);
}

GstMemory* allocate_nothing(GstAllocator*, gsize, GstAllocationParams*) { return nullptr; }

void index_allocator_class_init(RegionsIndexAllocatorClass* klass) {
  klass->alloc = allocate_nothing;
  klass->free = free_indices;
}

void index_allocator_init(RegionsIndexAllocator* self) {
  GstAllocator* allocator = &self->parent;
  allocator->mem_type = "RegionsIndexMap";
  allocator->mem_map_full = map_indices;
  allocator->mem_unmap_full = unmap_indices;
  allocator->mem_share = share_nothing;
  GST_OBJECT_FLAG_SET(allocator, GST_ALLOCATOR_FLAG_CUSTOM_ALLOC);
}

GstAllocator* the_allocator() {
  static auto* const allocator = [] {
    auto* one = static_cast<GstAllocator*>(g_object_new(index_allocator_get_type(), nullptr));
    gst_object_ref_sink(one);
    GST_OBJECT_FLAG_SET(one, GST_OBJECT_FLAG_MAY_BE_LEAKED);
    return one;
  }();
  return allocator;
}

}  // namespace

GstBuffer* make_index_map(GstBuffer* labels, PixelFormat format, Size size,
                          std::vector<uint8_t> index_of_label) {
  auto* memory = g_new0(IndexMemory, 1);
  memory->map =
      new IndexMap{gst_buffer_ref(labels), format, size.area(), std::move(index_of_label), {}, {}};
  gst_memory_init(&memory->parent,
                  static_cast<GstMemoryFlags>(GST_MEMORY_FLAG_READONLY | GST_MEMORY_FLAG_NO_SHARE),
                  the_allocator(), nullptr, size.area(), 0, 0, size.area());
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
         gst_buffer_peek_memory(buffer, 0)->allocator == the_allocator();
}

}  // namespace regions

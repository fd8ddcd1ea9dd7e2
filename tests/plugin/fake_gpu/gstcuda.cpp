// A fake libgstcuda for fake devices, with the interface of GStreamer's headers that the elements
// use: that of 1.26 with REGIONS_FAKE_STREAMS, of 1.22 without, and empty with REGIONS_FAKE_NONE.
#if !REGIONS_FAKE_NONE
#include <cstring>

#include "plugin/memory/cuda_memory.hpp"
#include "tests/plugin/fake_gpu/devices.hpp"

namespace {

using regions::CudaMemory;
using regions::kCudaContextType;

struct FakeContext {
  GstObject parent;
  int device;
  void* handle;
};
using FakeContextClass = GstObjectClass;
G_DEFINE_TYPE(FakeContext, fake_context, GST_TYPE_OBJECT)
FakeContext* cast(gpointer context) { return static_cast<FakeContext*>(context); }

void get_property(GObject* object, guint, GValue* value, GParamSpec*) {
  g_value_set_uint(value, static_cast<guint>(cast(object)->device));
}
void fake_context_init(FakeContext*) {}
void fake_context_class_init(FakeContextClass* klass) {
  auto* object = G_OBJECT_CLASS(klass);
  object->get_property = get_property;
  g_object_class_install_property(
      object, 1,
      g_param_spec_uint("cuda-device-id", nullptr, nullptr, 0, G_MAXINT, 0, G_PARAM_READABLE));
}

struct FakeMemory {
  CudaMemory head;
  GstMiniObject* stream;
  guint8* data;
  guint8* shown;  // the host's copy
};
FakeMemory* cast_memory(gpointer memory) { return static_cast<FakeMemory*>(memory); }

struct FakeAllocator {
  GstAllocator parent;
};
using FakeAllocatorClass = GstAllocatorClass;
G_DEFINE_TYPE(FakeAllocator, fake_allocator, GST_TYPE_ALLOCATOR)

// Like GStreamer's: memory that was mapped on the device for writing needs a sync if it has a
// stream. The host gets a copy.
gpointer map(GstMemory* memory, GstMapInfo* info, gsize) {
  FakeMemory* self = cast_memory(memory);
  if (info->flags & regions::kMapCuda) {
    if (info->flags & GST_MAP_WRITE && self->stream) {
      GST_MINI_OBJECT_FLAG_SET(memory, regions::kNeedSync);
    }
    return self->data;
  }
  if (!self->shown) self->shown = static_cast<guint8*>(g_malloc(memory->maxsize));
  memcpy(self->shown, self->data, memory->maxsize);
  return self->shown;
}
void unmap(GstMemory* memory, GstMapInfo* info) {
  const FakeMemory* self = cast_memory(memory);
  const bool on_host = !(info->flags & regions::kMapCuda);
  if (on_host && info->flags & GST_MAP_WRITE) memcpy(self->data, self->shown, memory->maxsize);
}
void fake_allocator_init(FakeAllocator* self) {
  self->parent.mem_type = "gst.cuda.memory";
  self->parent.mem_map_full = map;
  self->parent.mem_unmap_full = unmap;
  GST_OBJECT_FLAG_SET(self, GST_ALLOCATOR_FLAG_CUSTOM_ALLOC);
}
void free_memory(GstAllocator*, GstMemory* memory) {
  FakeMemory* self = cast_memory(memory);
  regions::fake::disown(self->data);
  if (self->stream) gst_mini_object_unref(self->stream);
  gst_object_unref(self->head.context);
  g_free(self->data);
  g_free(self->shown);
  g_free(self);
}
void fake_allocator_class_init(FakeAllocatorClass* klass) { klass->free = free_memory; }

GstAllocator* allocator() {
  static auto* one = static_cast<GstAllocator*>(
      gst_object_ref_sink(g_object_new(fake_allocator_get_type(), nullptr)));
  return one;
}

struct FakePool {
  GstBufferPool parent;
  GstObject* context;
  GstMiniObject* stream;
  gsize bytes;
};
using FakePoolClass = GstBufferPoolClass;
G_DEFINE_TYPE(FakePool, fake_pool, GST_TYPE_BUFFER_POOL)
FakePool* cast_pool(gpointer pool) { return static_cast<FakePool*>(pool); }

gboolean set_config(GstBufferPool* pool, GstStructure* config) {
  FakePool* self = cast_pool(pool);
  guint bytes = 0;
  gst_buffer_pool_config_get_params(config, nullptr, &bytes, nullptr, nullptr);
  self->bytes = bytes;
  if (const GValue* stream = gst_structure_get_value(config, "cuda-stream")) {
    self->stream = static_cast<GstMiniObject*>(g_value_dup_boxed(stream));
  }
  return GST_BUFFER_POOL_CLASS(fake_pool_parent_class)->set_config(pool, config);
}

GstFlowReturn alloc_buffer(GstBufferPool* pool, GstBuffer** buffer, GstBufferPoolAcquireParams*) {
  const FakePool* self = cast_pool(pool);
  auto* memory = g_new0(FakeMemory, 1);
  memory->head.context = GST_OBJECT(gst_object_ref(self->context));
  memory->stream = self->stream ? gst_mini_object_ref(self->stream) : nullptr;
  memory->data = static_cast<guint8*>(g_malloc(self->bytes));
  regions::fake::own(memory->data, self->bytes, cast(self->context)->device);
  gst_memory_init(&memory->head.memory, GST_MEMORY_FLAG_NO_SHARE, allocator(), nullptr, self->bytes,
                  0, 0, self->bytes);
  *buffer = gst_buffer_new();
  gst_buffer_append_memory(*buffer, &memory->head.memory);
  return GST_FLOW_OK;
}

void dispose_pool(GObject* object) {
  FakePool* self = cast_pool(object);
  gst_clear_object(&self->context);
  gst_clear_mini_object(&self->stream);
  G_OBJECT_CLASS(fake_pool_parent_class)->dispose(object);
}
void fake_pool_init(FakePool*) {}
void fake_pool_class_init(FakePoolClass* klass) {
  klass->set_config = set_config;
  klass->alloc_buffer = alloc_buffer;
  G_OBJECT_CLASS(klass)->dispose = dispose_pool;
}

}  // namespace

extern "C" {

gboolean gst_cuda_load_library() { return TRUE; }
void gst_cuda_memory_init_once() {}
GType gst_cuda_context_get_type() { return fake_context_get_type(); }
GstObject* gst_cuda_context_new_wrapped(void* handle, int device) {
  auto* context = cast(gst_object_ref_sink(g_object_new(fake_context_get_type(), nullptr)));
  context->device = device;
  context->handle = handle;
  return &context->parent;
}
void* gst_cuda_context_get_handle(GstObject* context) { return cast(context)->handle; }

GstContext* gst_context_new_cuda_context(GstObject* cuda) {
  GstContext* context = gst_context_new(kCudaContextType, TRUE);
  gst_structure_set(gst_context_writable_structure(context), kCudaContextType,
                    fake_context_get_type(), cuda, nullptr);
  return context;
}
gboolean gst_cuda_handle_set_context(GstElement*, GstContext* offer, gint device_id,
                                     GstObject** context) {
  if (*context) return TRUE;
  GstObject* offered = nullptr;
  gst_structure_get(gst_context_get_structure(offer), kCudaContextType, fake_context_get_type(),
                    &offered, nullptr);
  if (!offered) return FALSE;
  if (device_id >= 0 && cast(offered)->device != device_id) {
    gst_object_unref(offered);
    return FALSE;
  }
  *context = offered;
  return TRUE;
}
gboolean gst_cuda_handle_context_query(GstElement*, GstQuery* query, GstObject* cuda) {
  const gchar* type = nullptr;
  gst_query_parse_context_type(query, &type);
  if (!g_str_equal(type, kCudaContextType)) return FALSE;
  GstContext* context = gst_context_new_cuda_context(cuda);
  gst_query_set_context(query, context);
  gst_context_unref(context);
  return TRUE;
}

gboolean gst_is_cuda_memory(GstMemory* memory) { return memory->allocator == allocator(); }
GstBufferPool* gst_cuda_buffer_pool_new(GstObject* context) {
  auto* pool = cast_pool(gst_object_ref_sink(g_object_new(fake_pool_get_type(), nullptr)));
  pool->context = GST_OBJECT(gst_object_ref(context));
  return &pool->parent;
}

#if REGIONS_FAKE_STREAMS
struct FakeStream {
  GstMiniObject parent;
  regions::fake::Stream* handle;
};
GST_DEFINE_MINI_OBJECT_TYPE(FakeStream, fake_stream)

GstMiniObject* gst_cuda_stream_new(GstObject*) {
  auto* stream = g_new0(FakeStream, 1);
  stream->handle = new regions::fake::Stream;
  gst_mini_object_init(&stream->parent, 0, fake_stream_get_type(), nullptr, nullptr,
                       [](GstMiniObject* self) {
                         delete reinterpret_cast<FakeStream*>(self)->handle;
                         g_free(self);
                       });
  return &stream->parent;
}
void* gst_cuda_stream_get_handle(GstMiniObject* stream) {
  return reinterpret_cast<FakeStream*>(stream)->handle;
}
GstMiniObject* gst_cuda_memory_get_stream(CudaMemory* memory) {
  return cast_memory(memory)->stream;
}
void gst_cuda_memory_sync(CudaMemory* memory) {
  if (!GST_MEMORY_FLAG_IS_SET(memory, regions::kNeedSync)) return;
  GST_MINI_OBJECT_FLAG_UNSET(memory, regions::kNeedSync);
  regions::fake::Stream* stream =
      reinterpret_cast<FakeStream*>(cast_memory(memory)->stream)->handle;
  ++stream->synced;
  stream->wait();
}
void gst_buffer_pool_config_set_cuda_stream(GstStructure* config, GstMiniObject* stream) {
  gst_structure_set(config, "cuda-stream", fake_stream_get_type(), stream, nullptr);
}
void gst_buffer_pool_config_set_cuda_stream_ordered_alloc(GstStructure* config, gboolean wanted) {
  gst_structure_set(config, "cuda-stream-ordered-alloc", G_TYPE_BOOLEAN, wanted, nullptr);
}
#endif

}  // extern "C"
#endif

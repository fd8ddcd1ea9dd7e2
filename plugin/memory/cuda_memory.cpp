// GStreamer's CUDA memory and contexts.
#include "plugin/memory/cuda_memory.hpp"

#include <map>
#include <memory>

#include "core/error.hpp"
#include "core/placement.hpp"
#include "plugin/memory/cuda_library.hpp"
#include "plugin/memory/object_ptr.hpp"

#if REGIONS_CUDA
#include "gpu/runtime/device.hpp"
#endif

namespace regions {
namespace {

#if !REGIONS_CUDA
int cuda_device_count() { return 0; }
void* primary_context(int) { return nullptr; }
void let_waits_sleep(int) {}
#endif

// Shared by all elements of this process.
Placement& placement() {
  static Placement one;
  return one;
}

// Takes the reference.
CudaContextRef owned(GstObject* context) {
  return context ? CudaContextRef(context, [](GstObject* o) { gst_object_unref(o); }) : nullptr;
}

// libgstcuda creates its own contexts instead of using the primary one, so kernels of different
// pipelines would not overlap. One wrapped primary context per device serves the whole process and
// is never freed. Decoders that share it wait for the copy of each frame, which follows this
// plugin's kernels. Spinning waits of sixteen live streams took 2 ms of a core each (H100,
// 2026-11-25).
CudaContextRef shared_primary(int device) {
  static std::mutex mutex;
  static std::map<int, GstObject*> contexts;
  const std::lock_guard lock(mutex);
  GstObject*& context = contexts[device];
  if (!context) {
    let_waits_sleep(device);
    context = cuda_library()->wrap(primary_context(device), device);
    if (!context)
      throw DeviceError("GStreamer cannot wrap the context of cuda:" + std::to_string(device));
    GST_OBJECT_FLAG_SET(context, GST_OBJECT_FLAG_MAY_BE_LEAKED);
  }
  return owned(GST_OBJECT_CAST(gst_object_ref(context)));
}

// Asks the neighbours on all pads, then the bins and the application.
void ask_for_offers(GstElement* element) {
  GstQuery* query = gst_query_new_context(kCudaContextType);
  const auto ask = [](GstElement*, GstPad* pad, gpointer data) -> gboolean {
    auto* asked = static_cast<GstQuery*>(data);
    return !gst_pad_peer_query(pad, asked);
  };
  if (!gst_element_foreach_src_pad(element, ask, query) ||
      !gst_element_foreach_sink_pad(element, ask, query)) {
    GstContext* offer = nullptr;
    gst_query_parse_context(query, &offer);
    if (offer) gst_element_set_context(element, offer);
  } else {
    gst_element_post_message(element,
                             gst_message_new_need_context(GST_OBJECT(element), kCudaContextType));
  }
  gst_query_unref(query);
}

void offer_to_all(GstElement* element, GstObject* cuda) {
  GstContext* context = cuda_library()->offer(cuda);
  gst_element_set_context(element, context);
  gst_element_post_message(element, gst_message_new_have_context(GST_OBJECT(element), context));
}

// The element upstream of `element`, or null. Looks into bins.
ObjectPtr<GstElement> upstream_of(GstElement* element) {
  ObjectPtr<GstPad> pad(gst_element_get_static_pad(element, "sink"));
  if (pad) pad.reset(gst_pad_get_peer(pad.get()));
  while (pad && GST_IS_PROXY_PAD(pad.get())) {
    if (GST_IS_GHOST_PAD(pad.get())) {
      pad.reset(gst_ghost_pad_get_target(GST_GHOST_PAD(pad.get())));
    } else {
      const ObjectPtr<GstPad> outside(
          GST_PAD(gst_proxy_pad_get_internal(GST_PROXY_PAD(pad.get()))));
      pad.reset(gst_pad_get_peer(outside.get()));
    }
  }
  return ObjectPtr<GstElement>(pad ? gst_pad_get_parent_element(pad.get()) : nullptr);
}

// The device that an element reports in a property, like NVIDIA's decoders; negative if none.
int64_t told_device(GstElement* element) {
  constexpr const char* kProperty = "cuda-device-id";
  if (!g_object_class_find_property(G_OBJECT_GET_CLASS(element), kProperty)) return -1;
  GValue id = G_VALUE_INIT;
  g_value_init(&id, G_TYPE_INT64);
  g_object_get_property(G_OBJECT(element), kProperty, &id);
  return g_value_get_int64(&id);
}

// The device of future frames: the nearest element upstream that reports a device decides. Negative
// if no element does. A decoder makes its own context unless it is offered one of its device.
int device_upstream(GstElement* element, int devices) {
  constexpr int kFarthest = 32;  // elements
  ObjectPtr<GstElement> at = upstream_of(element);
  for (int i = 0; at && i < kFarthest; ++i, at = upstream_of(at.get())) {
    const int64_t told = told_device(at.get());
    if (told >= 0) return told < devices ? static_cast<int>(told) : -1;
  }
  return -1;
}

// The buffer's memory if it is CUDA memory, else null.
CudaMemory* cuda_memory_of(GstBuffer* buffer) {
  const CudaLibrary* library = cuda_library();
  GstMemory* memory = gst_buffer_n_memory(buffer) > 0 ? gst_buffer_peek_memory(buffer, 0) : nullptr;
  return library && memory && library->is_memory(memory) ? reinterpret_cast<CudaMemory*>(memory)
                                                         : nullptr;
}

}  // namespace

bool built_with_cuda_memory() {
#if REGIONS_CUDA
  return true;
#else
  return false;
#endif
}
bool takes_cuda_memory() { return built_with_cuda_memory() && cuda_library(); }

const char* cuda_memory_formats() {
  return "{ NV12, I420, P010_10LE, RGBA, BGRA, RGBx, BGRx, RGB, BGR, YUY2, UYVY }";
}

GstMapFlags cuda_map_flags(GstMapFlags flags) { return static_cast<GstMapFlags>(flags | kMapCuda); }

int device_of(GstObject* cuda_context) {
  guint id = 0;
  g_object_get(cuda_context, "cuda-device-id", &id, nullptr);
  return static_cast<int>(id);
}

void* handle_of(GstObject* cuda_context) { return cuda_library()->handle(cuda_context); }

CudaContextRef CudaContext::context() const {
  const std::lock_guard lock(mutex_);
  return context_;
}

int CudaContext::device() const {
  const std::lock_guard lock(mutex_);
  return device_;
}

void CudaContext::settle(int device, bool is_counted) {
  const std::lock_guard lock(mutex_);
  if (settled_ && !is_counted && device == device_) return;
  if (settled_) placement().leave(device_);
  if (!is_counted) placement().enter(device);
  device_ = device;
  settled_ = true;
}

void CudaContext::release() {
  const std::lock_guard lock(mutex_);
  context_.reset();
  if (settled_) placement().leave(device_);
  settled_ = false;
}

void CudaContext::take_offer(GstElement* element, GstContext* offer, int device_id) {
  const bool is_cuda = offer && gst_context_has_context_type(offer, kCudaContextType);
  if (!is_cuda || !takes_cuda_memory()) return;
  const std::lock_guard lock(mutex_);
  if (context_) return;
  GstObject* taken = nullptr;
  cuda_library()->take_offer(element, offer, device_id, &taken);
  context_ = owned(taken);
}

bool CudaContext::answer(GstElement* element, GstQuery* query) {
  const CudaContextRef mine = context();
  return mine && cuda_library()->answer(element, query, mine.get());
}

void* CudaContext::acquire(GstElement* element, int device_id) {
  const int devices = cuda_device_count();
  if (devices == 0) {
    throw NoDeviceError(
        "no CUDA device was found, its driver is missing, or this build lacks CUDA");
  }
  const bool has_library = takes_cuda_memory();
  if (has_library && !context()) ask_for_offers(element);
  const CudaContextRef offered = context();
  if (device_id < 0) device_id = device_upstream(element, devices);
  if (offered && (device_id < 0 || device_of(offered.get()) == device_id)) {
    settle(device_of(offered.get()), false);
    return handle_of(offered.get());
  }
  const int device = device_id < 0 ? placement().place(devices) : device_id;
  settle(device, device_id < 0);
  if (!has_library) return primary_context(device);
  move_to(shared_primary(device));
  offer_to_all(element, context().get());
  return handle_of(context().get());
}

CudaContextRef CudaContext::peer_elsewhere(GstPad* pad) const {
  GstObject* context = nullptr;
  GstQuery* query = gst_query_new_context(kCudaContextType);
  if (takes_cuda_memory() && gst_pad_peer_query(pad, query)) {
    GstContext* answer = nullptr;
    gst_query_parse_context(query, &answer);
    if (answer) {
      gst_structure_get(gst_context_get_structure(answer), kCudaContextType,
                        cuda_library()->context_type(), &context, nullptr);
    }
  }
  gst_query_unref(query);
  CudaContextRef found = owned(context);
  return found && device_of(found.get()) != device() ? found : nullptr;
}

CudaContextRef CudaContext::elsewhere(GstBuffer* buffer) const {
  const CudaMemory* memory = cuda_memory_of(buffer);
  if (!memory || memory->context == context().get() || device_of(memory->context) == device()) {
    return nullptr;
  }
  return owned(GST_OBJECT_CAST(gst_object_ref(memory->context)));
}

void CudaContext::move_to(const CudaContextRef& context) {
  settle(device_of(context.get()), false);
  const std::lock_guard lock(mutex_);
  context_ = context;
}

// Producers that support streams put their work on the pool's stream and do not wait for it; see
// await_producer().
GstBufferPool* CudaContext::make_pool(GstCaps* caps, size_t bytes, unsigned min_buffers,
                                      bool is_ours) const {
  const CudaLibrary& library = *cuda_library();
  const CudaContextRef mine = context();
  GstBufferPool* pool = library.new_pool(mine.get());
  GstStructure* config = gst_buffer_pool_get_config(pool);
  gst_buffer_pool_config_add_option(config, GST_BUFFER_POOL_OPTION_VIDEO_META);
  gst_buffer_pool_config_set_params(config, caps, static_cast<guint>(bytes), min_buffers, 0);
  if (GstMiniObject* stream = library.new_stream ? library.new_stream(mine.get()) : nullptr) {
    library.set_stream(config, stream);
    gst_mini_object_unref(stream);
  }
  // Encoders (NVENC) and other processes cannot take stream-ordered memory, which is the default
  // for a pool with a stream.
  if (library.set_stream_ordered) library.set_stream_ordered(config, is_ours);
  if (!gst_buffer_pool_set_config(pool, config)) {
    gst_object_unref(pool);
    throw DeviceError("a pool of CUDA memory cannot be set up");
  }
  return pool;
}

void CudaContext::await_producer(GstBuffer* buffer, Queue& queue) const {
  CudaMemory* memory = cuda_memory_of(buffer);
  expects(memory != nullptr, "the caps name CUDA memory, but the buffer is in other memory");
  const int there = device_of(memory->context);
  expects(there == device(), "frames are on cuda:" + std::to_string(there) +
                                 ", cuda-device-id selects cuda:" + std::to_string(device()) +
                                 "; -1 follows the frames");
  const CudaLibrary& library = *cuda_library();
  if (!library.new_stream) return;  // in versions without streams producers wait themselves
  GstMiniObject* stream = library.stream_of(memory);
  if (!stream || !GST_MEMORY_FLAG_IS_SET(memory, kNeedSync)) return;
  if (library.handle(memory->context) == handle_of(context().get())) {
    queue.follow(library.stream_handle(stream));
  } else {
    library.sync(memory);  // no event goes from one context to another
  }
}

void mark_complete(GstBuffer* buffer) {
  CudaMemory* memory = cuda_memory_of(buffer);
  if (!memory) return;
  // If the pipeline branches, other threads may read the flags.
  auto* flags = reinterpret_cast<guint*>(&GST_MINI_OBJECT_CAST(memory)->flags);
  g_atomic_int_and(flags, ~static_cast<guint>(kNeedSync));
}

}  // namespace regions

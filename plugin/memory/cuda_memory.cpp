// Loads libgstcuda, and chooses and shares CUDA contexts.
#include "plugin/memory/cuda_memory.hpp"

#include <dlfcn.h>

#include <map>
#include <memory>
#include <optional>

#include "core/device_balancer.hpp"
#include "core/error.hpp"
#include "plugin/memory/gst_object.hpp"

#if REGIONS_CUDA
#include "gpu/runtime/cuda_backend.hpp"
#endif

namespace regions {
namespace {

template <class Function>
bool find_function(void* library, const char* name, Function*& function) {
  function = reinterpret_cast<Function*>(dlsym(library, name));
  return function != nullptr;
}

// The library must never be unloaded, because it registers types with GLib. RTLD_LOCAL is
// sufficient, because this plugin looks symbols up by name. Plugins that link to the library share
// it anyway.
std::optional<CudaLibrary> load_cuda_library() {
  void* library = dlopen("libgstcuda-1.0.so.0", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (!library) {
    GST_INFO("frames in CUDA memory cannot be taken: %s", dlerror());
    return {};
  }
  CudaLibrary functions = {};
  if (!find_function(library, "gst_cuda_load_library", functions.load) ||
      !find_function(library, "gst_cuda_memory_init_once", functions.init_memory) ||
      !find_function(library, "gst_cuda_context_get_type", functions.context_type) ||
      !find_function(library, "gst_cuda_context_new_wrapped", functions.wrap) ||
      !find_function(library, "gst_cuda_context_get_handle", functions.handle) ||
      !find_function(library, "gst_cuda_handle_set_context", functions.accept_context) ||
      !find_function(library, "gst_cuda_handle_context_query", functions.answer_query) ||
      !find_function(library, "gst_context_new_cuda_context", functions.new_gst_context) ||
      !find_function(library, "gst_is_cuda_memory", functions.is_memory) ||
      !find_function(library, "gst_cuda_buffer_pool_new", functions.new_pool)) {
    GST_WARNING("frames in CUDA memory cannot be taken: %s", dlerror());
    return {};
  }
  const bool has_streams =
      find_function(library, "gst_cuda_stream_new", functions.new_stream) &&
      find_function(library, "gst_cuda_stream_get_handle", functions.stream_handle) &&
      find_function(library, "gst_cuda_memory_get_stream", functions.stream_of) &&
      find_function(library, "gst_cuda_memory_sync", functions.sync) &&
      find_function(library, "gst_buffer_pool_config_set_cuda_stream", functions.set_stream);
  if (!has_streams) functions.new_stream = nullptr;
  find_function(library, "gst_buffer_pool_config_set_cuda_stream_ordered_alloc",
                functions.set_stream_ordered);
  if (!functions.load()) return {};
  functions.init_memory();
  return functions;
}

#if !REGIONS_CUDA
int cuda_device_count() { return 0; }
void* primary_context(int) { return nullptr; }
void use_blocking_sync(int) {}
#endif

// Returns the balancer that counts this plugin's elements on each device.
DeviceBalancer& device_balancer() {
  static DeviceBalancer balancer;
  return balancer;
}

// Takes ownership of the caller's reference to the context.
CudaContextRef owned(GstObject* context) {
  return context ? CudaContextRef(context, [](GstObject* o) { gst_object_unref(o); }) : nullptr;
}

// Returns the device's primary context. Without it, libgstcuda would create one context per
// pipeline, and kernels of different contexts do not overlap. One wrapped primary context per
// device serves the whole process and is never freed. Decoders that share the context wait until
// each frame has been copied, which happens after this plugin's kernels. Therefore waiting threads
// sleep instead of spinning: with 16 live streams, a spinning wait took 2 ms of a CPU core (H100,
// 2026-11-25).
CudaContextRef shared_primary(int device) {
  static std::mutex mutex;                    // guards `contexts`
  static std::map<int, GstObject*> contexts;  // [device]
  const std::lock_guard lock(mutex);
  GstObject*& context = contexts[device];
  if (!context) {
    use_blocking_sync(device);
    context = cuda_library()->wrap(primary_context(device), device);
    if (!context)
      throw DeviceError("GStreamer cannot wrap the context of cuda:" + std::to_string(device));
    GST_OBJECT_FLAG_SET(context, GST_OBJECT_FLAG_MAY_BE_LEAKED);
  }
  return owned(GST_OBJECT_CAST(gst_object_ref(context)));
}

// Requests a CUDA context from the neighbours on all pads, then from the bins and the application.
void request_context(GstElement* element) {
  GstQuery* query = gst_query_new_context(kCudaContextType);
  const auto query_peer = [](GstElement*, GstPad* pad, gpointer data) -> gboolean {
    auto* context_query = static_cast<GstQuery*>(data);
    return !gst_pad_peer_query(pad, context_query);
  };
  if (!gst_element_foreach_src_pad(element, query_peer, query) ||
      !gst_element_foreach_sink_pad(element, query_peer, query)) {
    GstContext* offer = nullptr;
    gst_query_parse_context(query, &offer);
    if (offer) gst_element_set_context(element, offer);
  } else {
    gst_element_post_message(element,
                             gst_message_new_need_context(GST_OBJECT(element), kCudaContextType));
  }
  gst_query_unref(query);
}

// Offers the context to the bins and the application, which pass it to other elements.
void offer_context(GstElement* element, GstObject* cuda) {
  GstContext* context = cuda_library()->new_gst_context(cuda);
  gst_element_set_context(element, context);
  gst_element_post_message(element, gst_message_new_have_context(GST_OBJECT(element), context));
}

// Returns the element upstream of `element`, or null. Follows ghost pads into and out of bins.
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

// Returns the device that an element reports in the property cuda-device-id, as NVIDIA's decoders
// do. Returns -1 if the element has no such property.
int64_t reported_device(GstElement* element) {
  constexpr const char* kProperty = "cuda-device-id";
  if (!g_object_class_find_property(G_OBJECT_GET_CLASS(element), kProperty)) return -1;
  GValue id = G_VALUE_INIT;
  g_value_init(&id, G_TYPE_INT64);
  g_object_get_property(G_OBJECT(element), kProperty, &id);
  return g_value_get_int64(&id);
}

// Predicts the device of the frames: the device of the nearest upstream element that reports one,
// or -1 if no element does. Frames of a decoder are on the decoder's device, even if the decoder
// is offered the context of another device.
int device_upstream(GstElement* element, int device_count) {
  constexpr int kMaxElements = 32;  // maximum number of elements to search
  ObjectPtr<GstElement> upstream = upstream_of(element);
  for (int i = 0; upstream && i < kMaxElements; ++i, upstream = upstream_of(upstream.get())) {
    const int64_t device = reported_device(upstream.get());
    if (device >= 0) return device < device_count ? static_cast<int>(device) : -1;
  }
  return -1;
}

// Returns the buffer's first memory if it is CUDA memory, else null.
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
const CudaLibrary* cuda_library() {
  static const std::optional<CudaLibrary> library = load_cuda_library();
  return library ? &*library : nullptr;
}

bool supports_cuda_memory() { return built_with_cuda_memory() && cuda_library(); }

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

void CudaContext::set_device(int device, bool is_already_counted) {
  const std::lock_guard lock(mutex_);
  if (is_counted_ && !is_already_counted && device == device_) return;
  if (is_counted_) device_balancer().remove_element(device_);
  if (!is_already_counted) device_balancer().add_element(device);
  device_ = device;
  is_counted_ = true;
}

void CudaContext::release() {
  const std::lock_guard lock(mutex_);
  context_.reset();
  if (is_counted_) device_balancer().remove_element(device_);
  is_counted_ = false;
}

void CudaContext::accept_context(GstElement* element, GstContext* offer, int device_id) {
  const bool is_cuda = offer && gst_context_has_context_type(offer, kCudaContextType);
  if (!is_cuda || !supports_cuda_memory()) return;
  const std::lock_guard lock(mutex_);
  if (context_) return;
  GstObject* accepted = nullptr;
  cuda_library()->accept_context(element, offer, device_id, &accepted);
  context_ = owned(accepted);
}

bool CudaContext::answer_query(GstElement* element, GstQuery* query) {
  const CudaContextRef current = context();
  return current && cuda_library()->answer_query(element, query, current.get());
}

void* CudaContext::acquire(GstElement* element, int device_id) {
  const int device_count = cuda_device_count();
  if (device_count == 0) {
    throw NoDeviceError(
        "no CUDA device was found, its driver is missing, or this build lacks CUDA");
  }
  const bool has_library = supports_cuda_memory();
  if (has_library && !context()) request_context(element);
  const CudaContextRef offered = context();
  if (device_id < 0) device_id = device_upstream(element, device_count);
  if (offered && (device_id < 0 || device_of(offered.get()) == device_id)) {
    set_device(device_of(offered.get()), false);
    return handle_of(offered.get());
  }
  const int device = device_id < 0 ? device_balancer().choose(device_count) : device_id;
  set_device(device, device_id < 0);
  if (!has_library) return primary_context(device);
  move_to(shared_primary(device));
  offer_context(element, context().get());
  return handle_of(context().get());
}

CudaContextRef CudaContext::context_on_other_device(GstPad* pad) const {
  GstObject* context = nullptr;
  GstQuery* query = gst_query_new_context(kCudaContextType);
  if (supports_cuda_memory() && gst_pad_peer_query(pad, query)) {
    GstContext* answer = nullptr;
    gst_query_parse_context(query, &answer);
    if (answer) {
      gst_structure_get(gst_context_get_structure(answer), kCudaContextType,
                        cuda_library()->context_type(), &context, nullptr);
    }
  }
  gst_query_unref(query);
  CudaContextRef peer_context = owned(context);
  return peer_context && device_of(peer_context.get()) != device() ? peer_context : nullptr;
}

CudaContextRef CudaContext::context_on_other_device(GstBuffer* buffer) const {
  const CudaMemory* memory = cuda_memory_of(buffer);
  if (!memory || memory->context == context().get() || device_of(memory->context) == device()) {
    return nullptr;
  }
  return owned(GST_OBJECT_CAST(gst_object_ref(memory->context)));
}

void CudaContext::move_to(const CudaContextRef& context) {
  set_device(device_of(context.get()), false);
  const std::lock_guard lock(mutex_);
  context_ = context;
}

// Sets a CUDA stream on the pool. Producers that support streams enqueue their work on the pool's
// stream and do not wait for it. await_producer() makes this plugin's queues wait for that stream.
GstBufferPool* CudaContext::make_pool(GstCaps* caps, size_t bytes, unsigned min_buffers,
                                      bool is_internal) const {
  const CudaLibrary& library = *cuda_library();
  const CudaContextRef current = context();
  GstBufferPool* pool = library.new_pool(current.get());
  GstStructure* config = gst_buffer_pool_get_config(pool);
  gst_buffer_pool_config_add_option(config, GST_BUFFER_POOL_OPTION_VIDEO_META);
  gst_buffer_pool_config_set_params(config, caps, static_cast<guint>(bytes), min_buffers, 0);
  if (GstMiniObject* stream = library.new_stream ? library.new_stream(current.get()) : nullptr) {
    library.set_stream(config, stream);
    gst_mini_object_unref(stream);
  }
  // A pool with a stream uses stream-ordered memory by default, which encoders (NVENC) and other
  // processes cannot use.
  if (library.set_stream_ordered) library.set_stream_ordered(config, is_internal);
  if (!gst_buffer_pool_set_config(pool, config)) {
    gst_object_unref(pool);
    throw DeviceError("a pool of CUDA memory cannot be set up");
  }
  return pool;
}

void CudaContext::await_producer(GstBuffer* buffer, Queue& queue) const {
  CudaMemory* memory = cuda_memory_of(buffer);
  expects(memory != nullptr, "the caps name CUDA memory, but the buffer is in other memory");
  const int frame_device = device_of(memory->context);
  expects(frame_device == device(), "frames are on cuda:" + std::to_string(frame_device) +
                                        ", cuda-device-id selects cuda:" +
                                        std::to_string(device()) + "; -1 follows the frames");
  const CudaLibrary& library = *cuda_library();
  if (!library.new_stream)
    return;  // in versions without streams, the producer has waited for its own work
  GstMiniObject* stream = library.stream_of(memory);
  if (!stream || !GST_MEMORY_FLAG_IS_SET(memory, kNeedSync)) return;
  if (library.handle(memory->context) == handle_of(context().get())) {
    queue.follow(library.stream_handle(stream));
  } else {
    // A queue cannot wait for an event of another CUDA context, so the host waits.
    library.sync(memory);
  }
}

void mark_complete(GstBuffer* buffer) {
  CudaMemory* memory = cuda_memory_of(buffer);
  if (!memory) return;
  // The change is atomic, because other threads may read the flags at the same time if the pipeline
  // has branches.
  auto* flags = reinterpret_cast<guint*>(&GST_MINI_OBJECT_CAST(memory)->flags);
  g_atomic_int_and(flags, ~static_cast<guint>(kNeedSync));
}

}  // namespace regions

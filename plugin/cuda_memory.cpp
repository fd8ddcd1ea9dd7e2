// GStreamer's CUDA memory and contexts, as they are in 1.22 and newer.
#include "plugin/cuda_memory.hpp"

#include "core/error.hpp"
#include "core/placement.hpp"

#if REGIONS_CUDA
#include "gpu/device.hpp"
#endif

namespace regions {
namespace {

// Of all elements of this process.
[[maybe_unused]] Placement& placement() {
  static Placement one;
  return one;
}

}  // namespace

void CudaContext::settle(int device, bool is_counted) {
  device_ = device;
  if (!is_counted) placement().enter(device);
  settled_ = true;
}

void CudaContext::release() {
  gst_clear_object(&context_);
  if (settled_) placement().leave(device_);
  settled_ = false;
}

}  // namespace regions

#if REGIONS_CUDA_MEMORY
#include <gst/cuda/gstcudabufferpool.h>
#include <gst/cuda/gstcudacontext.h>
#include <gst/cuda/gstcudaloader.h>
#include <gst/cuda/gstcudamemory.h>
#include <gst/cuda/gstcudautils.h>

#include <map>
#include <mutex>

namespace regions {
namespace {

GstCudaContext* cast(GstObject* context) { return reinterpret_cast<GstCudaContext*>(context); }

int device_of(GstCudaContext* context) {
  guint id = 0;
  g_object_get(context, "cuda-device-id", &id, nullptr);
  return static_cast<int>(id);
}

// libgstcuda's own contexts are not the primary one, so kernels of different pipelines would not
// overlap. One wrapped primary context a device serves the whole process; it is never freed.
GstCudaContext* shared_primary(int device) {
  static std::mutex mutex;
  static std::map<int, GstCudaContext*> contexts;
  const std::lock_guard lock(mutex);
  GstCudaContext*& context = contexts[device];
  if (!context) {
    context = gst_cuda_context_new_wrapped(static_cast<CUcontext>(primary_context(device)), device);
    if (!context)
      throw DeviceError("GStreamer cannot wrap the context of cuda:" + std::to_string(device));
    GST_OBJECT_FLAG_SET(context, GST_OBJECT_FLAG_MAY_BE_LEAKED);
  }
  return GST_CUDA_CONTEXT(gst_object_ref(context));
}

// Asks the neighbours on all pads, then the bins and the application.
void ask_for_offers(GstElement* element) {
  GstQuery* query = gst_query_new_context(GST_CUDA_CONTEXT_TYPE);
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
    gst_element_post_message(
        element, gst_message_new_need_context(GST_OBJECT(element), GST_CUDA_CONTEXT_TYPE));
  }
  gst_query_unref(query);
}

void offer_to_all(GstElement* element, GstCudaContext* cuda) {
  GstContext* context = gst_context_new(GST_CUDA_CONTEXT_TYPE, TRUE);
  gst_structure_set(gst_context_writable_structure(context), GST_CUDA_CONTEXT_TYPE,
                    GST_TYPE_CUDA_CONTEXT, cuda, "cuda-device-id", G_TYPE_UINT,
                    static_cast<guint>(device_of(cuda)), nullptr);
  gst_element_set_context(element, context);
  gst_element_post_message(element, gst_message_new_have_context(GST_OBJECT(element), context));
}

}  // namespace

bool built_with_cuda_memory() { return true; }

const char* cuda_memory_formats() {
  return "{ NV12, I420, P010_10LE, RGBA, BGRA, RGBx, BGRx, RGB, BGR, YUY2, UYVY }";
}

GstMapFlags cuda_map_flags(GstMapFlags flags) {
  return static_cast<GstMapFlags>(flags | GST_MAP_CUDA);
}

void CudaContext::take_offer(GstElement* element, GstContext* offer, int device_id) {
  // Every other call into libgstcuda aborts without a driver.
  if (!gst_cuda_load_library()) return;
  auto* context = context_ ? cast(context_) : nullptr;
  gst_cuda_handle_set_context(element, offer, device_id, &context);
  context_ = GST_OBJECT_CAST(context);
}

bool CudaContext::answer(GstElement* element, GstQuery* query) {
  return context_ && gst_cuda_handle_context_query(element, query, cast(context_));
}

void* CudaContext::acquire(GstElement* element, int device_id) {
  if (cuda_device_count() == 0 || !gst_cuda_load_library()) {
    throw DeviceError("there is no CUDA device, or no driver for it");
  }
  gst_cuda_memory_init_once();
  if (!context_) ask_for_offers(element);
  if (context_ && device_id >= 0 && device_of(cast(context_)) != device_id) release();
  const bool chooses = !context_ && device_id < 0;
  if (chooses) settle(placement().place(cuda_device_count()), true);
  if (!context_) {
    GstCudaContext* primary = shared_primary(chooses ? device_ : device_id);
    context_ = GST_OBJECT_CAST(primary);
    offer_to_all(element, primary);
  }
  // offer_to_all() lets the element see its own offer, or a bin's older one.
  const int device = device_of(cast(context_));
  if (settled_ && device != device_) {
    placement().leave(device_);
    settled_ = false;
  }
  if (!settled_) settle(device, false);
  return gst_cuda_context_get_handle(cast(context_));
}

GstBufferPool* CudaContext::make_pool(GstCaps* caps, size_t bytes, unsigned min_buffers) const {
  GstBufferPool* pool = gst_cuda_buffer_pool_new(cast(context_));
  GstStructure* config = gst_buffer_pool_get_config(pool);
  gst_buffer_pool_config_add_option(config, GST_BUFFER_POOL_OPTION_VIDEO_META);
  gst_buffer_pool_config_set_params(config, caps, static_cast<guint>(bytes), min_buffers, 0);
  if (!gst_buffer_pool_set_config(pool, config)) {
    gst_object_unref(pool);
    throw DeviceError("a pool of CUDA memory cannot be set up");
  }
  return pool;
}

void CudaContext::expect_reachable(GstBuffer* buffer) const {
  GstMemory* memory = gst_buffer_peek_memory(buffer, 0);
  expects(memory && gst_is_cuda_memory(memory), "the caps say CUDA memory, the buffer is not");
  const int there = device_of(GST_CUDA_MEMORY_CAST(memory)->context);
  expects(there == device_, "frames lie on cuda:" + std::to_string(there) +
                                ", this element runs on cuda:" + std::to_string(device_) +
                                "; set cuda-device-id");
#if GST_CHECK_VERSION(1, 24, 0)
  gst_cuda_memory_sync(GST_CUDA_MEMORY_CAST(memory));  // before 1.24 producers did so themselves
#endif
}

}  // namespace regions

#else  // no libgstcuda

namespace regions {

bool built_with_cuda_memory() { return false; }
const char* cuda_memory_formats() { return ""; }
GstMapFlags cuda_map_flags(GstMapFlags flags) { return flags; }
void CudaContext::take_offer(GstElement*, GstContext*, int) {}
bool CudaContext::answer(GstElement*, GstQuery*) { return false; }
GstBufferPool* CudaContext::make_pool(GstCaps*, size_t, unsigned) const { return nullptr; }
void CudaContext::expect_reachable(GstBuffer*) const {}

void* CudaContext::acquire(GstElement*, int device_id) {
#if REGIONS_CUDA
  if (cuda_device_count() > 0) {
    const bool chooses = device_id < 0;
    settle(chooses ? placement().place(cuda_device_count()) : device_id, chooses);
    return primary_context(device_);
  }
#else
  (void)device_id;
#endif
  throw DeviceError("there is no CUDA device, no driver for it, or this build lacks CUDA");
}

}  // namespace regions

#endif

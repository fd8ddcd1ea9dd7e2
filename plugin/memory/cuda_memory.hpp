// Access to GStreamer's CUDA memory and CUDA contexts. GStreamer's library libgstcuda implements
// them and is loaded at run time. Therefore the same plugin file also works where the library is
// missing or has another version. Without the library, frames are in system memory only.
#pragma once

#include <gst/gst.h>
#include <gst/video/video.h>

#include <memory>
#include <mutex>

#include "core/backend.hpp"

namespace regions {

// The caps feature of frames in CUDA memory, and the type of GstContexts that contain a CUDA
// context.
inline constexpr const char* kCudaFeature = "memory:CUDAMemory";
inline constexpr const char* kCudaContextType = "gst.cuda.context";

// GST_MAP_CUDA. Not constexpr, because the value is outside the range of the enumeration.
inline const auto kMapCuda = static_cast<GstMapFlags>(GST_MAP_FLAG_LAST << 1);
// GST_CUDA_MEMORY_TRANSFER_NEED_SYNC (since GStreamer 1.24): the work on the memory's stream may be
// unfinished.
inline const auto kNeedSync = static_cast<GstMemoryFlags>(GST_MEMORY_FLAG_LAST << 2);

// The first members of GstCudaMemory, which are the same in GStreamer 1.22 to 1.28.
struct CudaMemory {
  GstMemory memory;
  GstObject* context;  // a GstCudaContext
  GstVideoInfo info;
};

// The functions of libgstcuda that this plugin uses. The headers gst/cuda/gstcudacontext.h,
// gstcudamemory.h, gstcudastream.h, gstcudabufferpool.h and gstcudautils.h declare them. `context`
// is a GstCudaContext, `stream` a GstCudaStream.
struct CudaLibrary {
  gboolean (*load)();  // loads the driver; without the driver every other call aborts
  void (*init_memory)();
  GType (*context_type)();
  GstObject* (*wrap)(void* handle, int device);
  void* (*handle)(GstObject* context);  // returns the CUcontext
  gboolean (*accept_context)(GstElement*, GstContext*, gint device_id, GstObject** context);
  gboolean (*answer_query)(GstElement*, GstQuery*, GstObject* context);
  GstContext* (*new_gst_context)(GstObject* context);
  gboolean (*is_memory)(GstMemory*);
  GstBufferPool* (*new_pool)(GstObject* context);

  // These five functions exist since GStreamer 1.24. In older versions new_stream is null, and the
  // other four functions must not be called.
  GstMiniObject* (*new_stream)(GstObject* context);
  void* (*stream_handle)(GstMiniObject* stream);
  GstMiniObject* (*stream_of)(CudaMemory*);  // borrowed; null for the default stream
  void (*sync)(CudaMemory*);
  void (*set_stream)(GstStructure* pool_config, GstMiniObject* stream);

  // This function exists since GStreamer 1.26. It is null in older versions.
  void (*set_stream_ordered)(GstStructure* pool_config, gboolean is_enabled);
};

// Returns the library, or null if the library or the CUDA driver is missing. It is never unloaded.
const CudaLibrary* cuda_library();

// Whether this build supports frames in CUDA memory.
bool built_with_cuda_memory();
// Whether this build and this machine support frames in CUDA memory.
bool supports_cuda_memory();

// Returns the pixel formats that frames in CUDA memory can have, for caps. No version of GStreamer
// supports GRAY8 or GRAY16 in CUDA memory.
const char* cuda_memory_formats();

// Adds GST_MAP_CUDA to the flags, which maps a buffer on the device instead of the host.
GstMapFlags cuda_map_flags(GstMapFlags flags);

// Thrown if no CUDA device was found, its driver is missing, or this build lacks CUDA.
struct NoDeviceError : DeviceError {
  using DeviceError::DeviceError;
};

// Owns a reference to a GstCudaContext.
using CudaContextRef = std::shared_ptr<GstObject>;
int device_of(GstObject* cuda_context);
void* handle_of(GstObject* cuda_context);  // returns the CUcontext

// The CUDA context of one element. If other elements or the application offer a context, it is
// used. Otherwise the device's primary context is used. It is wrapped in a GstCudaContext once per
// process and offered to other elements. Any thread may call any member.
class CudaContext {
 public:
  CudaContext() = default;
  CudaContext(const CudaContext&) = delete;
  CudaContext& operator=(const CudaContext&) = delete;
  ~CudaContext() { release(); }

  // Implements GstElementClass::set_context.
  void accept_context(GstElement* element, GstContext* offer, int device_id);
  // Handles a CONTEXT query. Returns whether it was answered.
  bool answer_query(GstElement* element, GstQuery* query);

  // Finds or creates the context and returns its CUcontext. If `device_id` is -1, an
  // offered context is used, or else the device that serves the fewest elements of this plugin.
  // Throws NoDeviceError, DeviceError, MemoryError.
  void* acquire(GstElement* element, int device_id);
  void release();

  // Return the context of the pad's peer, or the context of the buffer's memory. Return null if
  // this context is on the same device as the context in use, or if there is none.
  CudaContextRef context_on_other_device(GstPad* pad) const;
  CudaContextRef context_on_other_device(GstBuffer* buffer) const;
  // Replaces the context in use.
  void move_to(const CudaContextRef& context);

  // The index of the CUDA device of the context in use.
  int device() const;
  // Creates an inactive pool of CUDA memory buffers on this context. The caller owns it.
  // `is_internal` means that its buffers are never pushed downstream.
  GstBufferPool* make_pool(GstCaps* caps, size_t bytes, unsigned min_buffers,
                           bool is_internal) const;
  // Makes later work on the queue wait for the work of the buffer's producer. The buffer must be
  // mapped on the device. Throws InputError if the buffer is in another device's memory or not in
  // CUDA memory.
  void await_producer(GstBuffer* buffer, Queue& queue) const;

 private:
  CudaContextRef context() const;
  // Sets the device in use, and makes the device balancer count this element there.
  // `is_already_counted`: DeviceBalancer::choose() has counted it already.
  void set_device(int device, bool is_already_counted);

  mutable std::mutex mutex_;  // guards all members below
  CudaContextRef context_;
  int device_ = 0;
  bool is_counted_ = false;  // the device balancer counts this element on device_
};

// Marks all work on the buffer as finished, including its producer's work. Downstream elements then
// do not wait for it.
void mark_complete(GstBuffer* buffer);

}  // namespace regions

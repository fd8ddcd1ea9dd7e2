// GStreamer's CUDA memory and contexts. Without GStreamer's library for them, frames are in system
// memory only.
#pragma once

#include <gst/gst.h>
#include <gst/video/video.h>

#include <memory>
#include <mutex>

#include "core/backend.hpp"

namespace regions {

inline constexpr const char* kCudaFeature = "memory:CUDAMemory";

// Whether frames in CUDA memory are supported: by this build, and on this machine.
bool built_with_cuda_memory();
bool takes_cuda_memory();

// The formats of CUDA memory, for caps. No version of GStreamer supports GRAY.
const char* cuda_memory_formats();

// The flags that map a buffer on the device rather than on the host.
GstMapFlags cuda_map_flags(GstMapFlags flags);

// No CUDA device exists, it has no driver, or this build lacks CUDA.
struct NoDeviceError : DeviceError {
  using DeviceError::DeviceError;
};

// A GstCudaContext.
using CudaContextRef = std::shared_ptr<GstObject>;
int device_of(GstObject* cuda_context);
void* handle_of(GstObject* cuda_context);  // its CUcontext

// The CUDA context of one element: a context that other elements or the application offer, else the
// device's primary context, which is wrapped once per process and offered to them. Any thread may
// call any member.
class CudaContext {
 public:
  CudaContext() = default;
  CudaContext(const CudaContext&) = delete;
  CudaContext& operator=(const CudaContext&) = delete;
  ~CudaContext() { release(); }

  // For GstElementClass::set_context, and for CONTEXT queries (true: answered).
  void take_offer(GstElement* element, GstContext* offer, int device_id);
  bool answer(GstElement* element, GstQuery* query);

  // Finds or makes the context; returns the CUcontext. `device_id` -1 takes an offered
  // context, else the device with the fewest of the plugin's elements. Throws NoDeviceError,
  // DeviceError, MemoryError.
  void* acquire(GstElement* element, int device_id);
  void release();

  // The context of the pad's peer, or of the buffer's memory, if it belongs to another device; else
  // null.
  CudaContextRef peer_elsewhere(GstPad* pad) const;
  CudaContextRef elsewhere(GstBuffer* buffer) const;
  // Uses this context from now on.
  void move_to(const CudaContextRef& context);

  // Device number of the context in use.
  int device() const;
  // A pool of CUDA memory buffers on this context; `is_ours` if its buffers never go downstream.
  // The caller owns the pool; it is inactive.
  GstBufferPool* make_pool(GstCaps* caps, size_t bytes, unsigned min_buffers, bool is_ours) const;
  // For a buffer mapped on the device: later work on the queue begins when the work of the buffer's
  // producer is done. Throws InputError if the buffer is in another device's memory or not in CUDA
  // memory.
  void await_producer(GstBuffer* buffer, Queue& queue) const;

 private:
  CudaContextRef context() const;
  void settle(int device, bool is_counted);

  mutable std::mutex mutex_;  // guards all members below
  CudaContextRef context_;
  int device_ = 0;
  bool settled_ = false;  // counts as one of the device's elements
};

// Marks the work of the buffer's producer and of its mappings on the device as done: downstream
// elements do not wait for it again.
void mark_complete(GstBuffer* buffer);

}  // namespace regions

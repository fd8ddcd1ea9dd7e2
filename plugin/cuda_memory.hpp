// Everything about GStreamer's CUDA memory and contexts. Where GStreamer's library for them is
// absent, frames come and go in system memory only.
#pragma once

#include <gst/gst.h>
#include <gst/video/video.h>

#include <memory>
#include <mutex>

#include "core/backend.hpp"

namespace regions {

inline constexpr const char* kCudaFeature = "memory:CUDAMemory";

// Whether frames in CUDA memory can be taken and given at all: by this build, and on this machine.
bool built_with_cuda_memory();
bool takes_cuda_memory();

// The formats that CUDA memory carries here, for caps; GRAY is not among them in any version.
const char* cuda_memory_formats();

// The flags that map a buffer on the device rather than on the host.
GstMapFlags cuda_map_flags(GstMapFlags flags);

// A GstCudaContext.
using CudaContextRef = std::shared_ptr<GstObject>;
int device_of(GstObject* cuda_context);
void* handle_of(GstObject* cuda_context);  // its CUcontext

// The CUDA context one element uses: the one that other elements or the application offer, else the
// device's primary context, wrapped once per process and offered to them. Any thread may call any
// member.
class CudaContext {
 public:
  CudaContext() = default;
  CudaContext(const CudaContext&) = delete;
  CudaContext& operator=(const CudaContext&) = delete;
  ~CudaContext() { release(); }

  // For GstElementClass::set_context, and for CONTEXT queries (true: answered).
  void take_offer(GstElement* element, GstContext* offer, int device_id);
  bool answer(GstElement* element, GstQuery* query);

  // Finds or makes the context; returns the CUcontext. `device_id` -1 takes what is offered, else
  // the device with the fewest of our elements. Throws DeviceError when there is no CUDA.
  void* acquire(GstElement* element, int device_id);
  void release();

  // The context that the pad's peer works with, or that the buffer lies in, if it is another
  // device's than this one; else null.
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
  // producer is done. Throws InputError if the buffer lies in another device's memory or in no CUDA
  // memory.
  void await_producer(GstBuffer* buffer, Queue& queue) const;

 private:
  CudaContextRef context() const;
  void settle(int device, bool is_counted);

  mutable std::mutex mutex_;  // guards what follows
  CudaContextRef context_;
  int device_ = 0;
  bool settled_ = false;  // counts as one of the device's elements
};

// Says that all work on the buffer is done, its producer's and what it was mapped for on the
// device: elements behind do not wait for it again.
void mark_complete(GstBuffer* buffer);

}  // namespace regions

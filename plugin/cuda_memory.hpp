// Everything about GStreamer's CUDA memory and contexts, and the only file that tests GStreamer's
// version for it. Built without libgstcuda it answers "no" everywhere.
#pragma once

#include <gst/gst.h>
#include <gst/video/video.h>

namespace regions {

inline constexpr const char* kCudaFeature = "memory:CUDAMemory";

// Whether frames in CUDA memory can be taken and given at all (as built, not as found).
bool built_with_cuda_memory();

// The formats that CUDA memory carries here, for caps; GRAY is not among them in any version.
const char* cuda_memory_formats();

// The flags that map a buffer on the device rather than on the host.
GstMapFlags cuda_map_flags(GstMapFlags flags);

// The CUDA context one element uses: the one that others offer, else the device's primary context,
// wrapped once per process and offered to all.
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

  // Device number of the context acquired.
  int device() const { return device_; }
  // A pool of CUDA memory buffers on this context. The caller owns it; it is inactive.
  GstBufferPool* make_pool(GstCaps* caps, size_t bytes, unsigned min_buffers) const;
  // Throws InputError if the buffer lies in another device's memory or in no CUDA memory.
  void expect_reachable(GstBuffer* buffer) const;

 private:
  void settle(int device, bool is_counted);

  GstObject* context_ = nullptr;  // a GstCudaContext
  int device_ = 0;
  bool settled_ = false;  // counts as one of the device's elements
};

}  // namespace regions

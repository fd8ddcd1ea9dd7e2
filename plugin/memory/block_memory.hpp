// Buffers over a backend's memory: pinned host memory for fast copies, and label maps that stay on
// the device until a reader maps them.
#pragma once

#include <gst/gst.h>

#include <memory>

#include "core/backend.hpp"
#include "core/error.hpp"
#include "core/work_area.hpp"

namespace regions {

// A pool of buffers of `bytes` in the backend's pinned host memory, which any element maps as
// system memory. `caps` may be null. The caller owns the pool; it is inactive.
GstBufferPool* make_pinned_pool(const std::shared_ptr<Backend>& backend, GstCaps* caps,
                                size_t bytes, unsigned min_buffers);

// A pool of one-memory buffers in the backend's own memory. Mapping one for reading on the CPU
// brings a device's bytes to the host; with GST_MAP_CUDA it gives the device address.
GstBufferPool* make_device_pool(const std::shared_ptr<Backend>& backend, size_t bytes,
                                unsigned min_buffers);

// Likewise of maps of one plane that lie in host memory at the working picture's size. A reader
// maps the whole picture's map, which is made when one first does; its rows have no padding.
GstBufferPool* make_small_map_pool(const std::shared_ptr<Backend>& backend, const Layout& layout,
                                   const WorkArea& area, unsigned min_buffers);
// Where a frame's map is to be written, of this area: it moves between frames.
void* begin_small_map(GstBuffer* buffer, const WorkArea& area);

// Such a map as it lies there; empty of other buffers, and where the whole map was mapped for
// writing.
struct SmallMap {
  ConstFrame map;
  WorkArea area;
};
SmallMap small_map(GstBuffer* buffer);

// This thread's attempt to get memory of these pools through GStreamer, which says that it failed,
// but not why.
class MemoryAttempt {
 public:
  MemoryAttempt();  // forgets why earlier attempts failed
  // For an attempt that failed: that there is no memory for `what`, and why.
  MemoryError error(const char* what) const;
};

// Starts one of these pools; its last owner stops and frees it. Throws MemoryError that tells why
// there is no memory for `what`.
std::shared_ptr<GstBufferPool> activate(GstBufferPool* pool, const char* what);

// A buffer of one of these pools, for `what`. Throws MemoryError that tells why there is none.
GstBuffer* acquire(GstBufferPool* pool, const char* what);

// Whether the buffer is one memory from make_pinned_pool.
bool is_pinned(GstBuffer* buffer);

// Where the bytes of a buffer from make_device_pool lie, and of which backend's memory; null for
// other buffers.
struct DeviceData {
  void* data = nullptr;
  const Backend* backend = nullptr;  // lives as long as the buffer
};
DeviceData device_data(GstBuffer* buffer);

}  // namespace regions

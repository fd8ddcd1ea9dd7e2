// GstBuffers in a backend's memory: pinned host memory for fast copies, and label maps and masks.
// Label maps and masks stay on the device, or stay small, until a reader maps them.
#pragma once

#include <gst/gst.h>

#include <memory>

#include "core/backend.hpp"
#include "core/error.hpp"
#include "core/work_area.hpp"

namespace regions {

// Creates a pool of buffers of `bytes` bytes in the backend's pinned host memory. Any element can
// map them as system memory. `caps` may be null. The caller owns the pool, which is inactive.
GstBufferPool* make_pinned_pool(const std::shared_ptr<Backend>& backend, GstCaps* caps,
                                size_t bytes, unsigned min_buffers);

// Creates a pool of buffers in the backend's own memory, one GstMemory each. If the backend is a
// GPU, mapping such a buffer for reading on the CPU copies it to the host, and mapping it with
// GST_MAP_CUDA returns the device address.
GstBufferPool* make_device_pool(const std::shared_ptr<Backend>& backend, size_t bytes,
                                unsigned min_buffers);

// Creates a pool of small maps: label maps or masks (one plane) in host memory at the size of the
// working picture. When a reader first maps such a buffer, the map is enlarged to the size of the
// whole picture, without padding between rows.
GstBufferPool* make_small_map_pool(const std::shared_ptr<Backend>& backend, const Layout& layout,
                                   const WorkArea& area, unsigned min_buffers);

// Sets the work area of a small map. The work area can differ from frame to frame. Returns the
// address to which the small map must be written.
void* begin_small_map(GstBuffer* buffer, const WorkArea& area);

// A small map at its original size.
struct SmallMap {
  ConstFrame map;
  WorkArea area;
};
// Returns the small map of a buffer. It is empty for buffers of other pools, and if a reader has
// mapped the enlarged map for writing.
SmallMap small_map(GstBuffer* buffer);

// Collects the reason why an allocation from the pools above failed in this thread. GStreamer
// itself reports only that the allocation failed. Create a MemoryAttempt before the attempt.
class MemoryAttempt {
 public:
  MemoryAttempt();  // discards the reason of earlier failures
  // Returns the error for a failed attempt. Its text names `purpose` and the reason.
  MemoryError error(const char* purpose) const;
};

// Activates one of the pools above. The last owner deactivates and frees it. Throws MemoryError,
// which names `purpose` and the reason.
std::shared_ptr<GstBufferPool> activate(GstBufferPool* pool, const char* purpose);

// Takes a buffer from one of the pools above. Throws MemoryError, which names `purpose` and the
// reason.
GstBuffer* acquire(GstBufferPool* pool, const char* purpose);

// Whether the buffer consists of one memory from make_pinned_pool().
bool is_pinned(GstBuffer* buffer);

// The address of a buffer from make_device_pool(), and the backend that owns its memory. Both are
// null for other buffers.
struct DeviceData {
  void* data = nullptr;
  const Backend* backend = nullptr;  // valid as long as the buffer exists
};
DeviceData device_data(GstBuffer* buffer);

// Returns a frame that refers to a label map or mask: one plane, rows without padding.
inline Frame label_plane(const Layout& layout, void* data, Size size, Memory memory) {
  Frame frame;
  frame.plane[0] = static_cast<std::byte*>(data);
  frame.pitch[0] = static_cast<ptrdiff_t>(layout.sample_bytes) * size.width;
  frame.width = size.width;
  frame.height = size.height;
  frame.layout = layout;
  frame.memory = memory;
  return frame;
}

// Enqueues the enlargement of a picture or map. `small` has the size of the working picture, and
// `whole` has the size of the whole picture. Each pixel of `whole` inside the work area gets the
// value of the nearest pixel of `small`.
inline void enlarge_nearest(Queue& queue, const ConstFrame& small, const Frame& whole,
                            const WorkArea& area) {
  queue.pick(small, whole,
             {mapping_to_picture(area.left, area.area.width, area.work.width),
              mapping_to_picture(area.top, area.area.height, area.work.height)});
}

}  // namespace regions

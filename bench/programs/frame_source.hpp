// A GStreamer source for benchmarks: gives frames that were made before, as fast as they are taken
// or one at a time.
#pragma once

#include <gst/base/gstpushsrc.h>
#include <gst/video/video.h>

#include "core/frame.hpp"

namespace regions {

// Where the frames' memory comes from.
enum class FrameOrigin : uint8_t {
  own_pool,       // pageable system memory, as most sources give
  proposed_pool,  // the pool that the next element proposes
  ready_made      // buffers given beforehand, such as CUDA memory
};

struct FrameSupply {
  FrameOrigin origin = FrameOrigin::own_pool;
  GstCaps* caps = nullptr;            // borrowed
  ConstFrame picture;                 // what frames from pools show
  GstBuffer* const* ready = nullptr;  // borrowed; [ready_count], used in turn
  int ready_count = 0;
  int frames = 0;       // how many to give before EOS
  bool refill = false;  // paint each frame anew: a later element draws on it
};

// `supply` is copied; what it borrows outlives the source. The caller owns a floating reference.
GstElement* make_frame_source(const FrameSupply& supply);

// Whether the next element proposed a pool; known once frames flow.
bool was_offered_pool(GstElement* source);

// One at a time: after hold() each frame waits for a call of let_one_go(), which returns the
// monotonic time (microseconds) at which it left, or -1 if no element takes it.
void hold(GstElement* source);
int64_t let_one_go(GstElement* source);

}  // namespace regions

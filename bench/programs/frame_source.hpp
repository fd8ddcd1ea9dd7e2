// A GStreamer source for benchmarks. It pushes prepared frames, as fast as possible or one at a
// time.
#pragma once

#include <gst/base/gstpushsrc.h>
#include <gst/video/video.h>

#include "core/frame.hpp"

namespace regions {

// The origin of the frames' memory.
enum class FrameOrigin : uint8_t {
  own_pool,       // pageable system memory, as from most sources
  proposed_pool,  // the pool that the next element proposes
  ready_made      // buffers that were made before, such as CUDA memory
};

struct FrameSupply {
  FrameOrigin origin = FrameOrigin::own_pool;
  GstCaps* caps = nullptr;            // borrowed
  ConstFrame picture;                 // picture in the frames from pools
  GstBuffer* const* ready = nullptr;  // borrowed; [ready_count], used in turn
  int ready_count = 0;
  int frames = 0;  // number of frames before EOS
  bool refill =
      false;  // write the picture into each frame again, because a later element draws on it
};

// Copies `supply`. Its borrowed members must outlive the source. Returns a floating reference.
GstElement* make_frame_source(const FrameSupply& supply);

// Whether the next element proposed a pool. Valid once frames flow.
bool was_offered_pool(GstElement* source);

// Pushes frames one at a time: after hold(), each frame waits for a call of let_one_go(). That
// returns the monotonic time of the push (microseconds), or -1 if no element takes the frame.
void hold(GstElement* source);
int64_t let_one_go(GstElement* source);

}  // namespace regions

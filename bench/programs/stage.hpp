// Plays a GStreamer pipeline and measures when frames arrive at its sinks. The source element
// (frame_source.cpp) pushes prepared frames as fast as possible or one at a time.
#pragma once

#include <gst/base/gstpushsrc.h>
#include <gst/video/video.h>

#include <string>
#include <vector>

#include "core/frame.hpp"

namespace regions {

// The origin of the frames' memory.
enum class FrameOrigin : uint8_t {
  own_pool,       // pageable system memory, as from most sources
  proposed_pool,  // memory of the pool that the next element proposes
  ready_made      // buffers that were made in advance, for example in CUDA memory
};

struct FrameSupply {
  FrameOrigin origin = FrameOrigin::own_pool;
  GstCaps* caps = nullptr;  // borrowed
  ConstFrame picture;       // picture that is written into buffers from pools
  // [ready_count], borrowed. With FrameOrigin::ready_made, the source sends these buffers in turn.
  GstBuffer* const* ready = nullptr;
  int ready_count = 0;
  int frames = 0;  // number of frames before EOS
  // Whether the picture must be written into each buffer again, because a later element draws on
  // it.
  bool refill = false;
};

// Copies `supply`. Its borrowed members must outlive the source. Returns a floating reference.
GstElement* make_frame_source(const FrameSupply& supply);

// Returns true if the next element proposed a buffer pool. Valid after the first frame.
bool was_offered_pool(GstElement* source);

// These functions push frames one at a time: after hold_frames(), the source waits before each
// frame for a call of push_one_frame(). push_one_frame() returns the monotonic time of the push in
// microseconds, or -1 if no element takes the frame.
void hold_frames(GstElement* source);
int64_t push_one_frame(GstElement* source);

// Owns GstCaps that are parsed from text.
class Caps {
 public:
  explicit Caps(const std::string& text);
  ~Caps();
  Caps(const Caps&) = delete;
  Caps& operator=(const Caps&) = delete;
  GstCaps* get() const { return caps_; }

 private:
  GstCaps* caps_;
};

struct Outcome {
  int frames = 0;                // number of frames that arrived, summed over all streams
  double frames_per_second = 0;  // total rate of all streams, without the first tenth of the frames
  // Median latency of frames that are pushed one at a time, microseconds; -1: a frame did not
  // arrive; 0: not measured.
  double latency_us = 0;
  double work_us = 0;  // device time of all elements per frame (property `stats`), microseconds
  double cpu_us = 0;   // CPU time of all threads per frame, microseconds
  bool offered_pool = false;  // true if the first element of the chain proposed a buffer pool
  std::string device;         // active-device of the chain's first element that has one
};

// Sends frames through `chain`, first at full speed, then one at a time. For
// FrameOrigin::ready_made, frames with `system_caps` are uploaded in advance. Several streams run
// the same chain in one pipeline, at full speed only. Throws DeviceError if the pipeline fails or
// loses frames.
Outcome play(FrameSupply supply, const std::string& chain, const std::string& system_caps,
             int streams = 1);

// Plays pipelines at full speed. Each text describes a pipeline without its sink in gst-launch
// syntax; streams use the texts in turn. By default, GStreamer holds the first frame of each sink
// until all sinks have a frame; `start_sinks_separately` disables this.
Outcome play_descriptions(const std::vector<std::string>& descriptions, int streams = 1,
                          bool start_sinks_separately = false);

}  // namespace regions

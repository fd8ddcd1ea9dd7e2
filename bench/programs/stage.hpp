// Plays a pipeline and measures the frames that arrive at its sinks. Frames come from a GStreamer
// source (frame_source.cpp) that pushes prepared frames, as fast as possible or one at a time.
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

// Pushes frames one at a time: after hold(), each frame waits for a call of push_one_frame(). That
// returns the monotonic time of the push (microseconds), or -1 if no element takes the frame.
void hold_frames(GstElement* source);
int64_t push_one_frame(GstElement* source);

// Owns caps that are made from text.
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
  int frames = 0;                // that arrived, in all streams
  double frames_per_second = 0;  // after the first tenth, in all streams together
  double latency_us = 0;         // median of single frames without a following one; -1: one
                                 // did not arrive; 0: not measured
  double work_us = 0;            // device time of the chain's elements per frame, from `stats`
  double cpu_us = 0;             // CPU time of all threads per frame
  bool offered_pool = false;     // by the first element of the chain
  std::string device;            // active-device of the chain's first element that has one
};

// Sends the supply's frames through `chain`, first at full speed, then one at a time. A ready-made
// supply is uploaded first, from `system_caps`. Several streams run the same chain in one pipeline,
// at full speed only. Throws DeviceError with the pipeline's message if the pipeline fails, or if
// frames are lost.
Outcome play(FrameSupply supply, const std::string& chain, const std::string& system_caps,
             int streams = 1);

// Plays pipelines that are complete except for their sink, at full speed. Streams use the texts in
// turn. By GStreamer's default, each sink holds its first frame until all sinks have one; `apart`
// disables this.
Outcome play_descriptions(const std::vector<std::string>& descriptions, int streams = 1,
                          bool start_sinks_separately = false);

}  // namespace regions

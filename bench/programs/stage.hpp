// Plays one pipeline and watches the frames that arrive at its end.
#pragma once

#include <string>
#include <vector>

#include "bench/programs/frame_source.hpp"

namespace regions {

// Caps with an owner, from their text.
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
  int frames = 0;                // that arrived, of all streams
  double frames_per_second = 0;  // after the first tenth of them, of all streams
  double latency_us = 0;         // median of single frames that nothing follows; -1: one of them
                                 // did not arrive; 0: not measured
  double work_us = 0;            // of the chain's elements for a frame, see their `stats`
  double cpu_us = 0;             // of all threads for a frame, likewise
  bool offered_pool = false;     // by the first element of the chain
  std::string device;            // active-device of the chain's first element that has one
};

// The supply's frames through `chain`, first at full speed, then one at a time. Frames of a supply
// that is ready-made are uploaded first, from `system_caps`. Several streams play the same side by
// side in one pipeline, at full speed only. Throws DeviceError with what the pipeline said if it
// fails, or if frames are lost.
Outcome play(FrameSupply supply, const std::string& chain, const std::string& system_caps,
             int streams = 1);

// Pipelines given whole but for their sink, at full speed; streams take the texts by turns. Sinks
// hold their first frames until all have one, GStreamer's default, unless they are `apart`.
Outcome play_texts(const std::vector<std::string>& texts, int streams = 1, bool apart = false);

}  // namespace regions

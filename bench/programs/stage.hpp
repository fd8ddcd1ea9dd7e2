// Plays a pipeline and measures the frames that arrive at its sinks.
#pragma once

#include <string>
#include <vector>

#include "bench/programs/frame_source.hpp"

namespace regions {

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
Outcome play_texts(const std::vector<std::string>& texts, int streams = 1, bool apart = false);

}  // namespace regions

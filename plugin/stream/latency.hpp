// How long an element keeps a frame for its own sake: until its volume is full, and while it works.
#pragma once

#include <gst/gst.h>

#include <atomic>

namespace regions {

class Latency {
 public:
  // A frame's way through the ring, in µs. What it waits for while others are being pushed is
  // downstream's time, and no part of it.
  struct Stay {
    gint64 filled = 0;  // from a volume's first frame to its last
    gint64 worked = 0;  // from there to the end of the work, with the wait for earlier frames' work
  };

  // For new caps: a frame lasts `frame` (0: unknown), `depth` of them make a volume, and `slots`
  // volumes or frames are under way. begin(), take() and forget() return whether stated() changed.
  bool begin(GstClockTime frame, int depth, int slots);
  bool take(const Stay& stay);
  bool forget();  // the measured times, where other work begins

  // Known from the caps and measured, with a margin, at most as long as all frames under way.
  GstClockTime stated() const;

 private:
  template <class F>
  bool changes(F f);

  // ns; any thread may ask
  std::atomic<GstClockTime> filling_{0}, working_{0};
  std::atomic<GstClockTime> most_{GST_CLOCK_TIME_NONE};
};

}  // namespace regions

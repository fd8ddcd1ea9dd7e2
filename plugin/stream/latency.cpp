// How long an element keeps a frame for its own sake.
#include "plugin/stream/latency.hpp"

#include <algorithm>

namespace regions {

template <class F>
bool Latency::changes(F f) {
  const GstClockTime before = stated();
  f();
  return stated() != before;
}

bool Latency::begin(GstClockTime frame, int depth, int slots) {
  return changes([&] {
    filling_ = frame * static_cast<guint64>(depth - 1);
    most_ = frame > 0 ? frame * static_cast<guint64>(depth) * static_cast<guint64>(slots)
                      : GST_CLOCK_TIME_NONE;
  });
}

bool Latency::take(const Stay& stay) {
  return changes([&] {
    const gint64 filled = filling_ > 0 ? 0 : stay.filled;  // known is better than measured
    const auto took = static_cast<GstClockTime>(filled + stay.worked) * GST_USECOND;
    // A quarter more than seen, so that the report settles after a few frames.
    if (took > working_) working_ = took + took / 4;
  });
}

bool Latency::forget() {
  return changes([&] { working_ = 0; });
}

GstClockTime Latency::stated() const { return std::min(filling_ + working_, most_.load()); }

}  // namespace regions

// One pipeline that lives through random caps, properties, states and seeks, and counts its frames.
#pragma once

#include <gst/gst.h>

#include <cstdint>
#include <mutex>
#include <random>
#include <string>
#include <vector>

namespace regions::soak {

// Counts of events, summed over streams.
struct Tally {
  uint64_t frames_in = 0, frames_out = 0;  // of stretches that ended with EOS; must be equal
  uint64_t frames_flushed = 0;             // entered before a flush and never left
  uint64_t failures = 0;                   // injected faults that ended a stream
  uint64_t lives = 0, ends = 0, seeks = 0, caps = 0, properties = 0, states = 0;
  std::vector<std::string> problems;

  void add(const Tally& other);
};

class Stream {
 public:
  Stream(std::string chain, uint64_t seed);
  Stream(const Stream&) = delete;
  ~Stream();

  // Lives until `deadline` (g_get_monotonic_time), or to the end of the stream.
  void live(int64_t deadline);
  const Tally& tally() const { return tally_; }
  // The device of the first element of the plugin.
  std::string device() const;

 private:
  static GstPadProbeReturn enter(GstPad*, GstPadProbeInfo* info, gpointer self);
  static GstPadProbeReturn leave(GstPad*, GstPadProbeInfo* info, gpointer self);
  void begin_stretch();
  void check_end();
  void problem(const std::string& what);
  void act();
  void change_caps();
  void change_property();
  void change_state();
  void forget_refusals();
  void seek();
  int below(int n) { return std::uniform_int_distribution<int>(0, n - 1)(dice_); }

  std::string chain_;
  uint64_t seed_;
  std::mt19937_64 dice_;
  GstElement* pipeline_ = nullptr;
  GstElement* filter_ = nullptr;
  GstElement* size_ = nullptr;  // capsfilter
  GstBus* bus_ = nullptr;

  std::mutex mutex_;  // guards the members below: probes run on streaming threads
  Tally tally_;
  uint64_t in_ = 0, out_ = 0;  // of this stretch: since the start or the last flush
  uint64_t entered_before_flush_ = 0;
  bool at_end_ = false;  // EOS has left and no new stretch has started
  GstClockTime last_ = GST_CLOCK_TIME_NONE;
};

}  // namespace regions::soak

// A frame that enters leaves, once and in order, unless a flush came between.
#include "tests/soak/stream.hpp"

#include <array>
#include <stdexcept>

#include "tests/plugin/injected_fault.hpp"

namespace regions::soak {
namespace {

struct Change {
  const char* property;
  std::vector<const char*> values;
};

// Properties to change while playing. Elements without a property ignore it.
const std::vector<Change>& changes() {
  static const std::vector<Change> all = {
      {"criterion", {"binary", "equal", "difference"}},
      {"threshold", {"0", "0.3", "0.5", "0.8", "1"}},
      {"tolerance", {"0", "0.1", "1"}},
      {"connectivity", {"4", "8"}},
      {"min-area", {"0", "5", "1000000"}},
      {"max-area", {"0", "50"}},
      {"fill-holes", {"0", "20"}},
      {"style", {"boxes", "boxes+outlines+ids", "fill", "ids"}},
      {"opacity", {"0", "0.4", "1"}},
      {"thickness", {"1", "2", "64"}},
      {"post-messages", {"true", "false"}},
      {"process-scale", {"0.1", "0.5", "1"}},
      {"width", {"0", "1", "50"}},
      {"height", {"0", "33"}},
  };
  return all;
}

const std::array kFormats = {"I420", "NV12", "RGBA", "BGRx", "YUY2", "GRAY8"};
constexpr gint64 kStuck = 60 * G_USEC_PER_SEC;

}  // namespace

void Tally::add(const Tally& other) {
  frames_in += other.frames_in;
  frames_out += other.frames_out;
  frames_flushed += other.frames_flushed;
  failures += other.failures;
  lives += other.lives;
  ends += other.ends;
  seeks += other.seeks;
  caps += other.caps;
  properties += other.properties;
  states += other.states;
  problems.insert(problems.end(), other.problems.begin(), other.problems.end());
}

Stream::Stream(std::string chain, uint64_t seed)
    : chain_(std::move(chain)), seed_(seed), dice_(seed) {
  // Delayed: frames of the caps before, already on their way, are not refused.
  // Not pattern=ball: GStreamer 1.22 draws it past the end of rows narrower than the ball.
  const std::string line = std::string("videotestsrc pattern=") +
                           (below(3) ? "checkers-8" : "snow") +
                           " num-buffers=" + std::to_string(1 + below(120)) +
                           " ! capsfilter name=size caps-change-mode=delayed ! " + chain_ +
                           " ! identity name=last ! fakesink sync=false";
  GError* error = nullptr;
  pipeline_ = gst_parse_launch(line.c_str(), &error);
  if (error) throw std::invalid_argument(error->message);
  size_ = gst_bin_get_by_name(GST_BIN(pipeline_), "size");
  bus_ = gst_element_get_bus(pipeline_);
  const auto watch = [this](const char* element, const char* pad_name, GstPadProbeCallback probe) {
    GstElement* owner = gst_bin_get_by_name(GST_BIN(pipeline_), element);
    GstPad* pad = gst_element_get_static_pad(owner, pad_name);
    gst_pad_add_probe(pad,
                      static_cast<GstPadProbeType>(GST_PAD_PROBE_TYPE_BUFFER |
                                                   GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM |
                                                   GST_PAD_PROBE_TYPE_EVENT_FLUSH),
                      probe, this, nullptr);
    gst_object_unref(pad);
    gst_object_unref(owner);
  };
  watch("size", "src", enter);
  watch("last", "sink", leave);
  tally_.lives = 1;
  change_caps();
}

Stream::~Stream() {
  gst_element_set_state(pipeline_, GST_STATE_NULL);
  gst_object_unref(bus_);
  gst_object_unref(size_);
  gst_object_unref(pipeline_);
}

std::string Stream::device() const {
  std::string found = "none";
  GstIterator* all = gst_bin_iterate_elements(GST_BIN(pipeline_));
  GValue item = G_VALUE_INIT;
  while (gst_iterator_next(all, &item) == GST_ITERATOR_OK) {
    GObject* element = G_OBJECT(g_value_get_object(&item));
    if (g_object_class_find_property(G_OBJECT_GET_CLASS(element), "active-device")) {
      gchar* name = nullptr;
      g_object_get(element, "active-device", &name, nullptr);
      found = name;
      g_free(name);
    }
    g_value_reset(&item);
  }
  g_value_unset(&item);
  gst_iterator_free(all);
  return found;
}

void Stream::problem(const std::string& what) {
  tally_.problems.push_back(what + " (" + chain_ + ", seed " + std::to_string(seed_) + ")");
}

void Stream::begin_stretch() {
  in_ = out_ = 0;
  last_ = GST_CLOCK_TIME_NONE;
  at_end_ = false;
}

void Stream::check_end() {
  tally_.frames_in += in_;
  tally_.frames_out += out_;
  ++tally_.ends;
  if (in_ != out_) {
    problem(std::to_string(in_) + " frames entered, " + std::to_string(out_) + " left");
  }
}

GstPadProbeReturn Stream::enter(GstPad*, GstPadProbeInfo* info, gpointer self) {
  auto& stream = *static_cast<Stream*>(self);
  const std::lock_guard lock(stream.mutex_);
  if (info->type & GST_PAD_PROBE_TYPE_BUFFER) {
    ++stream.in_;
  } else if (GST_EVENT_TYPE(GST_PAD_PROBE_INFO_EVENT(info)) == GST_EVENT_FLUSH_STOP) {
    stream.entered_before_flush_ = stream.in_;
    stream.in_ = 0;
  }
  return GST_PAD_PROBE_OK;
}

GstPadProbeReturn Stream::leave(GstPad*, GstPadProbeInfo* info, gpointer self) {
  auto& stream = *static_cast<Stream*>(self);
  const std::lock_guard lock(stream.mutex_);
  if (info->type & GST_PAD_PROBE_TYPE_BUFFER) {
    const GstClockTime time = GST_BUFFER_PTS(GST_PAD_PROBE_INFO_BUFFER(info));
    if (stream.last_ != GST_CLOCK_TIME_NONE && time <= stream.last_) {
      stream.problem("a frame left twice or out of order");
    }
    stream.last_ = time;
    ++stream.out_;
    return GST_PAD_PROBE_OK;
  }
  const GstEventType type = GST_EVENT_TYPE(GST_PAD_PROBE_INFO_EVENT(info));
  if (type == GST_EVENT_FLUSH_STOP) {
    if (stream.out_ > stream.entered_before_flush_) stream.problem("more frames left than entered");
    stream.tally_.frames_flushed += stream.entered_before_flush_ - stream.out_;
    stream.out_ = 0;
    stream.last_ = GST_CLOCK_TIME_NONE;
    stream.at_end_ = false;
  } else if (type == GST_EVENT_EOS) {
    stream.at_end_ = true;
  }
  return GST_PAD_PROBE_OK;
}

void Stream::change_caps() {
  const std::string text = std::string("video/x-raw,format=") +
                           kFormats[static_cast<size_t>(below(static_cast<int>(kFormats.size())))] +
                           ",width=" + std::to_string(1 + below(400)) +
                           ",height=" + std::to_string(1 + below(300)) + ",framerate=25/1";
  GstCaps* caps = gst_caps_from_string(text.c_str());
  g_object_set(size_, "caps", caps, nullptr);
  gst_caps_unref(caps);
  ++tally_.caps;
}

void Stream::change_property() {
  const Change& change = changes()[static_cast<size_t>(below(static_cast<int>(changes().size())))];
  const char* value =
      change.values[static_cast<size_t>(below(static_cast<int>(change.values.size())))];
  GstIterator* all = gst_bin_iterate_elements(GST_BIN(pipeline_));
  GValue item = G_VALUE_INIT;
  while (gst_iterator_next(all, &item) == GST_ITERATOR_OK) {
    GObject* element = G_OBJECT(g_value_get_object(&item));
    GObjectClass* klass = G_OBJECT_GET_CLASS(element);
    if (g_object_class_find_property(klass, "active-device") &&
        g_object_class_find_property(klass, change.property)) {
      gst_util_set_object_arg(element, change.property, value);
    }
    g_value_reset(&item);
  }
  g_value_unset(&item);
  gst_iterator_free(all);
  ++tally_.properties;
}

void Stream::change_state() {
  constexpr std::array kStates = {GST_STATE_PAUSED, GST_STATE_PAUSED, GST_STATE_READY};
  const GstState state = kStates[static_cast<size_t>(below(3))];
  gst_element_set_state(pipeline_, state);
  if (state == GST_STATE_READY) {  // frames under way are dropped
    const std::lock_guard lock(mutex_);
    begin_stretch();
    forget_refusals();
  }
  gst_element_set_state(pipeline_, GST_STATE_PLAYING);
  ++tally_.states;
}

// The sink refuses frames that arrive after it has stopped. The source, or an element of the plugin
// at the end of the stream, reports this as an error of the elements between them. Such errors
// contain the flow return.
void Stream::forget_refusals() {
  std::vector<GstMessage*> kept;
  while (GstMessage* message = gst_bus_pop_filtered(bus_, GST_MESSAGE_ERROR)) {
    const GstStructure* details = nullptr;
    gst_message_parse_error_details(message, &details);
    if (details && gst_structure_has_field(details, "flow-return")) {
      gst_message_unref(message);
    } else {
      kept.push_back(message);
    }
  }
  for (GstMessage* message : kept) gst_bus_post(bus_, message);
}

void Stream::seek() {
  // A refusal before the first frame is not a fault.
  if (gst_element_seek_simple(pipeline_, GST_FORMAT_TIME, GST_SEEK_FLAG_FLUSH,
                              static_cast<gint64>(below(4)) * GST_SECOND)) {
    ++tally_.seeks;
  }
}

void Stream::act() {
  switch (below(8)) {
    case 0:
      return seek();
    case 1:
      return change_state();
    case 2:
    case 3:
      return change_caps();
    default:
      return change_property();
  }
}

void Stream::live(int64_t deadline) {
  gst_element_set_state(pipeline_, GST_STATE_PLAYING);
  gint64 moved = g_get_monotonic_time();
  uint64_t seen = 0;
  bool ended = false;
  while (!ended && g_get_monotonic_time() < deadline) {
    GstMessage* message = gst_bus_timed_pop_filtered(
        bus_, static_cast<GstClockTime>(1 + below(40)) * GST_MSECOND,
        static_cast<GstMessageType>(GST_MESSAGE_EOS | GST_MESSAGE_ERROR));
    if (!message) {
      act();
      const std::lock_guard lock(mutex_);
      const gint64 now = g_get_monotonic_time();
      if (in_ + out_ != seen) moved = now;
      seen = in_ + out_;
      if (now - moved > kStuck) {
        problem("no frame moved for a minute");
        return;
      }
      continue;
    }
    const std::lock_guard lock(mutex_);
    if (GST_MESSAGE_TYPE(message) == GST_MESSAGE_EOS) {
      // A flush or a new start may have overtaken the message: then the stream goes on.
      ended = at_end_;
      if (ended) check_end();
    } else {
      ended = true;
      GError* error = nullptr;
      gchar* detail = nullptr;
      gst_message_parse_error(message, &error, &detail);
      if (is_injected_fault(*error) && g_getenv("REGIONS_FAULTS")) {
        ++tally_.failures;
      } else {
        problem(std::string("error: ") + error->message + ": " + (detail ? detail : ""));
      }
      g_error_free(error);
      g_free(detail);
    }
    gst_message_unref(message);
  }
}

}  // namespace regions::soak

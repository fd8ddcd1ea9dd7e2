// Runs one element, or a short chain, between two pads of the test. Frames are vectors of bytes.
#pragma once

#include <gst/check/gstharness.h>
#include <gst/video/video.h>
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace regions::test {

inline void start_gstreamer() {
  static const bool started = (gst_init(nullptr, nullptr), true);
  (void)started;
}

struct Unref {
  void operator()(GstBuffer* b) const { gst_buffer_unref(b); }
  void operator()(GstMessage* m) const { gst_message_unref(m); }
  void operator()(GstCaps* c) const { gst_caps_unref(c); }
  void operator()(GstQuery* q) const { gst_query_unref(q); }
};
using BufferPtr = std::unique_ptr<GstBuffer, Unref>;
using MessagePtr = std::unique_ptr<GstMessage, Unref>;
using CapsPtr = std::unique_ptr<GstCaps, Unref>;
using QueryPtr = std::unique_ptr<GstQuery, Unref>;

// Copies a text that GLib allocated, and frees it.
inline std::string taken(gchar* text) {
  const std::string copy = text;
  g_free(text);
  return copy;
}

// For EXPECT_PRED2, which prints both texts.
inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// The timestamp of frame `index`: frames are 40 ms apart.
constexpr GstClockTime time_of(int index) {
  return static_cast<GstClockTime>(index) * 40 * GST_MSECOND;
}

class Harness {
 public:
  // `line` as in gst-launch: "cclabel output=labels".
  explicit Harness(const std::string& line) : Harness(line, {}) {}
  Harness(const std::string& line, const std::string& sink_caps) {
    start_gstreamer();
    harness_ = gst_harness_new_empty();
    bus_ = gst_bus_new();
    bin_ = gst_parse_bin_from_description(line.c_str(), TRUE, nullptr);
    EXPECT_TRUE(bin_) << line;
    gst_object_ref_sink(bin_);
    const std::string name = line.substr(0, line.find(' '));
    for (const GList* l = GST_BIN_CHILDREN(bin_); l && !element_; l = l->next) {
      auto* child = GST_ELEMENT(l->data);
      if (name == GST_OBJECT_NAME(gst_element_get_factory(child))) element_ = child;
    }
    gst_element_set_bus(bin_, bus_);
    // GstHarness accepts only elements that start.
    starts_ = gst_element_set_state(bin_, GST_STATE_PAUSED) != GST_STATE_CHANGE_FAILURE;
    if (!starts_) return;
    static GstStaticPadTemplate source =
        GST_STATIC_PAD_TEMPLATE("src", GST_PAD_SRC, GST_PAD_ALWAYS, GST_STATIC_CAPS_ANY);
    static GstStaticPadTemplate sink =
        GST_STATIC_PAD_TEMPLATE("sink", GST_PAD_SINK, GST_PAD_ALWAYS, GST_STATIC_CAPS_ANY);
    gst_harness_add_element_full(harness_, bin_, &source, "sink", &sink, "src");
    if (!sink_caps.empty()) gst_harness_set_sink_caps_str(harness_, sink_caps.c_str());
  }
  Harness(const Harness&) = delete;
  ~Harness() {
    gst_element_set_bus(bin_, nullptr);
    if (!starts_) gst_element_set_state(bin_, GST_STATE_NULL);
    gst_harness_teardown(harness_);
    gst_object_unref(bin_);
    gst_object_unref(bus_);
  }

  GstHarness* get() const { return harness_; }
  GstElement* element() const { return element_; }  // the first element of the line
  // If the element does not start, pushes fail, and the bus has an error.
  bool starts() const { return starts_; }

  void caps(const std::string& text) {
    if (starts_) gst_harness_set_src_caps_str(harness_, text.c_str());
  }
  void video(const std::string& format, int width, int height, const std::string& more = "") {
    caps("video/x-raw,format=" + format + ",width=" + std::to_string(width) +
         ",height=" + std::to_string(height) + ",framerate=25/1" + more);
  }
  GstFlowReturn push(std::vector<uint8_t> bytes, int index = 0) {
    if (!starts_) return GST_FLOW_ERROR;
    return gst_harness_push(harness_, buffer(std::move(bytes), index));
  }
  static GstBuffer* buffer(std::vector<uint8_t> bytes, int index = 0) {
    GstBuffer* b = gst_buffer_new_allocate(nullptr, bytes.size(), nullptr);
    gst_buffer_fill(b, 0, bytes.data(), bytes.size());
    GST_BUFFER_PTS(b) = time_of(index);
    GST_BUFFER_DURATION(b) = time_of(1);
    return b;
  }
  // The next output frame; null after a minute without a frame.
  BufferPtr pull() { return BufferPtr(gst_harness_pull(harness_)); }
  guint waiting() const { return gst_harness_buffers_in_queue(harness_); }
  void segment(const GstSegment& segment) {
    gst_harness_push_event(harness_, gst_event_new_segment(&segment));
  }
  // Flushes the element, and begins a new segment.
  void flush() {
    gst_harness_push_event(harness_, gst_event_new_flush_start());
    gst_harness_push_event(harness_, gst_event_new_flush_stop(TRUE));
    GstSegment time;
    gst_segment_init(&time, GST_FORMAT_TIME);
    segment(time);
  }
  // The current output caps of the element.
  std::string caps_out() const {
    GstPad* pad = gst_element_get_static_pad(element_, "src");
    const CapsPtr caps(gst_pad_get_current_caps(pad));
    gst_object_unref(pad);
    return taken(gst_caps_to_string(caps.get()));
  }
  // A property's value, as typed on a command line.
  std::string property(const char* name) const {
    GValue value = G_VALUE_INIT;
    g_object_get_property(G_OBJECT(element_), name, &value);
    const std::string text = taken(gst_value_serialize(&value));
    g_value_unset(&value);
    return text;
  }
  void set(const char* property, const char* text) const {
    gst_util_set_object_arg(G_OBJECT(element_), property, text);
  }
  void eos() {
    if (starts_) gst_harness_push_event(harness_, gst_event_new_eos());
  }

  // The answer to an allocation query from upstream, for the current input caps.
  QueryPtr allocation() const {
    const CapsPtr caps(gst_pad_get_current_caps(harness_->srcpad));
    QueryPtr query(gst_query_new_allocation(caps.get(), TRUE));
    EXPECT_TRUE(gst_pad_peer_query(harness_->srcpad, query.get()));
    return query;
  }
  // Downstream answers allocation queries by `answer` from now on.
  void answer_allocation(const std::function<void(GstQuery*)>& answer) const {
    answer_allocation(harness_->sinkpad, answer);
  }
  static void answer_allocation(GstPad* pad, const std::function<void(GstQuery*)>& answer) {
    using Answer = std::function<void(GstQuery*)>;
    gst_pad_add_probe(
        pad, GST_PAD_PROBE_TYPE_QUERY_DOWNSTREAM,
        [](GstPad*, GstPadProbeInfo* info, gpointer data) {
          GstQuery* query = GST_PAD_PROBE_INFO_QUERY(info);
          if (GST_QUERY_TYPE(query) != GST_QUERY_ALLOCATION) return GST_PAD_PROBE_OK;
          (*static_cast<const Answer*>(data))(query);
          return GST_PAD_PROBE_HANDLED;
        },
        new Answer(answer), [](gpointer data) { delete static_cast<Answer*>(data); });
  }

  // The next message of the type, waiting up to ten seconds; null if none came.
  MessagePtr message(GstMessageType type) {
    return MessagePtr(gst_bus_timed_pop_filtered(bus_, 10 * GST_SECOND, type));
  }
  std::string error_text() {
    const MessagePtr m = message(GST_MESSAGE_ERROR);
    if (!m) return "";
    GError* error = nullptr;
    gst_message_parse_error(m.get(), &error, nullptr);
    const std::string text = error->message;
    g_error_free(error);
    return text;
  }
  MessagePtr message_so_far(GstMessageType type) {
    return MessagePtr(gst_bus_pop_filtered(bus_, type));
  }
  MessagePtr error_so_far() { return message_so_far(GST_MESSAGE_ERROR); }
  bool has_error() { return error_so_far() != nullptr; }
  bool has_warning() { return message_so_far(GST_MESSAGE_WARNING) != nullptr; }

 private:
  GstHarness* harness_ = nullptr;
  GstElement* bin_ = nullptr;
  bool starts_ = false;
  GstElement* element_ = nullptr;
  GstBus* bus_ = nullptr;
};

// A pipeline as in gst-launch.
class Pipeline {
 public:
  explicit Pipeline(const std::string& line) {
    start_gstreamer();
    GError* error = nullptr;
    pipeline_ = gst_parse_launch(line.c_str(), &error);
    EXPECT_TRUE(pipeline_ && !error) << (error ? error->message : line);
    g_clear_error(&error);
  }
  Pipeline(const Pipeline&) = delete;
  ~Pipeline() {
    gst_element_set_state(pipeline_, GST_STATE_NULL);
    gst_object_unref(pipeline_);
  }
  GstElement* get() const { return pipeline_; }

  // Plays to the end of the stream; false after an error or a minute without end.
  bool plays() const {
    gst_element_set_state(pipeline_, GST_STATE_PLAYING);
    GstBus* bus = gst_element_get_bus(pipeline_);
    const MessagePtr end(gst_bus_timed_pop_filtered(
        bus, 60 * GST_SECOND, static_cast<GstMessageType>(GST_MESSAGE_EOS | GST_MESSAGE_ERROR)));
    gst_object_unref(bus);
    return end && GST_MESSAGE_TYPE(end.get()) == GST_MESSAGE_EOS;
  }

 private:
  GstElement* pipeline_ = nullptr;
};

inline bool have_element(const std::string& name) {
  start_gstreamer();
  GstElementFactory* factory = gst_element_factory_find(name.c_str());
  if (factory) gst_object_unref(factory);
  return factory != nullptr;
}

// "cuda:1 NAME" or "cpu: NAME".
inline std::string device_of(GstElement* element) {
  gchar* text = nullptr;
  g_object_get(element, "active-device", &text, nullptr);
  return text ? taken(text) : "";
}

// Whether elements run on a CUDA device on this machine.
inline bool have_cuda() {
  start_gstreamer();
  GstElement* probe = gst_element_factory_make("cclabel", nullptr);
  gst_element_set_state(probe, GST_STATE_READY);
  const bool cuda = device_of(probe).starts_with("cuda");
  gst_element_set_state(probe, GST_STATE_NULL);
  gst_object_unref(probe);
  return cuda;
}
#define SKIP_WITHOUT_CUDA() \
  if (!have_cuda()) GTEST_SKIP() << "no CUDA device here"

inline std::vector<uint8_t> bytes_of(GstBuffer* buffer) {
  GstMapInfo map;
  EXPECT_TRUE(gst_buffer_map(buffer, &map, GST_MAP_READ));
  std::vector<uint8_t> bytes(map.data, map.data + map.size);
  gst_buffer_unmap(buffer, &map);
  return bytes;
}

// The structure of a frame's region metadata; null if the frame has none.
inline const GstStructure* regions_of(GstBuffer* buffer) {
  GstCustomMeta* meta = gst_buffer_get_custom_meta(buffer, "regions");
  return meta ? gst_custom_meta_get_structure(meta) : nullptr;
}
// Attaches region metadata without any field.
inline GstStructure* add_regions(GstBuffer* buffer) {
  return gst_custom_meta_get_structure(gst_buffer_add_custom_meta(buffer, "regions"));
}
inline const GstStructure* region_of(const GstStructure* regions, guint i) {
  return gst_value_get_structure(
      gst_value_array_get_value(gst_structure_get_value(regions, "regions"), i));
}
// A field as text.
inline std::string field_of(const GstStructure* s, const char* name) {
  return taken(gst_value_serialize(gst_structure_get_value(s, name)));
}
// Field `name` of region `i`, as text.
inline std::string region_field(const GstStructure* regions, guint i, const char* name) {
  return field_of(region_of(regions, i), name);
}
// The number of region structures.
inline guint region_count(const GstStructure* regions) {
  const GValue* array = gst_structure_get_value(regions, "regions");
  return array ? gst_value_array_get_size(array) : 0;
}
// The label map or mask in the metadata, which keeps the reference.
inline GstBuffer* labels_of(GstBuffer* frame) {
  return gst_value_get_buffer(gst_structure_get_value(regions_of(frame), "labels"));
}

}  // namespace regions::test

// Fuzz target: our elements between two pads, which send and ask anything in any order.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>

#include "plugin/stream/element_settings.hpp"
#include "tests/algorithms.hpp"
#include "tests/fuzz/stage.hpp"

namespace regions::fuzz {
namespace {

// Where properties that name files point: removed with it.
class Folder {
 public:
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "regions-fuzz-XXXXXX").string();
    require(mkdtemp(name.data()) != nullptr, "no folder");
    path_ = name;
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  std::string file(const char* name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

std::string file_in(Input& in, const Folder& folder) {
  constexpr const char* kNames[] = {"model", "other-model", "picture"};
  if (in.one_in(8)) return "";
  const std::string path = folder.file(kNames[in.below(3)]);
  if (in.one_in(4)) {
    std::ofstream(path, std::ios::binary) << (in.one_in(2) ? "P5 8 8 255\n" : "") << in.text(90);
  }
  return path;
}

class Session {
 public:
  explicit Session(Input& in) {
    for (int n = in.one_in(6) ? 2 : 1; n > 0; --n) {
      kinds_.push_back(&in.one_of(kAlgorithms));
      stage_.add(kinds_.back()->name);
    }
    for (int n = in.below(8); n > 0; --n) set(in);
    stage_.connect(in);
    stage_.to_state(in.one_in(8) ? GST_STATE_PAUSED : GST_STATE_PLAYING);
    stage_.send(gst_event_new_stream_start("fuzz"));
    send_caps(in);
    GstSegment segment;
    gst_segment_init(&segment, GST_FORMAT_TIME);
    stage_.send(gst_event_new_segment(&segment));
  }

  void step(Input& in) {
    switch (in.below(16)) {
      case 0:
      case 1:
        return set(in);
      case 2:
        return send_caps(in);
      case 3:
        return send_event(in);
      case 4:
        return send_upstream(in);
      case 5:
        return ask(in);
      case 6:
        return change_stage(in);
      default:
        return push(in);
    }
  }

 private:
  void set(Input& in) {
    const size_t at = static_cast<size_t>(in.below(static_cast<int>(kinds_.size())));
    const Field& field = in.one_of(in.one_in(4) ? fields_of(FilterSettings{}) : kinds_[at]->fields);
    const std::string name = field.name;
    const bool is_of_machine =
        name == "device" || name == "cuda-device-id" || name == "cpu-threads";
    if (is_of_machine) return;
    const std::string text =
        field.kind == Kind::text ? file_in(in, folder()) : value_text(field, in);
    gst_util_set_object_arg(G_OBJECT(stage_.element(at)), field.name, text.c_str());
    gchar* now = nullptr;
    GValue value = G_VALUE_INIT;
    g_object_get_property(G_OBJECT(stage_.element(at)), field.name, &value);
    now = gst_value_serialize(&value);
    g_free(now);
    g_value_unset(&value);
  }
  const Folder& folder() {
    if (!folder_) folder_.emplace();
    return *folder_;
  }
  void send_caps(Input& in) {
    GstCaps* caps = caps_in(in, info_);
    stage_.send(gst_event_new_caps(caps));
    gst_caps_unref(caps);
  }
  void push(Input& in) {
    GstBuffer* frame = frame_in(in, info_);
    const int jump = in.one_in(16) ? in.integer() : 1;
    time_ += static_cast<GstClockTime>(jump) * 40 * GST_MSECOND;
    GST_BUFFER_PTS(frame) = in.one_in(24) ? GST_CLOCK_TIME_NONE : time_;
    GST_BUFFER_DURATION(frame) = in.one_in(24) ? in.word(8) : 40 * GST_MSECOND;
    if (in.one_in(12)) {
      GstBuffer* copy = gst_buffer_copy(frame);
      gst_buffer_foreach_meta(
          copy,
          [](GstBuffer*, GstMeta** meta, gpointer) -> gboolean {
            if (gst_meta_info_is_custom((*meta)->info)) *meta = nullptr;
            return TRUE;
          },
          nullptr);
      carry_metadata(frame, copy, info_, in);
      gst_buffer_unref(frame);
      frame = copy;
    }
    stage_.push(frame, in.one_in(12));
  }
  void send_event(Input& in) {
    switch (in.below(8)) {
      case 0:
        stage_.send(gst_event_new_flush_start());
        if (in.one_in(8)) return;
        return stage_.send(gst_event_new_flush_stop(in.one_in(2)));
      case 1:
        return stage_.send(gst_event_new_gap(time_, in.one_in(2) ? 40 * GST_MSECOND : in.word(8)));
      case 2:
        return stage_.send(gst_event_new_eos());
      case 3:
        return stage_.send(gst_event_new_stream_start(in.one_in(2) ? "fuzz" : "other"));
      case 4:
        return stage_.send(gst_event_new_tag(gst_tag_list_new_empty()));
      case 5:
        return stage_.send(gst_event_new_custom(
            in.one_in(2) ? GST_EVENT_CUSTOM_DOWNSTREAM : GST_EVENT_CUSTOM_DOWNSTREAM_OOB,
            gst_structure_new_empty("GstForceKeyUnit")));
      case 6:
        return stage_.send(gst_event_new_segment_done(GST_FORMAT_TIME, in.integer()));
      default:
        return send_segment(in);
    }
  }
  void send_segment(Input& in) {
    GstSegment segment;
    gst_segment_init(&segment, in.one_in(4) ? GST_FORMAT_BYTES : GST_FORMAT_TIME);
    if (in.one_in(4)) segment.rate = in.one_in(2) ? -1 : 0.5;
    if (in.one_in(2)) segment.start = in.word(5);
    if (in.one_in(4) || segment.rate < 0) segment.stop = segment.start + in.word(5);
    if (in.one_in(4)) segment.base = in.word(8);
    if (in.one_in(4)) segment.time = in.word(8);
    stage_.send(gst_event_new_segment(&segment));
  }
  void send_upstream(Input& in) {
    const auto place = [&] { return in.one_in(8) ? double(in.integer()) : in.fraction() * 64; };
    switch (in.below(5)) {
      case 0: {
        const GstClockTimeDiff late = in.one_in(2) ? 0 : in.integer();
        const GstClockTime at = std::max<GstClockTime>(time_ % (GST_SECOND << 20), 1 << 31);
        return stage_.send_upstream(
            gst_event_new_qos(GST_QOS_TYPE_UNDERFLOW, in.fraction() * 4, late, at));
      }
      case 1:
        return stage_.send_upstream(gst_event_new_reconfigure());
      case 2:
        return stage_.send_upstream(gst_event_new_latency(in.word(7)));
      case 3: {
        const double x = place(), y = place();
        return stage_.send_upstream(gst_navigation_event_new_mouse_button_press(
            in.below(5), x, y, GST_NAVIGATION_MODIFIER_NONE));
      }
      default: {
        const double x = place(), y = place();
        return stage_.send_upstream(gst_navigation_event_new_touch_down(
            in.word(2), x, y, in.fraction(), GST_NAVIGATION_MODIFIER_NONE));
      }
    }
  }
  void ask(Input& in) {
    GstCaps* caps = in.one_in(2) ? caps_in(in, asked_) : nullptr;
    switch (in.below(6)) {
      case 0:
        stage_.ask(gst_query_new_latency());
        break;
      case 1:
        stage_.ask(gst_query_new_caps(caps));
        break;
      case 2:
        if (caps) stage_.ask(gst_query_new_accept_caps(caps));
        break;
      case 3:
        stage_.ask(gst_query_new_allocation(caps, in.one_in(2)));
        break;
      case 4:
        stage_.ask(gst_query_new_drain());
        break;
      default: {
        GstStructure* stats = nullptr;
        gchar* device = nullptr;
        g_object_get(stage_.element(0), "stats", &stats, "active-device", &device, nullptr);
        gst_structure_free(stats);
        g_free(device);
      }
    }
    gst_caps_replace(&caps, nullptr);
  }
  void change_stage(Input& in) {
    if (in.one_in(2)) return stage_.change_downstream(in);
    constexpr GstState kStates[] = {GST_STATE_NULL, GST_STATE_READY, GST_STATE_PAUSED,
                                    GST_STATE_PLAYING};
    stage_.to_state(kStates[in.below(4)]);
    if (!in.one_in(4)) stage_.to_state(GST_STATE_PLAYING);
  }

  std::optional<Folder> folder_;  // outlives the elements
  Stage stage_;
  std::vector<const KnownAlgorithm*> kinds_;
  GstVideoInfo info_ = {}, asked_ = {};
  GstClockTime time_ = 0;
};

}  // namespace
}  // namespace regions::fuzz

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  regions::fuzz::start_gstreamer(false);
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  regions::fuzz::Input in(data, size);
  regions::fuzz::Session session(in);
  for (int steps = 0; steps < 24 && !in.empty(); ++steps) session.step(in);
  return 0;
}

// The element regionevents: evaluates rules of zones and lines for the objects of each frame. It
// reads and writes only metadata, so it works with any caps and memory, and never copies a picture.
#include "plugin/elements/regionevents.hpp"

#include <gst/base/gstbasetransform.h>

#include <algorithm>
#include <mutex>
#include <optional>

#include "core/error.hpp"
#include "plugin/element/field_properties.hpp"
#include "plugin/events/event_structures.hpp"
#include "plugin/events/frame_reader.hpp"
#include "plugin/events/shape_marks.hpp"
#include "plugin/files/property_files.hpp"
#include "plugin/metadata/standard_metas.hpp"

namespace regions {
namespace {

// Returns the rules that the property describes: JSON, or the path of a file.
events::Rules load_rules(const std::string& text) {
  const size_t start = text.find_first_not_of(" \t\r\n");
  if (start == text.npos) return {};
  if (text[start] == '{' || text[start] == '[') return events::parse_rules(text);
  // One more byte than the limit, so that a file that is too long is refused.
  const auto file = read_file(text, events::kMaxRuleBytes + 1);
  if (!file) throw MissingFile("the file of rules '" + text + "' does not exist");
  try {
    return events::parse_rules({reinterpret_cast<const char*>(file->data()), file->size()});
  } catch (const InputError& error) {
    throw InputError("'" + text + "': " + error.what());
  }
}

// The wall-clock time of a frame in ns since 1970, if its source attached it.
std::optional<uint64_t> wall_clock_time(GstBuffer* buffer) {
  constexpr uint64_t kFrom1900To1970 = 2208988800ULL * GST_SECOND;
  gpointer state = nullptr;
  while (GstMeta* meta = gst_buffer_iterate_meta_filtered(buffer, &state,
                                                          GST_REFERENCE_TIMESTAMP_META_API_TYPE)) {
    const auto* reference = reinterpret_cast<GstReferenceTimestampMeta*>(meta);
    const GstStructure* kind = gst_caps_get_structure(reference->reference, 0);
    if (gst_structure_has_name(kind, "timestamp/x-unix")) return reference->timestamp;
    if (gst_structure_has_name(kind, "timestamp/x-ntp") && reference->timestamp >= kFrom1900To1970)
      return reference->timestamp - kFrom1900To1970;
  }
  return {};
}

class EventsElement {
 public:
  explicit EventsElement(GstBaseTransform* element) : element_(element) {}

  // ---- any thread

  void set(const Field& field, const Value& value) {
    const std::lock_guard lock(mutex_);
    RegionEventsParams changed = params_;
    assign(field, &changed, value);
    // A stream that has not started reads the rules when it starts, and reports errors then.
    if (is_running_ && changed.rules != params_.rules) new_rules_ = load_rules(changed.rules);
    params_ = changed;
  }
  Value get(const Field& field) const {
    const std::lock_guard lock(mutex_);
    return field.get(&params_);
  }
  void start() {
    const std::lock_guard lock(mutex_);
    new_rules_ = load_rules(params_.rules);
    is_running_ = true;
  }
  void stop() {
    const std::lock_guard lock(mutex_);
    is_running_ = false;
    stream_ = {};
  }

  // ---- streaming thread

  // Whether frames get metadata, so that their buffers must be writable.
  bool has_rules() {
    take_new_rules();
    return stream_.has_rules;
  }
  void begin_stream() {
    stream_.reader.begin_stream();
    begin_scene();
  }
  void begin_scene() {
    stream_.detector.begin_scene();
    stream_.last_time = 0;
    stream_.caption = {};
  }
  void set_caps(const GstCaps* caps) {
    const GstStructure* structure = gst_caps_get_structure(caps, 0);
    Size size;
    gst_structure_get_int(structure, "width", &size.width);
    gst_structure_get_int(structure, "height", &size.height);
    stream_.video_size = size.width > 0 && size.height > 0 ? size : Size{};
  }

  void process(GstBuffer* buffer) {
    take_new_rules();
    if (!stream_.has_rules || GST_BUFFER_FLAG_IS_SET(buffer, GST_BUFFER_FLAG_GAP)) return;
    try {
      evaluate(buffer);
    } catch (const InputError& error) {
      warn_once(error.what());
    }
  }

 private:
  // The state of a stream, used only by the streaming thread, and by stop().
  struct Stream {
    events::Rules rules;  // in the units of the JSON text
    bool has_rules = false;
    bool is_adapted = false;  // the detector has the rules in pixels of `size`
    Size size;                // picture size that the rules were adapted to, or do not fit
    Size video_size;
    events::FrameReader reader;
    events::EventDetector detector;
    events::Shapes shapes;  // of the detector's rules
    CaptionMark caption;    // of the last event, until caption_end
    int64_t caption_end = 0;
    GstClockTime last_time = 0;
    std::string last_warning;
  };
  // The values of the properties, without the rules.
  RegionEventsParams params() const {
    const std::lock_guard lock(mutex_);
    return {{}, params_.post_messages, params_.attach_shapes, params_.attach_classes};
  }

  void take_new_rules() {
    const std::lock_guard lock(mutex_);
    if (!new_rules_) return;
    stream_.rules = std::move(*new_rules_);
    new_rules_.reset();
    stream_.has_rules = !stream_.rules.zones.empty() || !stream_.rules.lines.empty();
    stream_.size = {};
    stream_.last_warning.clear();
  }

  // Adapts the rules to the picture size of the frame, if it changed. Rules that do not fit are not
  // evaluated until the size or the rules change.
  bool adapt_rules() {
    const Size size = stream_.reader.size();
    if (stream_.size == size) return stream_.is_adapted;
    stream_.size = size;
    stream_.is_adapted = false;
    stream_.reader.forget_rules();
    stream_.detector.set_rules(events::rules_for(stream_.rules, size));
    stream_.shapes = events::shapes_of(stream_.detector.rules());
    stream_.is_adapted = true;
    return true;
  }

  void evaluate(GstBuffer* buffer) {
    if (!stream_.reader.read(buffer, stream_.video_size)) return;
    if (!adapt_rules()) return;
    const events::Rules& rules = stream_.detector.rules();
    const std::string reason = stream_.reader.count_pixels(rules);
    if (!reason.empty()) warn_once(reason);
    stream_.detector.update(stream_.reader.frame_at(time_of(buffer)));
    const auto utc = wall_clock_time(buffer);
    std::vector<StructurePtr> structures;
    for (const events::Event& event : stream_.detector.events())
      structures.push_back(events::structure_of(event, rules, utc));
    const RegionEventsParams params = this->params();
    for (const StructurePtr& structure : structures) {
      if (!params.post_messages) break;
      gst_element_post_message(
          GST_ELEMENT(element_),
          gst_message_new_element(GST_OBJECT(element_), gst_structure_copy(structure.get())));
    }
    GstStructure* metadata = stream_.reader.metadata();
    if (!metadata) metadata = events::attach_empty_metadata(buffer, stream_.reader.size());
    events::add_events(metadata, stream_.detector, std::move(structures));
    if (params.attach_classes) attach_zones(buffer);
    if (!params.attach_shapes) return;
    update_caption();
    events::add_marks(metadata, stream_.shapes, stream_.detector, stream_.caption);
  }

  // Classifies the objects in zones.
  void attach_zones(GstBuffer* buffer) {
    const std::span<const events::Object> objects = stream_.reader.frame_at(0).objects;
    std::vector<ObjectClass> classes;
    for (const events::Presence& visit : stream_.detector.presences()) {
      const auto object = std::ranges::find(objects, visit.object, &events::Object::id);
      if (object == objects.end()) continue;
      const events::Box& box = object->box;
      classes.push_back({static_cast<int>(box.left), static_cast<int>(box.top),
                         static_cast<int>(box.right - box.left),
                         static_cast<int>(box.bottom - box.top),
                         stream_.detector.rules().zones[visit.zone].id.c_str()});
    }
    attach_classes(buffer, classes);
  }

  // The last event is shown for some seconds.
  void update_caption() {
    constexpr int64_t kShown = 5 * static_cast<int64_t>(GST_SECOND);
    const auto now = static_cast<int64_t>(stream_.last_time);
    const auto events = stream_.detector.events();
    if (!events.empty()) {
      stream_.caption = events::caption_of(events.back(), stream_.detector.rules());
      stream_.caption_end = now + kShown;
    } else if (now >= stream_.caption_end || now < stream_.caption_end - kShown) {
      stream_.caption = {};
    }
  }

  // The stream time of a frame. A frame without a timestamp has the time of the previous frame.
  int64_t time_of(GstBuffer* buffer) {
    const GstSegment& segment = element_->segment;
    GstClockTime time = GST_CLOCK_TIME_NONE;
    if (GST_BUFFER_PTS_IS_VALID(buffer) && segment.format == GST_FORMAT_TIME)
      time = gst_segment_to_stream_time(&segment, GST_FORMAT_TIME, GST_BUFFER_PTS(buffer));
    if (!GST_CLOCK_TIME_IS_VALID(time) && GST_BUFFER_PTS_IS_VALID(buffer))
      time = GST_BUFFER_PTS(buffer);
    if (!GST_CLOCK_TIME_IS_VALID(time)) {
      warn_once("a frame has no timestamp, so times of events are wrong");
      time = stream_.last_time;
    }
    stream_.last_time = time;
    return static_cast<int64_t>(std::min<GstClockTime>(time, G_MAXINT64));
  }

  // Posts a warning, unless the previous warning was the same.
  void warn_once(const std::string& text) {
    if (stream_.last_warning == text) return;
    stream_.last_warning = text;
    GST_ELEMENT_WARNING(element_, STREAM, FAILED, ("%s", text.c_str()), (nullptr));
  }

  GstBaseTransform* element_;
  mutable std::mutex mutex_;  // guards params_, new_rules_ and is_running_
  RegionEventsParams params_;
  std::optional<events::Rules> new_rules_;  // for the next frame
  bool is_running_ = false;
  Stream stream_;
};

// ---- GObject

struct RegionEvents {
  GstBaseTransform parent;
  EventsElement* element;
};
using RegionEventsClass = GstBaseTransformClass;
G_DEFINE_TYPE(RegionEvents, gst_region_events, GST_TYPE_BASE_TRANSFORM)

EventsElement& element_of(gpointer object) { return *static_cast<RegionEvents*>(object)->element; }

const Field& field_of(guint id) { return fields_of(RegionEventsParams{})[id - 1]; }

void set_property(GObject* object, guint id, const GValue* value, GParamSpec*) {
  const Field& field = field_of(id);
  try {
    element_of(object).set(field, from_gvalue(field, value));
  } catch (const std::exception& error) {
    GST_ELEMENT_WARNING(object, LIBRARY, SETTINGS,
                        ("%s kept as it was: %s", field.name, error.what()), (nullptr));
  }
}

void get_property(GObject* object, guint id, GValue* value, GParamSpec*) {
  to_gvalue(field_of(id), element_of(object).get(field_of(id)), value);
}

gboolean start(GstBaseTransform* base) {
  try {
    element_of(base).start();
    return TRUE;
  } catch (const MissingFile& error) {
    GST_ELEMENT_ERROR(base, RESOURCE, NOT_FOUND, ("%s", error.what()), (nullptr));
  } catch (const UnreadableFile& error) {
    GST_ELEMENT_ERROR(base, RESOURCE, READ, ("%s", error.what()), (nullptr));
  } catch (const std::exception& error) {
    GST_ELEMENT_ERROR(base, LIBRARY, SETTINGS, ("%s", error.what()), (nullptr));
  }
  return FALSE;
}

gboolean stop(GstBaseTransform* base) {
  element_of(base).stop();
  return TRUE;
}

gboolean sink_event(GstBaseTransform* base, GstEvent* event) {
  if (GST_EVENT_TYPE(event) == GST_EVENT_STREAM_START) element_of(base).begin_stream();
  if (GST_EVENT_TYPE(event) == GST_EVENT_FLUSH_STOP) element_of(base).begin_scene();
  if (GST_EVENT_TYPE(event) == GST_EVENT_CAPS) {
    GstCaps* caps = nullptr;
    gst_event_parse_caps(event, &caps);
    element_of(base).set_caps(caps);
  }
  return GST_BASE_TRANSFORM_CLASS(gst_region_events_parent_class)->sink_event(base, event);
}

// A buffer that others hold, too, is replaced by a buffer with the same memory.
GstFlowReturn submit_input_buffer(GstBaseTransform* base, gboolean is_discont, GstBuffer* input) {
  if (element_of(base).has_rules()) input = gst_buffer_make_writable(input);
  return GST_BASE_TRANSFORM_CLASS(gst_region_events_parent_class)
      ->submit_input_buffer(base, is_discont, input);
}

GstFlowReturn transform_in_place(GstBaseTransform* base, GstBuffer* buffer) {
  try {
    element_of(base).process(buffer);
  } catch (const std::bad_alloc&) {
    GST_ELEMENT_ERROR(base, RESOURCE, NO_SPACE_LEFT, ("no memory"), (nullptr));
    return GST_FLOW_ERROR;
  }
  return GST_FLOW_OK;
}

void finalize(GObject* object) {
  delete static_cast<RegionEvents*>(static_cast<gpointer>(object))->element;
  G_OBJECT_CLASS(gst_region_events_parent_class)->finalize(object);
}

void gst_region_events_class_init(RegionEventsClass* klass) {
  auto* object = G_OBJECT_CLASS(klass);
  object->finalize = finalize;
  object->set_property = set_property;
  object->get_property = get_property;
  const RegionEventsParams defaults;
  guint id = 1;
  for (const Field& field : fields_of(defaults))
    g_object_class_install_property(object, id++,
                                    make_spec("regionevents", field, field.get(&defaults)));
  auto* element = GST_ELEMENT_CLASS(klass);
  gst_element_class_set_static_metadata(element, "Region events", "Filter/Analyzer/Video",
                                        kRegionEventsDescription, "gst-regions maintainers");
  static GstStaticPadTemplate sink =
      GST_STATIC_PAD_TEMPLATE("sink", GST_PAD_SINK, GST_PAD_ALWAYS, GST_STATIC_CAPS_ANY);
  static GstStaticPadTemplate source =
      GST_STATIC_PAD_TEMPLATE("src", GST_PAD_SRC, GST_PAD_ALWAYS, GST_STATIC_CAPS_ANY);
  gst_element_class_add_static_pad_template(element, &sink);
  gst_element_class_add_static_pad_template(element, &source);
  klass->start = start;
  klass->stop = stop;
  klass->sink_event = sink_event;
  klass->submit_input_buffer = submit_input_buffer;
  klass->transform_ip = transform_in_place;
  klass->transform_ip_on_passthrough = TRUE;
}

void gst_region_events_init(RegionEvents* self) {
  auto* base = GST_BASE_TRANSFORM(self);
  self->element = new EventsElement(base);
  // Queries and caps pass as if the element were not there.
  gst_base_transform_set_passthrough(base, TRUE);
  gst_base_transform_set_gap_aware(base, TRUE);
}

}  // namespace

std::span<const Field> fields_of(const RegionEventsParams&) {
  using P = RegionEventsParams;
  static const std::vector<Field> fields = {
      field<P, &P::rules>("rules",
                          "Zones and lines: JSON text, or the path of a JSON file. Empty: frames "
                          "pass unchanged. See docs/events.md."),
      field<P, &P::post_messages>("post-messages",
                                  "Post an element message for each event (boolean)."),
      field<P, &P::attach_shapes>("attach-shapes",
                                  "Attach zones, lines and their counts, so that regionoverlay "
                                  "draws them (boolean)."),
      field<P, &P::attach_classes>(
          "attach-classes",
          "Attach the ids of the zones that an object is in to its detection in GStreamer's "
          "analytics metadata, as classifications (boolean).")};
  return fields;
}

gboolean register_region_events(GstPlugin* plugin) {
  return gst_element_register(plugin, "regionevents", GST_RANK_NONE, gst_region_events_get_type());
}

}  // namespace regions

// The properties of our elements.
#include "plugin/element/filter_properties.hpp"

#include <vector>

#include "plugin/element/properties.hpp"
#include "plugin/element/region_filter.hpp"

namespace regions {
namespace {

constexpr guint kActiveDevice = 1;
constexpr guint kStats = 2;
constexpr guint kFirstField = 3;

std::span<const Field> setting_fields() { return fields_of(FilterSettings{}); }

// The field of a property, and whether it is one of the settings that every element has.
struct Property {
  const Field& field;
  bool is_setting;
};

Property property_of(FilterStream& stream, guint id) {
  const size_t index = id - kFirstField;
  const auto settings = setting_fields();
  if (index < settings.size()) return {settings[index], true};
  return {stream.engine().fields()[index - settings.size()], false};
}

// As an application sets it, so that handlers of "notify" are called.
void set_implied(FilterStream& stream, GObject* element, const Implied& implied) {
  const GParamSpec* spec = g_object_class_find_property(G_OBJECT_GET_CLASS(element), implied.name);
  GValue value = G_VALUE_INIT;
  g_value_init(&value, spec->value_type);
  to_gvalue(property_of(stream, spec->param_id).field, implied.value, &value);
  g_object_set_property(element, implied.name, &value);
  g_value_unset(&value);
}

}  // namespace

void install_filter_properties(GObjectClass* klass, const ElementSpec& spec) {
  g_object_class_install_property(
      klass, kActiveDevice,
      g_param_spec_string("active-device", "active-device",
                          "Name of the device that does the work. \"none\" below READY.", "none",
                          static_cast<GParamFlags>(G_PARAM_READABLE | G_PARAM_STATIC_STRINGS)));
  g_object_class_install_property(
      klass, kStats,
      g_param_spec_boxed(
          "stats", "stats",
          "Statistics since READY: frames-in, frames-out, frames-late (skipped because of QoS) "
          "and frames-dropped (by a flush, stop or error) in frames; latency and "
          "work-time (total time of the device for frames-out) in nanoseconds.",
          GST_TYPE_STRUCTURE, static_cast<GParamFlags>(G_PARAM_READABLE | G_PARAM_STATIC_STRINGS)));
  const auto settings = setting_fields();
  const FilterSettings setting_defaults;
  std::vector<Value> defaults;
  for (const Field& field : settings) defaults.push_back(field.get(&setting_defaults));
  install_properties(klass, "Regions", settings, defaults.data(), kFirstField);

  const auto engine = spec.make_engine();
  defaults.clear();
  for (const Field& field : engine->fields()) defaults.push_back(engine->get(field));
  install_properties(klass, spec.name, engine->fields(), defaults.data(),
                     kFirstField + static_cast<guint>(settings.size()));
}

void set_filter_property(FilterStream& stream, GObject* element, guint id, const GValue* value) {
  Engine& engine = stream.engine();
  const auto [field, is_setting] = property_of(stream, id);
  try {
    const Value wanted = from_gvalue(field, value);
    if (is_setting) {
      stream.set_setting(field, wanted);
    } else if (stream.runs()) {
      engine.change(field, wanted);
    } else {
      engine.set(field, wanted);
    }
    for (const Implied& other : engine.implied(field)) set_implied(stream, element, other);
  } catch (const std::exception& error) {
    stream.refuse(field.name, error);
  }
}

void get_filter_property(FilterStream& stream, guint id, GValue* value) {
  if (id == kActiveDevice) {
    g_value_set_string(value, stream.active_device().c_str());
    return;
  }
  if (id == kStats) {
    g_value_take_boxed(value, stream.stats());
    return;
  }
  const auto [field, is_setting] = property_of(stream, id);
  to_gvalue(field, is_setting ? stream.get_setting(field) : stream.engine().get(field), value);
}

void follow_controls(GstBaseTransform* element, GstBuffer* frame) {
  const GstSegment& segment = element->segment;
  if (segment.format != GST_FORMAT_TIME) return;
  const GstClockTime time =
      gst_segment_to_stream_time(&segment, GST_FORMAT_TIME, GST_BUFFER_PTS(frame));
  if (GST_CLOCK_TIME_IS_VALID(time)) gst_object_sync_values(GST_OBJECT(element), time);
}

}  // namespace regions

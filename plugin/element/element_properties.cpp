// Implements the properties of the elements: one GObject property for each Field, and the
// properties active-device and stats.
#include "plugin/element/field_properties.hpp"
#include "plugin/element/region_filter.hpp"
#include "plugin/stream/element_settings.hpp"
#include "plugin/stream/filter_stream.hpp"

namespace regions {
namespace {

// ---- properties of an element; the constants are GObject property ids

constexpr guint kActiveDeviceId = 1;
constexpr guint kStatsId = 2;
constexpr guint kFirstFieldId = 3;

std::span<const Field> setting_fields() { return fields_of(FilterSettings{}); }

// The field of a property. `is_setting` is true for a field of FilterSettings, and false for a
// field of the algorithm's parameters.
struct Property {
  const Field& field;
  bool is_setting;
};

Property property_of(FilterStream& stream, guint id) {
  const size_t index = id - kFirstFieldId;
  const auto settings = setting_fields();
  if (index < settings.size()) return {settings[index], true};
  return {stream.algorithm().fields()[index - settings.size()], false};
}

// Sets the property through GObject, so that handlers of the "notify" signal are called.
void set_preset_value(FilterStream& stream, GObject* element, const PresetValue& preset) {
  const GParamSpec* spec = g_object_class_find_property(G_OBJECT_GET_CLASS(element), preset.name);
  GValue value = G_VALUE_INIT;
  g_value_init(&value, spec->value_type);
  to_gvalue(property_of(stream, spec->param_id).field, preset.value, &value);
  g_object_set_property(element, preset.name, &value);
  g_value_unset(&value);
}

}  // namespace

void install_properties(GObjectClass* klass, const ElementSpec& spec) {
  g_object_class_install_property(
      klass, kActiveDeviceId,
      g_param_spec_string("active-device", "active-device",
                          "Name of the device that does the work. \"none\" below READY.", "none",
                          static_cast<GParamFlags>(G_PARAM_READABLE | G_PARAM_STATIC_STRINGS)));
  g_object_class_install_property(
      klass, kStatsId,
      g_param_spec_boxed(
          "stats", "stats",
          "Statistics since READY: frames-in, frames-out, frames-late (skipped because of QoS) "
          "and frames-dropped (by a flush, stop or error) in frames; latency and "
          "work-time (total time of the device for frames-out) in nanoseconds.",
          GST_TYPE_STRUCTURE, static_cast<GParamFlags>(G_PARAM_READABLE | G_PARAM_STATIC_STRINGS)));
  guint id = kFirstFieldId;
  for (const Field& field : setting_fields()) {
    g_object_class_install_property(klass, id++,
                                    make_spec("Regions", field, field.get(&spec.settings)));
  }
  const auto algorithm = spec.make_element_algorithm();
  for (const Field& field : algorithm->fields())
    g_object_class_install_property(klass, id++,
                                    make_spec(spec.name, field, algorithm->get(field)));
}

void set_element_property(FilterStream& stream, GObject* element, guint id, const GValue* value) {
  ElementAlgorithm& algorithm = stream.algorithm();
  const auto [field, is_setting] = property_of(stream, id);
  try {
    const Value converted = from_gvalue(field, value);
    if (is_setting) {
      stream.set_setting(field, converted);
    } else if (stream.is_running()) {
      algorithm.set_while_running(field, converted);
    } else {
      algorithm.set(field, converted);
    }
    for (const PresetValue& preset : algorithm.preset_values(field))
      set_preset_value(stream, element, preset);
  } catch (const std::exception& error) {
    stream.warn_of_refused_value(field.name, error);
  }
}

void get_element_property(FilterStream& stream, guint id, GValue* value) {
  if (id == kActiveDeviceId) {
    g_value_set_string(value, stream.active_device().c_str());
    return;
  }
  if (id == kStatsId) {
    g_value_take_boxed(value, stream.stats());
    return;
  }
  const auto [field, is_setting] = property_of(stream, id);
  to_gvalue(field, is_setting ? stream.get_setting(field) : stream.algorithm().get(field), value);
}

void sync_controlled_properties(GstBaseTransform* element, GstBuffer* frame) {
  const GstSegment& segment = element->segment;
  if (segment.format != GST_FORMAT_TIME) return;
  const GstClockTime time =
      gst_segment_to_stream_time(&segment, GST_FORMAT_TIME, GST_BUFFER_PTS(frame));
  if (GST_CLOCK_TIME_IS_VALID(time)) gst_object_sync_values(GST_OBJECT(element), time);
}

}  // namespace regions

// Implements the properties of the elements: one GObject property for each Field, and the
// properties active-device and stats.
#include <climits>
#include <string>
#include <vector>

#include "plugin/element/region_filter.hpp"
#include "plugin/stream/element_settings.hpp"
#include "plugin/stream/filter_stream.hpp"

namespace regions {
namespace {

// ---- fields as properties

// Converts "frames-in-flight" to "FramesInFlight".
std::string camel_case(const char* name) {
  std::string text;
  bool is_word_start = true;
  for (const char* c = name; *c; ++c) {
    if (*c == '-') {
      is_word_start = true;
      continue;
    }
    text += is_word_start ? g_ascii_toupper(*c) : *c;
    is_word_start = false;
  }
  return text;
}

// Returns an array of the field's choices and of one more element, which is zero and marks the end.
// The array is not freed, because GObject never frees a type.
template <class ChoiceValue>
ChoiceValue* choices_of(const Field& field) {
  auto* values = g_new0(ChoiceValue, field.choices.size() + 1);
  for (size_t i = 0; i < field.choices.size(); ++i) {
    const Choice& choice = field.choices[i];
    values[i] = {static_cast<decltype(ChoiceValue::value)>(choice.value), choice.blurb,
                 choice.name};
  }
  return values;
}

// Returns an enumeration or flags type with the field's choices. Registers it at the first call.
GType choice_type(const char* owner, const Field& field) {
  const std::string name = "Gst" + camel_case(owner) + camel_case(field.name);
  if (const GType registered = g_type_from_name(name.c_str())) return registered;
  const GType type = field.kind == Kind::flags
                         ? g_flags_register_static(name.c_str(), choices_of<GFlagsValue>(field))
                         : g_enum_register_static(name.c_str(), choices_of<GEnumValue>(field));
  gst_type_mark_as_plugin_api(type, static_cast<GstPluginAPIFlags>(0));
  return type;
}

bool fits_int(const Field& field) { return field.min >= INT_MIN && field.max <= INT_MAX; }

// Converts an item of a list to a double, which is stored in `number`. Returns false if the item's
// type cannot be converted.
bool read_number(const GValue* item, GValue* number) {
  g_value_init(number, G_TYPE_DOUBLE);
  return g_value_transform(item, number);
}

// A list is valid if each item can be converted to a number in the range of the list's elements.
// GStreamer's validation accepts only items of the type double. Returns TRUE if the list is
// invalid.
gboolean validate_list(GParamSpec* spec, GValue* list) {
  for (guint i = 0; i < gst_value_array_get_size(list); ++i) {
    GValue number = G_VALUE_INIT;
    const bool fits =
        read_number(gst_value_array_get_value(list, i), &number) &&
        !g_param_value_validate(GST_PARAM_SPEC_ARRAY_LIST(spec)->element_spec, &number);
    g_value_unset(&number);
    if (!fits) return TRUE;
  }
  return FALSE;
}

// Returns a subtype of GStreamer's array parameter type that uses validate_list(). Registers it at
// the first call.
GType list_type() {
  static const char* name = "GstRegionsParamList";
  if (const GType registered = g_type_from_name(name)) return registered;
  GTypeQuery parent;
  g_type_query(gst_param_spec_array_get_type(), &parent);
  const auto class_init = [](gpointer klass, gpointer) {
    static_cast<GParamSpecClass*>(klass)->value_validate = validate_list;
  };
  return g_type_register_static_simple(parent.type, name, parent.class_size, class_init,
                                       parent.instance_size, nullptr, static_cast<GTypeFlags>(0));
}

// Returns the GObject property of a field. `value` is its default value. `owner` ("cclabel") is
// part of the names of enumeration types.
GParamSpec* make_spec(const char* owner, const Field& field, const Value& value) {
  int mutability = GST_PARAM_MUTABLE_READY;
  if (field.change != Change::stopped) mutability = GST_PARAM_MUTABLE_PLAYING;
  if (field.live()) mutability |= GST_PARAM_CONTROLLABLE;
  const auto flags =
      static_cast<GParamFlags>(G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | mutability);
  const char* nick = field.name;
  switch (field.kind) {
    case Kind::flag:
      return g_param_spec_boolean(field.name, nick, field.blurb, std::get<bool>(value), flags);
    case Kind::integer: {
      const auto number = std::get<int64_t>(value);
      if (fits_int(field)) {
        return g_param_spec_int(field.name, nick, field.blurb, static_cast<int>(field.min),
                                static_cast<int>(field.max), static_cast<int>(number), flags);
      }
      return g_param_spec_int64(field.name, nick, field.blurb, static_cast<gint64>(field.min),
                                static_cast<gint64>(field.max), number, flags);
    }
    case Kind::real:
      return g_param_spec_double(field.name, nick, field.blurb, field.min, field.max,
                                 std::get<double>(value), flags);
    case Kind::choice:
      return g_param_spec_enum(field.name, nick, field.blurb, choice_type(owner, field),
                               static_cast<int>(std::get<int64_t>(value)), flags);
    case Kind::flags:
      return g_param_spec_flags(field.name, nick, field.blurb, choice_type(owner, field),
                                static_cast<guint>(std::get<int64_t>(value)), flags);
    case Kind::color:
      return g_param_spec_uint(field.name, nick, field.blurb, 0, G_MAXUINT32,
                               static_cast<guint>(std::get<int64_t>(value)), flags);
    case Kind::text:
      return g_param_spec_string(field.name, nick, field.blurb,
                                 std::get<std::string>(value).c_str(), flags);
    case Kind::list:
      break;
  }
  GParamSpec* element =
      g_param_spec_double("value", "value", field.blurb, field.min, field.max, field.min, flags);
  auto* list = static_cast<GParamSpec*>(
      g_param_spec_internal(list_type(), field.name, nick, field.blurb, flags));
  GST_PARAM_SPEC_ARRAY_LIST(list)->element_spec = g_param_spec_ref_sink(element);
  return list;
}

// Converts the value of a GObject property to the value of its field.
Value from_gvalue(const Field& field, const GValue* value) {
  switch (field.kind) {
    case Kind::flag:
      return static_cast<bool>(g_value_get_boolean(value));
    case Kind::real:
      return g_value_get_double(value);
    case Kind::text: {
      const gchar* text = g_value_get_string(value);
      return std::string(text ? text : "");
    }
    case Kind::list: {
      std::vector<double> list;
      for (guint i = 0; i < gst_value_array_get_size(value); ++i) {
        GValue number = G_VALUE_INIT;
        read_number(gst_value_array_get_value(value, i), &number);
        list.push_back(g_value_get_double(&number));
      }
      return list;
    }
    default: {  // kinds whose GObject type is an integer type
      GValue number = G_VALUE_INIT;
      g_value_init(&number, G_TYPE_INT64);
      g_value_transform(value, &number);
      return int64_t{g_value_get_int64(&number)};
    }
  }
}

// Converts the value of a field to the value of its GObject property.
void to_gvalue(const Field& field, const Value& value, GValue* out) {
  GValue number = G_VALUE_INIT;
  switch (field.kind) {
    case Kind::flag:
      return g_value_set_boolean(out, std::get<bool>(value));
    case Kind::real:
      return g_value_set_double(out, std::get<double>(value));
    case Kind::text:
      return g_value_set_string(out, std::get<std::string>(value).c_str());
    case Kind::list:
      for (const double item : std::get<std::vector<double>>(value)) {
        g_value_init(&number, G_TYPE_DOUBLE);
        g_value_set_double(&number, item);
        gst_value_array_append_and_take_value(out, &number);
        number = G_VALUE_INIT;
      }
      return;
    default:  // kinds whose GObject type is an integer type
      g_value_init(&number, G_TYPE_INT64);
      g_value_set_int64(&number, std::get<int64_t>(value));
      g_value_transform(&number, out);
  }
}

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
  const FilterSettings defaults;
  for (const Field& field : setting_fields())
    g_object_class_install_property(klass, id++, make_spec("Regions", field, field.get(&defaults)));
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

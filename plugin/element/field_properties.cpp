// Makes GObject properties from fields of parameter tables.
#include "plugin/element/field_properties.hpp"

#include <climits>
#include <string>
#include <vector>

namespace regions {
namespace {

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

}  // namespace

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

}  // namespace regions

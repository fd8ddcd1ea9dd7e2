// Field tables as GObject properties.
#include "plugin/element/properties.hpp"

#include <climits>
#include <string>

namespace regions {
namespace {

// "frames-in-flight" -> "FramesInFlight".
std::string camel(const char* name) {
  std::string text;
  bool upper = true;
  for (const char* c = name; *c; ++c) {
    if (*c == '-') {
      upper = true;
      continue;
    }
    text += upper ? g_ascii_toupper(*c) : *c;
    upper = false;
  }
  return text;
}

// An enumeration or flags type with the field's choices, registered once for the process.
GType choice_type(const char* owner, const Field& field) {
  const std::string name = "Gst" + camel(owner) + camel(field.name);
  if (const GType known = g_type_from_name(name.c_str())) return known;
  GType type = 0;
  // GObject keeps the arrays for ever.
  if (field.kind == Kind::flags) {
    auto* values = g_new0(GFlagsValue, field.choices.size() + 1);
    for (size_t i = 0; i < field.choices.size(); ++i) {
      const Choice& c = field.choices[i];
      values[i] = {static_cast<guint>(c.value), c.blurb, c.name};
    }
    type = g_flags_register_static(name.c_str(), values);
  } else {
    auto* values = g_new0(GEnumValue, field.choices.size() + 1);
    for (size_t i = 0; i < field.choices.size(); ++i) {
      const Choice& c = field.choices[i];
      values[i] = {c.value, c.blurb, c.name};
    }
    type = g_enum_register_static(name.c_str(), values);
  }
  gst_type_mark_as_plugin_api(type, static_cast<GstPluginAPIFlags>(0));
  return type;
}

bool fits_int(const Field& field) { return field.min >= INT_MIN && field.max <= INT_MAX; }

// The item as a double; false for a type that neither GLib nor GStreamer turns into one.
bool read_number(const GValue* item, GValue* number) {
  g_value_init(number, G_TYPE_DOUBLE);
  return g_value_transform(item, number);
}

// A list is valid, as it is, where every item is a number in the element's range. (GStreamer's
// array takes items of the element's own type alone.)
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

// GStreamer's array with a validation of its own, registered once for the process.
GType list_type() {
  static const char* name = "GstRegionsParamList";
  if (const GType known = g_type_from_name(name)) return known;
  GTypeQuery parent;
  g_type_query(gst_param_spec_array_get_type(), &parent);
  const auto class_init = [](gpointer klass, gpointer) {
    static_cast<GParamSpecClass*>(klass)->value_validate = validate_list;
  };
  return g_type_register_static_simple(parent.type, name, parent.class_size, class_init,
                                       parent.instance_size, nullptr, static_cast<GTypeFlags>(0));
}

GParamSpec* make_spec(const char* owner, const Field& f, const Value& value) {
  int change = GST_PARAM_MUTABLE_READY;
  if (f.change != Change::stopped) change = GST_PARAM_MUTABLE_PLAYING;
  if (f.live()) change |= GST_PARAM_CONTROLLABLE;
  const auto flags = static_cast<GParamFlags>(G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | change);
  const char* nick = f.name;
  switch (f.kind) {
    case Kind::flag:
      return g_param_spec_boolean(f.name, nick, f.blurb, std::get<bool>(value), flags);
    case Kind::integer: {
      const auto number = std::get<int64_t>(value);
      if (fits_int(f)) {
        return g_param_spec_int(f.name, nick, f.blurb, static_cast<int>(f.min),
                                static_cast<int>(f.max), static_cast<int>(number), flags);
      }
      return g_param_spec_int64(f.name, nick, f.blurb, static_cast<gint64>(f.min),
                                static_cast<gint64>(f.max), number, flags);
    }
    case Kind::real:
      return g_param_spec_double(f.name, nick, f.blurb, f.min, f.max, std::get<double>(value),
                                 flags);
    case Kind::choice:
      return g_param_spec_enum(f.name, nick, f.blurb, choice_type(owner, f),
                               static_cast<int>(std::get<int64_t>(value)), flags);
    case Kind::flags:
      return g_param_spec_flags(f.name, nick, f.blurb, choice_type(owner, f),
                                static_cast<guint>(std::get<int64_t>(value)), flags);
    case Kind::color:
      return g_param_spec_uint(f.name, nick, f.blurb, 0, G_MAXUINT32,
                               static_cast<guint>(std::get<int64_t>(value)), flags);
    case Kind::text:
      return g_param_spec_string(f.name, nick, f.blurb, std::get<std::string>(value).c_str(),
                                 flags);
    case Kind::list:
      break;
  }
  GParamSpec* element = g_param_spec_double("value", "value", f.blurb, f.min, f.max, f.min, flags);
  auto* list =
      static_cast<GParamSpec*>(g_param_spec_internal(list_type(), f.name, nick, f.blurb, flags));
  GST_PARAM_SPEC_ARRAY_LIST(list)->element_spec = g_param_spec_ref_sink(element);
  return list;
}

}  // namespace

void install_properties(GObjectClass* klass, const char* owner, std::span<const Field> fields,
                        const Value* defaults, guint first_id) {
  for (size_t i = 0; i < fields.size(); ++i) {
    g_object_class_install_property(klass, first_id + static_cast<guint>(i),
                                    make_spec(owner, fields[i], defaults[i]));
  }
}

Value from_gvalue(const Field& field, const GValue* value) {
  switch (field.kind) {
    case Kind::flag:
      return static_cast<bool>(g_value_get_boolean(value));
    case Kind::integer:
      return static_cast<int64_t>(fits_int(field) ? g_value_get_int(value)
                                                  : g_value_get_int64(value));
    case Kind::real:
      return g_value_get_double(value);
    case Kind::choice:
      return static_cast<int64_t>(g_value_get_enum(value));
    case Kind::flags:
      return static_cast<int64_t>(g_value_get_flags(value));
    case Kind::color:
      return int64_t{g_value_get_uint(value)};
    case Kind::text: {
      const gchar* text = g_value_get_string(value);
      return std::string(text ? text : "");
    }
    case Kind::list:
      break;
  }
  std::vector<double> list;
  for (guint i = 0; i < gst_value_array_get_size(value); ++i) {
    GValue number = G_VALUE_INIT;
    read_number(gst_value_array_get_value(value, i), &number);
    list.push_back(g_value_get_double(&number));
  }
  return list;
}

void to_gvalue(const Field& field, const Value& value, GValue* out) {
  switch (field.kind) {
    case Kind::flag:
      g_value_set_boolean(out, std::get<bool>(value));
      return;
    case Kind::integer:
      if (fits_int(field)) {
        g_value_set_int(out, static_cast<int>(std::get<int64_t>(value)));
      } else {
        g_value_set_int64(out, std::get<int64_t>(value));
      }
      return;
    case Kind::real:
      g_value_set_double(out, std::get<double>(value));
      return;
    case Kind::choice:
      g_value_set_enum(out, static_cast<int>(std::get<int64_t>(value)));
      return;
    case Kind::flags:
      g_value_set_flags(out, static_cast<guint>(std::get<int64_t>(value)));
      return;
    case Kind::color:
      g_value_set_uint(out, static_cast<guint>(std::get<int64_t>(value)));
      return;
    case Kind::text:
      g_value_set_string(out, std::get<std::string>(value).c_str());
      return;
    case Kind::list:
      break;
  }
  for (const double number : std::get<std::vector<double>>(value)) {
    GValue item = G_VALUE_INIT;
    g_value_init(&item, G_TYPE_DOUBLE);
    g_value_set_double(&item, number);
    gst_value_array_append_and_take_value(out, &item);
  }
}

}  // namespace regions

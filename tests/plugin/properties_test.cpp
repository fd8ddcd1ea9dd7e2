// Every property of every element agrees with its page in docs/elements, and keeps each value that
// is set.
#include <charconv>
#include <map>

#include "tests/element_pages.hpp"
#include "tests/plugin/elements.hpp"
#include "tests/plugin/harness.hpp"

namespace regions::test {
namespace {

// The lines of the choices.
template <class Values>
std::string choices_of(const Values* values, guint count) {
  std::string text;
  for (guint i = 0; i < count; ++i) {
    text += std::string("  - `") + values[i].value_nick + "`: " + values[i].value_name + "\n";
  }
  return text;
}

std::string number(double value) {
  char text[64];
  return {text, std::to_chars(text, text + sizeof text, value, std::chars_format::fixed).ptr};
}
std::string range(double low, double high) { return number(low) + " … " + number(high); }

// The values that a specification allows, written like on a page: a range or choices, and the type.
struct Allowed {
  std::string type, range, values;
};

Allowed allowed_by(GParamSpec* spec) {
  if (G_IS_PARAM_SPEC_BOOLEAN(spec)) return {"boolean", "", ""};
  if (G_IS_PARAM_SPEC_STRING(spec)) return {"string", "", ""};
  if (auto* e = G_IS_PARAM_SPEC_ENUM(spec) ? G_PARAM_SPEC_ENUM(spec)->enum_class : nullptr) {
    return {"enumeration", "", "- Values:\n" + choices_of(e->values, e->n_values)};
  }
  if (auto* f = G_IS_PARAM_SPEC_FLAGS(spec) ? G_PARAM_SPEC_FLAGS(spec)->flags_class : nullptr) {
    return {"flags", "", "- Values, joined by `+`:\n" + choices_of(f->values, f->n_values)};
  }
  if (GST_IS_PARAM_SPEC_ARRAY_LIST(spec)) {
    auto* item = G_PARAM_SPEC_DOUBLE(GST_PARAM_SPEC_ARRAY_LIST(spec)->element_spec);
    return {"array of doubles", range(item->minimum, item->maximum), ""};
  }
  if (auto* u = G_IS_PARAM_SPEC_UINT(spec) ? G_PARAM_SPEC_UINT(spec) : nullptr) {
    EXPECT_EQ(u->minimum, 0u) << spec->name;
    EXPECT_EQ(u->maximum, 0xffffffff) << spec->name;
    return {"unsigned integer", "0x00000000 … 0xffffffff", ""};
  }
  if (auto* d = G_IS_PARAM_SPEC_DOUBLE(spec) ? G_PARAM_SPEC_DOUBLE(spec) : nullptr) {
    return {"double", range(d->minimum, d->maximum), ""};
  }
  if (auto* i = G_IS_PARAM_SPEC_INT(spec) ? G_PARAM_SPEC_INT(spec) : nullptr) {
    return {"integer", range(i->minimum, i->maximum), ""};
  }
  auto* wide = G_PARAM_SPEC_INT64(spec);  // used only if an int is too narrow
  EXPECT_TRUE(wide->minimum < G_MININT || wide->maximum > G_MAXINT) << spec->name;
  return {"integer", range(static_cast<double>(wide->minimum), static_cast<double>(wide->maximum)),
          ""};
}

std::string text_of(const GValue* value) {
  if (G_VALUE_HOLDS_STRING(value)) {
    const gchar* text = g_value_get_string(value);
    return text ? text : "null";
  }
  if (G_VALUE_HOLDS_UINT(value)) {
    return taken(g_strdup_printf("0x%08x", g_value_get_uint(value)));
  }
  if (G_VALUE_HOLDS_FLAGS(value)) {
    auto* flags = static_cast<GFlagsClass*>(g_type_class_peek(G_VALUE_TYPE(value)));
    std::string text;
    for (guint i = 0; i < flags->n_values; ++i) {
      const GFlagsValue& one = flags->values[i];
      if (g_value_get_flags(value) & one.value)
        text += (text.empty() ? "" : "+") + std::string(one.value_nick);
    }
    return text;
  }
  if (GST_VALUE_HOLDS_ARRAY(value) && gst_value_array_get_size(value) == 0) return "<>";
  return taken(gst_value_serialize(value));
}

std::string held(GstElement* element, const GParamSpec* spec) {
  GValue value = G_VALUE_INIT;
  g_object_get_property(G_OBJECT(element), spec->name, &value);
  const std::string text = text_of(&value);
  g_value_unset(&value);
  return text;
}

// Values at the limits and between them.
std::vector<std::string> some_values(GParamSpec* spec) {
  if (G_IS_PARAM_SPEC_BOOLEAN(spec)) return {"true", "false"};
  if (G_IS_PARAM_SPEC_STRING(spec)) return {"a file", ""};
  if (G_IS_PARAM_SPEC_UINT(spec)) return {"0xffffffff", "0x80102030", "0x00000000"};
  std::vector<std::string> all;
  if (G_IS_PARAM_SPEC_ENUM(spec)) {
    const GEnumClass* e = G_PARAM_SPEC_ENUM(spec)->enum_class;
    for (guint i = 0; i < e->n_values; ++i) all.push_back(e->values[i].value_nick);
  } else if (G_IS_PARAM_SPEC_FLAGS(spec)) {
    const GFlagsClass* f = G_PARAM_SPEC_FLAGS(spec)->flags_class;
    std::string both;
    for (guint i = 0; i < f->n_values; ++i) {
      all.push_back(f->values[i].value_nick);
      both += (i ? "+" : "") + all.back();
    }
    all.push_back(both);
  } else if (auto* d = G_IS_PARAM_SPEC_DOUBLE(spec) ? G_PARAM_SPEC_DOUBLE(spec) : nullptr) {
    for (const double share : {0.0, 0.25, 1.0}) {
      all.push_back(number(d->minimum + share * (d->maximum - d->minimum)));
    }
  } else if (auto* n = G_IS_PARAM_SPEC_INT(spec) ? G_PARAM_SPEC_INT(spec) : nullptr) {
    for (const int value : {n->minimum, n->minimum + 1, n->maximum}) {
      all.push_back(std::to_string(value));
    }
  } else if (auto* w = G_IS_PARAM_SPEC_INT64(spec) ? G_PARAM_SPEC_INT64(spec) : nullptr) {
    for (const gint64 value : {w->minimum, w->maximum}) all.push_back(std::to_string(value));
  } else {
    all = {"< 0.25, 1 >", "<>"};
  }
  return all;
}

// Of a double, digits may differ.
bool same(const std::string& a, const std::string& b) {
  gchar *end_a = nullptr, *end_b = nullptr;
  const double x = g_ascii_strtod(a.c_str(), &end_a), y = g_ascii_strtod(b.c_str(), &end_b);
  const bool numbers = !a.empty() && !b.empty() && !*end_a && !*end_b;
  return numbers ? x == y : a == b;
}

void expect_keeps(GstElement* element, GParamSpec* spec) {
  for (const std::string& text : some_values(spec)) {
    GValue wanted = G_VALUE_INIT;
    g_value_init(&wanted, spec->value_type);
    if (G_VALUE_HOLDS_STRING(&wanted)) {
      g_value_set_string(&wanted, text.c_str());
    } else {
      ASSERT_TRUE(gst_value_deserialize_with_pspec(&wanted, text.c_str(), spec)) << text;
    }
    const std::string expected = text_of(&wanted);
    g_object_set_property(G_OBJECT(element), spec->name, &wanted);
    g_value_unset(&wanted);
    EXPECT_TRUE(same(held(element, spec), expected))
        << spec->name << " was set to " << expected << ", is " << held(element, spec);
  }
}

void expect_documented(GstElement* element, const DocumentedProperty& property) {
  SCOPED_TRACE(property.name);
  GParamSpec* spec =
      g_object_class_find_property(G_OBJECT_GET_CLASS(element), property.name.c_str());
  ASSERT_TRUE(spec);
  const Allowed allowed = allowed_by(spec);
  EXPECT_EQ(allowed.type, property.type);
  EXPECT_EQ(allowed.range, property.range);
  EXPECT_EQ(allowed.values, property.values);
  const std::string blurb = g_param_spec_get_blurb(spec);
  EXPECT_EQ(blurb.ends_with(".") ? blurb : blurb + ".", property.blurb);
  const bool is_empty = property.value == "empty";
  const std::string value = is_empty ? "" : property.value.substr(1, property.value.size() - 2);
  EXPECT_TRUE(same(text_of(g_param_spec_get_default_value(spec)), value))
      << text_of(g_param_spec_get_default_value(spec)) << " is not " << value;
  EXPECT_TRUE(same(held(element, spec), value)) << held(element, spec);
  const auto says = [&](const char* words) {
    return property.flags.find(words) != std::string::npos;
  };
  EXPECT_TRUE(says("writable"));
  EXPECT_EQ((spec->flags & G_PARAM_READWRITE), G_PARAM_READWRITE);
  EXPECT_EQ((spec->flags & GST_PARAM_MUTABLE_READY) != 0, says("NULL and READY"));
  EXPECT_EQ((spec->flags & GST_PARAM_MUTABLE_PLAYING) != 0, says("changeable while playing"));
  EXPECT_EQ((spec->flags & GST_PARAM_CONTROLLABLE) != 0, says("controllable"));
  expect_keeps(element, spec);
}

TEST(Properties, AreAsTheirPagesSay) {
  start_gstreamer();
  const auto of_all = documented_properties("all-elements");
  ASSERT_FALSE(of_all.empty());
  for (const std::string& name : all_elements()) {
    SCOPED_TRACE(name);
    GstElement* element = gst_element_factory_make(name.c_str(), nullptr);
    ASSERT_TRUE(element);
    const auto properties = documented_properties(name);
    for (const DocumentedProperty& property : of_all) expect_documented(element, property);
    // From the last on: a preset, which comes first, sets others.
    for (auto property = properties.rbegin(); property != properties.rend(); ++property) {
      expect_documented(element, *property);
    }
    guint known = 0, count = 0;
    GParamSpec** all = g_object_class_list_properties(G_OBJECT_GET_CLASS(element), &count);
    for (guint i = 0; i < count; ++i) known += all[i]->owner_type == G_OBJECT_TYPE(element);
    g_free(all);
    EXPECT_EQ(known, properties.size() + of_all.size() + 2) << "besides active-device and stats";
    gst_object_unref(element);
  }
}

// Types of choices are named for the element, or for all of them, so that bindings tell them apart.
TEST(Properties, TypesHaveTheirNames) {
  start_gstreamer();
  GstElement* element = gst_element_factory_make("cclabel", nullptr);
  for (const auto& [property, type] : {std::pair{"label-values", "GstCclabelLabelValues"},
                                       {"style", "GstCclabelStyle"},
                                       {"attach-labels", "GstRegionsAttachLabels"}}) {
    GParamSpec* spec = g_object_class_find_property(G_OBJECT_GET_CLASS(element), property);
    EXPECT_STREQ(g_type_name(spec->value_type), type);
    EXPECT_TRUE(gst_type_is_plugin_api(spec->value_type, nullptr)) << type << " is documented";
  }
  EXPECT_STREQ(G_OBJECT_TYPE_NAME(element), "GstCclabel");
  gst_object_unref(element);
}

TEST(Properties, TheActiveDeviceIsKnownFromReadyOn) {
  start_gstreamer();
  GstElement* element = gst_element_factory_make("slicsuperpixel", nullptr);
  g_object_set(element, "device", 2, nullptr);
  std::vector<std::string> told;
  g_signal_connect(element, "notify::active-device",
                   G_CALLBACK(+[](GstElement* e, GParamSpec* spec, gpointer all) {
                     static_cast<std::vector<std::string>*>(all)->push_back(held(e, spec));
                   }),
                   &told);
  for (const char* property : {"active-device", "stats"}) {
    GParamSpec* spec = g_object_class_find_property(G_OBJECT_GET_CLASS(element), property);
    EXPECT_EQ(spec->flags & G_PARAM_READWRITE, G_PARAM_READABLE) << property;
  }
  gst_element_set_state(element, GST_STATE_READY);
  gst_element_set_state(element, GST_STATE_NULL);
  ASSERT_EQ(told.size(), 2u) << "told of once each way";
  EXPECT_EQ(told[0].rfind("cpu: ", 0), 0u) << told[0];
  EXPECT_EQ(told[1], "none");
  gst_object_unref(element);
}

// As gst-inspect shows them.
TEST(Properties, ElementsSayWhatTheyAre) {
  start_gstreamer();
  const std::map<std::string, std::pair<const char*, const char*>> expected = {
      {"cclabel", {"Connected-component labeller", "Filter/Analyzer/Video"}},
      {"graphcutbg", {"Graph-cut background remover", "Filter/Effect/Video"}},
      {"slicsuperpixel", {"Superpixels", "Filter/Analyzer/Effect/Video"}},
      {"regionoverlay", {"Region overlay", "Filter/Effect/Video"}}};
  for (const std::string& name : all_elements()) {
    ASSERT_TRUE(expected.contains(name)) << name << " is not in the table above";
    const auto& [long_name, klass] = expected.at(name);
    GstElementFactory* factory = gst_element_factory_find(name.c_str());
    ASSERT_TRUE(factory) << name;
    const auto about = [&](const char* key) {
      return gst_element_factory_get_metadata(factory, key);
    };
    EXPECT_STREQ(about(GST_ELEMENT_METADATA_LONGNAME), long_name);
    EXPECT_STREQ(about(GST_ELEMENT_METADATA_KLASS), klass);
    EXPECT_EQ(gst_plugin_feature_get_rank(GST_PLUGIN_FEATURE(factory)), GST_RANK_NONE + 0u);
    EXPECT_STREQ(about(GST_ELEMENT_METADATA_AUTHOR), "gst-regions maintainers");
    EXPECT_GT(strlen(about(GST_ELEMENT_METADATA_DESCRIPTION)), 20u);
    gst_object_unref(factory);
  }
  GstPlugin* plugin = gst_registry_find_plugin(gst_registry_get(), "regions");
  ASSERT_TRUE(plugin);
  EXPECT_STREQ(gst_plugin_get_license(plugin), "LGPL");
  EXPECT_STREQ(gst_plugin_get_package(plugin), "gst-regions");
  EXPECT_STREQ(gst_plugin_get_description(plugin), "Cuts video into regions on the GPU or the CPU");
  gst_object_unref(plugin);
}

}  // namespace
}  // namespace regions::test

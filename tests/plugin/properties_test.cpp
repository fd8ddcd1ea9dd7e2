// Properties: they agree with docs/elements and keep each value that is set, list properties accept
// every numeric type, and controlled properties follow the stream time.
#include <gst/controller/gstdirectcontrolbinding.h>
#include <gst/controller/gstinterpolationcontrolsource.h>

#include <charconv>
#include <map>

#include "tests/element_pages.hpp"
#include "tests/plugin/elements.hpp"
#include "tests/plugin/moving_square.hpp"

namespace regions::test {
namespace {

// ---- specifications. tests/core/field_test.cpp compares choices and blurbs with the pages.

std::string number(double value) {
  char text[64];
  return {text, std::to_chars(text, text + sizeof text, value, std::chars_format::fixed).ptr};
}

// The range of a specification as the pages write it, and values at the limits and between them.
struct Values {
  std::string range;
  std::vector<std::string> some;
};

template <class Spec>
Values numbers(const Spec* spec, std::initializer_list<double> shares = {0.0, 1.0}) {
  const auto min = static_cast<double>(spec->minimum), max = static_cast<double>(spec->maximum);
  Values values = {number(min) + " … " + number(max), {}};
  for (const double share : shares) values.some.push_back(number(min + share * (max - min)));
  return values;
}

Values values_of(GParamSpec* spec) {
  if (G_IS_PARAM_SPEC_BOOLEAN(spec)) return {"", {"true", "false"}};
  if (G_IS_PARAM_SPEC_STRING(spec)) return {"", {"a file", ""}};
  if (G_IS_PARAM_SPEC_DOUBLE(spec)) return numbers(G_PARAM_SPEC_DOUBLE(spec), {0.0, 0.25, 1.0});
  if (G_IS_PARAM_SPEC_INT(spec)) return numbers(G_PARAM_SPEC_INT(spec));
  if (G_IS_PARAM_SPEC_INT64(spec)) return numbers(G_PARAM_SPEC_INT64(spec));
  if (G_IS_PARAM_SPEC_UINT(spec)) {
    return {"0x00000000 … 0xffffffff", {"0xffffffff", "0x80102030", "0x00000000"}};
  }
  if (GST_IS_PARAM_SPEC_ARRAY_LIST(spec)) {
    auto* item = G_PARAM_SPEC_DOUBLE(GST_PARAM_SPEC_ARRAY_LIST(spec)->element_spec);
    return {numbers(item).range, {"< 0.25, 1 >", "<>"}};
  }
  Values values;
  if (G_IS_PARAM_SPEC_ENUM(spec)) {
    const GEnumClass* e = G_PARAM_SPEC_ENUM(spec)->enum_class;
    for (guint i = 0; i < e->n_values; ++i) values.some.push_back(e->values[i].value_nick);
  } else {
    const GFlagsClass* f = G_PARAM_SPEC_FLAGS(spec)->flags_class;
    std::string all;
    for (guint i = 0; i < f->n_values; ++i) {
      values.some.push_back(f->values[i].value_nick);
      all += (i ? "+" : "") + values.some.back();
    }
    values.some.push_back(all);
  }
  return values;
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

// Compares texts, or numbers that may be written differently.
bool same(const std::string& a, const std::string& b) {
  gchar *end_a = nullptr, *end_b = nullptr;
  const double x = g_ascii_strtod(a.c_str(), &end_a), y = g_ascii_strtod(b.c_str(), &end_b);
  const bool numbers = !a.empty() && !b.empty() && !*end_a && !*end_b;
  return numbers ? x == y : a == b;
}

void expect_keeps(GstElement* element, GParamSpec* spec) {
  for (const std::string& text : values_of(spec).some) {
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
    EXPECT_PRED2(same, held(element, spec), expected) << spec->name;
  }
}

void expect_documented(GstElement* element, const DocumentedProperty& property) {
  SCOPED_TRACE(property.name);
  GParamSpec* spec =
      g_object_class_find_property(G_OBJECT_GET_CLASS(element), property.name.c_str());
  ASSERT_TRUE(spec);
  EXPECT_EQ(values_of(spec).range, property.range);
  const std::string value =
      property.value == "empty" ? "" : property.value.substr(1, property.value.size() - 2);
  EXPECT_PRED2(same, text_of(g_param_spec_get_default_value(spec)), value);
  EXPECT_PRED2(same, held(element, spec), value);
  const auto says = [&](const char* words) { return contains(property.flags, words); };
  EXPECT_TRUE(says("writable"));
  EXPECT_EQ((spec->flags & G_PARAM_READWRITE), G_PARAM_READWRITE);
  EXPECT_EQ((spec->flags & GST_PARAM_MUTABLE_READY) != 0, says("NULL and READY"));
  EXPECT_EQ((spec->flags & GST_PARAM_MUTABLE_PLAYING) != 0, says("changeable while playing"));
  EXPECT_EQ((spec->flags & GST_PARAM_CONTROLLABLE) != 0, says("controllable"));
  expect_keeps(element, spec);
}

TEST(Properties, EveryElement_PropertiesEqualItsPageAndReturnSetValues) {
  start_gstreamer();
  const auto of_all = documented_properties("all-elements");
  ASSERT_FALSE(of_all.empty());
  for (const std::string& name : all_elements()) {
    SCOPED_TRACE(name);
    GstElement* element = gst_element_factory_make(name.c_str(), nullptr);
    ASSERT_TRUE(element);
    const auto properties = documented_properties(name);
    // The element's page has a common property again if the default value differs.
    auto common = of_all;
    std::erase_if(common, [&](const DocumentedProperty& property) {
      return std::ranges::find(properties, property.name, &DocumentedProperty::name) !=
             properties.end();
    });
    for (const DocumentedProperty& property : common) expect_documented(element, property);
    // In reverse order, because a preset is the first property and sets others.
    for (auto property = properties.rbegin(); property != properties.rend(); ++property) {
      expect_documented(element, *property);
    }
    guint own = 0, count = 0;
    GParamSpec** all = g_object_class_list_properties(G_OBJECT_GET_CLASS(element), &count);
    for (guint i = 0; i < count; ++i) own += all[i]->owner_type == G_OBJECT_TYPE(element);
    g_free(all);
    EXPECT_EQ(own, properties.size() + common.size() + 2) << "and active-device and stats";
    gst_object_unref(element);
  }
}

// Bindings distinguish the types of choices by their names.
TEST(Properties, EnumTypes_NamedAfterTheirElementAndSharedOnesAfterThePlugin) {
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

TEST(Properties, ActiveDevice_NullToReadyAndBack_ChangesAndNotifiesOnce) {
  start_gstreamer();
  GstElement* element = gst_element_factory_make("slicsuperpixel", nullptr);
  g_object_set(element, "device", 2, nullptr);
  std::vector<std::string> devices;
  g_signal_connect(element, "notify::active-device",
                   G_CALLBACK(+[](GstElement* e, GParamSpec* spec, gpointer all) {
                     static_cast<std::vector<std::string>*>(all)->push_back(held(e, spec));
                   }),
                   &devices);
  for (const char* property : {"active-device", "stats"}) {
    GParamSpec* spec = g_object_class_find_property(G_OBJECT_GET_CLASS(element), property);
    EXPECT_EQ(spec->flags & G_PARAM_READWRITE, G_PARAM_READABLE) << property;
  }
  gst_element_set_state(element, GST_STATE_READY);
  gst_element_set_state(element, GST_STATE_NULL);
  ASSERT_EQ(devices.size(), 2u) << "one notification per change";
  EXPECT_TRUE(devices[0].starts_with("cpu: ")) << devices[0];
  EXPECT_EQ(devices[1], "none");
  gst_object_unref(element);
}

TEST(Plugin, Factory_EveryElement_HasItsTitleAndClass) {
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

// ---- list properties

// An array of two equal values.
template <typename T>
class Pair {
 public:
  Pair(GType type, void (*set)(GValue*, T), T value) : Pair(type, set, value, value) {}
  Pair(GType type, void (*set)(GValue*, T), T first, T second) {
    g_value_init(&array_, GST_TYPE_ARRAY);
    for (const T value : {first, second}) {
      GValue item = G_VALUE_INIT;
      g_value_init(&item, type);
      set(&item, value);
      gst_value_array_append_and_take_value(&array_, &item);
    }
  }
  Pair(const Pair&) = delete;
  ~Pair() { g_value_unset(&array_); }
  const GValue* get() const { return &array_; }

 private:
  GValue array_ = G_VALUE_INIT;
};

// Sets the property `seeds`, and returns GLib's warnings.
std::string set_seeds(const Harness& h, const GValue* value) {
  std::string text;
  const GLogFunc keep = [](const gchar*, GLogLevelFlags, const gchar* message, gpointer data) {
    *static_cast<std::string*>(data) += message;
  };
  const auto levels = static_cast<GLogLevelFlags>(G_LOG_LEVEL_MASK | G_LOG_FLAG_FATAL);
  const guint handler = g_log_set_handler("GLib-GObject", levels, keep, &text);
  g_object_set_property(G_OBJECT(h.element()), "seeds", value);
  g_log_remove_handler("GLib-GObject", handler);
  return text;
}

template <typename T>
void expect_taken(const Harness& h, GType type, void (*set)(GValue*, T), T value,
                  const std::string& text) {
  EXPECT_EQ(set_seeds(h, Pair<T>(type, set, value).get()), "");
  EXPECT_EQ(h.property("seeds"), "< (double)" + text + ", (double)" + text + " >")
      << g_type_name(type);
}

TEST(ListProperty, NumbersOfEveryType_AreAcceptedAndOtherTypesLeaveTheListUnchanged) {
  const Harness h("cclabel output=none");
  expect_taken(h, G_TYPE_INT, g_value_set_int, 15, "15");
  expect_taken(h, G_TYPE_DOUBLE, g_value_set_double, 1.5, "1.5");
  expect_taken(h, G_TYPE_FLOAT, g_value_set_float, 2.5F, "2.5");
  expect_taken(h, G_TYPE_UINT, g_value_set_uint, 3U, "3");
  expect_taken(h, G_TYPE_INT64, g_value_set_int64, gint64{4}, "4");
  expect_taken(h, G_TYPE_UINT64, g_value_set_uint64, guint64{5}, "5");
  GValue empty = G_VALUE_INIT;
  g_value_init(&empty, GST_TYPE_ARRAY);
  EXPECT_EQ(set_seeds(h, &empty), "");
  g_value_unset(&empty);
  h.set("seeds", "<15,24>");
  const std::string before = h.property("seeds");
  const Pair<const gchar*> text(G_TYPE_STRING, g_value_set_string, "4");
  const Pair<int> below(G_TYPE_INT, g_value_set_int, 3, -1);
  const Pair<double> slightly_below(G_TYPE_DOUBLE, g_value_set_double, 3.0, -0.5);
  for (const GValue* bad : {text.get(), below.get(), slightly_below.get()}) {
    EXPECT_PRED2(contains, set_seeds(h, bad), "seeds");
    EXPECT_EQ(h.property("seeds"), before);
  }
}

TEST(ListProperty, SeedsAsArrayOfIntegers_SelectTheirRegion) {
  Harness h("cclabel output=mask", "video/x-raw,format=GRAY8");
  h.video("GRAY8", 8, 1);
  set_seeds(h, Pair<int>(G_TYPE_INT, g_value_set_int, 7, 0).get());
  ASSERT_EQ(h.push({255, 0, 0, 0, 0, 0, 0, 255}), GST_FLOW_OK);
  const BufferPtr out = h.pull();
  ASSERT_TRUE(out);
  EXPECT_EQ(bytes_of(out.get()), (std::vector<uint8_t>{0, 0, 0, 0, 0, 0, 0, 255}));
}

// ---- control sources: each frame is processed with the values of its stream time

constexpr int kColumns = 104, kRows = 3;
constexpr int kFrames = 51;

// A picture from black on the left to white on the right.
std::vector<uint8_t> slope() {
  std::vector<uint8_t> bytes;
  for (int i = 0; i < kColumns * kRows; ++i) {
    bytes.push_back(static_cast<uint8_t>((i % kColumns) * 255 / 103));
  }
  return bytes;
}

// Never exactly a gray level, where rounding would decide.
double threshold_at(int frame) { return (frame + 0.5) / kFrames; }

// Controls the property by (time, value) pairs.
void control(const Harness& h, const char* property, GstInterpolationMode mode, bool absolute,
             const std::vector<std::pair<GstClockTime, double>>& values) {
  GstControlSource* source = gst_interpolation_control_source_new();
  g_object_set(source, "mode", mode, nullptr);
  for (const auto& [time, value] : values) {
    gst_timed_value_control_source_set(GST_TIMED_VALUE_CONTROL_SOURCE(source), time, value);
  }
  auto* object = GST_OBJECT(h.element());
  EXPECT_TRUE(gst_object_add_control_binding(
      object, absolute ? gst_direct_control_binding_new_absolute(object, property, source)
                       : gst_direct_control_binding_new(object, property, source)));
  gst_object_unref(source);
}

// The threshold rises linearly from the stream time of the first frame on.
void control_threshold(const Harness& h, GstClockTime first) {
  control(h, "threshold", GST_INTERPOLATION_MODE_LINEAR, false,
          {{first, threshold_at(0)}, {first + time_of(kFrames - 1), threshold_at(kFrames - 1)}});
}

// The area of the slope that is foreground at that frame's threshold.
int area_at(int frame) {
  int columns = 0;
  for (int x = 0; x < kColumns; ++x) columns += x * 255 / 103 >= threshold_at(frame) * 255;
  return columns * kRows;
}

std::string area_on(const BufferPtr& frame) {
  return region_field(regions_of(frame.get()), 0, "area");
}

class ControlledProperty : public ::testing::TestWithParam<const char*> {};

TEST_P(ControlledProperty, Threshold_TimestampsDifferFromStreamTime_HasTheValueAtTheStreamTime) {
  Harness h(GetParam());
  h.video("GRAY8", kColumns, kRows);
  GstSegment shifted;  // stream time 10 s is at timestamp 1 s
  gst_segment_init(&shifted, GST_FORMAT_TIME);
  shifted.start = GST_SECOND;
  shifted.time = 10 * GST_SECOND;
  h.segment(shifted);
  control_threshold(h, 10 * GST_SECOND);
  for (int i = 0; i < kFrames; ++i) ASSERT_EQ(h.push(slope(), 25 + i), GST_FLOW_OK);
  h.eos();
  for (int i = 0; i < kFrames; ++i) {
    const BufferPtr out = h.pull();
    ASSERT_TRUE(out);
    ASSERT_EQ(region_count(regions_of(out.get())), 1u) << i;
    EXPECT_EQ(area_on(out), std::to_string(area_at(i))) << "frame " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Elements, ControlledProperty,
                         ::testing::Values("cclabel output=none frames-in-flight=1",
                                           "cclabel output=none frames-in-flight=4",
                                           "cclabel output=labels frames-in-flight=8",
                                           "cclabel output=overlay frames-in-flight=3"));

// The overflow policy is applied when a frame is done. Later frames are then already in flight.
TEST(ControlledProperty, Overflow_EightFramesInFlight_EachFrameUsesTheValueOfItsTime) {
  GrayHarness h("cclabel output=labels frames-in-flight=8", "video/x-raw,format=GRAY8");
  std::vector<std::pair<GstClockTime, double>> values;
  for (int i = 0; i < 40; ++i) values.emplace_back(time_of(i), i % 2 ? 0.6 : 0);
  control(h, "overflow", GST_INTERPOLATION_MODE_NONE, false, values);  // drop-smallest, saturate, …
  for (int i = 0; i < 40; ++i) ASSERT_EQ(h.push(dots(), i), GST_FLOW_OK);
  h.eos();
  for (int i = 0; i < 40; ++i) {
    EXPECT_EQ(region_count(regions_of(h.pull().get())), i % 2 ? 768u : 255u) << i;
  }
}

TEST(ControlledProperty, Volume_UsesTheValuesOfItsLastFrame) {
  Harness h("cclabel output=none depth=5 connectivity=6 frames-in-flight=2");
  h.video("GRAY8", kColumns, kRows);
  control_threshold(h, 0);
  for (int i = 0; i < 50; ++i) ASSERT_EQ(h.push(slope(), i), GST_FLOW_OK);
  h.eos();
  for (int i = 0; i < 50; ++i) {
    EXPECT_EQ(area_on(h.pull()), std::to_string(area_at(i / 5 * 5 + 4) * 5)) << "frame " << i;
  }
}

TEST(ControlledProperty, Rectangle_FourFramesInFlight_EachFrameUsesTheValueOfItsTime) {
  Harness h("cclabel output=none frames-in-flight=4 threshold=0");
  h.video("GRAY8", kColumns, kRows);
  std::vector<std::pair<GstClockTime, double>> values;
  for (int i = 0; i < 20; ++i) values.emplace_back(time_of(i), 5.0 * i);
  control(h, "left", GST_INTERPOLATION_MODE_NONE, true, values);
  for (int i = 0; i < 20; ++i) ASSERT_EQ(h.push(slope(), i), GST_FLOW_OK);
  h.eos();
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(region_field(regions_of(h.pull().get()), 0, "x"), std::to_string(5 * i)) << i;
  }
}

TEST(ControlledProperty, FrameWithoutTimestamp_KeepsThePreviousValue) {
  Harness h("cclabel output=none");
  h.video("GRAY8", kColumns, kRows);
  control_threshold(h, 0);
  GstBuffer* timeless = Harness::buffer(slope());
  GST_BUFFER_PTS(timeless) = GST_CLOCK_TIME_NONE;
  ASSERT_EQ(h.push(slope(), 20), GST_FLOW_OK);
  ASSERT_EQ(gst_harness_push(h.get(), timeless), GST_FLOW_OK);
  for (int i = 0; i < 2; ++i) EXPECT_EQ(area_on(h.pull()), std::to_string(area_at(20)));
}

}  // namespace
}  // namespace regions::test

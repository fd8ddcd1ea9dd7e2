// List properties take whatever is a number, as applications in Python give it; the rest is told
// and changes nothing.
#include "tests/plugin/harness.hpp"

namespace regions::test {
namespace {

// An array that is given value by value.
class Array {
 public:
  Array() { g_value_init(&array_, GST_TYPE_ARRAY); }
  Array(const Array&) = delete;
  ~Array() { g_value_unset(&array_); }

  template <typename T>
  Array& add(GType type, void (*set)(GValue*, T), T value) {
    GValue item = G_VALUE_INIT;
    g_value_init(&item, type);
    set(&item, value);
    gst_value_array_append_and_take_value(&array_, &item);
    return *this;
  }
  Array& add(int value) { return add(G_TYPE_INT, g_value_set_int, value); }
  Array& add(double value) { return add(G_TYPE_DOUBLE, g_value_set_double, value); }

  const GValue* get() const { return &array_; }

 private:
  GValue array_ = G_VALUE_INIT;
};

std::vector<double> held(GstElement* element) {
  GValue array = G_VALUE_INIT;
  g_object_get_property(G_OBJECT(element), "seeds", &array);
  std::vector<double> numbers;
  for (guint i = 0; i < gst_value_array_get_size(&array); ++i) {
    numbers.push_back(g_value_get_double(gst_value_array_get_value(&array, i)));
  }
  g_value_unset(&array);
  return numbers;
}

// What GLib warned of while the property was set.
std::string warned(GstElement* element, const GValue* value) {
  std::string text;
  const GLogFunc keep = [](const gchar*, GLogLevelFlags, const gchar* message, gpointer data) {
    *static_cast<std::string*>(data) += message;
  };
  const auto levels = static_cast<GLogLevelFlags>(G_LOG_LEVEL_MASK | G_LOG_FLAG_FATAL);
  const guint handler = g_log_set_handler("GLib-GObject", levels, keep, &text);
  g_object_set_property(G_OBJECT(element), "seeds", value);
  g_log_remove_handler("GLib-GObject", handler);
  return text;
}

using Numbers = std::vector<double>;

TEST(Lists, TakeWhateverIsANumber) {
  Harness h("cclabel output=none");
  EXPECT_EQ(warned(h.element(), Array().add(15).add(24).get()), "");
  EXPECT_EQ(held(h.element()), (Numbers{15, 24}));
  // GStreamer's arrays hold values of one type.
  const auto expect_taken = [&](GType type, auto set, auto value) {
    Array array;
    EXPECT_EQ(warned(h.element(), array.add(type, set, value).add(type, set, value).get()), "");
    EXPECT_EQ(held(h.element()), (Numbers(2, static_cast<double>(value)))) << g_type_name(type);
  };
  expect_taken(G_TYPE_DOUBLE, g_value_set_double, 1.5);
  expect_taken(G_TYPE_FLOAT, g_value_set_float, 2.5F);
  expect_taken(G_TYPE_UINT, g_value_set_uint, 3U);
  expect_taken(G_TYPE_INT64, g_value_set_int64, gint64{4});
  expect_taken(G_TYPE_UINT64, g_value_set_uint64, guint64{5});
  EXPECT_EQ(warned(h.element(), Array().get()), "");
  EXPECT_EQ(held(h.element()), Numbers{});
}

TEST(Lists, RefuseWhatIsNone) {
  Harness h("cclabel output=none seeds=\"<15,24>\"");
  Array text;
  text.add<const gchar*>(G_TYPE_STRING, g_value_set_string, "4");
  Array below, little_below;
  below.add(3).add(-1);
  little_below.add(3.0).add(-0.5);
  for (const Array* bad : {&text, &below, &little_below}) {
    const std::string warning = warned(h.element(), bad->get());
    EXPECT_NE(warning.find("seeds"), std::string::npos) << warning;
    EXPECT_EQ(held(h.element()), (Numbers{15, 24}));
  }
}

// What is taken is also what frames are worked on with.
TEST(Lists, OfIntsChooseRegions) {
  Harness h("cclabel output=mask", "video/x-raw,format=GRAY8");
  h.video("GRAY8", 8, 1);
  const std::vector<uint8_t> two = {255, 0, 0, 0, 0, 0, 0, 255};
  g_object_set_property(G_OBJECT(h.element()), "seeds", Array().add(7).add(0).get());
  ASSERT_EQ(h.push(two), GST_FLOW_OK);
  const BufferPtr out = h.pull();
  ASSERT_TRUE(out);
  EXPECT_EQ(bytes_of(out.get()), (std::vector<uint8_t>{0, 0, 0, 0, 0, 0, 0, 255}));
}

}  // namespace
}  // namespace regions::test

// What changes in a running stream holds from the next frame on: another colorimetry, another size,
// other settings, and counts that begin anew.
#include <gst/video/navigation.h>

#include <algorithm>
#include <limits>
#include <map>

#include "tests/plugin/elements.hpp"
#include "tests/plugin/moving_square.hpp"

namespace regions::test {
namespace {

// What the element makes of the same pictures: of one stream that changes and of streams that began
// so must be equal.
struct Step {
  std::string caps;                                           // "" as before
  std::vector<std::pair<const char*, const char*>> settings;  // set before the frame
};

std::vector<uint8_t> yuv(int index) {
  std::vector<uint8_t> bytes = gray_with_square(index);
  for (uint8_t& luma : bytes) luma = luma > 100 ? 180 : 60;
  for (int i = 0; i < kWidth * kHeight / 4; ++i) {
    bytes.push_back(150);
    bytes.push_back(100);
  }
  return bytes;
}

// The picture, its regions, its caps.
std::string outcome(Harness& h, int index) {
  if (h.push(yuv(index), index) != GST_FLOW_OK) return "error: " + h.error_text();
  const BufferPtr out = h.pull();
  if (!out) return "no frame";
  std::string text = h.caps_out() + "\n";
  const std::vector<uint8_t> bytes = bytes_of(out.get());
  text += taken(g_compute_checksum_for_data(G_CHECKSUM_SHA256, bytes.data(), bytes.size()));
  const GstStructure* s = regions_of(out.get());
  for (gint i = 0; s && i < gst_structure_n_fields(s); ++i) {
    const char* name = gst_structure_nth_field_name(s, static_cast<guint>(i));
    if (g_str_equal(name, "labels")) continue;  // another buffer each time
    text += "\n" + std::string(name) + "=" +
            taken(gst_value_serialize(gst_structure_get_value(s, name)));
  }
  return text;
}

void set(Harness& h, const Step& step) {
  for (const auto& [name, value] : step.settings) {
    gst_util_set_object_arg(G_OBJECT(h.element()), name, value);
  }
}

constexpr const char* kSize = "video/x-raw,format=NV12,width=64,height=48,framerate=25/1";

void expect_as_new(const std::string& line, const std::vector<Step>& steps) {
  Harness changing(line);
  std::string caps = kSize;
  std::map<std::string, const char*> settings;
  for (size_t i = 0; i < steps.size(); ++i) {
    Harness fresh(line);
    if (!steps[i].caps.empty()) caps = steps[i].caps;
    for (const auto& [name, value] : steps[i].settings) settings[name] = value;
    Step all;
    for (const auto& [name, value] : settings) all.settings.emplace_back(name.c_str(), value);
    set(fresh, all);
    fresh.caps(caps);
    set(changing, steps[i]);
    if (i == 0 || !steps[i].caps.empty()) changing.caps(caps);
    const auto index = static_cast<int>(i);
    EXPECT_EQ(outcome(changing, index), outcome(fresh, index)) << line << ", step " << i;
    EXPECT_FALSE(changing.message_so_far(GST_MESSAGE_WARNING)) << line << ", step " << i;
  }
}

std::string with_colorimetry(const char* colorimetry) {
  return std::string(kSize) + ",colorimetry=" + colorimetry;
}

TEST(LiveChanges, OfColorimetry) {
  for (const std::string& line : with_all_elements(
           {"cclabel output=none device=cpu", "cclabel output=colors",
            "cclabel style=fill opacity=1", "cclabel output=mask threshold=0.68",
            "slicsuperpixel output=mean", "slicsuperpixel", "slicsuperpixel output=none",
            "graphcutbg output=cutout", "graphcutbg output=replace replace-with=color",
            "cclabel output=none ! regionoverlay style=fill+boxes"})) {
    std::vector<Step> steps;
    for (const char* colorimetry :
         {"bt601", "1:4:0:0", "bt709", "bt601", "1:3:5:1", "bt2020", "1:6:0:0", "bt709"}) {
      steps.push_back({with_colorimetry(colorimetry), {}});
    }
    expect_as_new(line, steps);
  }
}

TEST(LiveChanges, OfSettings) {
  expect_as_new("cclabel output=none",
                {{"", {}},
                 {"", {{"threshold", "0.1"}}},
                 {"", {{"threshold", "0.9"}}},
                 {"", {{"threshold", "0.6"}, {"min-area", "400"}}},
                 {"", {{"min-area", "0"}, {"fill-holes", "9"}}},
                 {"", {{"fill-holes", "0"}, {"criterion", "equal"}}},
                 {"", {{"criterion", "difference"}, {"tolerance", "0.6"}}},
                 {"", {{"criterion", "binary"}, {"left", "8"}, {"top", "4"}}},
                 {"", {{"width", "40"}, {"height", "30"}}},
                 {"", {{"process-scale", "0.5"}}},
                 {"", {{"process-scale", "1"}, {"width", "0"}, {"height", "0"}}}});
  expect_as_new("cclabel output=labels",
                {{"", {}},
                 {"", {{"output", "mask"}}},
                 {"", {{"output", "colors"}}},
                 {"", {{"output", "overlay"}, {"style", "fill"}, {"opacity", "0.8"}}},
                 {"", {{"style", "boxes"}, {"thickness", "5"}}},
                 {"", {{"output", "labels"}, {"thresholds", "<0.1,0.6>"}}},
                 {"", {{"thresholds", "<>"}, {"overflow", "saturate"}}}});
  expect_as_new("slicsuperpixel output=labels",
                {{"", {}},
                 {"", {{"region-size", "8"}}},
                 {"", {{"variant", "slico"}}},
                 {"", {{"color-space", "rgb"}, {"iterations", "3"}}},
                 {"", {{"superpixels", "30"}}},
                 {"", {{"variant", "slic"}, {"compactness", "2"}, {"row-step", "1"}}},
                 {"", {{"output", "boundaries"}, {"min-size", "0"}}},
                 {"", {{"output", "mean"}, {"color-space", "luma"}}},
                 {"", {{"output", "none"}, {"attach-covariance", "true"}}}});
}

// Settings that want READY wait for other caps, and come with any.
TEST(LiveChanges, OfWhatWantsReady) {
  Harness h("cclabel output=none attach-labels=never");
  h.video("GRAY8", kWidth, kHeight);
  const auto has_labels = [&](int index) {
    EXPECT_EQ(h.push(gray_with_square(), index), GST_FLOW_OK);
    const BufferPtr out = h.pull();
    return gst_structure_has_field(regions_of(out.get()), "labels") == TRUE;
  };
  EXPECT_FALSE(has_labels(0));
  g_object_set(h.element(), "attach-labels", 1, nullptr);
  EXPECT_EQ(h.property("attach-labels"), "always");
  EXPECT_FALSE(has_labels(1));
  h.video("GRAY8", kWidth, kHeight, ",pixel-aspect-ratio=2/1");
  EXPECT_TRUE(has_labels(2));
}

TEST(LiveChanges, OfSizesAndBack) {
  for (const char* line : {"cclabel output=none", "cclabel output=labels process-scale=0.5",
                           "slicsuperpixel output=mean", "graphcutbg output=cutout"}) {
    Harness h(line);
    for (int i = 0; i < 6; ++i) {
      const int width = i % 2 ? 32 : 64, height = i % 3 ? 48 : 24;
      h.video("GRAY8", width, height);
      ASSERT_EQ(h.push(std::vector<uint8_t>(static_cast<size_t>(width * height), 200), i),
                GST_FLOW_OK);
      const BufferPtr out = h.pull();
      ASSERT_TRUE(out) << line << h.error_text();
      gint said[2] = {};
      gst_structure_get(regions_of(out.get()), "width", G_TYPE_INT, &said[0], "height", G_TYPE_INT,
                        &said[1], nullptr);
      EXPECT_EQ(said[0], width) << line;
      EXPECT_EQ(said[1], height) << line;
    }
  }
}

// READY ends a stream; what is counted is counted since.
TEST(LiveChanges, ReadyBeginsCountsAnew) {
  Harness h("cclabel output=none depth=2 connectivity=6");
  h.video("GRAY8", kWidth, kHeight);
  for (int i = 0; i < 3; ++i) ASSERT_EQ(h.push(gray_with_square(), i), GST_FLOW_OK);
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(h.pull());
  GstElement* element = h.element();
  gst_element_set_state(element, GST_STATE_READY);
  EXPECT_EQ(stat(h, "frames-in"), 3u) << "they stay to be read";
  EXPECT_EQ(stat(h, "frames-out"), 2u);
  EXPECT_EQ(stat(h, "frames-dropped"), 1u);
  EXPECT_GT(stat(h, "work-time"), 0u);
  gst_element_set_state(element, GST_STATE_PAUSED);
  for (const char* name :
       {"frames-in", "frames-out", "frames-late", "frames-dropped", "work-time"}) {
    EXPECT_EQ(stat(h, name), 0u) << name;
  }
}

// ---- clicks

struct Notes {
  int count = 0;
  std::string value;
};

TEST(Clicks, AreToldAndGoOn) {
  Harness h("cclabel output=mask click-seeds=true");
  h.video("GRAY8", kWidth, kHeight);
  Notes notes;
  g_signal_connect(h.element(), "notify::seeds", G_CALLBACK(+[](GObject*, GParamSpec*, gpointer n) {
                     ++static_cast<Notes*>(n)->count;
                   }),
                   &notes);
  struct Case {
    GstEvent* event;
    int told;
    const char* seeds;
  };
  const auto press = [](int button, double x, double y) {
    return gst_navigation_event_new_mouse_button_press(button, x, y, GST_NAVIGATION_MODIFIER_NONE);
  };
  const double far = 1e9, nowhere = std::numeric_limits<double>::quiet_NaN(),
               endless = std::numeric_limits<double>::infinity();
  guint events = gst_harness_upstream_events_received(h.get());
  for (const Case& c :
       {Case{press(1, 15.7, 24.2), 1, "<15,24>"},
        {press(3, 7, 8), 1, "<15,24,7,8>"},
        {press(1, -3, far), 1, "<0,65535>"},
        {press(3, far, -3), 1, "<0,65535,65535,0>"},
        {press(1, nowhere, 5), 0, "<0,65535,65535,0>"},
        {press(1, 5, nowhere), 0, "<0,65535,65535,0>"},
        {press(1, endless, 5), 0, "<0,65535,65535,0>"},
        {press(1, 5, -endless), 0, "<0,65535,65535,0>"},
        {gst_navigation_event_new_mouse_button_release(1, 1, 1, GST_NAVIGATION_MODIFIER_NONE), 0,
         "<0,65535,65535,0>"},
        {gst_navigation_event_new_mouse_move(1, 1, GST_NAVIGATION_MODIFIER_NONE), 0,
         "<0,65535,65535,0>"},
        {press(2, 9, 9), 1, "<>"},
        {gst_navigation_event_new_touch_down(7, 42, 4.9, 1, GST_NAVIGATION_MODIFIER_NONE), 1,
         "<42,4>"},
        {press(4, 9, 9), 1, "<>"}}) {
    notes.count = 0;
    gst_harness_push_upstream_event(h.get(), c.event);
    EXPECT_EQ(notes.count, c.told) << c.seeds;
    GValue list = G_VALUE_INIT;
    g_object_get_property(G_OBJECT(h.element()), "seeds", &list);
    std::string seeds;
    for (guint i = 0; i < gst_value_array_get_size(&list); ++i) {
      seeds += (i ? "," : "") + taken(g_strdup_printf(
                                    "%g", g_value_get_double(gst_value_array_get_value(&list, i))));
    }
    seeds = "<" + seeds + ">";
    g_value_unset(&list);
    EXPECT_EQ(seeds, c.seeds);
    EXPECT_EQ(gst_harness_upstream_events_received(h.get()), ++events)
        << "upstream hears of it, too";
  }
}

}  // namespace
}  // namespace regions::test

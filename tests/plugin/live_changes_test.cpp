// Changes in a running stream: caps, sizes, settings and outputs take effect with the next frame,
// keep the learned state if possible, and are undone with a warning if they are wrong.
#include <gst/video/navigation.h>

#include <algorithm>
#include <limits>
#include <map>

#include "tests/plugin/elements.hpp"
#include "tests/plugin/error_details.hpp"
#include "tests/plugin/moving_square.hpp"

namespace regions::test {
namespace {

std::vector<uint8_t> next(Harness& h, int index) {
  EXPECT_EQ(h.push(gray_with_square(), index), GST_FLOW_OK);
  const BufferPtr out = h.pull();
  if (!out) return {};
  EXPECT_EQ(GST_BUFFER_PTS(out.get()), time_of(index));
  return bytes_of(out.get());
}

// ---- a stream that changes gives the same as streams that begin with these caps and settings

struct Step {
  std::string caps;                                           // empty: the previous caps
  std::vector<std::pair<const char*, const char*>> settings;  // set before the frame
};

// A NV12 picture with a bright square.
std::vector<uint8_t> yuv(int index) {
  std::vector<uint8_t> bytes = gray_with_square(index);
  for (uint8_t& luma : bytes) luma = luma > 100 ? 180 : 60;
  for (int i = 0; i < kWidth * kHeight / 4; ++i) {
    bytes.push_back(150);
    bytes.push_back(100);
  }
  return bytes;
}

// The output caps, picture and metadata of a frame.
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
    if (g_str_equal(name, "labels")) continue;  // the text contains the buffer's address
    text += "\n" + std::string(name) + "=" + field_of(s, name);
  }
  return text;
}

constexpr const char* kNv12 = "video/x-raw,format=NV12,width=64,height=48,framerate=25/1";

void expect_as_new(const std::string& line, const std::vector<Step>& steps) {
  Harness changing(line);
  std::string caps = kNv12;
  std::map<std::string, const char*> settings;
  for (size_t i = 0; i < steps.size(); ++i) {
    Harness fresh(line);
    if (!steps[i].caps.empty()) caps = steps[i].caps;
    for (const auto& [name, value] : steps[i].settings) {
      settings[name] = value;
      changing.set(name, value);
    }
    for (const auto& [name, value] : settings) fresh.set(name.c_str(), value);
    fresh.caps(caps);
    if (i == 0 || !steps[i].caps.empty()) changing.caps(caps);
    const auto index = static_cast<int>(i);
    EXPECT_EQ(outcome(changing, index), outcome(fresh, index)) << line << ", step " << i;
    EXPECT_FALSE(changing.has_warning()) << line << ", step " << i;
  }
}

TEST(CapsChange, Colorimetry_OutputEqualsThatOfANewStream) {
  std::vector<Step> steps;
  for (const char* colorimetry :
       {"bt601", "1:4:0:0", "bt709", "bt601", "1:3:5:1", "bt2020", "1:6:0:0", "bt709"}) {
    steps.push_back({std::string(kNv12) + ",colorimetry=" + colorimetry, {}});
  }
  for (const std::string& line : with_all_elements(
           {"cclabel output=none device=cpu", "cclabel output=colors",
            "cclabel style=fill opacity=1", "cclabel output=mask threshold=0.68",
            "slicsuperpixel output=mean", "slicsuperpixel", "slicsuperpixel output=none",
            "graphcutbg output=cutout", "graphcutbg output=replace replace-with=color",
            "cclabel output=none ! regionoverlay style=fill+boxes"})) {
    expect_as_new(line, steps);
  }
}

TEST(SettingChange, AnySetting_OutputEqualsThatOfANewStream) {
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

// ---- caps that change

constexpr const char* kSize = "video/x-raw,format=GRAY8,width=64,height=48,";

std::string track_at(Harness& h, int index) {
  EXPECT_EQ(h.push(gray_with_square(), index), GST_FLOW_OK);
  return track_on(h.pull());
}

TEST(CapsChange, NewFrameRateOrPixelAspectRatio_TracksContinue) {
  for (const char* output : {"none", "overlay", "labels"}) {
    Harness h(std::string("cclabel track=true frames-in-flight=3 output=") + output);
    h.caps(std::string(kSize) + "framerate=25/1");
    EXPECT_EQ(track_at(h, 0), "1");
    ASSERT_EQ(h.push(gray_with_square(), 1), GST_FLOW_OK);
    h.caps(std::string(kSize) + "framerate=50/1,pixel-aspect-ratio=4/3");
    ASSERT_TRUE(h.pull());
    EXPECT_EQ(track_at(h, 2), "1") << output;
    EXPECT_PRED2(contains, h.caps_out(), "50/1") << output;
    EXPECT_PRED2(contains, h.caps_out(), "4/3") << output;
    // A setting that takes effect with new caps takes effect with any caps.
    g_object_set(h.element(), "max-regions", 1, nullptr);
    h.caps(std::string(kSize) + "framerate=25/1");
    EXPECT_EQ(track_at(h, 3), "2") << output;
    h.caps(std::string(kSize) + "framerate=25/1,colorimetry=1:1:5:1");
    EXPECT_EQ(stat(h, "frames-out"), 4u);
    EXPECT_FALSE(h.has_error());
  }
}

// A caps query must not make a setting take effect early.
TEST(SettingChange, MaxRegionsAndAttachLabels_NewValuesApplyFromTheNextCaps) {
  GrayHarness h("cclabel output=none attach-labels=never max-regions=1 device=cpu");
  const auto expect = [&](int index, guint regions, bool has_labels) {
    EXPECT_EQ(h.push(dots(), index), GST_FLOW_OK);
    const BufferPtr out = h.pull();
    EXPECT_EQ(region_count(regions_of(out.get())), regions) << index;
    EXPECT_EQ(gst_structure_has_field(regions_of(out.get()), "labels") == TRUE, has_labels);
  };
  expect(0, 1, false);
  g_object_set(h.element(), "max-regions", 1000, "attach-labels", 1, nullptr);
  EXPECT_EQ(h.property("attach-labels"), "always");
  GstPad* sink = gst_element_get_static_pad(h.element(), "sink");
  const CapsPtr possible(gst_pad_query_caps(sink, nullptr));
  gst_object_unref(sink);
  expect(1, 1, false);
  h.video("GRAY8", kWidth, kHeight, ",pixel-aspect-ratio=2/1");
  expect(2, 768, true);
}

TEST(CapsChange, OtherPictureSize_MetadataHasTheNewSize) {
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
      EXPECT_EQ(field_of(regions_of(out.get()), "width"), std::to_string(width)) << line;
      EXPECT_EQ(field_of(regions_of(out.get()), "height"), std::to_string(height)) << line;
    }
  }
}

// Makes all allocations of this process fail. Elements read the variable when they open.
class NoMemory {
 public:
  NoMemory() { inject("allocation=1"); }
  ~NoMemory() { inject(""); }
  NoMemory(const NoMemory&) = delete;
  NoMemory& operator=(const NoMemory&) = delete;

 private:
  static void inject(const char* text) {
    const Fault fault(text);
    GstElement* element = gst_element_factory_make("cclabel", nullptr);
    gst_element_set_state(element, GST_STATE_READY);
    gst_element_set_state(element, GST_STATE_NULL);
    gst_object_unref(element);
  }
};

TEST(CapsChange, NewCapsOrRectangleOfTheSameSize_AllocateNothing) {
  Harness h("cclabel output=overlay track=true attach-labels=never width=40");
  h.caps(std::string(kSize) + "framerate=25/1");
  EXPECT_EQ(track_at(h, 0), "1");
  {
    const NoMemory no_memory;
    h.caps(std::string(kSize) + "framerate=50/1");
    EXPECT_EQ(track_at(h, 1), "1");
    g_object_set(h.element(), "left", 4, nullptr);
    EXPECT_EQ(track_at(h, 2), "2");
    EXPECT_FALSE(h.has_error());
    g_object_set(h.element(), "width", 44, nullptr);
    h.push(gray_with_square(), 3);
    EXPECT_TRUE(h.has_error()) << "another size must allocate";
  }
}

// Regions have the coordinates of the whole picture.
TEST(SettingChange, RectangleMovesWithEachFrame_EachFrameUsesItsOwnRectangle) {
  Harness h("cclabel output=none width=40 process-scale=0.5 frames-in-flight=4");
  h.caps(std::string(kSize) + "framerate=25/1");
  for (int i = 0; i < 12; ++i) {
    g_object_set(h.element(), "left", i, nullptr);
    ASSERT_EQ(h.push(gray_with_square(), i), GST_FLOW_OK);
  }
  h.eos();
  for (int i = 0; i < 12; ++i) {
    const BufferPtr out = h.pull();
    ASSERT_TRUE(out);
    const GstStructure* regions = regions_of(out.get());
    ASSERT_EQ(region_count(regions), 1u) << "frame " << i;
    const int x = std::stoi(region_field(regions, 0, "x"));
    EXPECT_NEAR(x, std::max(8, i), 1) << "frame " << i;
  }
  EXPECT_EQ(h.waiting(), 0u);
}

// READY ends a stream. The counts stay readable until the next stream starts.
TEST(StateChange, ReadyAndPausedAgain_StatsRestart) {
  GrayHarness h("cclabel output=none depth=2 connectivity=6");
  for (int i = 0; i < 3; ++i) ASSERT_EQ(h.push(gray_with_square(), i), GST_FLOW_OK);
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(h.pull());
  GstElement* element = h.element();
  gst_element_set_state(element, GST_STATE_READY);
  EXPECT_EQ(stat(h, "frames-in"), 3u);
  EXPECT_EQ(stat(h, "frames-out"), 2u);
  EXPECT_EQ(stat(h, "frames-dropped"), 1u);
  EXPECT_GT(stat(h, "work-time"), 0u);
  gst_element_set_state(element, GST_STATE_PAUSED);
  for (const char* name :
       {"frames-in", "frames-out", "frames-late", "frames-dropped", "work-time"}) {
    EXPECT_EQ(stat(h, name), 0u) << name;
  }
}

// ---- the learned background model

size_t foreground(Harness& h, const std::vector<uint8_t>& picture, int index) {
  EXPECT_EQ(h.push(picture, index), GST_FLOW_OK);
  const BufferPtr out = h.pull();
  return out ? static_cast<size_t>(std::ranges::count(bytes_of(out.get()), 255)) : 0;
}

class ChangeWithLearnedBackground : public testing::Test {
 protected:
  ChangeWithLearnedBackground() {
    h_.caps(std::string(kSize) + "framerate=25/1");
    const std::vector<uint8_t> empty(kWidth * kHeight, 10);
    for (int i = 0; i < 30; ++i) foreground(h_, empty, i);
    EXPECT_GT(foreground(h_, gray_with_square(), 30), 200u);
  }
  Harness h_{"graphcutbg output=mask width=48"};
};

TEST_F(ChangeWithLearnedBackground, NewFrameRateOrOutput_LearnedBackgroundIsKept) {
  h_.caps(std::string(kSize) + "framerate=50/1");
  EXPECT_GT(foreground(h_, gray_with_square(), 31), 200u);
  h_.set("output", "overlay");
  EXPECT_NE(next(h_, 32), gray_with_square());
  h_.set("output", "mask");
  EXPECT_GT(foreground(h_, gray_with_square(), 33), 200u);
  EXPECT_FALSE(h_.has_error());
}

TEST_F(ChangeWithLearnedBackground, RectangleMoves_BackgroundIsLearnedAgain) {
  h_.set("left", "8");
  EXPECT_EQ(foreground(h_, gray_with_square(), 31), 0u);
}

TEST_F(ChangeWithLearnedBackground, RectangleAndOutputChange_BackgroundIsLearnedAgain) {
  h_.set("output", "overlay");
  next(h_, 31);
  h_.set("left", "4");
  h_.set("output", "mask");
  EXPECT_EQ(foreground(h_, gray_with_square(), 32), 0u);
}

// ---- outputs that change

TEST(OutputChange, OutputPropertyWithSameCaps_TakesEffectWithTheNextFrame) {
  GrayHarness h("cclabel output=none frames-in-flight=3");
  EXPECT_EQ(next(h, 0), gray_with_square());
  h.set("output", "overlay");
  EXPECT_NE(next(h, 1), gray_with_square());
  h.set("output", "none");
  EXPECT_EQ(next(h, 2), gray_with_square());
  EXPECT_FALSE(h.has_warning());
}

struct Shown {
  const char *output, *format;
  size_t bytes;  // per pixel
};

void expect_shown(const std::string& element, const std::vector<Shown>& steps) {
  Harness h(element + " output=none");
  h.video("GRAY8", kWidth, kHeight, ",pixel-aspect-ratio=4/3");
  int index = 0;
  for (const auto& [output, format, bytes] : steps) {
    h.set("output", output);
    EXPECT_EQ(next(h, index++).size(), bytes * kWidth * kHeight) << element << " " << output;
    const std::string caps = h.caps_out();
    EXPECT_PRED2(contains, caps, format) << element;
    EXPECT_PRED2(contains, caps, "4/3");
    EXPECT_EQ(h.property("output"), output);
  }
  EXPECT_FALSE(h.has_error());
}

TEST(OutputChange, OutputOfAnotherFormat_CapsAndFrameSizeChangeToIt) {
  expect_shown("cclabel", {{"labels", "GRAY16_LE", 2},
                           {"overlay", "GRAY8", 1},
                           {"colors", "BGRx", 4},
                           {"none", "GRAY8", 1},
                           {"labels", "GRAY16_LE", 2}});
  expect_shown("slicsuperpixel",
               {{"mean", "GRAY8", 1}, {"labels", "GRAY16_LE", 2}, {"boundaries", "GRAY8", 1}});
  expect_shown("graphcutbg",
               {{"cutout", "RGBA", 4}, {"mask", "GRAY8", 1}, {"replace", "GRAY8", 1}});
}

TEST(OutputChange, OutputPropertyWithFramesInFlight_FramesBeforeTheChangeKeepTheFormerOutput) {
  for (const char* volume : {"", " depth=4 connectivity=26"}) {
    GrayHarness h("cclabel output=none frames-in-flight=4" + std::string(volume));
    constexpr int kFrames = 23;
    for (int i = 0; i < kFrames; ++i) {
      if (i == 10) h.set("output", "labels");
      ASSERT_EQ(h.push(gray_with_square(), i), GST_FLOW_OK);
    }
    h.eos();
    for (int i = 0; i < kFrames; ++i) {
      const BufferPtr out = h.pull();
      ASSERT_TRUE(out) << i;
      EXPECT_EQ(GST_BUFFER_PTS(out.get()), time_of(i));
      EXPECT_EQ(gst_buffer_get_size(out.get()), size_t{kWidth * kHeight} * (i < 10 ? 1 : 2)) << i;
    }
    EXPECT_EQ(stat(h, "frames-dropped"), 0u);
  }
}

TEST(OutputChange, NewFormatRefusedByDownstream_OutputPropertyIsUndoneWithOneWarning) {
  GrayHarness h("cclabel output=none", "video/x-raw,format=GRAY8");
  next(h, 0);
  h.set("output", "colors");
  EXPECT_EQ(next(h, 1), gray_with_square());
  EXPECT_TRUE(h.message(GST_MESSAGE_WARNING));
  EXPECT_EQ(h.property("output"), "none");
  EXPECT_EQ(next(h, 2), gray_with_square());
  EXPECT_FALSE(h.has_warning());
  h.set("output", "labels");
  EXPECT_EQ(next(h, 3).size(), size_t{kWidth * kHeight});
  EXPECT_EQ(h.property("output"), "labels");
  EXPECT_FALSE(h.has_error());
}

TEST(OutputChange, ThresholdsChange_OutputHasOneStackedPicturePerThreshold) {
  GrayHarness h("cclabel output=labels", "video/x-raw,format=GRAY8");
  EXPECT_EQ(next(h, 0).size(), size_t{kWidth * kHeight});
  h.set("thresholds", "<0.2,0.5,0.9>");
  EXPECT_EQ(next(h, 1).size(), size_t{3 * kWidth * kHeight});
  EXPECT_PRED2(contains, h.caps_out(), "layers=(int)3");
  h.set("thresholds", "<>");
  EXPECT_EQ(next(h, 2).size(), size_t{kWidth * kHeight});
  EXPECT_FALSE(h.has_error());
}

// ---- settings that are refused: a warning, and the previous value

// Returns the names of the properties that were notified after the property was set.
std::string expect_refused(const std::string& line, const char* format, const char* property,
                           const char* bad) {
  SCOPED_TRACE(line + " " + property + "=" + bad);
  std::string notified;  // before the harness, because elements also notify when they stop
  Harness h(line);
  h.video(format, kWidth, kHeight);
  const std::vector<uint8_t> picture(kWidth * kHeight * (strcmp(format, "RGB") == 0 ? 3 : 1), 200);
  EXPECT_EQ(h.push(picture, 0), GST_FLOW_OK);
  const std::string before = h.property(property);
  g_signal_connect(h.element(), "notify", G_CALLBACK(+[](GObject*, GParamSpec* spec, gpointer all) {
                     *static_cast<std::string*>(all) += std::string(spec->name) + " ";
                   }),
                   &notified);
  h.set(property, bad);
  notified.clear();
  for (int i = 1; i < 4; ++i) EXPECT_EQ(h.push(picture, i), GST_FLOW_OK);
  h.eos();
  const std::string result = notified;
  const ErrorDetails warning = error_details(h.message(GST_MESSAGE_WARNING));
  EXPECT_EQ(warning.domain, GST_LIBRARY_ERROR);
  EXPECT_EQ(warning.code, GST_LIBRARY_ERROR_SETTINGS);
  // "THE SETTING kept as it was: THE REASON"
  const std::string kept = " kept as it was: ";
  const size_t at = warning.text.find(kept);
  EXPECT_NE(at, std::string::npos) << warning.text;
  EXPECT_GT(at, 3u) << warning.text;
  EXPECT_GT(warning.text.size(), at + kept.size() + 10) << warning.text;
  EXPECT_EQ(h.property(property), before);
  EXPECT_FALSE(h.has_error());
  EXPECT_EQ(h.waiting(), 4u);
  return result;
}

TEST(RefusedSetting, SettingThatContradictsOthers_PropertyKeepsThePreviousValue) {
  expect_refused("cclabel output=none", "GRAY8", "connectivity", "26");
  expect_refused("cclabel output=none depth=2 connectivity=6", "GRAY8", "connectivity", "8");
  expect_refused("cclabel output=none", "RGB", "source", "alpha");
  expect_refused("cclabel output=labels thresholds=<0.2,0.4>", "GRAY8", "criterion", "equal");
  expect_refused("cclabel output=none label-background=true", "GRAY8", "fill-holes", "5");
  expect_refused("cclabel output=none", "GRAY8", "seeds", "<1.0,2.0,3.0>");
  expect_refused("cclabel output=labels thresholds=<0.2,0.4>", "GRAY8", "output", "overlay");
  expect_refused("graphcutbg output=replace", "GRAY8", "replace-with", "image");
  // Earlier frames of the stream had no mask.
  expect_refused("cclabel output=none", "GRAY8", "source", "mask");
  expect_refused("cclabel output=none depth=2 connectivity=6", "GRAY8", "source", "mask");
  expect_refused("graphcutbg output=mask", "GRAY8", "source", "mask");
}

// An application that shows the value must learn that it is the previous value again.
TEST(RefusedSetting, SettingRefusedAtTheNextFrame_PropertyIsUndoneAndNotified) {
  struct Case {
    const char *line, *format, *property, *bad;
  };
  for (const auto& [line, format, property, bad] :
       {Case{"cclabel output=none width=40", "GRAY8", "thresholds", "<0.2,0.4>"},
        {"cclabel output=none", "GRAY8", "left", "64"},
        {"graphcutbg output=mask", "RGB", "top", "48"},
        {"cclabel output=none depth=2 connectivity=6", "GRAY8", "process-scale", "0.5"}}) {
    const std::string notified = expect_refused(line, format, property, bad);
    EXPECT_PRED2(contains, notified, property + std::string(" ")) << line;
  }
}

TEST(RefusedSetting, ValidValueAfterARefusedOne_IsUsed) {
  GrayHarness h("cclabel output=none threshold=0");
  const std::pair<int, const char*> lefts[] = {{0, "0"}, {64, "0"}, {60, "60"}};
  for (const auto& [left, x] : lefts) {
    g_object_set(h.element(), "left", left, nullptr);
    ASSERT_EQ(h.push(gray_with_square()), GST_FLOW_OK);
    EXPECT_EQ(region_field(regions_of(h.pull().get()), 0, "x"), x);
  }
}

// ---- clicks set seeds

TEST(MouseClick, ClicksAndTouches_ChangeTheSeedsAndAreForwardedUpstream) {
  GrayHarness h("cclabel output=mask click-seeds=true");
  int notified = 0;
  g_signal_connect(h.element(), "notify::seeds",
                   G_CALLBACK(+[](GObject*, GParamSpec*, gpointer n) { ++*static_cast<int*>(n); }),
                   &notified);
  struct Case {
    GstEvent* event;
    bool changes;
    std::vector<double> seeds;
  };
  const auto press = [](int button, double x, double y) {
    return gst_navigation_event_new_mouse_button_press(button, x, y, GST_NAVIGATION_MODIFIER_NONE);
  };
  const double far = 1e9, nan = std::numeric_limits<double>::quiet_NaN(),
               infinite = std::numeric_limits<double>::infinity();
  const std::vector<double> clipped = {0, 65535, 65535, 0};
  guint events = gst_harness_upstream_events_received(h.get());
  for (const Case& c :
       {Case{press(1, 15.7, 24.2), true, {15, 24}},
        {press(3, 7, 8), true, {15, 24, 7, 8}},
        {press(1, -3, far), true, {0, 65535}},
        {press(3, far, -3), true, clipped},
        {press(1, nan, 5), false, clipped},
        {press(1, 5, nan), false, clipped},
        {press(1, infinite, 5), false, clipped},
        {press(1, 5, -infinite), false, clipped},
        {gst_navigation_event_new_mouse_button_release(1, 1, 1, GST_NAVIGATION_MODIFIER_NONE),
         false, clipped},
        {gst_navigation_event_new_mouse_move(1, 1, GST_NAVIGATION_MODIFIER_NONE), false, clipped},
        {press(2, 9, 9), true, {}},
        {gst_navigation_event_new_touch_down(7, 42, 4.9, 1, GST_NAVIGATION_MODIFIER_NONE),
         true,
         {42, 4}},
        {press(4, 9, 9), true, {}}}) {
    notified = 0;
    gst_harness_push_upstream_event(h.get(), c.event);
    EXPECT_EQ(notified, c.changes ? 1 : 0);
    GValue list = G_VALUE_INIT;
    g_object_get_property(G_OBJECT(h.element()), "seeds", &list);
    std::vector<double> seeds;
    for (guint i = 0; i < gst_value_array_get_size(&list); ++i) {
      seeds.push_back(g_value_get_double(gst_value_array_get_value(&list, i)));
    }
    g_value_unset(&list);
    EXPECT_EQ(seeds, c.seeds);
    EXPECT_EQ(gst_harness_upstream_events_received(h.get()), ++events);
  }
}

}  // namespace
}  // namespace regions::test

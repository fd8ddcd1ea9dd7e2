// The element graphcutbg: output pictures, metadata, messages, presets and errors.
#include <atomic>
#include <cmath>
#include <random>
#include <thread>

#include "tests/graphcutbg/room_with_square.hpp"
#include "tests/plugin/error_details.hpp"
#include "tests/plugin/region_structures.hpp"

namespace regions::test {
namespace {

TEST(GraphCutElement, OutputMask_NewObject_IsForeground) {
  Harness h("graphcutbg output=mask", "video/x-raw,format=GRAY8");
  h.video("GRAY8", kWidth, kHeight);
  const BufferPtr out = last_of(h);
  ASSERT_TRUE(out);
  const auto mask = bytes_of(out.get());
  EXPECT_GT(foreground_share(mask, true), 0.98);
  EXPECT_LT(foreground_share(mask, false), 0.01);
}

TEST(GraphCutElement, OutputCutout_NewObject_IsOpaqueAndBackgroundIsTransparent) {
  Harness h("graphcutbg output=cutout", "video/x-raw,format=RGBA");
  h.video("GRAY8", kWidth, kHeight);
  const BufferPtr out = last_of(h);
  ASSERT_TRUE(out);
  const auto pixels = bytes_of(out.get());
  ASSERT_EQ(pixels.size(), size_t{kWidth} * kHeight * 4);
  const auto at = [&](int x, int y) { return &pixels[static_cast<size_t>(y * kWidth + x) * 4]; };
  const uint8_t* thing = at(kLeft + kSide / 2, kTop + kSide / 2);
  EXPECT_EQ(thing[0], 220);
  EXPECT_EQ(thing[3], 255);
  EXPECT_EQ(at(2, 2)[3], 0);
}

TEST(GraphCutElement, OutputReplaceWithColor_BackgroundHasTheColorAndTheObjectItsOwnColor) {
  Harness h("graphcutbg output=replace replace-with=color replace-color=0xff0000ff");
  h.video("RGB", kWidth, kHeight);
  const BufferPtr out = last_of(h, 12, 3);
  ASSERT_TRUE(out);
  const auto pixels = bytes_of(out.get());
  const auto at = [&](int x, int y) { return &pixels[static_cast<size_t>(y * kWidth + x) * 3]; };
  EXPECT_EQ(at(2, 2)[0], 0);
  EXPECT_EQ(at(2, 2)[2], 255);
  EXPECT_EQ(at(kLeft + kSide / 2, kTop + kSide / 2)[0], 220);
}

TEST(GraphCutElement, OutputBackground_NewObject_IsNotVisible) {
  Harness h("graphcutbg output=background");
  h.video("GRAY8", kWidth, kHeight);
  const BufferPtr out = last_of(h);
  ASSERT_TRUE(out);
  const std::vector<uint8_t> shown = bytes_of(out.get()), room = room_picture(false);
  for (size_t i = 0; i < room.size(); ++i) ASSERT_NEAR(shown[i], room[i], 1) << i;
}

TEST(GraphCutElement, ReplaceForeground_NewObject_IsCoveredAndTheRoomIsNot) {
  Harness h("graphcutbg output=replace replace=foreground replace-with=color grow=3 hold=0");
  h.video("GRAY8", kWidth, kHeight);
  const BufferPtr out = last_of(h);
  ASSERT_TRUE(out);
  const std::vector<uint8_t> shown = bytes_of(out.get()), room = room_picture(true);
  const auto at = [](int x, int y) { return static_cast<size_t>(y * kWidth + x); };
  for (int y = kTop - 2; y < kTop + kSide + 2; ++y) {
    for (int x = kLeft - 2; x < kLeft + kSide + 2; ++x) {
      ASSERT_EQ(shown[at(x, y)], shown[at(kLeft, kTop)]) << x << ", " << y;
    }
  }
  EXPECT_NE(shown[at(kLeft, kTop)], 220);
  EXPECT_EQ(shown[at(2, 2)], room[at(2, 2)]);
}

// With a scaled work area, details of hidden pixels would remain visible.
TEST(GraphCutElement, HidingWithAScaledWorkArea_IsAnError) {
  for (const char* properties :
       {"output=replace replace=foreground", "output=background replace=background"}) {
    Harness h(std::string("graphcutbg process-scale=0.5 ") + properties);
    h.video("GRAY8", kWidth, kHeight);
    EXPECT_NE(h.push(room_picture(true)), GST_FLOW_OK);
    EXPECT_EQ(h.error_text(), "replace=foreground and output=background require process-scale=1");
  }
  Harness h("graphcutbg process-scale=0.5 output=replace");
  h.video("GRAY8", kWidth, kHeight);
  ASSERT_EQ(h.push(room_picture(true)), GST_FLOW_OK);
  h.set("replace", "foreground");
  EXPECT_EQ(error_details(h.message(GST_MESSAGE_WARNING)).text,
            "replace kept as it was: replace=foreground and output=background require "
            "process-scale=1");
}

TEST(GraphCutElement, ColorProperty_WithAlpha_AlphaIsOpacity) {
  const auto picture = [](const char* properties) {
    Harness h(std::string("graphcutbg ") + properties);
    h.video("RGB", kWidth, kHeight);
    const BufferPtr out = last_of(h, 12, 3);
    return out ? bytes_of(out.get()) : std::vector<uint8_t>();
  };
  EXPECT_EQ(picture("output=overlay opacity=0.75 color=0x00ff0000"), picture("output=none"));
  EXPECT_EQ(picture("output=overlay opacity=1 color=0x80ff0000"),
            picture("output=overlay opacity=0.502 color=0xffff0000"));
  const std::vector<uint8_t> before = room_picture(true);
  const auto half = picture("output=replace replace-with=color replace-color=0x800000ff");
  ASSERT_EQ(half.size(), 3 * before.size());
  EXPECT_NEAR(half[0], before[0] / 2, 1);
  EXPECT_NEAR(half[2], (before[0] + 255) / 2, 1);
  EXPECT_EQ(picture("output=replace replace-with=blur replace-color=0"),
            picture("output=replace replace-with=blur"));
}

TEST(GraphCutElement, OutputNone_CclabelWithSourceMask_FindsTheObject) {
  Harness h("graphcutbg output=none ! cclabel source=mask min-area=20 output=none");
  h.video("GRAY8", kWidth, kHeight);
  const BufferPtr out = last_of(h);
  ASSERT_TRUE(out);
  EXPECT_EQ(bytes_of(out.get()), room_picture(true));
  const GstStructure* regions = regions_of(out.get());
  ASSERT_TRUE(regions);
  ASSERT_EQ(region_count(regions), 1u);
  EXPECT_NEAR(std::stoi(region_field(regions, 0, "x")), kLeft, 1);
  EXPECT_NEAR(std::stoi(region_field(regions, 0, "width")), kSide, 2);
}

// 6 units of 1/64 nat for each neighbour, and 181 / 256 of this for each diagonal neighbour.
TEST(GraphCutElement, Metadata_OneForegroundPixel_FlowIsTheSumOfTheWeightsOfItsLinks) {
  for (const auto& [neighbours, expected] :
       {std::pair{"4", gint64{4 * 6}}, {"8", gint64{4 * 6 + 4 * 4}}}) {
    Harness h(
        "graphcutbg output=none post-messages=true source=mask sigma=255 lambda=0.1 neighbours=" +
        std::string(neighbours));
    h.video("GRAY8", 5, 5);
    GstBuffer* mask = Harness::buffer(std::vector<uint8_t>(5 * 5, 120));
    gst_buffer_memset(mask, 12, 255, 1);
    GstBuffer* frame = Harness::buffer(std::vector<uint8_t>(8 * 5, 90));
    GstStructure* s = gst_custom_meta_get_structure(gst_buffer_add_custom_meta(frame, "regions"));
    gst_structure_set(s, "width", G_TYPE_INT, 5, "height", G_TYPE_INT, 5, "labels", GST_TYPE_BUFFER,
                      mask, "labels-format", G_TYPE_STRING, "GRAY8", nullptr);
    gst_buffer_unref(mask);
    set_regions(s, {});
    ASSERT_EQ(gst_harness_push(h.get(), frame), GST_FLOW_OK) << h.error_text();
    const BufferPtr out = h.pull();
    ASSERT_TRUE(out);
    gint64 flow = -1, pixels = -1, gap = -1;
    gboolean exact = FALSE;
    const GstStructure* found = regions_of(out.get());
    ASSERT_TRUE(found);
    EXPECT_TRUE(gst_structure_get(found, "flow", G_TYPE_INT64, &flow, "foreground-pixels",
                                  G_TYPE_INT64, &pixels, "gap", G_TYPE_INT64, &gap, "exact",
                                  G_TYPE_BOOLEAN, &exact, nullptr));
    EXPECT_EQ(flow, expected);
    EXPECT_EQ(pixels, 1);
    EXPECT_EQ(gap, 0);
    EXPECT_TRUE(exact);
    const MessagePtr message = h.message(GST_MESSAGE_ELEMENT);
    ASSERT_TRUE(message);
    EXPECT_TRUE(gst_structure_has_field(gst_message_get_structure(message.get()), "exact"));
  }
}

// Frames have a duration of 1 µs, so a live cut stops early.
TEST(GraphCutElement, CutLongerThanAFrame_LiveStreamWithTimeBudget_IsNotExactAndWarnsOnce) {
  struct Case {
    const char* properties;
    bool live, exact;
  };
  for (const auto& [properties, live, exact] :
       {Case{"", true, false}, Case{"", false, true}, Case{" time-budget=0", true, true}}) {
    Harness h("graphcutbg output=none lambda=32 neighbours=8 device=cpu" + std::string(properties));
    gst_harness_set_live(h.get(), live);
    h.caps("video/x-raw,format=GRAY8,width=160,height=120,framerate=1000000/1");
    std::mt19937 random(1);
    BufferPtr out;
    for (int i = 0; i < 3; ++i) {
      std::vector<uint8_t> noise(160 * 120);
      for (uint8_t& value : noise) value = static_cast<uint8_t>(random());
      ASSERT_EQ(h.push(noise, i), GST_FLOW_OK);
      out = h.pull();
      ASSERT_TRUE(out);
    }
    gboolean is_exact = FALSE;
    gst_structure_get_boolean(regions_of(out.get()), "exact", &is_exact);
    EXPECT_EQ(is_exact, exact) << live << properties;
    gint64 above = -1;
    EXPECT_TRUE(gst_structure_get_int64(regions_of(out.get()), "gap", &above));
    EXPECT_EQ(above == 0, exact) << above;
    EXPECT_EQ(h.message_so_far(GST_MESSAGE_WARNING) != nullptr, !exact) << live << properties;
    EXPECT_FALSE(h.message_so_far(GST_MESSAGE_WARNING))
        << "the warning is reported once per stream";
  }
}

TEST(GraphCutElement, CutStoppedEarly_WarningStatesTheLargestPossibleDistanceToTheMinimum) {
  Harness h("graphcutbg output=mask max-iterations=1 lambda=32 neighbours=8 device=cpu");
  h.video("RGB", kWidth, kHeight);
  std::mt19937 random(3);
  for (int i = 0; i < 4; ++i) {
    std::vector<uint8_t> noise(kWidth * kHeight * 3);
    for (uint8_t& value : noise) value = static_cast<uint8_t>(random());
    ASSERT_EQ(h.push(noise, i), GST_FLOW_OK);
    const BufferPtr out = h.pull();
    ASSERT_TRUE(out);
    const MessagePtr message = h.message_so_far(GST_MESSAGE_WARNING);
    if (!message) continue;
    const GstStructure* s = regions_of(out.get());
    gint64 gap = 0, flow = 0;
    if (s) gst_structure_get(s, "gap", G_TYPE_INT64, &gap, "flow", G_TYPE_INT64, &flow, nullptr);
    EXPECT_EQ(error_details(message).text,
              "a cut was stopped early and is not exact: it costs at most " + std::to_string(gap) +
                  " more than the minimum, which is at least " + std::to_string(flow) +
                  " (time-budget, max-iterations)");
    EXPECT_GT(gap, 0);
    return;
  }
  FAIL() << "no cut was stopped";
}

// cclabel finds the bright square. Its label map marks certain pixels.
TEST(GraphCutElement, SourceMask_LabelMapOfCclabel_ForegroundIsTheObject) {
  Harness h("cclabel threshold=0.5 output=none ! graphcutbg source=mask output=mask");
  h.video("GRAY8", kWidth, kHeight);
  ASSERT_EQ(h.push(room_picture(true)), GST_FLOW_OK);
  const BufferPtr out = h.pull();
  ASSERT_TRUE(out);
  EXPECT_GT(foreground_share(bytes_of(out.get()), true), 0.98);
  EXPECT_LT(foreground_share(bytes_of(out.get()), false), 0.01);
}

TEST(GraphCutElement, SourceMask_MaskOfHalfSize_ForegroundIsTheObjectExceptAtItsBorder) {
  // videoscale does not change the metadata, so the mask has half the size of the frame.
  Harness h(
      "cclabel threshold=0.5 output=none ! videoscale ! video/x-raw,width=192,height=128"
      " ! graphcutbg source=mask output=mask");
  h.video("GRAY8", kWidth, kHeight);
  ASSERT_EQ(h.push(room_picture(true)), GST_FLOW_OK);
  const BufferPtr out = h.pull();
  ASSERT_TRUE(out);
  const auto mask = bytes_of(out.get());
  ASSERT_EQ(mask.size(), size_t{4} * kWidth * kHeight);
  int wrong = 0;
  for (int y = 0; y < 2 * kHeight; ++y) {
    for (int x = 0; x < 2 * kWidth; ++x) {
      const bool inside =
          x >= 2 * kLeft && x < 2 * (kLeft + kSide) && y >= 2 * kTop && y < 2 * (kTop + kSide);
      wrong += (mask[static_cast<size_t>(y * 2 * kWidth + x)] != 0) != inside;
    }
  }
  EXPECT_LE(wrong, 200) << "the border has 192 pixels, with a tolerance of one pixel on each side";
}

TEST(GraphCutElement, MissingMask_IsAnErrorWithSourceMaskButNotWithSourceBoth) {
  Harness needs("graphcutbg source=mask output=mask");
  needs.video("GRAY8", kWidth, kHeight);
  EXPECT_NE(needs.push(room_picture(true)), GST_FLOW_OK);
  EXPECT_NE(needs.error_text().find("mask"), std::string::npos);

  Harness takes("graphcutbg source=both output=mask");
  takes.video("GRAY8", kWidth, kHeight);
  EXPECT_TRUE(last_of(takes));
  EXPECT_FALSE(takes.has_error());
}

TEST(GraphCutElement, PropertiesChangedByAnotherThread_AllFramesLeaveWithoutError) {
  Harness h("graphcutbg output=overlay frames-in-flight=3");
  h.video("NV12", kWidth, kHeight);
  std::atomic<bool> stop = false;
  std::thread changer([&] {
    for (int i = 0; !stop; ++i) {
      g_object_set(h.element(), "lambda", (i % 20) * 1.0, "feather", i % 5, "freeze", i % 3 == 0,
                   "shadow", (i % 10) / 10.0, "warm-start", i % 2 == 0, nullptr);
    }
  });
  for (int i = 0; i < 60; ++i) {
    std::vector<uint8_t> nv12 = room_picture(i > 5, i % 8);
    nv12.resize(kWidth * kHeight * 3 / 2, 128);
    ASSERT_EQ(h.push(nv12, i), GST_FLOW_OK);
    ASSERT_TRUE(h.pull());
  }
  stop = true;
  changer.join();
  EXPECT_FALSE(h.has_error());
}

// A preset sets properties as if each one was set at this position.
TEST(GraphCutElement, Preset_Chosen_SetsAndNotifiesProperties) {
  Harness h("graphcutbg output=mask cpu-threads=3 preset=motion process-scale=0.25");
  EXPECT_EQ(h.property("preset"), "motion");
  EXPECT_EQ(h.property("output"), "none");
  EXPECT_EQ(h.property("cpu-threads"), "1");
  EXPECT_EQ(h.property("process-scale"), "0.25");
  EXPECT_EQ(h.property("lambda"), "3");
  EXPECT_EQ(h.property("sigma"), "0");
  std::string heard;
  const auto hear = +[](GObject*, GParamSpec* spec, gpointer text) {
    *static_cast<std::string*>(text) += std::string(spec->name) + " ";
  };
  GstElement* other = gst_element_factory_make("graphcutbg", nullptr);
  g_signal_connect(other, "notify", G_CALLBACK(hear), &heard);
  gst_util_set_object_arg(G_OBJECT(other), "preset", "motion");
  for (const char* name : {"process-scale", "lambda", "cpu-threads", "output", "preset"}) {
    EXPECT_NE(heard.find(std::string(name) + " "), std::string::npos) << heard;
  }
  gst_util_set_object_arg(G_OBJECT(other), "preset", "none");
  gdouble scale = 0;
  g_object_get(other, "process-scale", &scale, nullptr);
  EXPECT_EQ(scale, 0.1) << "preset=none changes nothing";
  gst_object_unref(other);
}

TEST(GraphCutElement, Flush_LearnedModel_IsForgotten) {
  Harness h("graphcutbg output=mask");
  h.video("GRAY8", kWidth, kHeight);
  ASSERT_TRUE(last_of(h));
  gst_harness_push_event(h.get(), gst_event_new_flush_start());
  gst_harness_push_event(h.get(), gst_event_new_flush_stop(TRUE));
  GstSegment segment;
  gst_segment_init(&segment, GST_FORMAT_TIME);
  gst_harness_push_event(h.get(), gst_event_new_segment(&segment));
  ASSERT_EQ(h.push(room_picture(true)), GST_FLOW_OK);
  const BufferPtr out = h.pull();
  ASSERT_TRUE(out);
  EXPECT_EQ(foreground_share(bytes_of(out.get()), true), 0);  // it is the first frame again
}

}  // namespace
}  // namespace regions::test

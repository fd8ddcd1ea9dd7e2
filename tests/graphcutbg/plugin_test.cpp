// The element graphcutbg: its pictures, metadata, messages and errors.
#include <atomic>
#include <cmath>
#include <random>
#include <thread>

#include "tests/graphcutbg/room.hpp"

namespace regions::test {
namespace {

TEST(GraphCutBg, MaskShowsWhatAppeared) {
  Harness h("graphcutbg output=mask", "video/x-raw,format=GRAY8");
  h.video("GRAY8", kWidth, kHeight);
  const BufferPtr out = last_of(h);
  ASSERT_TRUE(out);
  const auto mask = bytes_of(out.get());
  EXPECT_GT(foreground_share(mask, true), 0.98);
  EXPECT_LT(foreground_share(mask, false), 0.01);
}

TEST(GraphCutBg, FirstFrameIsBackground) {
  Harness h("graphcutbg output=mask");
  h.video("GRAY8", kWidth, kHeight);
  ASSERT_EQ(h.push(room(true)), GST_FLOW_OK);
  const BufferPtr out = h.pull();
  ASSERT_TRUE(out);
  for (const uint8_t value : bytes_of(out.get())) ASSERT_EQ(value, 0);
}

TEST(GraphCutBg, CutoutHasTheMaskAsAlpha) {
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

TEST(GraphCutBg, OverlayChangesTheForegroundAlone) {
  Harness h("graphcutbg output=overlay color=0xffff0000 opacity=0.5");
  h.video("RGB", kWidth, kHeight);
  const BufferPtr out = last_of(h, 12, 3);
  ASSERT_TRUE(out);
  const auto before = room(true), after = bytes_of(out.get());
  const auto changed = [&](int x, int y) {
    const auto i = static_cast<size_t>(y * kWidth + x);
    return after[3 * i] != before[i] || after[3 * i + 1] != before[i];
  };
  EXPECT_TRUE(changed(kLeft + kSide / 2, kTop + kSide / 2));
  EXPECT_FALSE(changed(2, 2));
  EXPECT_FALSE(changed(kWidth - 3, kHeight - 3));
}

TEST(GraphCutBg, ReplacePutsAColourBehind) {
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

// How much of it is seen: of the tint as of what covers the background.
TEST(GraphCutBg, ColoursHaveAnAlpha) {
  const auto picture = [](const char* properties) {
    Harness h(std::string("graphcutbg ") + properties);
    h.video("RGB", kWidth, kHeight);
    const BufferPtr out = last_of(h, 12, 3);
    return out ? bytes_of(out.get()) : std::vector<uint8_t>();
  };
  EXPECT_EQ(picture("output=overlay opacity=0.75 color=0x00ff0000"), picture("output=none"));
  EXPECT_EQ(picture("output=overlay opacity=1 color=0x80ff0000"),
            picture("output=overlay opacity=0.502 color=0xffff0000"));
  const std::vector<uint8_t> before = room(true);
  const auto half = picture("output=replace replace-with=color replace-color=0x800000ff");
  ASSERT_EQ(half.size(), 3 * before.size());
  EXPECT_NEAR(half[0], before[0] / 2, 1);
  EXPECT_NEAR(half[2], (before[0] + 255) / 2, 1);
  EXPECT_EQ(picture("output=replace replace-with=blur replace-color=0"),
            picture("output=replace replace-with=blur"));
}

TEST(GraphCutBg, NoneAttachesTheMaskForThoseDownstream) {
  Harness h("graphcutbg output=none ! cclabel source=mask min-area=20 output=none");
  h.video("GRAY8", kWidth, kHeight);
  const BufferPtr out = last_of(h);
  ASSERT_TRUE(out);
  EXPECT_EQ(bytes_of(out.get()), room(true));
  const GstStructure* regions = regions_of(out.get());
  ASSERT_TRUE(regions);
  ASSERT_EQ(region_count(regions), 1u);
  EXPECT_NEAR(std::stoi(region_field(regions, 0, "x")), kLeft, 1);
  EXPECT_NEAR(std::stoi(region_field(regions, 0, "width")), kSide, 2);
}

// Frames of a microsecond: a live cut is stopped after eight.
TEST(GraphCutBg, LiveCutsEndInTime) {
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
    EXPECT_FALSE(h.message_so_far(GST_MESSAGE_WARNING)) << "reported once per stream";
  }
}

TEST(GraphCutBg, AMaskIsRefined) {
  // cclabel finds the bright square; graphcutbg takes its label map as a trimap of sure pixels.
  Harness h("cclabel threshold=0.5 output=none ! graphcutbg source=mask output=mask");
  h.video("GRAY8", kWidth, kHeight);
  ASSERT_EQ(h.push(room(true)), GST_FLOW_OK);
  const BufferPtr out = h.pull();
  ASSERT_TRUE(out);
  EXPECT_GT(foreground_share(bytes_of(out.get()), true), 0.98);
  EXPECT_LT(foreground_share(bytes_of(out.get()), false), 0.01);
}

TEST(GraphCutBg, AMaskOfAnotherSizeIsRefined) {
  // The metadata goes through videoscale as it is: a mask of half the size.
  Harness h(
      "cclabel threshold=0.5 output=none ! videoscale ! video/x-raw,width=192,height=128"
      " ! graphcutbg source=mask output=mask");
  h.video("GRAY8", kWidth, kHeight);
  ASSERT_EQ(h.push(room(true)), GST_FLOW_OK);
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
  EXPECT_LE(wrong, 200) << "of the square's border of 192 pixels, one pixel either way";
}

TEST(GraphCutBg, AMissingMaskIsAClearErrorWhereItIsNeeded) {
  Harness needs("graphcutbg source=mask output=mask");
  needs.video("GRAY8", kWidth, kHeight);
  EXPECT_NE(needs.push(room(true)), GST_FLOW_OK);
  EXPECT_NE(needs.error_text().find("mask"), std::string::npos);

  Harness takes("graphcutbg source=both output=mask");
  takes.video("GRAY8", kWidth, kHeight);
  EXPECT_TRUE(last_of(takes));
  EXPECT_FALSE(takes.has_error());
}

TEST(GraphCutBg, PropertiesChangeWhilePlaying) {
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
    std::vector<uint8_t> nv12 = room(i > 5, i % 8);
    nv12.resize(kWidth * kHeight * 3 / 2, 128);
    ASSERT_EQ(h.push(nv12, i), GST_FLOW_OK);
    ASSERT_TRUE(h.pull());
  }
  stop = true;
  changer.join();
  EXPECT_FALSE(h.has_error());
}

// A preset sets properties as if each were set there: later ones count, and watchers hear of it.
TEST(GraphCutBg, APresetSetsOtherProperties) {
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
  EXPECT_EQ(scale, 0.1) << "as it is set";
  gst_object_unref(other);
}

TEST(GraphCutBg, ParametersOutsideTheirLimitsAreKeptOut) {
  Harness h("graphcutbg output=mask");
  gdouble before = 0, after = 0;
  g_object_get(h.element(), "lambda", &before, nullptr);
  for (const double bad : {-1.0, static_cast<double>(NAN), 1e9}) {
    g_object_set(h.element(), "lambda", bad, nullptr);
    g_object_get(h.element(), "lambda", &after, nullptr);
    EXPECT_GE(after, 0);
    EXPECT_LE(after, 32);
  }
}

TEST(GraphCutBg, FlushForgetsTheModel) {
  Harness h("graphcutbg output=mask");
  h.video("GRAY8", kWidth, kHeight);
  ASSERT_TRUE(last_of(h));
  gst_harness_push_event(h.get(), gst_event_new_flush_start());
  gst_harness_push_event(h.get(), gst_event_new_flush_stop(TRUE));
  GstSegment segment;
  gst_segment_init(&segment, GST_FORMAT_TIME);
  gst_harness_push_event(h.get(), gst_event_new_segment(&segment));
  ASSERT_EQ(h.push(room(true)), GST_FLOW_OK);
  const BufferPtr out = h.pull();
  ASSERT_TRUE(out);
  EXPECT_EQ(foreground_share(bytes_of(out.get()), true), 0);  // it is the first frame again
}

}  // namespace
}  // namespace regions::test

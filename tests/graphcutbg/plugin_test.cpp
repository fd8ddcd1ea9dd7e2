// The element graphcutbg: what it shows, attaches, says, reads from files and refuses.

#include <atomic>
#include <cmath>
#include <filesystem>
#include <thread>

#include "tests/plugin/harness.hpp"

namespace regions::test {
namespace {

constexpr int kWidth = 96, kHeight = 64;
constexpr int kLeft = 30, kTop = 20, kSide = 24;  // of the thing that appears

// A textured grey room; `thing`: with a bright square.
std::vector<uint8_t> room(bool thing, int shift = 0) {
  std::vector<uint8_t> gray(kWidth * kHeight);
  for (int y = 0; y < kHeight; ++y) {
    for (int x = 0; x < kWidth; ++x) {
      const bool inside =
          x >= kLeft + shift && x < kLeft + shift + kSide && y >= kTop && y < kTop + kSide;
      gray[static_cast<size_t>(y * kWidth + x)] =
          static_cast<uint8_t>(thing && inside ? 220 : 60 + (x * 7 + y * 13) % 8);
    }
  }
  return gray;
}

// Sends an empty room, then, as the last of them, one with the thing. Gives the last frame out.
BufferPtr last_of(Harness& h, int frames = 12) {
  BufferPtr out;
  for (int i = 0; i < frames; ++i) {
    if (h.push(room(i == frames - 1), i) != GST_FLOW_OK) return nullptr;
    out = h.pull();
    if (!out) return nullptr;
  }
  return out;
}

// Share of a mask's pixels inside the thing (or outside of it) that are foreground.
double foreground_share(const std::vector<uint8_t>& mask, bool inside) {
  int count = 0, foreground = 0;
  for (int y = 0; y < kHeight; ++y) {
    for (int x = 0; x < kWidth; ++x) {
      const bool in = x >= kLeft && x < kLeft + kSide && y >= kTop && y < kTop + kSide;
      if (in != inside) continue;
      ++count;
      foreground += mask[static_cast<size_t>(y * kWidth + x)] > 127;
    }
  }
  return static_cast<double>(foreground) / count;
}

std::string in_temporary_folder(const std::string& name) {
  return (std::filesystem::path(testing::TempDir()) / ("regions-graphcutbg-" + name)).string();
}

// A file with a grey picture of the room's colours.
std::string png_file(const std::string& name, int width, int height) {
  start_gstreamer();
  const std::string path = in_temporary_folder(name);
  const std::string line =
      "videotestsrc pattern=solid-color foreground-color=0xff3f3f3f "
      "num-buffers=1 ! video/x-raw,format=RGB,width=" +
      std::to_string(width) + ",height=" + std::to_string(height) +
      " ! pngenc ! filesink location=" + path;
  GstElement* pipeline = gst_parse_launch(line.c_str(), nullptr);
  gst_element_set_state(pipeline, GST_STATE_PLAYING);
  GstBus* bus = gst_element_get_bus(pipeline);
  const MessagePtr end(gst_bus_timed_pop_filtered(
      bus, 20 * GST_SECOND, static_cast<GstMessageType>(GST_MESSAGE_EOS | GST_MESSAGE_ERROR)));
  EXPECT_TRUE(end && GST_MESSAGE_TYPE(end.get()) == GST_MESSAGE_EOS);
  gst_object_unref(bus);
  gst_element_set_state(pipeline, GST_STATE_NULL);
  gst_object_unref(pipeline);
  return path;
}

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
  Harness h("graphcutbg output=overlay color=16711680 opacity=0.5");
  h.video("RGBA", kWidth, kHeight);
  const auto rgba = [](const std::vector<uint8_t>& gray) {
    std::vector<uint8_t> pixels;
    for (const uint8_t g : gray) pixels.insert(pixels.end(), {g, g, g, 255});
    return pixels;
  };
  BufferPtr out;
  for (int i = 0; i < 12; ++i) {
    ASSERT_EQ(h.push(rgba(room(i == 11)), i), GST_FLOW_OK);
    out = h.pull();
    ASSERT_TRUE(out);
  }
  const auto before = rgba(room(true)), after = bytes_of(out.get());
  const auto changed = [&](int x, int y) {
    const size_t i = static_cast<size_t>(y * kWidth + x) * 4;
    return !std::equal(before.begin() + static_cast<ptrdiff_t>(i),
                       before.begin() + static_cast<ptrdiff_t>(i + 4),
                       after.begin() + static_cast<ptrdiff_t>(i));
  };
  EXPECT_TRUE(changed(kLeft + kSide / 2, kTop + kSide / 2));
  EXPECT_FALSE(changed(2, 2));
  EXPECT_FALSE(changed(kWidth - 3, kHeight - 3));
}

TEST(GraphCutBg, ReplacePutsAColourBehind) {
  Harness h("graphcutbg output=replace replace-with=color replace-color=255");
  h.video("RGB", kWidth, kHeight);
  BufferPtr out;
  for (int i = 0; i < 12; ++i) {
    std::vector<uint8_t> pixels;
    for (const uint8_t g : room(i == 11)) pixels.insert(pixels.end(), {g, g, g});
    ASSERT_EQ(h.push(pixels, i), GST_FLOW_OK);
    out = h.pull();
    ASSERT_TRUE(out);
  }
  const auto pixels = bytes_of(out.get());
  const auto at = [&](int x, int y) { return &pixels[static_cast<size_t>(y * kWidth + x) * 3]; };
  EXPECT_EQ(at(2, 2)[0], 0);
  EXPECT_EQ(at(2, 2)[2], 255);
  EXPECT_EQ(at(kLeft + kSide / 2, kTop + kSide / 2)[0], 220);
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

TEST(GraphCutBg, SaysWhetherTheCutIsExact) {
  Harness h("graphcutbg output=none verify=true post-messages=true");
  h.video("GRAY8", kWidth, kHeight);
  const BufferPtr out = last_of(h);
  ASSERT_TRUE(out);
  const GstStructure* facts = regions_of(out.get());
  ASSERT_TRUE(facts);
  gboolean exact = FALSE;
  gint64 flow = -1, cut = -2, gap = -1;
  ASSERT_TRUE(gst_structure_get_boolean(facts, "exact", &exact));
  ASSERT_TRUE(gst_structure_get_int64(facts, "flow", &flow));
  ASSERT_TRUE(gst_structure_get_int64(facts, "cut-value", &cut));
  ASSERT_TRUE(gst_structure_get_int64(facts, "gap", &gap));
  EXPECT_TRUE(exact);
  EXPECT_EQ(flow, cut);
  EXPECT_EQ(gap, 0);
  const MessagePtr message = h.message(GST_MESSAGE_ELEMENT);
  ASSERT_TRUE(message);
  EXPECT_TRUE(gst_structure_has_field(gst_message_get_structure(message.get()), "exact"));
}

TEST(GraphCutBg, ModelIsWrittenAndReadAgain) {
  const std::string path = in_temporary_folder("model");
  std::filesystem::remove(path);
  {
    Harness h("graphcutbg output=mask model-location=" + path);
    h.video("GRAY8", kWidth, kHeight);
    ASSERT_TRUE(last_of(h));
  }
  ASSERT_TRUE(std::filesystem::exists(path));
  Harness h("graphcutbg output=mask model-location=" + path);
  h.video("GRAY8", kWidth, kHeight);
  ASSERT_EQ(h.push(room(true)), GST_FLOW_OK);
  const BufferPtr out = h.pull();
  ASSERT_TRUE(out);
  EXPECT_GT(foreground_share(bytes_of(out.get()), true), 0.98);  // of its very first frame
}

TEST(GraphCutBg, ModelOfAnotherSizeIsRefused) {
  const std::string path = in_temporary_folder("model-of-another-size");
  std::filesystem::remove(path);
  {
    Harness h("graphcutbg output=mask model-location=" + path);
    h.video("GRAY8", kWidth, kHeight);
    ASSERT_TRUE(last_of(h, 2));
  }
  Harness h("graphcutbg output=mask model-location=" + path);
  h.video("GRAY8", kWidth / 2, kHeight);
  EXPECT_NE(h.push(std::vector<uint8_t>(kWidth / 2 * kHeight)), GST_FLOW_OK);
  EXPECT_NE(h.error_text(), "");
}

TEST(GraphCutBg, BackgroundImageIsTheModel) {
  const std::string path = png_file("background.png", kWidth, kHeight);
  Harness h("graphcutbg output=mask background-image=" + path);
  h.video("GRAY8", kWidth, kHeight);
  ASSERT_EQ(h.push(room(true)), GST_FLOW_OK);
  const BufferPtr out = h.pull();
  ASSERT_TRUE(out);
  EXPECT_GT(foreground_share(bytes_of(out.get()), true), 0.98);
  EXPECT_LT(foreground_share(bytes_of(out.get()), false), 0.01);
}

TEST(GraphCutBg, BadPicturesAreNamed) {
  const std::string small = png_file("small.png", kWidth / 2, kHeight);
  for (const std::string& path : {small, in_temporary_folder("missing.png")}) {
    Harness h("graphcutbg output=mask background-image=" + path);
    h.video("GRAY8", kWidth, kHeight);
    EXPECT_NE(h.push(room(false)), GST_FLOW_OK);
    EXPECT_NE(h.error_text().find(path), std::string::npos);
  }
}

TEST(GraphCutBg, ReplacementOfAnotherSizeIsScaled) {
  const std::string path = png_file("replacement.png", 31, 17);
  Harness h("graphcutbg output=replace replace-with=image replace-image=" + path);
  h.video("GRAY8", kWidth, kHeight);
  const BufferPtr out = last_of(h);
  ASSERT_TRUE(out);
  EXPECT_NEAR(bytes_of(out.get())[kWidth * 2 + 2], 0x3f, 2);
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

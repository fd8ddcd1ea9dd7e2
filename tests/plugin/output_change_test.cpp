// Outputs and numbers of layers that change while playing.
#include <algorithm>

#include "tests/plugin/moving_square.hpp"

namespace regions::test {
namespace {

void set(Harness& h, const char* property, const char* text) {
  gst_util_set_object_arg(G_OBJECT(h.element()), property, text);
}

std::vector<uint8_t> next(Harness& h, int index) {
  EXPECT_EQ(h.push(gray_with_square(), index), GST_FLOW_OK);
  const BufferPtr out = h.pull();
  if (!out) return {};
  EXPECT_EQ(GST_BUFFER_PTS(out.get()), static_cast<GstClockTime>(index) * 40 * GST_MSECOND);
  return bytes_of(out.get());
}

TEST(OutputChange, TakesEffectWithTheNextFrameOnWhereCapsStayEqual) {
  Harness h("cclabel output=none frames-in-flight=3");
  h.video("GRAY8", kWidth, kHeight);
  EXPECT_EQ(next(h, 0), gray_with_square());
  set(h, "output", "overlay");
  EXPECT_NE(next(h, 1), gray_with_square());
  set(h, "output", "none");
  EXPECT_EQ(next(h, 2), gray_with_square());
  EXPECT_FALSE(h.message_so_far(GST_MESSAGE_WARNING));
}

struct Shown {
  const char *output, *format;
  size_t bytes;  // a pixel
};

void expect_shown(const std::string& element, const std::vector<Shown>& steps) {
  Harness h(element + " output=none");
  h.video("GRAY8", kWidth, kHeight, ",pixel-aspect-ratio=4/3");
  int index = 0;
  for (const auto& [output, format, bytes] : steps) {
    set(h, "output", output);
    EXPECT_EQ(next(h, index++).size(), bytes * kWidth * kHeight) << element << " " << output;
    const std::string caps = h.caps_out();
    EXPECT_NE(caps.find(format), std::string::npos) << element << " " << caps;
    EXPECT_NE(caps.find("4/3"), std::string::npos) << caps;
    EXPECT_EQ(h.property("output"), output);
  }
  EXPECT_FALSE(h.has_error());
}

TEST(OutputChange, AgreesOnOtherCaps) {
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

// Frames under way leave as they were begun, and in order.
TEST(OutputChange, LosesNoFrame) {
  for (const char* volume : {"", " depth=4 connectivity=26"}) {
    Harness h("cclabel output=none frames-in-flight=4" + std::string(volume));
    h.video("GRAY8", kWidth, kHeight);
    constexpr int kFrames = 23;
    for (int i = 0; i < kFrames; ++i) {
      if (i == 10) set(h, "output", "labels");
      ASSERT_EQ(h.push(gray_with_square(), i), GST_FLOW_OK);
    }
    h.eos();
    for (int i = 0; i < kFrames; ++i) {
      const BufferPtr out = h.pull();
      ASSERT_TRUE(out) << i;
      EXPECT_EQ(GST_BUFFER_PTS(out.get()), static_cast<GstClockTime>(i) * 40 * GST_MSECOND);
      EXPECT_EQ(gst_buffer_get_size(out.get()), size_t{kWidth * kHeight} * (i < 10 ? 1 : 2)) << i;
    }
    EXPECT_EQ(stat(h, "frames-dropped"), 0u);
  }
}

TEST(OutputChange, TheBackgroundModelGoesOn) {
  Harness h("graphcutbg output=mask");
  h.video("GRAY8", kWidth, kHeight);
  for (int i = 0; i < 30; ++i) {
    ASSERT_EQ(h.push(std::vector<uint8_t>(kWidth * kHeight, 10), i), GST_FLOW_OK);
    h.pull();
  }
  const std::vector<uint8_t> before = next(h, 30);
  EXPECT_GT(std::count(before.begin(), before.end(), 255), 200);
  set(h, "output", "overlay");
  EXPECT_NE(next(h, 31), gray_with_square());
  set(h, "output", "mask");
  const std::vector<uint8_t> after = next(h, 32);
  EXPECT_GT(std::count(after.begin(), after.end(), 255), 200);
}

// But not where the rectangle moves at once: it is another scene.
TEST(OutputChange, AMovedRectangleIsAnotherScene) {
  Harness h("graphcutbg output=mask width=40");
  h.video("GRAY8", kWidth, kHeight);
  for (int i = 0; i < 30; ++i) {
    ASSERT_EQ(h.push(std::vector<uint8_t>(kWidth * kHeight, 10), i), GST_FLOW_OK);
    h.pull();
  }
  set(h, "output", "overlay");
  next(h, 30);
  set(h, "left", "4");
  set(h, "output", "mask");
  const std::vector<uint8_t> first = next(h, 31);
  EXPECT_EQ(std::count(first.begin(), first.end(), 255), 0);
}

TEST(OutputChange, WhatDownstreamRefusesIsNotDone) {
  Harness h("cclabel output=none", "video/x-raw,format=GRAY8");
  h.video("GRAY8", kWidth, kHeight);
  next(h, 0);
  set(h, "output", "colors");
  EXPECT_EQ(next(h, 1), gray_with_square());
  EXPECT_TRUE(h.message(GST_MESSAGE_WARNING));
  EXPECT_EQ(h.property("output"), "none");
  EXPECT_EQ(next(h, 2), gray_with_square());
  EXPECT_FALSE(h.message_so_far(GST_MESSAGE_WARNING));  // once
  set(h, "output", "labels");
  EXPECT_EQ(next(h, 3).size(), size_t{kWidth * kHeight});
  EXPECT_EQ(h.property("output"), "labels");
  EXPECT_FALSE(h.has_error());
}

TEST(OutputChange, ThresholdsStackPictures) {
  Harness h("cclabel output=labels", "video/x-raw,format=GRAY8");
  h.video("GRAY8", kWidth, kHeight);
  EXPECT_EQ(next(h, 0).size(), size_t{kWidth * kHeight});
  set(h, "thresholds", "<0.2,0.5,0.9>");
  EXPECT_EQ(next(h, 1).size(), size_t{3 * kWidth * kHeight});
  EXPECT_NE(h.caps_out().find("layers=(int)3"), std::string::npos) << h.caps_out();
  set(h, "thresholds", "<>");
  EXPECT_EQ(next(h, 2).size(), size_t{kWidth * kHeight});
  EXPECT_FALSE(h.has_error());
}

}  // namespace
}  // namespace regions::test

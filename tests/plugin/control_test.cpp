// Properties that follow a control source: each frame is worked on with the values of its own
// stream time, however many frames are in flight.
#include <gst/controller/gstdirectcontrolbinding.h>
#include <gst/controller/gstinterpolationcontrolsource.h>

#include "tests/plugin/harness.hpp"

namespace regions::test {
namespace {

constexpr int kWidth = 104, kHeight = 3;
constexpr int kFrames = 51;
constexpr guint kDots = 96;

// From black on the left to white on the right.
std::vector<uint8_t> slope() {
  std::vector<uint8_t> bytes;
  for (int i = 0; i < kWidth * kHeight; ++i) {
    bytes.push_back(static_cast<uint8_t>((i % kWidth) * 255 / 103));
  }
  return bytes;
}

// Never at a gray level, where the last digit would decide.
double threshold_at(int frame) { return (frame + 0.5) / kFrames; }

// The threshold goes up in a line from the stream time of the first frame on.
void ramp(GstElement* element, GstClockTime first) {
  GstControlSource* source = gst_interpolation_control_source_new();
  g_object_set(source, "mode", GST_INTERPOLATION_MODE_LINEAR, nullptr);
  auto* points = GST_TIMED_VALUE_CONTROL_SOURCE(source);
  const GstClockTime last = first + (kFrames - 1) * 40 * GST_MSECOND;
  gst_timed_value_control_source_set(points, first, threshold_at(0));
  gst_timed_value_control_source_set(points, last, threshold_at(kFrames - 1));
  EXPECT_TRUE(gst_object_add_control_binding(
      GST_OBJECT(element),
      gst_direct_control_binding_new(GST_OBJECT(element), "threshold", source)));
  gst_object_unref(source);
}

// How many columns of the slope are foreground then.
int columns_at(int frame) {
  int columns = 0;
  for (int x = 0; x < kWidth; ++x) columns += x * 255 / 103 >= threshold_at(frame) * 255;
  return columns;
}

class Control : public ::testing::TestWithParam<const char*> {};

TEST_P(Control, AThresholdIsThatOfTheFramesStreamTime) {
  Harness h(GetParam());
  h.video("GRAY8", kWidth, kHeight);
  // Stream time 10 s is at timestamp 1 s.
  GstSegment segment;
  gst_segment_init(&segment, GST_FORMAT_TIME);
  segment.start = GST_SECOND;
  segment.time = 10 * GST_SECOND;
  gst_harness_push_event(h.get(), gst_event_new_segment(&segment));
  ramp(h.element(), 10 * GST_SECOND);
  for (int i = 0; i < kFrames; ++i) ASSERT_EQ(h.push(slope(), 25 + i), GST_FLOW_OK);
  h.eos();
  for (int i = 0; i < kFrames; ++i) {
    const BufferPtr out = h.pull();
    ASSERT_TRUE(out);
    ASSERT_EQ(region_count(regions_of(out.get())), 1u) << i;
    EXPECT_EQ(region_field(regions_of(out.get()), 0, "area"),
              std::to_string(columns_at(i) * kHeight))
        << "frame " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Elements, Control,
                         ::testing::Values("cclabel output=none frames-in-flight=1",
                                           "cclabel output=none frames-in-flight=4",
                                           "cclabel output=labels frames-in-flight=8",
                                           "cclabel output=overlay frames-in-flight=3"));

// What is decided of a frame when it is done goes by its own values, too: the next frame has been
// taken in meanwhile.
TEST(Control, AVerdictIsByTheFramesOwnValues) {
  Harness h("cclabel output=labels frames-in-flight=8", "video/x-raw,format=GRAY8");
  h.video("GRAY8", kDots, kDots);
  std::vector<uint8_t> dots(kDots * kDots);
  for (size_t y = 0; y < kDots; y += 2) {
    for (size_t x = 0; x < kDots; x += 2) dots[y * kDots + x] = 255;
  }
  GstControlSource* source = gst_interpolation_control_source_new();
  g_object_set(source, "mode", GST_INTERPOLATION_MODE_NONE, nullptr);
  for (int i = 0; i < 40; ++i) {  // drop-smallest, saturate, drop-smallest, …
    gst_timed_value_control_source_set(GST_TIMED_VALUE_CONTROL_SOURCE(source),
                                       static_cast<GstClockTime>(i) * 40 * GST_MSECOND,
                                       i % 2 ? 0.6 : 0);
  }
  EXPECT_TRUE(gst_object_add_control_binding(
      GST_OBJECT(h.element()),
      gst_direct_control_binding_new(GST_OBJECT(h.element()), "overflow", source)));
  gst_object_unref(source);
  for (int i = 0; i < 40; ++i) ASSERT_EQ(h.push(dots, i), GST_FLOW_OK);
  h.eos();
  for (int i = 0; i < 40; ++i) {
    EXPECT_EQ(region_count(regions_of(h.pull().get())), i % 2 ? kDots * kDots / 4 : 255u) << i;
  }
}

// A volume is worked on when it is full, with the values of its last frame.
TEST(Control, AVolumeTakesTheValuesOfItsLastFrame) {
  Harness h("cclabel output=none depth=5 connectivity=6 frames-in-flight=2");
  h.video("GRAY8", kWidth, kHeight);
  ramp(h.element(), 0);
  for (int i = 0; i < 50; ++i) ASSERT_EQ(h.push(slope(), i), GST_FLOW_OK);
  h.eos();
  for (int i = 0; i < 50; ++i) {
    EXPECT_EQ(region_field(regions_of(h.pull().get()), 0, "area"),
              std::to_string(columns_at(i / 5 * 5 + 4) * kHeight * 5))
        << "frame " << i;
  }
}

// The rectangle is made anew between frames.
TEST(Control, ARectangleIsThatOfTheFramesStreamTime) {
  Harness h("cclabel output=none frames-in-flight=4 threshold=0");
  h.video("GRAY8", kWidth, kHeight);
  GstControlSource* source = gst_interpolation_control_source_new();
  g_object_set(source, "mode", GST_INTERPOLATION_MODE_NONE, nullptr);
  for (int i = 0; i < 20; ++i) {
    gst_timed_value_control_source_set(GST_TIMED_VALUE_CONTROL_SOURCE(source),
                                       static_cast<GstClockTime>(i) * 40 * GST_MSECOND, 5.0 * i);
  }
  EXPECT_TRUE(gst_object_add_control_binding(
      GST_OBJECT(h.element()),
      gst_direct_control_binding_new_absolute(GST_OBJECT(h.element()), "left", source)));
  gst_object_unref(source);
  for (int i = 0; i < 20; ++i) ASSERT_EQ(h.push(slope(), i), GST_FLOW_OK);
  h.eos();
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(region_field(regions_of(h.pull().get()), 0, "x"), std::to_string(5 * i)) << i;
  }
}

// Without times there is nothing to follow, and nothing goes wrong.
TEST(Control, FramesWithoutTimesKeepTheLastValue) {
  Harness h("cclabel output=none");
  h.video("GRAY8", kWidth, kHeight);
  ramp(h.element(), 0);
  GstBuffer* timeless = Harness::buffer(slope());
  GST_BUFFER_PTS(timeless) = GST_CLOCK_TIME_NONE;
  ASSERT_EQ(h.push(slope(), 20), GST_FLOW_OK);
  ASSERT_EQ(gst_harness_push(h.get(), timeless), GST_FLOW_OK);
  const std::string area = region_field(regions_of(h.pull().get()), 0, "area");
  EXPECT_EQ(area, std::to_string(columns_at(20) * kHeight));
  EXPECT_EQ(region_field(regions_of(h.pull().get()), 0, "area"), area);
}

}  // namespace
}  // namespace regions::test

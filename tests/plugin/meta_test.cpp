// What cclabel says of a frame, how others read it, and what regionoverlay does with it.
#include <algorithm>

#include "tests/plugin/harness.hpp"

namespace regions::test {
namespace {

constexpr int kWidth = 40, kHeight = 30;

// Two rectangles: 6x4 at (3, 2) of value 200, 10x5 at (20, 12) of value 240.
std::vector<uint8_t> two_rectangles() {
  std::vector<uint8_t> bytes(kWidth * kHeight, 16);
  const auto fill = [&](int x0, int y0, int w, int h, uint8_t value) {
    for (int y = y0; y < y0 + h; ++y) {
      for (int x = x0; x < x0 + w; ++x) bytes[static_cast<size_t>(y * kWidth + x)] = value;
    }
  };
  fill(3, 2, 6, 4, 200);
  fill(20, 12, 10, 5, 240);
  return bytes;
}

BufferPtr labelled(const std::string& more, const std::string& caps = "") {
  Harness h("cclabel " + more, caps);
  h.video("GRAY8", kWidth, kHeight);
  EXPECT_EQ(h.push(two_rectangles()), GST_FLOW_OK);
  return h.pull();
}

TEST(Meta, HoldsTheContract) {
  const BufferPtr out = labelled("output=none");
  const GstStructure* regions = regions_of(out.get());
  ASSERT_TRUE(regions);
  EXPECT_STREQ(gst_structure_get_string(regions, "algorithm"), "cclabel");
  gint width = 0;
  EXPECT_TRUE(gst_structure_get_int(regions, "width", &width));
  EXPECT_EQ(width, kWidth);
  guint total = 0;
  EXPECT_TRUE(gst_structure_get_uint(regions, "regions-total", &total));
  EXPECT_EQ(total, 2u);
  ASSERT_EQ(region_count(regions), 2u);
  const std::pair<const char*, const char*> second[] = {
      {"id", "2"},       {"track", "2"}, {"x", "20"},      {"y", "12"},    {"width", "10"},
      {"height", "5"},   {"area", "50"}, {"cx", "24.5"},   {"cy", "14"},   {"first-x", "20"},
      {"first-y", "12"}, {"red", "240"}, {"green", "240"}, {"blue", "240"}};
  for (const auto& [name, value] : second) EXPECT_EQ(region_field(regions, 1, name), value) << name;
}

TEST(Meta, RegionsOfInterestCarryTheRegionsIdsLargestFirst) {
  const BufferPtr out = labelled("output=none");
  auto* first = gst_buffer_get_video_region_of_interest_meta_id(out.get(), 1);
  auto* second = gst_buffer_get_video_region_of_interest_meta_id(out.get(), 2);
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->x, 3u);
  EXPECT_EQ(first->w, 6u);
  EXPECT_EQ(second->x, 20u);
  EXPECT_EQ(second->w, 10u);
  EXPECT_STREQ(g_quark_to_string(second->roi_type), "region");
  EXPECT_FALSE(gst_buffer_get_video_region_of_interest_meta_id(out.get(), 3));
  EXPECT_EQ(gst_buffer_get_video_region_of_interest_meta(out.get()), second);
}

double real_in(const GstStructure* s, const char* name) {
  gdouble value = -1;
  EXPECT_TRUE(gst_structure_get_double(s, name, &value)) << name;
  return value;
}

// As DL Streamer's elements read them.
TEST(Meta, RegionsOfInterestCarryParameters) {
  for (const bool tracked : {false, true}) {
    const BufferPtr out = labelled(tracked ? "output=none track=true" : "output=none");
    auto* roi = gst_buffer_get_video_region_of_interest_meta_id(out.get(), 2);
    ASSERT_TRUE(roi);
    const GstStructure* box = gst_video_region_of_interest_meta_get_param(roi, "detection");
    ASSERT_TRUE(box);
    EXPECT_STREQ(gst_structure_get_string(box, "label"), "region");
    EXPECT_EQ(real_in(box, "confidence"), 1);
    EXPECT_EQ(real_in(box, "x_min"), 20.0 / kWidth);
    EXPECT_EQ(real_in(box, "y_min"), 12.0 / kHeight);
    EXPECT_EQ(real_in(box, "x_max"), 30.0 / kWidth);
    EXPECT_EQ(real_in(box, "y_max"), 17.0 / kHeight);
    const GstStructure* object = gst_video_region_of_interest_meta_get_param(roi, "object_id");
    EXPECT_EQ(object != nullptr, tracked);
    gint id = 0;
    if (object) gst_structure_get_int(object, "id", &id);
    EXPECT_EQ(id, tracked ? 2 : 0);
  }
}

TEST(Meta, TracksTellWhenTheyWereFirstSeen) {
  Harness h("cclabel output=none track=true device=cpu");
  h.video("GRAY8", kWidth, kHeight);
  const auto times = [&](const std::vector<uint8_t>& picture, int index) {
    EXPECT_EQ(h.push(picture, index), GST_FLOW_OK);
    const BufferPtr out = h.pull();
    std::string text;
    for (guint i = 0; i < region_count(regions_of(out.get())); ++i) {
      text += region_field(regions_of(out.get()), i, "first-seen") + " ";
    }
    return text;
  };
  std::vector<uint8_t> one = two_rectangles();
  std::fill(one.begin() + 12 * kWidth, one.end(), uint8_t{16});
  EXPECT_EQ(times(one, 1), "40000000 ");
  EXPECT_EQ(times(two_rectangles(), 2), "40000000 80000000 ");
  EXPECT_EQ(times(one, 3), "40000000 ");
  EXPECT_EQ(times(two_rectangles(), 4), "40000000 80000000 ");  // lost and found
  gst_harness_push_event(h.get(), gst_event_new_flush_start());
  gst_harness_push_event(h.get(), gst_event_new_flush_stop(TRUE));
  GstSegment segment;
  gst_segment_init(&segment, GST_FORMAT_TIME);
  gst_harness_push_event(h.get(), gst_event_new_segment(&segment));
  EXPECT_EQ(times(two_rectangles(), 9), "360000000 360000000 ");
  EXPECT_FALSE(gst_structure_has_field(
      gst_value_get_structure(gst_value_array_get_value(
          gst_structure_get_value(regions_of(labelled("output=none").get()), "regions"), 0)),
      "first-seen"));
}

TEST(Meta, LabelMapsAreReleasedOnRequest) {
  for (const bool released : {false, true}) {
    Harness h(std::string("regionoverlay style=boxes") + (released ? " attach-labels=never" : ""));
    h.video("GRAY8", kWidth, kHeight);
    gst_harness_push(h.get(), labelled("output=none").release());
    const BufferPtr out = h.pull();
    const GstStructure* regions = regions_of(out.get());
    EXPECT_EQ(region_count(regions), 2u);
    EXPECT_EQ(gst_structure_has_field(regions, "labels"), !released);
    EXPECT_EQ(gst_structure_has_field(regions, "labels-format"), !released);
  }
}

TEST(Meta, LabelMapIsAttached) {
  const BufferPtr out = labelled("output=none");
  const GValue* value = gst_structure_get_value(regions_of(out.get()), "labels");
  ASSERT_TRUE(value);
  const std::vector<uint8_t> bytes = bytes_of(gst_value_get_buffer(value));
  ASSERT_EQ(bytes.size(), kWidth * kHeight * sizeof(uint32_t));
  std::vector<uint32_t> labels(kWidth * kHeight);
  memcpy(labels.data(), bytes.data(), bytes.size());
  EXPECT_EQ(labels[2 * kWidth + 3], 1u);
  EXPECT_EQ(labels[12 * kWidth + 20], 2u);
  EXPECT_EQ(labels[0], 0u);
  EXPECT_FALSE(gst_structure_has_field(
      regions_of(labelled("attach-labels=never output=none").get()), "labels"));
}

TEST(Meta, LabelPicturesOfEveryDepth) {
  const std::pair<const char*, size_t> formats[] = {{"video/x-raw,format=GRAY8", 1},
                                                    {"video/x-raw,format=GRAY16_LE", 2},
                                                    {"video/x-region-labels,format=U32_LE", 4}};
  for (const auto& [caps, bytes] : formats) {
    const BufferPtr out = labelled("output=labels", caps);
    ASSERT_TRUE(out) << caps;
    const std::vector<uint8_t> picture = bytes_of(out.get());
    EXPECT_EQ(picture[(12 * kWidth + 20) * bytes], 2) << caps;
    EXPECT_EQ(picture[(2 * kWidth + 3) * bytes], 1) << caps;
  }
}

TEST(Meta, MaxRegionsBoundsRecordsNotTheTotal) {
  const BufferPtr out = labelled("output=none max-regions=1");
  guint total = 0;
  gst_structure_get_uint(regions_of(out.get()), "regions-total", &total);
  EXPECT_EQ(total, 2u);
  EXPECT_EQ(region_count(regions_of(out.get())), 1u);
}

// Asked for its caps meanwhile, an element still keeps to what its tables were made for.
TEST(Meta, MaxRegionsSetWhilePlayingWaitsForNewCaps) {
  Harness h("cclabel output=none connectivity=4 max-regions=1 device=cpu");
  const auto first_kept = [&](int index) {
    EXPECT_EQ(h.push(two_rectangles(), index), GST_FLOW_OK);
    const BufferPtr out = h.pull();
    return region_count(regions_of(out.get()));
  };
  h.video("GRAY8", kWidth, kHeight);
  EXPECT_EQ(first_kept(0), 1u);
  g_object_set(h.element(), "max-regions", 1000, nullptr);
  GstPad* sink = gst_element_get_static_pad(h.element(), "sink");
  const std::unique_ptr<GstCaps, Unref> possible(gst_pad_query_caps(sink, nullptr));
  gst_object_unref(sink);
  EXPECT_EQ(first_kept(1), 1u);
  h.video("GRAY8", kWidth, kHeight, ",pixel-aspect-ratio=2/1");
  EXPECT_EQ(first_kept(2), 2u);
}

TEST(Meta, ASecondElementReplacesTheFirstOnes) {
  Harness h("cclabel name=first output=none ! cclabel name=cclabel output=none min-area=30");
  h.video("GRAY8", kWidth, kHeight);
  h.push(two_rectangles());
  const BufferPtr out = h.pull();
  EXPECT_EQ(region_count(regions_of(out.get())), 1u);
  EXPECT_EQ(gst_buffer_get_n_meta(out.get(), GST_VIDEO_REGION_OF_INTEREST_META_API_TYPE), 1u);
}

TEST(Meta, TheLabelMapServesAsMask) {
  Harness h(
      "cclabel name=first output=none max-area=30 ! cclabel name=cclabel source=mask output=none");
  h.video("GRAY8", kWidth, kHeight);
  h.push(two_rectangles());
  const BufferPtr out = h.pull();
  ASSERT_EQ(region_count(regions_of(out.get())), 1u);
  EXPECT_EQ(region_field(regions_of(out.get()), 0, "x"), "3");
}

TEST(Meta, MessagesCarryTheRegions) {
  Harness h("cclabel output=none post-messages=true");
  h.video("GRAY8", kWidth, kHeight);
  h.push(two_rectangles(), 3);
  ASSERT_TRUE(h.pull());
  const MessagePtr message = h.message(GST_MESSAGE_ELEMENT);
  ASSERT_TRUE(message);
  const GstStructure* s = gst_message_get_structure(message.get());
  EXPECT_TRUE(gst_structure_has_name(s, "cclabel"));
  guint64 time = 0;
  EXPECT_TRUE(gst_structure_get_uint64(s, "running-time", &time));
  EXPECT_EQ(time, 120 * GST_MSECOND);
  EXPECT_EQ(region_count(s), 2u);
}

TEST(Meta, OverflowWarnsAndDropsTheSmallest) {
  Harness h("cclabel output=labels", "video/x-raw,format=GRAY8");
  h.video("GRAY8", 64, 48);
  std::vector<uint8_t> dots(64 * 48);
  for (size_t y = 0; y < 48; y += 2) {
    for (size_t x = 0; x < 64; x += 2) dots[y * 64 + x] = 255;
  }
  dots[47 * 64 + 63] = dots[47 * 64 + 62] = dots[46 * 64 + 62] = 255;  // the largest comes last
  ASSERT_EQ(h.push(dots), GST_FLOW_OK);
  const BufferPtr out = h.pull();
  EXPECT_TRUE(h.message(GST_MESSAGE_WARNING));
  const std::vector<uint8_t> labels = bytes_of(out.get());
  EXPECT_EQ(labels[46 * 64 + 62], 255);
  EXPECT_EQ(labels[46 * 64 + 60], 0);
  EXPECT_EQ(labels[0], 1);
  guint total = 0;
  gst_structure_get_uint(regions_of(out.get()), "regions-total", &total);
  EXPECT_EQ(total, 768u);
  EXPECT_EQ(region_count(regions_of(out.get())), 255u);
}

TEST(Meta, RegionOverlayDrawsAndKeepsIt) {
  Harness h("regionoverlay style=boxes thickness=1");
  h.video("GRAY8", kWidth, kHeight);
  BufferPtr in = labelled("output=none");
  gst_harness_push(h.get(), in.release());
  const BufferPtr out = h.pull();
  EXPECT_EQ(region_count(regions_of(out.get())), 2u);
  const std::vector<uint8_t> drawn = bytes_of(out.get()), plain = two_rectangles();
  EXPECT_NE(drawn[12 * kWidth + 20], plain[12 * kWidth + 20]);  // the box's corner
  EXPECT_EQ(drawn[14 * kWidth + 25], plain[14 * kWidth + 25]);  // its inside
  EXPECT_EQ(drawn[28 * kWidth + 2], plain[28 * kWidth + 2]);    // far away
}

TEST(Meta, RegionOverlayWithoutRegionsChangesNothing) {
  Harness h("regionoverlay");
  h.video("GRAY8", kWidth, kHeight);
  h.push(two_rectangles());
  EXPECT_EQ(bytes_of(h.pull().get()), two_rectangles());
}

TEST(Meta, RegionsScaleWithThePicture) {
  Harness h(
      "cclabel output=none ! videoscale ! video/x-raw,width=80,height=60 ! "
      "regionoverlay style=boxes thickness=1");
  h.video("GRAY8", kWidth, kHeight);
  h.push(two_rectangles());
  const BufferPtr out = h.pull();
  const std::vector<uint8_t> drawn = bytes_of(out.get());
  EXPECT_NE(drawn[24 * 80 + 50], 240);  // top edge of the box, twice as far as before
  EXPECT_EQ(drawn[29 * 80 + 50], 240);  // inside
}

TEST(Meta, StridesOfVideoMetaAreHonoured) {
  const size_t pitch = 64;
  std::vector<uint8_t> padded(pitch * kHeight, 255);  // the padding would be one large region
  const std::vector<uint8_t> plain = two_rectangles();
  for (size_t y = 0; y < kHeight; ++y) memcpy(&padded[y * pitch], &plain[y * kWidth], kWidth);
  for (const char* output : {"none", "overlay", "labels"}) {
    Harness h(std::string("cclabel output=") + output);
    h.video("GRAY8", kWidth, kHeight);
    GstBuffer* in = Harness::buffer(padded);
    gsize offset[] = {0, 0, 0, 0};
    gint stride[] = {static_cast<gint>(pitch), 0, 0, 0};
    gst_buffer_add_video_meta_full(in, GST_VIDEO_FRAME_FLAG_NONE, GST_VIDEO_FORMAT_GRAY8, kWidth,
                                   kHeight, 1, offset, stride);
    ASSERT_EQ(gst_harness_push(h.get(), in), GST_FLOW_OK);
    const BufferPtr out = h.pull();
    EXPECT_EQ(region_count(regions_of(out.get())), 2u) << output;
    if (std::string(output) == "overlay") {
      EXPECT_EQ(bytes_of(out.get())[kWidth + 5], 255);
    }
  }
}

}  // namespace
}  // namespace regions::test

// Frames that hold no picture, or less than one: they pass, in order, and the stream goes on.
#include "tests/plugin/moving_square.hpp"

namespace regions::test {
namespace {

std::string warning_text(Harness& h) {
  const MessagePtr m = h.message(GST_MESSAGE_WARNING);
  if (!m) return "";
  GError* error = nullptr;
  gst_message_parse_warning(m.get(), &error, nullptr);
  const std::string text = error->message;
  g_error_free(error);
  return text;
}

GstBuffer* short_frame(int index, size_t bytes, guint flags = 0) {
  GstBuffer* b = Harness::buffer(std::vector<uint8_t>(bytes), index);
  if (bytes == 0) gst_buffer_remove_all_memory(b);
  GST_BUFFER_FLAG_SET(b, flags);
  return b;
}

// Whole frames have one region; what comes out of the others, by their bytes.
void expect_whole(GstBuffer* out, int index) {
  ASSERT_TRUE(out);
  EXPECT_EQ(GST_BUFFER_PTS(out), static_cast<GstClockTime>(index) * 40 * GST_MSECOND);
  EXPECT_FALSE(GST_BUFFER_FLAG_IS_SET(out, GST_BUFFER_FLAG_GAP));
  ASSERT_TRUE(regions_of(out));
  EXPECT_EQ(region_count(regions_of(out)), 1u);
}

class ShortFrames : public ::testing::TestWithParam<const char*> {};

TEST_P(ShortFrames, PassAsTheyCameWhereThePictureDoes) {
  for (const char* output : {"none", "overlay"}) {
    Harness h(std::string(GetParam()) + " output=" + output);
    h.video("GRAY8", kWidth, kHeight);
    ASSERT_EQ(h.push(gray_with_square(), 0), GST_FLOW_OK);
    ASSERT_EQ(gst_harness_push(h.get(), short_frame(1, 0, GST_BUFFER_FLAG_GAP)), GST_FLOW_OK);
    ASSERT_EQ(gst_harness_push(h.get(), short_frame(2, 100)), GST_FLOW_OK);
    ASSERT_EQ(gst_harness_push(h.get(), short_frame(3, 0)), GST_FLOW_OK);
    ASSERT_EQ(h.push(gray_with_square(), 4), GST_FLOW_OK);
    h.eos();
    for (int i = 0; i < 5; ++i) {
      const BufferPtr out = h.pull();
      if (i == 0 || i == 4) {
        expect_whole(out.get(), i);
        continue;
      }
      ASSERT_TRUE(out);
      EXPECT_EQ(GST_BUFFER_PTS(out.get()), static_cast<GstClockTime>(i) * 40 * GST_MSECOND);
      EXPECT_EQ(gst_buffer_get_size(out.get()), i == 2 ? 100u : 0u);
      EXPECT_EQ(bool(GST_BUFFER_FLAG_IS_SET(out.get(), GST_BUFFER_FLAG_GAP)), i == 1);
      EXPECT_FALSE(regions_of(out.get()));
    }
    EXPECT_EQ(h.waiting(), 0u);
    EXPECT_EQ(stat(h, "frames-in"), 5u);
    EXPECT_EQ(stat(h, "frames-out"), 5u);
    EXPECT_NE(warning_text(h).find("100 bytes"), std::string::npos);
    // Once a stream, and no error.
    EXPECT_FALSE(
        h.message_so_far(static_cast<GstMessageType>(GST_MESSAGE_WARNING | GST_MESSAGE_ERROR)));
  }
}

TEST_P(ShortFrames, AreBlankWhereThePictureIsReplaced) {
  for (const char* output : {"labels", "mask", "colors"}) {
    Harness h(std::string(GetParam()) + " output=" + output);
    h.video("GRAY8", kWidth, kHeight);
    for (int i = 0; i < 4; ++i) {
      GstBuffer* in = i % 2 ? short_frame(i, i == 1 ? 0 : 100, i == 1 ? GST_BUFFER_FLAG_GAP : 0)
                            : Harness::buffer(gray_with_square(), i);
      ASSERT_EQ(gst_harness_push(h.get(), in), GST_FLOW_OK);
    }
    h.eos();
    size_t bytes = 0;
    for (int i = 0; i < 4; ++i) {
      const BufferPtr out = h.pull();
      if (i % 2 == 0) {
        expect_whole(out.get(), i);
        bytes = gst_buffer_get_size(out.get());
        continue;
      }
      ASSERT_TRUE(out);
      EXPECT_TRUE(GST_BUFFER_FLAG_IS_SET(out.get(), GST_BUFFER_FLAG_GAP)) << output;
      EXPECT_EQ(bytes_of(out.get()), std::vector<uint8_t>(bytes)) << output;
      EXPECT_FALSE(regions_of(out.get()));
    }
    EXPECT_FALSE(h.has_error());
  }
}

INSTANTIATE_TEST_SUITE_P(All, ShortFrames,
                         ::testing::Values("cclabel", "cclabel frames-in-flight=1",
                                           "cclabel width=40"));

TEST(ShortFramesOf, EndAVolume) {
  Harness h("cclabel output=labels depth=3 connectivity=6", "video/x-raw,format=GRAY16_LE");
  h.video("GRAY8", kWidth, kHeight);
  for (int i = 0; i < 8; ++i) {
    ASSERT_EQ(
        i == 2 ? gst_harness_push(h.get(), short_frame(i, 100)) : h.push(gray_with_square(), i),
        GST_FLOW_OK);
  }
  h.eos();
  const int slices[] = {2, 2, 0, 3, 3, 3, 2, 2};
  for (int i = 0; i < 8; ++i) {
    const BufferPtr out = h.pull();
    ASSERT_TRUE(out);
    EXPECT_EQ(GST_BUFFER_PTS(out.get()), static_cast<GstClockTime>(i) * 40 * GST_MSECOND);
    int found = 0;
    if (regions_of(out.get())) gst_structure_get_int(regions_of(out.get()), "slices", &found);
    EXPECT_EQ(found, slices[i]) << "frame " << i;
  }
  EXPECT_FALSE(h.has_error());
}

TEST(ShortFramesOf, SystemMemoryWithAVideoMeta) {
  Harness h("cclabel output=none");
  h.video("GRAY8", kWidth, kHeight);
  GstBuffer* in = short_frame(0, 100);
  gst_buffer_add_video_meta(in, GST_VIDEO_FRAME_FLAG_NONE, GST_VIDEO_FORMAT_GRAY8, kWidth, kHeight);
  ASSERT_EQ(gst_harness_push(h.get(), in), GST_FLOW_OK);
  const BufferPtr out = h.pull();
  ASSERT_TRUE(out);
  EXPECT_FALSE(regions_of(out.get()));
  EXPECT_NE(warning_text(h), "");
}

}  // namespace
}  // namespace regions::test

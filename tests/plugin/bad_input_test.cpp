// Bad input ends in a clear error or in the right result, never in a crash.
#include <algorithm>

#include "tests/plugin/elements.hpp"
#include "tests/plugin/harness.hpp"

namespace regions::test {
namespace {

TEST(BadInput, CudaWithoutAGpuIsAClearError) {
  if (have_cuda()) GTEST_SKIP() << "this machine has a CUDA device";

  GstElement* element = gst_element_factory_make("cclabel", nullptr);
  GstBus* bus = gst_bus_new();
  gst_element_set_bus(element, bus);
  g_object_set(element, "device", 1, nullptr);
  EXPECT_EQ(gst_element_set_state(element, GST_STATE_READY), GST_STATE_CHANGE_FAILURE);
  GstMessage* message = gst_bus_pop_filtered(bus, GST_MESSAGE_ERROR);
  ASSERT_TRUE(message);
  GError* error = nullptr;
  gst_message_parse_error(message, &error, nullptr);
  EXPECT_TRUE(strstr(error->message, "CUDA")) << error->message;
  g_error_free(error);
  gst_message_unref(message);
  gst_element_set_state(element, GST_STATE_NULL);
  gst_object_unref(element);
  gst_object_unref(bus);
}

// On a machine without a GPU this is not worth a warning.
TEST(BadInput, AutoWithoutAGpu_RunsOnTheCpuWithoutAWarning) {
  if (have_cuda()) GTEST_SKIP() << "this machine has a CUDA device";
  for (const std::string& line : with_all_elements({"cclabel output=none"})) {
    Harness h(line);
    h.video("GRAY8", 64, 48);
    EXPECT_EQ(h.push(std::vector<uint8_t>(64 * 48)), GST_FLOW_OK) << line;
    EXPECT_FALSE(h.message_so_far(GST_MESSAGE_WARNING)) << line;
  }
}

// A buffer whose GstVideoMeta says that plane `p` begins at `offset` and has rows of `stride`
// bytes.
GstBuffer* buffer_that_says(const GstVideoInfo& info, guint p, gsize offset, gint stride) {
  GstBuffer* buffer = gst_buffer_new_allocate(nullptr, GST_VIDEO_INFO_SIZE(&info), nullptr);
  gst_buffer_memset(buffer, 0, 100, GST_VIDEO_INFO_SIZE(&info));
  gsize offsets[GST_VIDEO_MAX_PLANES] = {};
  gint strides[GST_VIDEO_MAX_PLANES] = {};
  for (guint i = 0; i < GST_VIDEO_INFO_N_PLANES(&info); ++i) {
    offsets[i] = i == p ? offset : GST_VIDEO_INFO_PLANE_OFFSET(&info, i);
    strides[i] = i == p ? stride : GST_VIDEO_INFO_PLANE_STRIDE(&info, i);
  }
  gst_buffer_add_video_meta_full(buffer, GST_VIDEO_FRAME_FLAG_NONE, GST_VIDEO_INFO_FORMAT(&info),
                                 static_cast<guint>(GST_VIDEO_INFO_WIDTH(&info)),
                                 static_cast<guint>(GST_VIDEO_INFO_HEIGHT(&info)),
                                 GST_VIDEO_INFO_N_PLANES(&info), offsets, strides);
  return buffer;
}

// The meta describes another picture than the caps. GStreamer would report a programming error.
TEST(BadInput, AVideoMetaOfAnotherPictureIsAClearError) {
  for (const auto& [format, width, height, text] :
       {std::tuple{GST_VIDEO_FORMAT_RGB, 64u, 48u, "format"},
        {GST_VIDEO_FORMAT_GRAY8, 60u, 48u, "smaller"},
        {GST_VIDEO_FORMAT_GRAY8, 64u, 47u, "smaller"}}) {
    Harness h("cclabel");
    h.video("GRAY8", 64, 48);
    GstBuffer* buffer = Harness::buffer(std::vector<uint8_t>(64 * 48 * 3));
    gst_buffer_add_video_meta(buffer, GST_VIDEO_FRAME_FLAG_NONE, format, width, height);
    const GLogLevelFlags before = g_log_set_always_fatal(
        static_cast<GLogLevelFlags>(G_LOG_FATAL_MASK | G_LOG_LEVEL_CRITICAL));
    EXPECT_EQ(gst_harness_push(h.get(), buffer), GST_FLOW_ERROR) << text;
    g_log_set_always_fatal(before);
    EXPECT_NE(h.error_text().find(text), std::string::npos);
  }
}

TEST(BadInput, AVideoMetaThatLiesIsAClearError) {
  for (const char* format : {"GRAY8", "NV12", "I420", "RGB"}) {
    GstVideoInfo info;
    gst_video_info_set_format(&info, gst_video_format_from_string(format), 64, 48);
    const gsize size = GST_VIDEO_INFO_SIZE(&info);
    const guint p = GST_VIDEO_INFO_N_PLANES(&info) - 1;
    const gsize offset = GST_VIDEO_INFO_PLANE_OFFSET(&info, p);
    const gint stride = GST_VIDEO_INFO_PLANE_STRIDE(&info, p);
    for (const auto& [at, row] : {std::pair{offset, stride + 1},
                                  {offset, 1 << 20},
                                  {offset, G_MAXINT},
                                  {offset + 1, stride},
                                  {size - 1, stride},
                                  {size, stride},
                                  {size + 4096, stride},
                                  {gsize{G_MAXSSIZE}, stride},
                                  {G_MAXSIZE - 3, stride},
                                  {0, -stride},
                                  {offset, G_MININT},
                                  {offset, stride - 8},
                                  {offset, 0}}) {
      for (const std::string& line : with_all_elements(
               {"cclabel", "cclabel output=labels depth=2 connectivity=6", "cclabel output=none",
                "graphcutbg process-scale=0.5", "slicsuperpixel output=mean left=8"})) {
        Harness h(line);
        h.video(format, 64, 48);
        const std::string where = line + ", " + format + " at " + std::to_string(at) + ", " +
                                  std::to_string(row) + " bytes a row";
        EXPECT_EQ(gst_harness_push(h.get(), buffer_that_says(info, p, at, row)), GST_FLOW_ERROR)
            << where;
        EXPECT_NE(h.error_text().find("buffer"), std::string::npos) << where;
      }
    }
  }
}

// GStreamer's own functions call each a programming error, by a critical message.
TEST(BadInput, VideoMetaThatContradictsItsCaps_IsAClearErrorWithoutCriticals) {
  struct Bad {
    void (*change)(GstVideoMeta&);
    const char* says;
  };
  const Bad kinds[] = {{[](GstVideoMeta& m) { m.n_planes = 0; }, "0 planes"},
                       {[](GstVideoMeta& m) { m.n_planes = 1; }, "1 planes"},
                       {[](GstVideoMeta& m) { m.n_planes = 3; }, "3 planes"},
                       {[](GstVideoMeta& m) { m.n_planes = G_MAXUINT; }, "4294967295 planes"},
                       {[](GstVideoMeta& m) { m.format = GST_VIDEO_FORMAT_I420; }, "I420"},
                       {[](GstVideoMeta& m) { m.format = GST_VIDEO_FORMAT_UNKNOWN; }, "number 0"},
                       {[](GstVideoMeta& m) { m.format = GST_VIDEO_FORMAT_ENCODED; }, "ENCODED"},
                       {[](GstVideoMeta& m) { m.width = 63; }, "63x48"},
                       {[](GstVideoMeta& m) { m.height = 0; }, "64x0"},
                       {[](GstVideoMeta& m) { m.map = nullptr; }, "maps its planes"},
                       {[](GstVideoMeta& m) { m.unmap = nullptr; }, "maps its planes"},
                       {[](GstVideoMeta& m) { m.stride[1] = 0; }, "overlap"},
                       {[](GstVideoMeta& m) { m.stride[0] = G_MININT; }, "2 GiB or more apart"},
                       {[](GstVideoMeta& m) { m.offset[1] = G_MAXSIZE; }, "cannot be mapped"}};
  for (const std::string& line :
       with_all_elements({"cclabel output=labels", "cclabel output=none", "graphcutbg output=mask",
                          "cclabel depth=2 connectivity=6 output=none"})) {
    for (const auto& [change, says] : kinds) {
      Harness h(line);
      h.video("NV12", 64, 48);
      GstBuffer* buffer = Harness::buffer(std::vector<uint8_t>(64 * 48 * 2));
      change(*gst_buffer_add_video_meta(buffer, GST_VIDEO_FRAME_FLAG_NONE, GST_VIDEO_FORMAT_NV12,
                                        64, 48));
      const GLogLevelFlags before = g_log_set_always_fatal(
          static_cast<GLogLevelFlags>(G_LOG_FATAL_MASK | G_LOG_LEVEL_CRITICAL));
      EXPECT_EQ(gst_harness_push(h.get(), buffer), GST_FLOW_ERROR) << line << ", " << says;
      g_log_set_always_fatal(before);
      const std::string text = h.error_text();
      EXPECT_NE(text.find("buffer"), std::string::npos) << line << ": " << text;
      EXPECT_NE(text.find(says), std::string::npos) << line << ": " << text;
      EXPECT_FALSE(h.has_error()) << line << ", " << says;
    }
  }
}

// Rows may be stored from bottom to top.
TEST(BadInput, AnUnusualVideoMetaIsRead) {
  GstVideoInfo info;
  gst_video_info_set_format(&info, GST_VIDEO_FORMAT_GRAY8, 64, 48);
  Harness h("cclabel output=mask threshold=0.5");
  h.video("GRAY8", 64, 48);
  GstBuffer* upwards = buffer_that_says(info, 0, 47 * 64, -64);
  gst_buffer_memset(upwards, 47 * 64, 200, 64);  // the first row
  ASSERT_EQ(gst_harness_push(h.get(), upwards), GST_FLOW_OK);
  const BufferPtr out = h.pull();
  ASSERT_TRUE(out);
  const std::vector<uint8_t> mask = bytes_of(out.get());
  EXPECT_EQ(std::count(mask.begin(), mask.begin() + 64, 255), 64);
  EXPECT_EQ(std::count(mask.begin() + 64, mask.end(), 255), 0);
}

TEST(BadInput, UnsupportedCapsAreRefused) {
  Harness h("cclabel");
  h.video("AYUV64", 64, 48);
  EXPECT_EQ(h.push(std::vector<uint8_t>(64 * 48 * 8)), GST_FLOW_NOT_NEGOTIATED);
}

TEST(BadInput, TooLargeSizesAreRefused) {
  Harness h("cclabel");
  h.video("GRAY8", 65536, 1);
  EXPECT_EQ(h.push(std::vector<uint8_t>(65536)), GST_FLOW_NOT_NEGOTIATED);
}

TEST(BadInput, AlphaOfAPictureWithoutAlpha) {
  Harness h("cclabel source=alpha");
  h.video("RGB", 64, 48);
  EXPECT_NE(h.push(std::vector<uint8_t>(64 * 48 * 3)), GST_FLOW_OK);
  EXPECT_NE(h.error_text().find("alpha"), std::string::npos);
}

TEST(BadInput, MaskWantedButNoneAttached) {
  Harness h("cclabel source=mask");
  h.video("GRAY8", 64, 48);
  EXPECT_EQ(h.push(std::vector<uint8_t>(64 * 48)), GST_FLOW_ERROR);
  EXPECT_NE(h.error_text().find("mask"), std::string::npos);
}

TEST(BadInput, OverflowErrorStops) {
  Harness h("cclabel output=labels overflow=error", "video/x-raw,format=GRAY8");
  h.video("GRAY8", 64, 48);
  std::vector<uint8_t> dots(64 * 48);
  for (size_t y = 0; y < 48; y += 2) {
    for (size_t x = 0; x < 64; x += 2) dots[y * 64 + x] = 255;
  }
  h.push(dots);
  EXPECT_NE(h.error_text().find("768 regions"), std::string::npos);
}

TEST(BadInput, ThresholdOutOfRangeIsRefused) {
  start_gstreamer();
  GstElement* element = gst_element_factory_make("cclabel", nullptr);
  GParamSpec* spec = g_object_class_find_property(G_OBJECT_GET_CLASS(element), "threshold");
  GValue value = G_VALUE_INIT;
  g_value_init(&value, G_TYPE_DOUBLE);
  g_value_set_double(&value, 1.5);
  EXPECT_TRUE(g_param_value_validate(spec, &value));  // had to be changed
  EXPECT_EQ(g_value_get_double(&value), 1.0);
  gst_object_unref(element);
}

TEST(BadInput, SmallestPictures) {
  for (const auto& [width, height] : {std::pair{1, 1}, {1, 9}, {9, 1}, {2, 2}, {3, 5}}) {
    for (const char* format : {"GRAY8", "GRAY16_LE", "NV12", "I420", "P010_10LE", "YUY2", "UYVY",
                               "RGBA", "BGRA", "RGBx", "BGRx", "RGB", "BGR"}) {
      for (const char* output : {"overlay", "labels", "mask", "colors", "none"}) {
        Harness h(std::string("cclabel threshold=0 output=") + output);
        h.video(format, width, height);
        GstVideoInfo info;
        gst_video_info_set_format(&info, gst_video_format_from_string(format),
                                  static_cast<guint>(width), static_cast<guint>(height));
        ASSERT_EQ(h.push(std::vector<uint8_t>(GST_VIDEO_INFO_SIZE(&info), 128)), GST_FLOW_OK)
            << format << " " << width << "x" << height << " " << output;
        const BufferPtr out = h.pull();
        ASSERT_TRUE(out);
        EXPECT_EQ(region_field(regions_of(out.get()), 0, "area"), std::to_string(width * height))
            << format << " " << width << "x" << height << " " << output;
      }
    }
  }
}

}  // namespace
}  // namespace regions::test

// Frames with a GstVideoCropMeta: elements read and draw inside its rectangle.
#include "tests/plugin/cropped_picture.hpp"
#include "tests/plugin/elements.hpp"
#include "tests/plugin/region_structures.hpp"

namespace regions::test {
namespace {

constexpr guint kWidth = 96, kHeight = 80;
constexpr int kFrames = 4;

std::vector<std::string> lines() {
  return with_all_elements(
      {"cclabel output=none attach-labels=always", "cclabel output=overlay",
       "cclabel output=labels", "cclabel output=colors",
       "cclabel output=none depth=2 connectivity=6",
       "cclabel output=none left=5 top=3 process-scale=0.5", "graphcutbg output=none",
       "graphcutbg output=overlay", "graphcutbg output=cutout", "graphcutbg output=mask",
       "slicsuperpixel output=mean", "slicsuperpixel output=overlay", "slicsuperpixel output=none",
       "cclabel output=none ! regionoverlay style=boxes+ids"});
}

struct Case {
  const char* format;
  Rectangle rectangle;
};
const Case kCases[] = {{"GRAY8", {21, 13, 61, 46}}, {"GRAY16_LE", {21, 13, 61, 46}},
                       {"NV12", {21, 13, 61, 46}},  {"I420", {20, 12, 60, 46}},
                       {"I420", {21, 13, 61, 46}},  {"P010_10LE", {21, 13, 61, 46}},
                       {"YUY2", {20, 13, 61, 46}},  {"RGBA", {21, 13, 61, 46}},
                       {"RGB", {35, 33, 61, 47}},   {"BGRx", {0, 0, 61, 46}}};

void expect_same_frames(const Harness& cropped, const Harness& copied, const std::string& where) {
  for (int i = 0; i < kFrames; ++i) {
    const BufferPtr out(gst_harness_pull(cropped.get())), expected(gst_harness_pull(copied.get()));
    ASSERT_TRUE(out && expected) << where;
    EXPECT_EQ(text_of_regions(out.get()), text_of_regions(expected.get())) << where;
    EXPECT_EQ(visible(cropped, out.get()), visible(copied, expected.get())) << where;
  }
}

TEST(Crop, FramesWithACropMeta_ShowTheSameAsCroppedCopies) {
  for (const std::string& line : lines()) {
    for (const auto& [format, r] : kCases) {
      const std::string where =
          line + ", " + format + " at " + std::to_string(r.x) + "," + std::to_string(r.y);
      const GstVideoInfo info = info_of(format, kWidth, kHeight);
      Harness cropped(line), copied(line);
      for (Harness* h : {&cropped, &copied}) {
        h->video(format, static_cast<int>(r.width), static_cast<int>(r.height));
      }
      for (int i = 0; i < kFrames; ++i) {
        GstBuffer* frame = Harness::buffer(noise(info, i), i);
        show_only(frame, info, r);
        ASSERT_EQ(gst_harness_push(cropped.get(), frame), GST_FLOW_OK)
            << where << ": " << cropped.error_text();
        ASSERT_EQ(copied.push(cut_out(noise(info, i), info, r), i), GST_FLOW_OK) << where;
      }
      cropped.eos();
      copied.eos();
      expect_same_frames(cropped, copied, where);
    }
  }
}

// Rows then begin anywhere in the device's memory.
TEST(Crop, CudaMemory_GivesWhatTheCpuGives) {
  if (!have_cuda()) GTEST_SKIP() << "no CUDA device here";
  GstElementFactory* upload = gst_element_factory_find("cudaupload");
  if (!upload) GTEST_SKIP() << "GStreamer's nvcodec plugin is not here";
  gst_object_unref(upload);
  for (const char* line :
       {"cclabel output=none attach-labels=always", "cclabel output=overlay",
        "cclabel output=labels", "cclabel output=colors",
        "cclabel output=none depth=2 connectivity=6", "graphcutbg output=overlay",
        "graphcutbg output=cutout", "slicsuperpixel output=mean", "slicsuperpixel output=none",
        "cclabel output=none ! regionoverlay style=boxes+ids"}) {
    for (const auto& [format, r] : kCases) {
      if (g_str_has_prefix(format, "GRAY")) continue;  // CUDA memory has no such format
      const std::string where = std::string(line) + ", " + format;
      const GstVideoInfo info = info_of(format, kWidth, kHeight);
      Harness uploader("cudaupload", "video/x-raw(memory:CUDAMemory)");
      uploader.video(format, kWidth, kHeight);
      Harness cropped(line), copied(line);
      const auto width = static_cast<int>(r.width), height = static_cast<int>(r.height);
      cropped.caps("video/x-raw(memory:CUDAMemory),format=" + std::string(format) + ",width=" +
                   std::to_string(width) + ",height=" + std::to_string(height) + ",framerate=25/1");
      copied.video(format, width, height);
      for (int i = 0; i < kFrames; ++i) {
        ASSERT_EQ(uploader.push(noise(info, i), i), GST_FLOW_OK) << where;
        GstBuffer* frame = uploader.pull().release();
        ASSERT_TRUE(frame) << where;
        add_crop(frame, r);
        ASSERT_EQ(gst_harness_push(cropped.get(), frame), GST_FLOW_OK)
            << where << ": " << cropped.error_text();
        ASSERT_EQ(copied.push(cut_out(noise(info, i), info, r), i), GST_FLOW_OK) << where;
      }
      cropped.eos();
      copied.eos();
      expect_same_frames(cropped, copied, where);
    }
  }
}

TEST(Crop, DrawnInPlace_LeavesPixelsOutsideAsTheyWere) {
  for (const char* line :
       {"cclabel output=overlay", "graphcutbg output=overlay", "slicsuperpixel output=overlay",
        "cclabel output=none ! regionoverlay style=boxes"}) {
    for (const auto& [format, r] : kCases) {
      const GstVideoInfo info = info_of(format, kWidth, kHeight);
      Harness h(line);
      h.video(format, static_cast<int>(r.width), static_cast<int>(r.height));
      GstBuffer* frame = Harness::buffer(noise(info, 0));
      show_only(frame, info, r);
      ASSERT_EQ(gst_harness_push(h.get(), frame), GST_FLOW_OK) << line << " " << format;
      const BufferPtr out = h.pull();
      ASSERT_TRUE(out) << line;
      std::vector<uint8_t> expected = noise(info, 0), drawn = visible(h, out.get());
      copy_part(expected, info, r, drawn, info_of(format, r.width, r.height), true);
      EXPECT_EQ(bytes_of(out.get()), expected) << line << " " << format;
    }
  }
}

// Their rectangle is of another picture.
TEST(Crop, ReplacedPictures_CarryNoCropOrOverlay) {
  for (const char* line : {"cclabel output=labels", "cclabel output=mask", "cclabel output=colors",
                           "graphcutbg output=cutout", "graphcutbg output=mask"}) {
    Harness h(line);
    h.video("GRAY8", 61, 46);
    const GstVideoInfo info = info_of("GRAY8", kWidth, kHeight);
    GstBuffer* frame = Harness::buffer(noise(info, 0));
    show_only(frame, info, {21, 13, 61, 46});
    GstVideoOverlayComposition* overlay = gst_video_overlay_composition_new(nullptr);
    gst_buffer_add_video_overlay_composition_meta(frame, overlay);
    gst_video_overlay_composition_unref(overlay);
    ASSERT_EQ(gst_harness_push(h.get(), frame), GST_FLOW_OK) << line;
    const BufferPtr out = h.pull();
    ASSERT_TRUE(out) << line;
    EXPECT_FALSE(gst_buffer_get_video_crop_meta(out.get())) << line;
    EXPECT_FALSE(gst_buffer_get_video_overlay_composition_meta(out.get())) << line;
  }
}

TEST(Crop, UntouchedFrames_KeepTheirRectangle) {
  Harness h("cclabel output=none");
  h.video("GRAY8", 61, 46);
  const GstVideoInfo info = info_of("GRAY8", kWidth, kHeight);
  GstBuffer* frame = Harness::buffer(noise(info, 0));
  show_only(frame, info, {21, 13, 61, 46});
  ASSERT_EQ(gst_harness_push(h.get(), frame), GST_FLOW_OK);
  const BufferPtr out = h.pull();
  ASSERT_TRUE(out);
  const GstVideoCropMeta* crop = gst_buffer_get_video_crop_meta(out.get());
  ASSERT_TRUE(crop);
  EXPECT_EQ(crop->x, 21u);
  EXPECT_EQ(bytes_of(out.get()), noise(info, 0));
}

TEST(Crop, RectanglesThatDoNotFit_AreAClearError) {
  struct Bad {
    const char* format;
    Rectangle rectangle;
    const char* says;
  };
  for (const auto& [format, r, says] :
       {Bad{"GRAY8", {0, 0, 60, 46}, "60x46"}, Bad{"GRAY8", {21, 13, 61, 47}, "61x47"},
        Bad{"GRAY8", {21, 13, 96, 80}, "96x80"}, Bad{"GRAY8", {36, 13, 61, 46}, "96x80"},
        Bad{"GRAY8", {21, 35, 61, 46}, "96x80"}, Bad{"NV12", {G_MAXUINT, 0, 61, 46}, "96x80"},
        Bad{"YUY2", {21, 13, 61, 46}, "column 21"}, Bad{"UYVY", {1, 0, 61, 46}, "column 1"}}) {
    for (const std::string& line : lines()) {
      Harness h(line);
      h.video(format, 61, 46);
      const GstVideoInfo info = info_of(format, kWidth, kHeight);
      GstBuffer* frame = Harness::buffer(noise(info, 0));
      show_only(frame, info, r);
      EXPECT_EQ(gst_harness_push(h.get(), frame), GST_FLOW_ERROR) << line << " " << says;
      const std::string text = h.error_text();
      EXPECT_NE(text.find("GstVideoCropMeta"), std::string::npos) << line << " " << text;
      EXPECT_NE(text.find(says), std::string::npos) << line << " " << text;
    }
  }
}

// Elements that crop by a meta do not move other metas.
TEST(Crop, AttachedRegionsOfTheWholePicture_AreAClearError) {
  for (const char* line : {"regionoverlay", "cclabel source=mask output=none"}) {
    for (const int width : {61, 96}) {
      Harness h(line);
      h.video("GRAY8", 61, 46);
      const GstVideoInfo info = info_of("GRAY8", kWidth, kHeight);
      GstBuffer* frame = Harness::buffer(noise(info, 0));
      show_only(frame, info, {21, 13, 61, 46});
      GstStructure* s = gst_custom_meta_get_structure(gst_buffer_add_custom_meta(frame, "regions"));
      const int height = width == 61 ? 46 : 80;
      GstBuffer* labels =
          gst_buffer_new_allocate(nullptr, static_cast<gsize>(width * height * 4), nullptr);
      gst_buffer_memset(labels, 0, 0, static_cast<gsize>(width * height * 4));
      gst_structure_set(s, "width", G_TYPE_INT, width, "height", G_TYPE_INT, height, "labels",
                        GST_TYPE_BUFFER, labels, nullptr);
      gst_buffer_unref(labels);
      set_regions(s, {box_structure({3, 3, 9, 9}, 1u)});
      EXPECT_EQ(gst_harness_push(h.get(), frame), width == 61 ? GST_FLOW_OK : GST_FLOW_ERROR)
          << line;
      if (width == 61) continue;
      const std::string text = h.error_text();
      EXPECT_NE(text.find("96x80 pixels, but a GstVideoCropMeta shows 61x46"), std::string::npos)
          << text;
    }
  }
}

// Without a GstVideoMeta the size of the whole picture is unknown.
TEST(Crop, WithoutAVideoMeta_OnlyTheFirstPixelIsKnown) {
  for (const guint x : {0u, 3u}) {
    Harness h("cclabel output=none");
    h.video("GRAY8", 61, 46);
    GstBuffer* frame = Harness::buffer(noise(info_of("GRAY8", kWidth, kHeight), 0));
    GstVideoCropMeta* crop = gst_buffer_add_video_crop_meta(frame);
    crop->x = x;
    crop->width = 61;
    crop->height = 46;
    EXPECT_EQ(gst_harness_push(h.get(), frame), x == 0 ? GST_FLOW_OK : GST_FLOW_ERROR);
    if (x > 0) {
      EXPECT_NE(h.error_text().find("GstVideoMeta"), std::string::npos);
    }
  }
}

}  // namespace
}  // namespace regions::test

// Frames with a GstVideoCropMeta: elements process the rectangle. And the metas that downstream
// offers: elements pass on only metas that do not change the meaning of pixels.
#include "tests/plugin/cropped_picture.hpp"
#include "tests/plugin/elements.hpp"
#include "tests/plugin/region_structures.hpp"

namespace regions::test {
namespace {

constexpr guint kWidth = 96, kHeight = 80;

std::vector<std::string> lines() {
  return with_all_elements(
      {"cclabel output=none attach-labels=always", "cclabel output=overlay",
       "cclabel output=labels", "cclabel output=mask", "cclabel output=colors",
       "cclabel output=none depth=2 connectivity=6",
       "cclabel output=none left=5 top=3 process-scale=0.5", "graphcutbg output=none",
       "graphcutbg output=overlay", "graphcutbg output=cutout", "graphcutbg output=mask",
       "slicsuperpixel output=mean", "slicsuperpixel output=overlay", "slicsuperpixel output=none",
       "cclabel output=none ! regionoverlay style=boxes+ids"});
}

// ---- frames with a crop rectangle

struct CropCase {
  const char* format;
  Rectangle rectangle;
};
const CropCase kCases[] = {{"GRAY8", {21, 13, 61, 46}}, {"GRAY16_LE", {21, 13, 61, 46}},
                           {"NV12", {21, 13, 61, 46}},  {"I420", {20, 12, 60, 46}},
                           {"I420", {21, 13, 61, 46}},  {"P010_10LE", {21, 13, 61, 46}},
                           {"YUY2", {20, 13, 61, 46}},  {"RGBA", {21, 13, 61, 46}},
                           {"RGB", {35, 33, 61, 47}},   {"BGRx", {0, 0, 61, 46}}};

// Pushes whole frames with a rectangle to one element, and copies of the rectangle to another one.
// The whole frames come through `uploader` if it is not null.
void expect_same_as_copies(const std::string& line, const CropCase& c,
                           Harness* uploader = nullptr) {
  constexpr int kFrames = 3;
  const auto& [format, r] = c;
  const std::string where =
      line + ", " + format + " at " + std::to_string(r.x) + "," + std::to_string(r.y);
  const GstVideoInfo info = info_of(format, kWidth, kHeight);
  const auto width = static_cast<int>(r.width), height = static_cast<int>(r.height);
  Harness cropped(line), copied(line);
  copied.video(format, width, height);
  if (uploader) {
    uploader->video(format, kWidth, kHeight);
    cropped.caps("video/x-raw(memory:CUDAMemory),format=" + std::string(format) + ",width=" +
                 std::to_string(width) + ",height=" + std::to_string(height) + ",framerate=25/1");
  } else {
    cropped.video(format, width, height);
  }
  for (int i = 0; i < kFrames; ++i) {
    GstBuffer* frame = Harness::buffer(noise(info, i), i);
    if (uploader) {
      ASSERT_EQ(gst_harness_push(uploader->get(), frame), GST_FLOW_OK) << where;
      frame = uploader->pull().release();
      ASSERT_TRUE(frame) << where;
      add_crop(frame, r);
    } else {
      show_only(frame, info, r);
    }
    ASSERT_EQ(gst_harness_push(cropped.get(), frame), GST_FLOW_OK)
        << where << ": " << cropped.error_text();
    ASSERT_EQ(copied.push(cut_out(noise(info, i), info, r), i), GST_FLOW_OK) << where;
  }
  cropped.eos();
  copied.eos();
  expect_same_frames(cropped, copied, kFrames, where);
}

// Each format with elements that read, draw and replace pictures; each element with three formats.
TEST(Crop, FrameWithACropMeta_OutputEqualsThatOfACroppedCopy) {
  const std::vector<std::string> with_all_formats = {"cclabel output=none attach-labels=always",
                                                     "graphcutbg output=overlay",
                                                     "slicsuperpixel output=mean"};
  for (const std::string& line : lines()) {
    const bool all = std::ranges::count(with_all_formats, line) > 0;
    for (const CropCase& c : kCases) {
      const std::string format = c.format;
      if (all || format == "GRAY8" || format == "NV12" || format == "YUY2") {
        expect_same_as_copies(line, c);
      }
    }
  }
}

// Rows then begin at any address of the device's memory.
TEST(RealGpu, CropMetaInCudaMemory_OutputEqualsCpu) {
  SKIP_WITHOUT_CUDA();
  if (!have_element("cudaupload")) GTEST_SKIP() << "GStreamer's nvcodec plugin is not here";
  for (const std::string& line : lines()) {
    for (const CropCase& c : kCases) {
      if (g_str_has_prefix(c.format, "GRAY")) continue;  // CUDA memory has no such format
      Harness uploader("cudaupload", "video/x-raw(memory:CUDAMemory)");
      expect_same_as_copies(line, c, &uploader);
    }
  }
}

TEST(Crop, DrawnInPlace_PixelsOutsideTheCropRectangleAreUnchanged) {
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

// A GRAY8 frame of 96×80 pixels that shows only the rectangle.
GstBuffer* gray_frame(const Rectangle& r) {
  const GstVideoInfo info = info_of("GRAY8", kWidth, kHeight);
  GstBuffer* frame = Harness::buffer(noise(info, 0));
  show_only(frame, info, r);
  return frame;
}

TEST(Crop, ReplacedPicture_HasNoCropOrOverlayMeta) {
  for (const char* line : {"cclabel output=labels", "cclabel output=mask", "cclabel output=colors",
                           "graphcutbg output=cutout", "graphcutbg output=mask"}) {
    Harness h(line);
    h.video("GRAY8", 61, 46);
    GstBuffer* frame = gray_frame({21, 13, 61, 46});
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

TEST(Crop, OutputNone_FrameKeepsItsCropMetaAndPixels) {
  Harness h("cclabel output=none");
  h.video("GRAY8", 61, 46);
  ASSERT_EQ(gst_harness_push(h.get(), gray_frame({21, 13, 61, 46})), GST_FLOW_OK);
  const BufferPtr out = h.pull();
  ASSERT_TRUE(out);
  const GstVideoCropMeta* crop = gst_buffer_get_video_crop_meta(out.get());
  ASSERT_TRUE(crop);
  EXPECT_EQ(crop->x, 21u);
  EXPECT_EQ(bytes_of(out.get()), noise(info_of("GRAY8", kWidth, kHeight), 0));
}

TEST(Crop, RectangleThatDoesNotFit_IsAnError) {
  struct Bad {
    const char* format;
    Rectangle rectangle;
    const char* says;
  };
  for (const std::string& line : lines()) {
    Harness h(line);
    for (const auto& [format, r, says] :
         {Bad{"GRAY8", {0, 0, 60, 46}, "60x46"}, Bad{"GRAY8", {21, 13, 61, 47}, "61x47"},
          Bad{"GRAY8", {21, 13, 96, 80}, "96x80"}, Bad{"GRAY8", {36, 13, 61, 46}, "96x80"},
          Bad{"GRAY8", {21, 35, 61, 46}, "96x80"}, Bad{"NV12", {G_MAXUINT, 0, 61, 46}, "96x80"},
          Bad{"YUY2", {21, 13, 61, 46}, "column 21"}, Bad{"UYVY", {1, 0, 61, 46}, "column 1"}}) {
      SCOPED_TRACE(line + " " + says);
      h.video(format, 61, 46);
      const GstVideoInfo info = info_of(format, kWidth, kHeight);
      GstBuffer* frame = Harness::buffer(noise(info, 0));
      show_only(frame, info, r);
      EXPECT_EQ(gst_harness_push(h.get(), frame), GST_FLOW_ERROR);
      const std::string text = h.error_text();
      EXPECT_PRED2(contains, text, "GstVideoCropMeta");
      EXPECT_PRED2(contains, text, says);
      h.flush();
    }
  }
}

// Elements that crop by a meta do not change other metas.
TEST(Crop, RegionMetadataOfTheUncroppedSize_IsAnError) {
  for (const char* line : {"regionoverlay", "cclabel source=mask output=none"}) {
    for (const auto& [width, height] : {std::pair{61, 46}, {96, 80}}) {
      Harness h(line);
      h.video("GRAY8", 61, 46);
      GstBuffer* frame = gray_frame({21, 13, 61, 46});
      const auto bytes = static_cast<size_t>(width * height * 4);
      const BufferPtr labels(Harness::buffer(std::vector<uint8_t>(bytes)));
      GstStructure* s = add_regions(frame);
      gst_structure_set(s, "width", G_TYPE_INT, width, "height", G_TYPE_INT, height, "labels",
                        GST_TYPE_BUFFER, labels.get(), nullptr);
      set_regions(s, {box_structure({3, 3, 9, 9}, 1u)});
      EXPECT_EQ(gst_harness_push(h.get(), frame), width == 61 ? GST_FLOW_OK : GST_FLOW_ERROR)
          << line;
      if (width == 61) continue;
      EXPECT_PRED2(contains, h.error_text(), "96x80 pixels, but a GstVideoCropMeta shows 61x46");
    }
  }
}

// Without a GstVideoMeta, the size of the whole picture is unknown.
TEST(Crop, CropMetaWithoutVideoMeta_IsAcceptedOnlyForARectangleAtTheOrigin) {
  for (const guint x : {0u, 3u}) {
    Harness h("cclabel output=none");
    h.video("GRAY8", 61, 46);
    GstBuffer* frame = Harness::buffer(noise(info_of("GRAY8", kWidth, kHeight), 0));
    add_crop(frame, {x, 0, 61, 46});
    EXPECT_EQ(gst_harness_push(h.get(), frame), x == 0 ? GST_FLOW_OK : GST_FLOW_ERROR);
    if (x > 0) {
      EXPECT_PRED2(contains, h.error_text(), "GstVideoMeta");
    }
  }
}

// ---- metas that downstream offers in its answers to allocation queries

// The API of a meta that only an unknown plugin registers.
GType unknown_api() {
  static const gchar* none[] = {nullptr};
  static const GType api = gst_meta_api_type_register("RegionsTestUnknownMetaAPI", none);
  return api;
}

// Metas that change the meaning of pixels, and metas that do not.
std::vector<GType> metas_of_pixels() {
  return {GST_VIDEO_CROP_META_API_TYPE, GST_VIDEO_OVERLAY_COMPOSITION_META_API_TYPE,
          GST_VIDEO_AFFINE_TRANSFORMATION_META_API_TYPE, GST_VIDEO_GL_TEXTURE_UPLOAD_META_API_TYPE,
          unknown_api()};
}
std::vector<GType> metas_of_notes() {
  return {GST_VIDEO_CAPTION_META_API_TYPE, GST_VIDEO_REGION_OF_INTEREST_META_API_TYPE,
          GST_VIDEO_TIME_CODE_META_API_TYPE, GST_VIDEO_AFD_META_API_TYPE,
          GST_VIDEO_BAR_META_API_TYPE};
}

void offer_all(Harness& h) {
  gst_harness_add_propose_allocation_meta(h.get(), GST_VIDEO_META_API_TYPE, nullptr);
  for (const GType api : metas_of_pixels()) {
    gst_harness_add_propose_allocation_meta(h.get(), api, nullptr);
  }
  for (const GType api : metas_of_notes()) {
    gst_harness_add_propose_allocation_meta(h.get(), api, nullptr);
  }
}

TEST(OfferedMetas, SinkOffersAllMetas_UpstreamIsNotOfferedThoseThatChangePixels) {
  for (const std::string& line : lines()) {
    Harness h(line);
    offer_all(h);
    h.video("GRAY8", kWidth, kHeight);
    ASSERT_EQ(h.push(std::vector<uint8_t>(kWidth * kHeight, 20)), GST_FLOW_OK) << line;
    const QueryPtr query = h.allocation();
    const auto offered = [&](GType api) {
      return gst_query_find_allocation_meta(query.get(), api, nullptr) == TRUE;
    };
    EXPECT_TRUE(offered(GST_VIDEO_META_API_TYPE)) << line;
    for (const GType api : metas_of_pixels()) {
      EXPECT_FALSE(offered(api)) << line << ": " << g_type_name(api);
    }
    for (const GType api : metas_of_notes()) {
      if (line != "cclabel output=none attach-labels=always") continue;  // passes the same frames
      EXPECT_TRUE(offered(api)) << line << ": " << g_type_name(api);
    }
  }
}

// videocrop and textoverlay attach a meta, if downstream offers it, instead of changing pixels.
TEST(OfferedMetas, SinkOffersAllMetas_FramesEqualThoseOfASinkThatOffersNone) {
  std::vector<std::string> all_lines = lines();
  all_lines.emplace_back(
      "tee name=t ! queue ! fakesink async=false sync=false t. ! cclabel output=none");
  for (const auto& [before, format] : {std::pair{"videocrop left=21 top=13 right=3", "GRAY8"},
                                       {"videocrop left=21 top=13 right=3", "YUY2"},
                                       {"textoverlay text=Text", "NV12"}}) {
    for (const std::string& line : all_lines) {
      const std::string whole = std::string(before) + " ! " + line;
      Harness all(whole), none(whole);
      offer_all(all);
      const GstVideoInfo info = info_of(format, kWidth, kHeight);
      for (Harness* h : {&all, &none}) {
        h->video(format, kWidth, kHeight);
        for (int i = 0; i < 2; ++i) {
          ASSERT_EQ(h->push(noise(info, i), i), GST_FLOW_OK) << whole << ": " << h->error_text();
        }
        h->eos();
      }
      expect_same_frames(all, none, 2, whole + " " + format);
    }
  }
}

}  // namespace
}  // namespace regions::test

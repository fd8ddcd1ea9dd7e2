// Metas that downstream offers in its allocation answer: what elements pass on upstream, and that
// regions and pixels do not depend on it.
#include "tests/plugin/cropped_picture.hpp"
#include "tests/plugin/elements.hpp"

namespace regions::test {
namespace {

constexpr int kWidth = 96, kHeight = 80;

// A meta that some plugin unknown to us registers.
GType unknown_api() {
  static const gchar* none[] = {nullptr};
  static const GType api = gst_meta_api_type_register("RegionsTestUnknownMetaAPI", none);
  return api;
}

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

std::vector<std::string> lines() {
  return with_all_elements(
      {"cclabel output=none attach-labels=always", "cclabel output=overlay",
       "cclabel output=labels", "cclabel output=mask", "cclabel output=colors",
       "graphcutbg output=none", "graphcutbg output=overlay", "graphcutbg output=cutout",
       "graphcutbg output=mask", "slicsuperpixel output=mean", "slicsuperpixel output=overlay",
       "slicsuperpixel output=none", "cclabel output=none ! regionoverlay style=boxes+ids",
       "tee name=t ! queue ! fakesink async=false sync=false t. ! cclabel output=none"});
}

TEST(ForwardedMetas, SinkOffersAll_UpstreamIsOfferedNotesOnly) {
  for (const std::string& line : lines()) {
    if (line.starts_with("tee")) continue;  // answers for all of its branches
    Harness h(line);
    offer_all(h);
    h.video("GRAY8", kWidth, kHeight);
    ASSERT_EQ(h.push(std::vector<uint8_t>(kWidth * kHeight, 20)), GST_FLOW_OK) << line;
    GstCaps* caps = gst_pad_get_current_caps(h.get()->srcpad);
    GstQuery* query = gst_query_new_allocation(caps, TRUE);
    gst_caps_unref(caps);
    ASSERT_TRUE(gst_pad_peer_query(h.get()->srcpad, query)) << line;
    EXPECT_TRUE(gst_query_find_allocation_meta(query, GST_VIDEO_META_API_TYPE, nullptr)) << line;
    for (const GType api : metas_of_pixels()) {
      EXPECT_FALSE(gst_query_find_allocation_meta(query, api, nullptr))
          << line << ": " << g_type_name(api);
    }
    for (const GType api : metas_of_notes()) {
      if (line != "cclabel output=none attach-labels=always") continue;  // frames go on
      EXPECT_TRUE(gst_query_find_allocation_meta(query, api, nullptr))
          << line << ": " << g_type_name(api);
    }
    gst_query_unref(query);
  }
}

// Elements that attach a meta, where it is offered, instead of changing pixels.
TEST(ForwardedMetas, SinkOffersAll_RegionsAndPixelsAreThoseOfASinkThatOffersNone) {
  for (const char* before : {"videocrop left=21 top=13 right=3", "textoverlay text=Text"}) {
    for (const std::string& line : lines()) {
      for (const char* format : {"GRAY8", "NV12", "YUY2", "RGBA"}) {
        const std::string whole = std::string(before) + " ! " + line;
        Harness all(whole), none(whole);
        offer_all(all);
        const GstVideoInfo info = info_of(format, kWidth, kHeight);
        for (Harness* h : {&all, &none}) {
          h->video(format, kWidth, kHeight);
          for (int i = 0; i < 3; ++i) {
            ASSERT_EQ(h->push(noise(info, i), i), GST_FLOW_OK) << whole << ": " << h->error_text();
          }
          h->eos();
        }
        for (int i = 0; i < 3; ++i) {
          const BufferPtr out = all.pull(), expected = none.pull();
          ASSERT_TRUE(out && expected) << whole;
          EXPECT_EQ(text_of_regions(out.get()), text_of_regions(expected.get()))
              << whole << " " << format;
          EXPECT_EQ(visible(all, out.get()), visible(none, expected.get()))
              << whole << " " << format;
        }
      }
    }
  }
}

}  // namespace
}  // namespace regions::test

// What caps say besides the pixel format goes along with pictures, also where they are replaced.
#include "tests/plugin/elements.hpp"
#include "tests/plugin/harness.hpp"

namespace regions::test {
namespace {

constexpr const char* kMore =
    ",pixel-aspect-ratio=8/9,interlace-mode=interleaved,field-order=top-field-first,"
    "max-framerate=50/1,views=2,multiview-mode=side-by-side,"
    "multiview-flags=0:ffffffff:/right-view-first,camera=(string)north";

GstStructure* structure_of(const GstCaps* caps) { return gst_caps_get_structure(caps, 0); }

std::string text_of(const GstCaps* caps, const char* field) {
  const GValue* value = gst_structure_get_value(structure_of(caps), field);
  if (!value) return "none";
  gchar* text = gst_value_serialize(value);
  const std::string result = text;
  g_free(text);
  return result;
}

using CapsPtr = std::unique_ptr<GstCaps, Unref>;

CapsPtr caps_after(const std::string& line, const std::string& format, const std::string& more,
                   const std::string& sink_caps = "") {
  Harness h(line, sink_caps);
  h.video(format, 16, 8, more);
  h.push(std::vector<uint8_t>(format == "GRAY8" ? 16 * 8 : 16 * 8 * 3 / 2, 99));
  EXPECT_TRUE(h.pull()) << line << ": " << h.error_text();
  GstPad* source = gst_element_get_static_pad(h.element(), "src");
  CapsPtr caps(gst_pad_get_current_caps(source));
  gst_object_unref(source);
  return caps;
}

TEST(Negotiation, FieldsThatDescribeNoPixelsStay) {
  std::string text = "video/x-raw";
  text += kMore;  // with + g++ 12 warns at -O1 without cause (GCC bug 105651)
  const CapsPtr in(gst_caps_from_string(text.c_str()));
  for (const std::string& line : with_all_elements(
           {"cclabel output=none", "cclabel output=labels", "cclabel output=mask",
            "cclabel output=colors", "graphcutbg output=cutout", "slicsuperpixel output=mean"})) {
    const CapsPtr out = caps_after(line, "NV12", kMore);
    ASSERT_TRUE(out) << line;
    for (gint i = 0; i < gst_structure_n_fields(structure_of(in.get())); ++i) {
      const char* field =
          gst_structure_nth_field_name(structure_of(in.get()), static_cast<guint>(i));
      EXPECT_EQ(text_of(out.get(), field), text_of(in.get(), field)) << line << ": " << field;
    }
    EXPECT_EQ(text_of(out.get(), "framerate"), "25/1") << line;
  }
}

TEST(Negotiation, FieldsThatDescribePixelsGoWithThem) {
  const std::string pixels =
      ",chroma-site=mpeg2,colorimetry=bt709,content-light-level=(string)1000:400";
  const CapsPtr labels = caps_after("cclabel output=labels", "NV12", pixels);
  EXPECT_EQ(text_of(labels.get(), "chroma-site"), "none");
  EXPECT_EQ(text_of(labels.get(), "content-light-level"), "none");
  EXPECT_EQ(text_of(labels.get(), "colorimetry"), "bt709");  // joined with its picture, as alpha
  const CapsPtr colors = caps_after("cclabel output=colors", "NV12", pixels);
  EXPECT_NE(text_of(colors.get(), "colorimetry"), "bt709");
}

// Upstream learns what downstream wants.
TEST(Negotiation, WhatDownstreamWantsGoesUpstream) {
  Harness h("cclabel output=mask", "video/x-raw,format=GRAY8,width=32,camera=(string)south");
  GstPad* sink = gst_element_get_static_pad(h.element(), "sink");
  const CapsPtr wanted(gst_pad_query_caps(sink, nullptr));
  gst_object_unref(sink);
  ASSERT_FALSE(gst_caps_is_empty(wanted.get()));
  EXPECT_EQ(text_of(wanted.get(), "camera"), "south");
  EXPECT_EQ(text_of(wanted.get(), "width"), "32");
}

TEST(Negotiation, CudaMemoryIsNotPromisedOnTheCpu) {
  start_gstreamer();
  GstElement* element = gst_element_factory_make("cclabel", nullptr);
  g_object_set(element, "device", 2, nullptr);
  gst_element_set_state(element, GST_STATE_READY);
  GstPad* pad = gst_element_get_static_pad(element, "sink");
  const std::unique_ptr<GstCaps, Unref> caps(gst_pad_query_caps(pad, nullptr));
  for (guint i = 0; i < gst_caps_get_size(caps.get()); ++i) {
    EXPECT_FALSE(
        gst_caps_features_contains(gst_caps_get_features(caps.get(), i), "memory:CUDAMemory"));
  }
  gst_object_unref(pad);
  gst_element_set_state(element, GST_STATE_NULL);
  gst_object_unref(element);
}

}  // namespace
}  // namespace regions::test

// Caps negotiation: the caps of one side of an element for the caps of the other side, the fields
// of caps that pass, and the behaviour after caps that an element refuses.
#include <gst/base/gstbasetransform.h>

#include <atomic>

#include "tests/plugin/elements.hpp"
#include "tests/plugin/moving_square.hpp"

namespace regions::test {
namespace {

const std::string kPictures =
    "format={NV12,I420,P010_10LE,YUY2,UYVY,RGBA,BGRA,RGBx,BGRx,RGB,BGR,GRAY8,GRAY16_LE}";
const std::string kSize = ",width=[1,65535],height=[1,65535]";
const std::string kRate = ",framerate=[0/1,2147483647/1]";
const std::string kLabels = "video/x-raw,format={GRAY16_LE,GRAY8}";
const std::string kWideLabels = "video/x-region-labels,format=U32_LE";
const std::string kColors = "video/x-raw,format={BGRx,RGBx,BGRA,RGBA,BGR,RGB}";

// ---- the caps of one side for the caps of the other side

CapsPtr caps_of(const std::string& text) {
  CapsPtr caps(gst_caps_from_string(text.c_str()));
  EXPECT_TRUE(caps) << text;
  return caps;
}

// Compares structure by structure, in order.
void expect_equal(const CapsPtr& caps, const std::string& expected, const std::string& where) {
  EXPECT_TRUE(gst_caps_is_strictly_equal(caps.get(), caps_of(expected).get()))
      << where << " gives\n  " << taken(gst_caps_to_string(caps.get())) << "\nexpected\n  "
      << expected;
}

// The caps for the pad opposite of the pad that has `caps`.
CapsPtr opposite(const std::string& line, GstState state, GstPadDirection direction,
                 const std::string& caps, const std::string& filter = "") {
  start_gstreamer();
  GstElement* element = gst_parse_launch((line + " device=cpu name=it").c_str(), nullptr);
  gst_element_set_state(element, state);
  auto* base = GST_BASE_TRANSFORM(element);
  const CapsPtr wanted = filter.empty() ? nullptr : caps_of(filter);
  CapsPtr result(GST_BASE_TRANSFORM_GET_CLASS(base)->transform_caps(
      base, direction, caps_of(caps).get(), wanted.get()));
  gst_element_set_state(element, GST_STATE_NULL);
  gst_object_unref(element);
  return result;
}

struct Row {
  const char* line;
  GstPadDirection from;
  std::string caps, expected;
};

void expect_rows(const std::vector<Row>& rows, GstState state = GST_STATE_READY) {
  for (const Row& row : rows) {
    expect_equal(
        opposite(row.line, state, row.from, row.caps), row.expected,
        std::string(row.line) + (row.from == GST_PAD_SINK ? ", in " : ", out ") + row.caps);
  }
}

// Fields that describe how pixels are stored are dropped; other fields pass, also unknown ones.
TEST(TransformCaps, OutputOfAnotherFormat_CapsKeepOnlyTheFieldsThatStillApply) {
  const std::string about = ",width=16,height=8,framerate=25/1";
  const std::string in = "video/x-raw,format=NV12" + about +
                         ",colorimetry=bt709,chroma-site=mpeg2,drm-format=NV12,"
                         "mastering-display-info=(string)x,content-light-level=(string)y,"
                         "camera=(string)north";
  const std::string stays = ",camera=(string)north";
  const std::string with_colors = about + stays + ",colorimetry=bt709";
  const std::string out =
      "video/x-raw,width=16,height=8,colorimetry=bt709,chroma-site=mpeg2,"
      "camera=(string)north,format=";
  const std::string pictures = "video/x-raw," + kPictures + ",width=16,height=8" + kRate + stays;
  expect_rows({
      {"cclabel output=none", GST_PAD_SINK, in, in},
      {"cclabel output=overlay", GST_PAD_SINK, in, in},
      {"cclabel output=overlay", GST_PAD_SRC, in, in},
      {"regionoverlay", GST_PAD_SRC, in, in},
      {"slicsuperpixel output=mean", GST_PAD_SINK, in, in},
      {"graphcutbg output=replace", GST_PAD_SRC, in, in},
      {"cclabel output=labels", GST_PAD_SINK, in,
       kLabels + with_colors + ";" + kWideLabels + with_colors},
      {"slicsuperpixel output=labels", GST_PAD_SINK, in,
       kLabels + with_colors + ";" + kWideLabels + with_colors},
      {"cclabel output=mask", GST_PAD_SINK, in, "video/x-raw,format=GRAY8" + with_colors},
      {"slicsuperpixel output=boundaries", GST_PAD_SINK, in,
       "video/x-raw,format=GRAY8" + with_colors},
      {"graphcutbg output=mask", GST_PAD_SINK, in, "video/x-raw,format=GRAY8" + with_colors},
      {"cclabel output=colors", GST_PAD_SINK, in, kColors + about + stays},
      {"graphcutbg output=cutout", GST_PAD_SINK, in, "video/x-raw,format=RGBA" + about + stays},
      {"cclabel output=labels", GST_PAD_SRC, out + "GRAY16_LE", pictures},
      {"cclabel output=mask", GST_PAD_SRC, out + "GRAY8", pictures},
      {"cclabel output=mask", GST_PAD_SRC, out + "GRAY16_LE", "EMPTY"},
      {"cclabel output=colors", GST_PAD_SRC, out + "BGR", pictures},
      {"cclabel output=colors", GST_PAD_SRC, out + "GRAY8", "EMPTY"},
      {"graphcutbg output=cutout", GST_PAD_SRC, out + "RGBA", pictures},
      {"graphcutbg output=cutout", GST_PAD_SRC, out + "BGRA", "EMPTY"},
      {"cclabel output=labels", GST_PAD_SRC, kWideLabels + ",width=16,height=8",
       "video/x-raw," + kPictures + ",width=16,height=8" + kRate},
      {"cclabel output=mask", GST_PAD_SRC, kWideLabels + ",width=16,height=8", "EMPTY"},
  });
}

// Heights count all layers, which are stored one below another.
TEST(TransformCaps, SeveralThresholds_MultiplyTheHeight) {
  const char* labels = "cclabel output=labels thresholds=<0.2,0.4,0.6>";
  const char* mask = "cclabel output=mask thresholds=<0.2,0.4,0.6>";
  const auto in = [](const std::string& height) {
    return "video/x-raw,format=RGB,width=16,framerate=25/1,height=" + height;
  };
  const auto out = [](const std::string& height) {
    return "video/x-raw,format=GRAY8,width=16,framerate=25/1,layers=3,height=" + height;
  };
  const auto single = [&](const std::string& height) {
    return "video/x-raw," + kPictures + ",width=16,framerate=25/1,height=" + height;
  };
  expect_rows({
      {mask, GST_PAD_SINK, in("8"), out("24")},
      {labels, GST_PAD_SINK, in("8"),
       kLabels + ",width=16,framerate=25/1,layers=3,height=24;" + kWideLabels +
           ",width=16,framerate=25/1,layers=3,height=24"},
      {mask, GST_PAD_SINK, in("[2,100]"), out("[6,300]")},
      {mask, GST_PAD_SINK, in("[1,1000000000]"), out("[3,2147483647]")},
      {mask, GST_PAD_SINK, in("[1000000000,2000000000]"), out("[2147483646,2147483647]")},
      {mask, GST_PAD_SINK, in("1000000000"), out("2147483647")},
      {mask, GST_PAD_SRC, out("24"), single("8")},
      {mask, GST_PAD_SRC, out("25"), "EMPTY"},
      {mask, GST_PAD_SRC, out("24") + ";" + out("25"), single("8")},
      {mask, GST_PAD_SRC, out("[6,300]"), single("[1,65535]")},
      {mask, GST_PAD_SRC, out("{24,30}"), single("[1,65535]")},
      {"cclabel output=mask thresholds=<0.2>", GST_PAD_SINK, in("8"),
       "video/x-raw,format=GRAY8,width=16,framerate=25/1,height=8"},
      {"cclabel output=none thresholds=<0.2,0.4,0.6>", GST_PAD_SINK, in("8"), in("8")},
  });
}

// An element on the CPU does not accept CUDA memory. Before READY, its device is not yet chosen.
TEST(TransformCaps, CudaMemory_RunsOnTheCpu_IsInTheCapsOnlyBeforeStateReady) {
  const std::string plain = "video/x-raw,format=NV12,width=16,height=8",
                    cuda = "video/x-raw(memory:CUDAMemory),format=NV12,width=16,height=8";
  expect_rows({{"cclabel output=none", GST_PAD_SINK, cuda + ";" + plain, plain},
               {"cclabel output=none", GST_PAD_SRC, cuda, "EMPTY"}});
  expect_rows({{"cclabel output=none", GST_PAD_SINK, cuda + ";" + plain, cuda + ";" + plain},
               {"cclabel output=mask", GST_PAD_SINK, cuda,
                "video/x-raw,format=GRAY8,width=16,height=8" + kRate}},
              GST_STATE_NULL);
}

TEST(TransformCaps, FilterCaps_ResultHasTheOrderOfTheFilter) {
  const std::string size = ",width=16,height=8,framerate=25/1";
  const std::string gray8 = "video/x-raw,format=GRAY8" + size,
                    gray16 = "video/x-raw,format=GRAY16_LE" + size;
  for (const std::string& filter : {gray8 + ";" + gray16, gray16 + ";" + gray8, gray8}) {
    expect_equal(opposite("cclabel output=labels", GST_STATE_READY, GST_PAD_SINK,
                          "video/x-raw,format=RGB" + size, filter),
                 filter, "the filter " + filter);
  }
}

TEST(PadTemplate, EveryElement_ListsTheSupportedFormats) {
  start_gstreamer();
  const CapsPtr of_host = caps_of("video/x-raw;video/x-region-labels");
  for (const std::string& name : all_elements()) {
    GstElement* element = gst_element_factory_make(name.c_str(), nullptr);
    for (const char* pad : {"sink", "src"}) {
      GstPadTemplate* pad_template = gst_element_get_pad_template(element, pad);
      ASSERT_TRUE(pad_template) << name << " " << pad;
      EXPECT_EQ(GST_PAD_TEMPLATE_PRESENCE(pad_template), GST_PAD_ALWAYS);
      const CapsPtr all(gst_pad_template_get_caps(pad_template));
      std::string expected = "video/x-raw," + kPictures + kSize + kRate;
      if (std::string(pad) == "src") expected += ";" + kWideLabels + kSize + kRate;
      expect_equal(CapsPtr(gst_caps_intersect(all.get(), of_host.get())), expected,
                   name + " " + pad);
    }
    gst_object_unref(element);
  }
}

// ---- negotiation between two pads

constexpr const char* kFields =
    ",pixel-aspect-ratio=8/9,interlace-mode=interleaved,field-order=top-field-first,"
    "max-framerate=50/1,views=2,multiview-mode=side-by-side,"
    "multiview-flags=0:ffffffff:/right-view-first,camera=(string)north";

const GstStructure* structure_of(const CapsPtr& caps) {
  return gst_caps_get_structure(caps.get(), 0);
}

std::string field_in(const CapsPtr& caps, const char* field) {
  return gst_structure_has_field(structure_of(caps), field) ? field_of(structure_of(caps), field)
                                                            : "none";
}

// The output caps for a 16×8 NV12 picture with more fields in its caps.
CapsPtr caps_after(const std::string& line, const std::string& more) {
  Harness h(line);
  h.video("NV12", 16, 8, more);
  h.push(std::vector<uint8_t>(16 * 8 * 3 / 2, 99));
  EXPECT_TRUE(h.pull()) << line << ": " << h.error_text();
  return caps_of(h.caps_out());
}

TEST(OutputCaps, FieldsThatDescribeNoPixels_AreKept) {
  std::string text = "video/x-raw";
  text += kFields;  // not `+`: g++ 12 warns at -O1 without cause (GCC bug 105651)
  const CapsPtr in = caps_of(text);
  for (const std::string& line : with_all_elements(
           {"cclabel output=none", "cclabel output=labels", "cclabel output=mask",
            "cclabel output=colors", "graphcutbg output=cutout", "slicsuperpixel output=mean"})) {
    const CapsPtr out = caps_after(line, kFields);
    ASSERT_TRUE(out) << line;
    for (gint i = 0; i < gst_structure_n_fields(structure_of(in)); ++i) {
      const char* field = gst_structure_nth_field_name(structure_of(in), static_cast<guint>(i));
      EXPECT_EQ(field_in(out, field), field_in(in, field)) << line << ": " << field;
    }
    EXPECT_EQ(field_in(out, "framerate"), "25/1") << line;
  }
}

TEST(CapsQuery, DownstreamRestriction_IsPassedUpstream) {
  Harness h("cclabel output=mask", "video/x-raw,format=GRAY8,width=32,camera=(string)south");
  GstPad* sink = gst_element_get_static_pad(h.element(), "sink");
  const CapsPtr wanted(gst_pad_query_caps(sink, nullptr));
  gst_object_unref(sink);
  ASSERT_FALSE(gst_caps_is_empty(wanted.get()));
  EXPECT_EQ(field_in(wanted, "camera"), "south");
  EXPECT_EQ(field_in(wanted, "width"), "32");
}

// ---- caps that are refused

TEST(RefusedCaps, UnsupportedFormatOrSize_IsNotNegotiated) {
  Harness format("cclabel"), size("cclabel");
  format.video("AYUV64", kWidth, kHeight);
  EXPECT_EQ(format.push(std::vector<uint8_t>(kWidth * kHeight * 8)), GST_FLOW_NOT_NEGOTIATED);
  size.video("GRAY8", 65536, 1);
  EXPECT_EQ(size.push(std::vector<uint8_t>(65536)), GST_FLOW_NOT_NEGOTIATED);
}

// Elements upstream negotiate again and again after a failure.
TEST(RefusedCaps, CapsRefusedManyTimes_ElementPostsOneError) {
  for (const char* line :
       {"cclabel left=640", "cclabel output=none left=640", "cclabel source=alpha",
        "graphcutbg top=480", "slicsuperpixel left=640", "regionoverlay left=640",
        "graphcutbg output=replace replace-with=image replace-image=/etc/passwd"}) {
    for (const char* between : {"", "! queue ", "! identity "}) {
      const Pipeline p(
          "videotestsrc num-buffers=30 ! video/x-raw,format=RGB,width=320,height=240 " +
          std::string(between) + "! " + line + " ! fakesink sync=false");
      const std::string name = std::string(line).substr(0, std::string(line).find(' '));
      std::atomic<int> errors = 0;
      const auto count = [&](GstMessage* message) {
        const bool is_ours = GST_IS_ELEMENT(GST_MESSAGE_SRC(message)) &&
                             g_str_has_prefix(GST_MESSAGE_SRC_NAME(message), name.c_str());
        errors += GST_MESSAGE_TYPE(message) == GST_MESSAGE_ERROR && is_ours;
      };
      GstBus* bus = gst_element_get_bus(p.get());
      gst_element_set_state(p.get(), GST_STATE_PLAYING);
      // The source posts an error when it gives up.
      for (bool ended = false; !ended;) {
        const MessagePtr message(gst_bus_timed_pop_filtered(
            bus, 10 * GST_SECOND,
            static_cast<GstMessageType>(GST_MESSAGE_ERROR | GST_MESSAGE_EOS)));
        ASSERT_TRUE(message) << line << between;
        count(message.get());
        ended = g_str_has_prefix(GST_MESSAGE_SRC_NAME(message.get()), "videotestsrc") ||
                g_str_has_prefix(GST_MESSAGE_SRC_NAME(message.get()), "queue") ||
                GST_MESSAGE_TYPE(message.get()) == GST_MESSAGE_EOS;
      }
      gst_element_set_state(p.get(), GST_STATE_READY);
      while (const MessagePtr rest{gst_bus_pop_filtered(bus, GST_MESSAGE_ERROR)}) count(rest.get());
      gst_object_unref(bus);
      EXPECT_EQ(errors, 1) << line << between;
    }
  }
}

// After a flush, or after other caps that suit, the same error is posted again.
TEST(RefusedCaps, CapsRefusedAgainAfterFlushOrOtherCaps_ElementPostsAnotherError) {
  for (const bool flushes : {true, false}) {
    Harness h("cclabel output=none left=100");
    for (int time = 0; time < 2; ++time) {
      for (int i = 0; i < 3; ++i) {
        h.video("GRAY8", kWidth, kHeight);
        EXPECT_NE(h.push(gray_with_square(), i), GST_FLOW_OK);
      }
      EXPECT_TRUE(h.has_error()) << time << flushes;
      EXPECT_FALSE(h.has_error()) << time << flushes;
      if (flushes) {
        h.flush();
      } else {
        const int width = (time + 4) * kWidth;
        h.video("GRAY8", width, kHeight);
        EXPECT_EQ(h.push(std::vector<uint8_t>(static_cast<size_t>(width) * kHeight), 9),
                  GST_FLOW_OK);
      }
    }
  }
}

// GstBaseTransform skips set_caps for caps that its pads still have.
TEST(RefusedCaps, CapsRefusedThenFormerCapsAgain_FramesAreProcessed) {
  for (const char* line : {"cclabel output=none left=40", "cclabel output=mask left=40"}) {
    Harness h(line);
    for (int time = 0; time < 3; ++time) {
      h.video("GRAY8", kWidth, kHeight);
      ASSERT_EQ(h.push(gray_with_square(), time), GST_FLOW_OK) << line << ", " << time;
      ASSERT_TRUE(h.pull()) << line;
      h.video("GRAY8", kWidth / 2, kHeight);
      EXPECT_NE(h.push(std::vector<uint8_t>(kWidth / 2 * kHeight), time), GST_FLOW_OK) << line;
      EXPECT_TRUE(h.has_error()) << line << ", " << time;
      while (h.has_error()) continue;
    }
  }
}

}  // namespace
}  // namespace regions::test

// Which caps each side of an element has for what the other side may be.
#include <gst/base/gstbasetransform.h>

#include "tests/plugin/elements.hpp"
#include "tests/plugin/harness.hpp"

namespace regions::test {
namespace {

using CapsPtr = std::unique_ptr<GstCaps, Unref>;

const std::string kPictures =
    "format={NV12,I420,P010_10LE,YUY2,UYVY,RGBA,BGRA,RGBx,BGRx,RGB,BGR,GRAY8,GRAY16_LE}";
const std::string kSize = ",width=[1,65535],height=[1,65535]";
const std::string kRate = ",framerate=[0/1,2147483647/1]";
const std::string kLabels = "video/x-raw,format={GRAY16_LE,GRAY8}";
const std::string kWideLabels = "video/x-region-labels,format=U32_LE";
const std::string kColors = "video/x-raw,format={BGRx,RGBx,BGRA,RGBA,BGR,RGB}";

CapsPtr caps_of(const std::string& text) {
  CapsPtr caps(gst_caps_from_string(text.c_str()));
  EXPECT_TRUE(caps) << text;
  return caps;
}

std::string text_of(const CapsPtr& caps) { return taken(gst_caps_to_string(caps.get())); }

// Structure by structure, in order.
void expect_equal(const CapsPtr& caps, const std::string& expected, const std::string& where) {
  EXPECT_TRUE(gst_caps_is_strictly_equal(caps.get(), caps_of(expected).get()))
      << where << " gives\n  " << text_of(caps) << "\nnot\n  " << expected;
}

class Element {
 public:
  Element(const std::string& line, GstState state) {
    start_gstreamer();
    bin_ = gst_parse_launch((line + " name=it").c_str(), nullptr);
    EXPECT_TRUE(bin_) << line;
    gst_element_set_state(bin_, state);
  }
  Element(const Element&) = delete;
  ~Element() {
    gst_element_set_state(bin_, GST_STATE_NULL);
    gst_object_unref(bin_);
  }
  // Of the pad opposite to the one that has `caps`.
  CapsPtr opposite(GstPadDirection direction, const std::string& caps,
                   const std::string& filter = "") const {
    auto* base = GST_BASE_TRANSFORM(bin_);
    const CapsPtr wanted = filter.empty() ? nullptr : caps_of(filter);
    return CapsPtr(GST_BASE_TRANSFORM_GET_CLASS(base)->transform_caps(
        base, direction, caps_of(caps).get(), wanted.get()));
  }

 private:
  GstElement* bin_ = nullptr;
};

struct Row {
  const char* line;
  GstPadDirection from;
  std::string caps, expected;
};

void expect_rows(const std::vector<Row>& rows, GstState state = GST_STATE_READY) {
  for (const Row& row : rows) {
    const Element element(std::string(row.line) + " device=cpu", state);
    expect_equal(
        element.opposite(row.from, row.caps), row.expected,
        std::string(row.line) + (row.from == GST_PAD_SINK ? ", in " : ", out ") + row.caps);
  }
}

// What says how pixels are stored goes with them; the rest stays, also what is unknown here.
TEST(CapsTable, ReplacedPicturesKeepWhatDescribesNoPixels) {
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

// Heights count the layers, one below another.
TEST(CapsTable, LayersMultiplyHeights) {
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

// Frames in CUDA memory are no matter for an element that has settled on the CPU; before, it may
// settle yet.
TEST(CapsTable, CudaMemoryIsPromisedUntilTheDeviceIsKnown) {
  const std::string plain = "video/x-raw,format=NV12,width=16,height=8",
                    cuda = "video/x-raw(memory:CUDAMemory),format=NV12,width=16,height=8";
  expect_rows({{"cclabel output=none", GST_PAD_SINK, cuda + ";" + plain, plain},
               {"cclabel output=none", GST_PAD_SRC, cuda, "EMPTY"}});
  expect_rows({{"cclabel output=none", GST_PAD_SINK, cuda + ";" + plain, cuda + ";" + plain},
               {"cclabel output=mask", GST_PAD_SINK, cuda,
                "video/x-raw,format=GRAY8,width=16,height=8" + kRate}},
              GST_STATE_NULL);
}

TEST(CapsTable, TheFilterSetsTheOrder) {
  const Element element("cclabel output=labels device=cpu", GST_STATE_READY);
  const std::string size = ",width=16,height=8,framerate=25/1";
  const std::string gray8 = "video/x-raw,format=GRAY8" + size,
                    gray16 = "video/x-raw,format=GRAY16_LE" + size;
  for (const std::string& filter : {gray8 + ";" + gray16, gray16 + ";" + gray8, gray8}) {
    const CapsPtr caps = element.opposite(GST_PAD_SINK, "video/x-raw,format=RGB" + size, filter);
    expect_equal(caps, filter, "the filter " + filter);
  }
}

TEST(CapsTable, TemplatesNameWhatIsSupported) {
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

}  // namespace
}  // namespace regions::test

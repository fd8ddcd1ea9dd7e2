// Every map of every buffer is undone, and every buffer goes, whatever becomes of its frame: it
// leaves, is flushed, or fails.
#include "tests/plugin/counted_memory.hpp"
#include "tests/plugin/elements.hpp"
#include "tests/plugin/masked_frame.hpp"

namespace regions::test {
namespace {

constexpr int kWidth = 64, kHeight = 48;

struct Case {
  std::string line;
  const char* sink = "";       // caps of what leaves
  const char* mask = nullptr;  // its format, where frames have one
};

const std::vector<Case> kCases = {
    {"cclabel output=none"},
    {"cclabel output=overlay"},
    {"cclabel output=overlay process-scale=0.5"},
    {"cclabel output=labels", "video/x-raw,format=GRAY16_LE"},
    {"cclabel output=labels", "video/x-region-labels"},
    {"cclabel output=labels left=8", "video/x-region-labels"},
    {"cclabel output=none depth=3 connectivity=26"},
    {"cclabel output=labels depth=3 connectivity=26", "video/x-region-labels"},
    {"cclabel output=colors depth=3 connectivity=26"},
    {"cclabel output=mask source=mask", "", "GRAY8"},
    {"cclabel output=none source=mask", "", "U32_LE"},
    {"cclabel output=labels source=mask depth=3 connectivity=26", "video/x-region-labels",
     "U32_LE"},
    {"cclabel output=none source=mask depth=3 connectivity=26", "", "GRAY8"},
    {"graphcutbg output=cutout"},
    {"graphcutbg output=mask source=both process-scale=0.5", "", "GRAY8"},
    {"slicsuperpixel output=mean"},
    {"slicsuperpixel output=labels", "video/x-region-labels"},
    {"regionoverlay style=fill", "", "U32_LE"},
};

GstBuffer* frame(const Case& c, int index) {
  const std::vector<uint8_t> picture(kWidth * kHeight, static_cast<uint8_t>(60 * index));
  GstBuffer* buffer = CountedMemory::buffer(picture);
  GST_BUFFER_PTS(buffer) = static_cast<GstClockTime>(index) * 40 * GST_MSECOND;
  if (!c.mask) return buffer;
  const size_t sample = std::string(c.mask) == "GRAY8" ? 1 : 4;
  return with_mask(buffer, CountedMemory::buffer(std::vector<uint8_t>(picture.size() * sample, 1)),
                   c.mask, kWidth, kHeight);
}

// A frame that the element must refuse.
GstBuffer* bad_frame(const Case& c, int index) {
  GstBuffer* buffer = frame(c, index);
  if (c.mask && c.line.find("source=mask") != std::string::npos) {
    gst_buffer_remove_meta(buffer, &gst_buffer_get_custom_meta(buffer, "regions")->meta);
  } else {
    gst_buffer_add_video_meta(buffer, GST_VIDEO_FRAME_FLAG_NONE, GST_VIDEO_FORMAT_NV12, kWidth,
                              kHeight / 2);
  }
  return buffer;
}

enum class Way { leave, flushed, fail };

// Of a stream of five frames, the last of which a volume waits for more with.
void run(const Case& c, Way way) {
  Harness h(c.line + " device=cpu frames-in-flight=2", c.sink);
  CountedMemory::offer(h.get()->sinkpad);
  h.video("GRAY8", kWidth, kHeight);
  for (int i = 0; i < 4; ++i) ASSERT_EQ(gst_harness_push(h.get(), frame(c, i)), GST_FLOW_OK);
  GstFlowReturn flow = gst_harness_push(h.get(), way == Way::fail ? bad_frame(c, 4) : frame(c, 4));
  if (way == Way::fail) {
    for (int i = 5; i < 8 && flow == GST_FLOW_OK; ++i)
      flow = gst_harness_push(h.get(), frame(c, i));
    EXPECT_EQ(flow, GST_FLOW_ERROR);
    EXPECT_TRUE(h.has_error());
  }
  if (way == Way::flushed) {
    h.flush();
    ASSERT_EQ(gst_harness_push(h.get(), frame(c, 9)), GST_FLOW_OK);
  }
  h.eos();
  if (way == Way::leave) {
    EXPECT_EQ(h.waiting(), 5u);
  }
  EXPECT_EQ(CountedMemory::maps(), 0) << "with the element at rest";
  EXPECT_GT(CountedMemory::most_maps(), 0);
}

TEST(Maps, AreUndone) {
  std::vector<Case> cases = kCases;
  std::vector<std::string> lines;
  for (const Case& c : kCases) lines.push_back(c.line);
  lines = with_all_elements(lines);
  for (size_t i = cases.size(); i < lines.size(); ++i) cases.push_back({lines[i]});
  for (const Case& c : cases) {
    for (const Way way : {Way::leave, Way::flushed, Way::fail}) {
      SCOPED_TRACE(c.line + " " + c.sink +
                   (way == Way::leave     ? ", all leaves"
                    : way == Way::flushed ? ", flushed"
                                          : ", one fails"));
      CountedMemory::forget();
      run(c, way);
      EXPECT_EQ(CountedMemory::maps(), 0);
      EXPECT_EQ(CountedMemory::blocks(), 0) << "buffers are still there";
    }
  }
}

}  // namespace
}  // namespace regions::test

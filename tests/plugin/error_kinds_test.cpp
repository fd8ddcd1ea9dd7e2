// The domain and code of each kind of failure, the number of warnings, and recovery from an error
// by a flush.
#include <glib/gstdio.h>

#include <algorithm>

#include "tests/plugin/told.hpp"

namespace regions::test {
namespace {

constexpr int kWidth = 64, kHeight = 48;

std::vector<uint8_t> picture() { return std::vector<uint8_t>(kWidth * kHeight, 200); }

// ---- kinds

// The first error of a stream of frames, with failures asked for.
Told error_with(const char* faults) {
  g_setenv("REGIONS_FAULTS", faults, TRUE);
  Harness h("cclabel output=none");
  h.video("GRAY8", kWidth, kHeight);
  for (int i = 0; i < 3 && h.push(picture(), i) == GST_FLOW_OK; ++i) continue;
  h.eos();
  g_unsetenv("REGIONS_FAULTS");
  return told(h.message(GST_MESSAGE_ERROR));
}

TEST(Errors, KindsHaveTheirCodes) {
  Harness cuda("cclabel device=cuda");
  const Told no_mask = [] {
    Harness h("cclabel source=mask");
    h.video("GRAY8", kWidth, kHeight);
    h.push(picture());
    return told(h.message(GST_MESSAGE_ERROR));
  }();
  struct Case {
    Told told;
    GQuark domain;
    int code;
    const char* says;
  };
  for (const auto& [error, domain, code, says] :
       {Case{error_with("allocation=1"), GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_NO_SPACE_LEFT,
             "injected"},
        {error_with("launch=1"), GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_FAILED, "injected"},
        {error_with("gone=5"), GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_FAILED, "injected"},
        {error_with("nonsense=1"), GST_STREAM_ERROR, GST_STREAM_ERROR_FORMAT, "nonsense"},
        {no_mask, GST_STREAM_ERROR, GST_STREAM_ERROR_FORMAT, "without a mask"}}) {
    EXPECT_EQ(error.domain, domain) << error.text;
    EXPECT_EQ(error.code, code) << error.text;
    EXPECT_NE(error.text.find(says), std::string::npos) << error.text;
  }
  if (cuda.starts()) return;
  const Told device = told(cuda.message(GST_MESSAGE_ERROR));
  EXPECT_EQ(device.domain, GST_RESOURCE_ERROR);
  EXPECT_EQ(device.code, GST_RESOURCE_ERROR_FAILED);
}

// The answer of downstream that refuses a frame.
struct Refusal {
  GstFlowReturn flow;
  int code;  // of the stream error at the end; 0: none
};

TEST(Errors, AFlowThatEndedIsToldAtTheEnd) {
  for (const auto& [flow, code] : {Refusal{GST_FLOW_NOT_LINKED, GST_STREAM_ERROR_FAILED},
                                   {GST_FLOW_NOT_NEGOTIATED, GST_STREAM_ERROR_FAILED},
                                   {GST_FLOW_EOS, 0},
                                   {GST_FLOW_ERROR, 0}}) {
    Harness h("cclabel output=none frames-in-flight=1");
    GstFlowReturn answer = flow;
    gst_pad_add_probe(
        h.get()->sinkpad, GST_PAD_PROBE_TYPE_BUFFER,
        [](GstPad*, GstPadProbeInfo* info, gpointer data) {
          gst_buffer_unref(GST_PAD_PROBE_INFO_BUFFER(info));
          GST_PAD_PROBE_INFO_FLOW_RETURN(info) = *static_cast<GstFlowReturn*>(data);
          return GST_PAD_PROBE_HANDLED;
        },
        &answer, nullptr);
    h.video("GRAY8", kWidth, kHeight);
    EXPECT_EQ(h.push(picture(), 0), GST_FLOW_OK);
    h.eos();
    const Told error = told(h.error_so_far());
    EXPECT_EQ(error.domain, code ? GST_STREAM_ERROR : 0u) << gst_flow_get_name(flow);
    EXPECT_EQ(error.code, code) << gst_flow_get_name(flow);
    EXPECT_EQ(h.push(picture(), 1), GST_FLOW_EOS) << "behind the end";
  }
}

// ---- warnings

std::vector<uint8_t> dots() {
  std::vector<uint8_t> bytes(kWidth * kHeight);
  for (size_t y = 0; y < kHeight; y += 2) {
    for (size_t x = 0; x < kWidth; x += 2) bytes[y * kWidth + x] = 255;
  }
  return bytes;
}

TEST(Warnings, AreSaidOnceAStream) {
  Harness h("cclabel output=labels", "video/x-raw,format=GRAY8");
  for (const char* shape : {"", ",interlace-mode=interleaved"}) {
    h.video("GRAY8", kWidth, kHeight, shape);
    for (int i = 0; i < 3; ++i) {
      ASSERT_EQ(h.push(dots(), i), GST_FLOW_OK);
      ASSERT_TRUE(h.pull());
    }
    const Told warning = told(h.message_so_far(GST_MESSAGE_WARNING));
    EXPECT_EQ(warning.domain, GST_STREAM_ERROR) << shape;
    EXPECT_EQ(warning.code, GST_STREAM_ERROR_FORMAT);
    EXPECT_NE(warning.text.find("768"), std::string::npos) << warning.text;
    EXPECT_FALSE(h.message_so_far(GST_MESSAGE_WARNING)) << shape;
  }
}

// The folder vanishes while the stream runs.
TEST(Warnings, AModelThatCannotBeWritten) {
  gchar* folder = g_dir_make_tmp("regions-XXXXXX", nullptr);
  const std::string path = folder + std::string("/model");
  Harness h("graphcutbg output=mask model-location=" + path);
  EXPECT_EQ(g_rmdir(folder), 0);
  g_free(folder);
  h.video("GRAY8", kWidth, kHeight);
  ASSERT_EQ(h.push(picture()), GST_FLOW_OK);
  ASSERT_TRUE(h.pull());
  h.video("GRAY8", kWidth / 2, kHeight);
  const Told warning = told(h.message_so_far(GST_MESSAGE_WARNING));
  EXPECT_EQ(warning.domain, GST_RESOURCE_ERROR);
  EXPECT_EQ(warning.code, GST_RESOURCE_ERROR_WRITE);
  EXPECT_NE(warning.text.find(path), std::string::npos);
  EXPECT_FALSE(h.has_error());
}

// ---- recovery from an error

// After a flush the element works like a new element.
TEST(Errors, AFlushEndsThem) {
  for (const char* line :
       {"cclabel output=labels overflow=error frames-in-flight=2 device=cpu",
        "cclabel output=labels overflow=error track=true device=cpu",
        "cclabel output=labels overflow=error depth=2 connectivity=26 device=cpu",
        "cclabel output=labels overflow=error left=4 device=cpu"}) {
    Harness h(line, "video/x-raw,format=GRAY8"), fresh(line, "video/x-raw,format=GRAY8");
    h.video("GRAY8", kWidth, kHeight);
    fresh.video("GRAY8", kWidth, kHeight);
    for (int time = 0; time < 2; ++time) {
      for (int i = 0; i < 4; ++i) h.push(dots(), i);
      EXPECT_NE(h.error_text().find("regions"), std::string::npos) << line;
      while (h.error_so_far()) continue;
      h.flush();
      while (h.waiting() > 0) h.pull();
      std::vector<uint8_t> bright(kWidth * kHeight);
      std::fill_n(&bright[kWidth * 20 + 16], 20, uint8_t{255});
      for (int i = 0; i < 4; ++i) {
        ASSERT_EQ(h.push(bright, 10 + i), GST_FLOW_OK) << line;
        if (time == 0) {
          ASSERT_EQ(fresh.push(bright, 10 + i), GST_FLOW_OK) << line;
        }
      }
      for (int i = 0; i < 4; ++i) {
        const BufferPtr out = h.pull();
        ASSERT_TRUE(out) << line;
        EXPECT_EQ(GST_BUFFER_PTS(out.get()), static_cast<GstClockTime>(10 + i) * 40 * GST_MSECOND);
        if (time > 0) continue;
        const BufferPtr same = fresh.pull();
        ASSERT_TRUE(same);
        EXPECT_EQ(bytes_of(out.get()), bytes_of(same.get())) << line << ", frame " << i;
        EXPECT_EQ(
            taken(gst_value_serialize(gst_structure_get_value(regions_of(out.get()), "regions"))),
            taken(gst_value_serialize(gst_structure_get_value(regions_of(same.get()), "regions"))))
            << line << ", frame " << i;
      }
      EXPECT_FALSE(h.has_error()) << line;
    }
  }
}

}  // namespace
}  // namespace regions::test

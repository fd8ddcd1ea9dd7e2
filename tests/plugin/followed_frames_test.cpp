// On a machine with two CUDA devices: elements follow frames in CUDA memory to their device.
// fake_gpu/ tests the same in more cases on any machine.
#include "tests/plugin/harness.hpp"

namespace regions::test {
namespace {

constexpr int kWidth = 128, kHeight = 64;

bool have(const char* element) {
  GstElementFactory* factory = gst_element_factory_find(element);
  if (factory) gst_object_unref(factory);
  return factory != nullptr;
}

std::string device_of(GstElement* element) {
  gchar* text = nullptr;
  g_object_get(element, "active-device", &text, nullptr);
  const std::string name = text;
  g_free(text);
  return name.substr(0, name.find(' '));
}

// Why these tests cannot run here; empty if they can.
std::string lacking() {
  if (!have_cuda()) return "no CUDA device here";
  if (!have("cudaupload")) return "GStreamer's nvcodec plugin is not here";
  const Harness second("cclabel device=cuda cuda-device-id=1 output=none");
  return device_of(second.element()) == "cuda:1" ? "" : "one CUDA device only";
}
#define NEEDS_TWO_DEVICES() \
  if (const std::string why = lacking(); !why.empty()) GTEST_SKIP() << why

// An NV12 picture of bars that move.
std::vector<uint8_t> bars(int index) {
  std::vector<uint8_t> bytes(size_t{kWidth} * kHeight * 3 / 2, 128);
  for (size_t i = 0; i < size_t{kWidth} * kHeight; ++i) {
    bytes[i] = (i + static_cast<size_t>(index) * 5) % 23 < 9 ? 220 : 30;
  }
  return bytes;
}

// Frames in the memory of one device.
class Uploader {
 public:
  explicit Uploader(int device)
      : harness_("cudaupload cuda-device-id=" + std::to_string(device),
                 "video/x-raw(memory:CUDAMemory)") {
    harness_.video("NV12", kWidth, kHeight);
  }
  GstBuffer* frame(int index) {
    EXPECT_EQ(harness_.push(bars(index), index), GST_FLOW_OK);
    return harness_.pull().release();
  }

 private:
  Harness harness_;
};

void take_cuda_frames(Harness& h) {
  h.caps("video/x-raw(memory:CUDAMemory),format=NV12,width=128,height=64,framerate=25/1");
}

TEST(TwoDevices, FramesThatChangeDevicesGiveWhatTheCpuGives) {
  NEEDS_TWO_DEVICES();
  Uploader uploaders[] = {Uploader(0), Uploader(1)};
  Harness cpu("cclabel device=cpu output=labels"), gpu("cclabel output=labels");
  cpu.video("NV12", kWidth, kHeight);
  take_cuda_frames(gpu);
  const int devices[] = {1, 1, 1, 0, 0, 1, 1, 0};
  for (int i = 0; i < 8; ++i) {
    ASSERT_EQ(cpu.push(bars(i), i), GST_FLOW_OK);
    ASSERT_EQ(gst_harness_push(gpu.get(), uploaders[devices[i]].frame(i)), GST_FLOW_OK)
        << gpu.error_text();
    EXPECT_EQ(device_of(gpu.element()), "cuda:" + std::to_string(devices[i])) << i;
  }
  cpu.eos();
  gpu.eos();
  for (int i = 0; i < 8; ++i) {
    const BufferPtr expected = cpu.pull(), out = gpu.pull();
    ASSERT_TRUE(expected && out) << i << ": " << gpu.error_text();
    EXPECT_EQ(GST_BUFFER_PTS(out.get()), GST_BUFFER_PTS(expected.get()));
    EXPECT_EQ(bytes_of(out.get()), bytes_of(expected.get())) << i;
  }
}

TEST(TwoDevices, AChainFollows) {
  NEEDS_TWO_DEVICES();
  Uploader second(1);
  Harness h("graphcutbg output=none ! cclabel source=mask output=none ! regionoverlay");
  take_cuda_frames(h);
  for (int i = 0; i < 6; ++i) {
    ASSERT_EQ(gst_harness_push(h.get(), second.frame(i)), GST_FLOW_OK) << h.error_text();
    ASSERT_TRUE(h.pull()) << h.error_text();
  }
  for (const char* name : {"graphcutbg", "cclabel", "regionoverlay"}) {
    GstElement* element = gst_harness_find_element(h.get(), name);
    EXPECT_EQ(device_of(element), "cuda:1") << name;
    gst_object_unref(element);
  }
}

TEST(TwoDevices, OneThatIsAskedForRefusesTheOthersFrames) {
  NEEDS_TWO_DEVICES();
  Uploader second(1);
  Harness h("cclabel output=none cuda-device-id=0");
  take_cuda_frames(h);
  EXPECT_EQ(gst_harness_push(h.get(), second.frame(0)), GST_FLOW_ERROR);
  EXPECT_NE(h.error_text().find("cuda-device-id"), std::string::npos);
}

TEST(TwoDevices, AMaskFromAnotherDeviceIsBroughtOver) {
  NEEDS_TWO_DEVICES();
  Harness h(
      "graphcutbg cuda-device-id=0 output=none ! cclabel cuda-device-id=1 source=mask "
      "output=none");
  h.video("NV12", kWidth, kHeight);
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(h.push(bars(i), i), GST_FLOW_OK) << h.error_text();
    ASSERT_TRUE(h.pull()) << h.error_text();
  }
}

TEST(TwoDevices, ADecodersDeviceIsFollowed) {
  NEEDS_TWO_DEVICES();
  for (const char* element : {"x264enc", "h264parse", "nvh264device1dec"}) {
    if (!have(element)) GTEST_SKIP() << element << " is not here";
  }
  const Pipeline pipeline(
      "videotestsrc num-buffers=30 ! video/x-raw,format=NV12,width=640,height=480 ! x264enc ! "
      "h264parse ! nvh264device1dec ! video/x-raw(memory:CUDAMemory) ! graphcutbg name=cut ! "
      "regionoverlay name=overlay ! fakesink");
  EXPECT_TRUE(pipeline.plays());
  for (const char* name : {"cut", "overlay"}) {
    GstElement* element = gst_bin_get_by_name(GST_BIN(pipeline.get()), name);
    EXPECT_EQ(device_of(element), "cuda:1") << name;
    GstStructure* stats = nullptr;
    guint64 out = 0;
    g_object_get(element, "stats", &stats, nullptr);
    EXPECT_TRUE(gst_structure_get_uint64(stats, "frames-out", &out));
    EXPECT_EQ(out, 30u) << name;
    gst_structure_free(stats);
    gst_object_unref(element);
  }
}

}  // namespace
}  // namespace regions::test

// Elements on CUDA devices give the same bytes and regions as on the CPU, from system memory and
// from CUDA memory, and follow frames to a second device. Without a device these tests are skipped.
// fake_gpu/ tests the choice of devices on any machine; it leaves out the suite RealGpu.
#include <chrono>
#include <thread>

#include "tests/plugin/elements.hpp"
#include "tests/plugin/harness.hpp"

namespace regions::test {
namespace {

constexpr int kWidth = 131, kHeight = 77;

#define SKIP_WITHOUT_CUDA_MEMORY() \
  SKIP_WITHOUT_CUDA();             \
  if (!have_element("cudaupload")) GTEST_SKIP() << "GStreamer's nvcodec plugin is not here"

// A picture with blobs of every size, different in each channel.
std::vector<uint8_t> blobs(const std::string& format, int width, int height, int index) {
  GstVideoInfo info;
  gst_video_info_set_format(&info, gst_video_format_from_string(format.c_str()),
                            static_cast<guint>(width), static_cast<guint>(height));
  std::vector<uint8_t> bytes(GST_VIDEO_INFO_SIZE(&info));
  for (size_t i = 0; i < bytes.size(); ++i) {
    const uint32_t coarse =
        static_cast<uint32_t>(i / 7 + static_cast<size_t>(index) * 31) * 2654435761u;
    bytes[i] = static_cast<uint8_t>((coarse >> 24) + i % 3 * 40);
  }
  return bytes;
}

// The samples of a picture, without the padding of its rows.
std::vector<uint8_t> pixels_of(GstHarness* harness, GstBuffer* buffer) {
  const CapsPtr caps(gst_pad_get_current_caps(harness->sinkpad));
  GstVideoInfo info;
  GstVideoFrame frame;
  if (!gst_video_info_from_caps(&info, caps.get()) ||
      !gst_video_frame_map(&frame, &info, buffer, GST_MAP_READ)) {
    ADD_FAILURE() << "no picture";
    return {};
  }
  std::vector<uint8_t> pixels;
  for (guint c = 0; c < GST_VIDEO_FRAME_N_COMPONENTS(&frame); ++c) {
    const int step = GST_VIDEO_FRAME_COMP_PSTRIDE(&frame, c);
    const int bytes = GST_VIDEO_FORMAT_INFO_DEPTH(info.finfo, c) > 8 ? 2 : 1;
    for (int y = 0; y < GST_VIDEO_FRAME_COMP_HEIGHT(&frame, c); ++y) {
      const auto* row = static_cast<const uint8_t*>(GST_VIDEO_FRAME_COMP_DATA(&frame, c)) +
                        y * GST_VIDEO_FRAME_COMP_STRIDE(&frame, c);
      for (int x = 0; x < GST_VIDEO_FRAME_COMP_WIDTH(&frame, c); ++x) {
        pixels.insert(pixels.end(), row + x * step, row + x * step + bytes);
      }
    }
  }
  gst_video_frame_unmap(&frame);
  return pixels;
}

struct Result {
  std::vector<uint8_t> bytes;
  std::string regions;  // the metadata as text, without the label map
  bool operator==(const Result& o) const { return bytes == o.bytes && regions == o.regions; }
};

// Collects the metadata at the last element of this plugin, because cudadownload drops it.
void collect_metadata(const Harness& h, std::vector<std::string>* texts) {
  GstElement* last = gst_harness_find_element(h.get(), "regionoverlay");
  for (const std::string& name : all_elements()) {
    if (!last) last = gst_harness_find_element(h.get(), name.c_str());
  }
  ASSERT_TRUE(last);
  GstPad* source = gst_element_get_static_pad(last, "src");
  gst_pad_add_probe(
      source, GST_PAD_PROBE_TYPE_BUFFER,
      [](GstPad*, GstPadProbeInfo* info, gpointer all) {
        const GstStructure* made = regions_of(GST_PAD_PROBE_INFO_BUFFER(info));
        GstStructure* regions = made ? gst_structure_copy(made) : gst_structure_new_empty("none");
        // Backends need different numbers of iterations for the same minimum cut.
        gst_structure_remove_fields(regions, "labels", "iterations", nullptr);
        gchar* text = gst_structure_to_string(regions);
        static_cast<std::vector<std::string>*>(all)->push_back(text);
        g_free(text);
        gst_structure_free(regions);
        return GST_PAD_PROBE_OK;
      },
      texts, nullptr);
  gst_object_unref(source);
  gst_object_unref(last);
}

// The output frames of six input frames. After a pause, each frame is alone in the chain.
std::vector<Result> run(const std::string& line, const std::string& format, const std::string& out,
                        std::chrono::milliseconds pause = {}) {
  std::vector<std::string> texts;
  Harness h(line, out);
  collect_metadata(h, &texts);
  h.video(format, kWidth, kHeight);
  std::vector<Result> results;
  for (int i = 0; i < 6; ++i) {
    std::this_thread::sleep_for(pause);
    const GstFlowReturn flow = h.push(blobs(format, kWidth, kHeight, i), i);
    EXPECT_EQ(flow, GST_FLOW_OK) << line << ": " << h.error_text();
    if (flow != GST_FLOW_OK) return results;
  }
  h.eos();
  for (int i = 0; i < 6; ++i) {
    const BufferPtr buffer = h.pull();
    EXPECT_NE(buffer, nullptr) << line << ": picture " << i << " is missing";
    if (!buffer) return results;
    results.push_back({pixels_of(h.get(), buffer.get()), ""});
  }
  EXPECT_EQ(texts.size(), results.size()) << line;
  for (size_t i = 0; i < std::min(texts.size(), results.size()); ++i) results[i].regions = texts[i];
  return results;
}

void expect_same_results(const std::string& cpu, const std::string& gpu, const std::string& format,
                         const std::string& out = "", std::chrono::milliseconds pause = {}) {
  EXPECT_TRUE(run(cpu, format, "") == run(gpu, format, out, pause)) << format << ": " << gpu;
}

TEST(RealGpu, SystemMemory_OutputEqualsCpu) {
  SKIP_WITHOUT_CUDA();
  for (const char* format : {"GRAY8", "GRAY16_LE", "NV12", "I420", "P010_10LE", "YUY2", "UYVY",
                             "RGBA", "BGRA", "RGBx", "BGRx", "RGB", "BGR"}) {
    for (const char* settings :
         {"output=overlay", "output=labels", "output=labels overflow=saturate", "output=mask",
          "output=colors", "output=none", "output=overlay style=fill+outlines connectivity=4",
          "output=labels criterion=equal", "output=labels criterion=difference tolerance=0.3",
          "output=labels min-area=6 max-area=90", "output=labels fill-holes=9"}) {
      const std::string line = std::string(" frames-in-flight=3 ") + settings;
      expect_same_results("cclabel device=cpu" + line, "cclabel device=cuda" + line, format);
    }
  }
}

TEST(RealGpu, WorkArea_OutputEqualsCpu) {
  SKIP_WITHOUT_CUDA();
  for (const char* format : {"GRAY8", "NV12", "I420", "P010_10LE", "YUY2", "RGBA", "BGR"}) {
    for (const std::string& element : with_all_elements(
             {"cclabel output=labels", "cclabel output=none attach-labels=always", "cclabel",
              "graphcutbg output=mask", "graphcutbg", "graphcutbg output=replace",
              "slicsuperpixel output=labels", "slicsuperpixel output=mean"})) {
      for (const char* area : {" process-scale=0.5", " left=11 top=6 width=70 height=50",
                               " left=8 width=100 process-scale=0.3"}) {
        const std::string line = element + area;
        expect_same_results(line + " device=cpu", line + " device=cuda", format);
      }
    }
  }
}

TEST(RealGpu, CudaMemory_OutputEqualsCpu) {
  SKIP_WITHOUT_CUDA_MEMORY();
  const std::string cuda = "video/x-raw(memory:CUDAMemory)",
                    upload = "cudaupload ! " + cuda + " ! ";
  for (const char* format : {"NV12", "I420", "P010_10LE", "RGBA", "BGRA", "RGBx", "BGRx"}) {
    for (const std::string output : {"overlay", "none"}) {
      expect_same_results(
          "cclabel device=cpu output=" + output,
          upload + "cclabel name=cclabel output=" + output + " ! " + cuda + " ! cudadownload",
          format, "video/x-raw");
    }
    expect_same_results("cclabel device=cpu output=labels", upload + "cclabel output=labels",
                        format);
  }
  expect_same_results(
      "cclabel device=cpu output=none ! regionoverlay device=cpu",
      upload + "cclabel output=none ! " + cuda + " ! regionoverlay ! " + cuda + " ! cudadownload",
      "NV12", "video/x-raw");
}

// Such frames leave an element while the device still works on them.
TEST(CudaDevice, SingleFramesInAChain_OutputEqualsCpu) {
  SKIP_WITHOUT_CUDA_MEMORY();
  const std::string cut = "graphcutbg output=none", overlay = " ! regionoverlay";
  for (const std::string next : {" ! cclabel source=mask output=none", " ! cclabel output=none",
                                 " ! slicsuperpixel output=none"}) {
    expect_same_results(
        cut + " device=cpu" + next + " device=cpu" + overlay + " device=cpu",
        "cudaupload ! " + cut + next + overlay + " ! video/x-raw(memory:CUDAMemory) ! cudadownload",
        "NV12", "video/x-raw", std::chrono::milliseconds(30));
  }
}

TEST(CudaDevice, EightElementsInParallel_ReachTheEndOfTheStream) {
  SKIP_WITHOUT_CUDA();
  std::string line;
  for (int i = 0; i < 4; ++i) {
    line += "videotestsrc num-buffers=60 pattern=snow ! video/x-raw,format=I420,width=" +
            std::to_string(320 + 64 * i) +
            ",height=240 ! cclabel output=none ! regionoverlay ! fakesink ";
  }
  EXPECT_TRUE(Pipeline(line).plays());
}

TEST(CudaDevice, MoreMemoryThanTheDeviceHas_IsAnError) {
  SKIP_WITHOUT_CUDA();
  // No device has memory for 64 slots of 65535×65535 pixels.
  Harness h("cclabel device=cuda frames-in-flight=64 output=none");
  h.video("GRAY8", 65535, 65535);
  EXPECT_NE(gst_harness_push(h.get(), gst_buffer_new()), GST_FLOW_OK);
  EXPECT_PRED2(contains, h.error_text(), "memory");
}

// ---- two devices

bool is_on(GstElement* element, int device) {
  return device_of(element).starts_with("cuda:" + std::to_string(device));
}

bool have_second_device() {
  if (!have_cuda()) return false;
  const Harness second("cclabel device=cuda cuda-device-id=1 output=none");
  return is_on(second.element(), 1);
}
#define SKIP_WITHOUT_SECOND_DEVICE() \
  if (!have_second_device()) GTEST_SKIP() << "fewer than two CUDA devices here"

// Initialisation that is needed once per device must not be done once per process.
TEST(RealGpu, SecondDevice_OutputEqualsThatOfTheFirst) {
  SKIP_WITHOUT_SECOND_DEVICE();
  for (const std::string& line : with_all_elements(
           {"cclabel output=labels", "cclabel output=labels depth=3 connectivity=26",
            "cclabel output=none track=true", "graphcutbg output=mask",
            "slicsuperpixel output=labels", "slicsuperpixel output=none method=report",
            "slicsuperpixel output=mean variant=slico"})) {
    for (const char* format : {"GRAY8", "BGRx"}) {
      const std::string on = line + " device=cuda cuda-device-id=";
      EXPECT_TRUE(run(on + "0", format, "") == run(on + "1", format, "")) << line << " " << format;
    }
  }
}

// Frames in the memory of one device.
class Uploader {
 public:
  explicit Uploader(int device)
      : harness_("cudaupload cuda-device-id=" + std::to_string(device),
                 "video/x-raw(memory:CUDAMemory)") {
    harness_.video("NV12", 128, 64);
  }
  GstBuffer* frame(int index) {
    EXPECT_EQ(harness_.push(blobs("NV12", 128, 64, index), index), GST_FLOW_OK);
    return harness_.pull().release();
  }

 private:
  Harness harness_;
};

TEST(RealGpu, FramesChangeDevices_OutputEqualsCpu) {
  SKIP_WITHOUT_CUDA_MEMORY();
  SKIP_WITHOUT_SECOND_DEVICE();
  Uploader uploaders[] = {Uploader(0), Uploader(1)};
  Harness cpu("cclabel device=cpu output=labels"), gpu("cclabel output=labels");
  cpu.video("NV12", 128, 64);
  gpu.caps("video/x-raw(memory:CUDAMemory),format=NV12,width=128,height=64,framerate=25/1");
  const int devices[] = {1, 1, 1, 0, 0, 1, 1, 0};
  for (int i = 0; i < 8; ++i) {
    ASSERT_EQ(cpu.push(blobs("NV12", 128, 64, i), i), GST_FLOW_OK);
    ASSERT_EQ(gst_harness_push(gpu.get(), uploaders[devices[i]].frame(i)), GST_FLOW_OK)
        << gpu.error_text();
    EXPECT_TRUE(is_on(gpu.element(), devices[i])) << i;
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

TEST(RealGpu, MaskOnAnotherDevice_OutputEqualsCpu) {
  SKIP_WITHOUT_SECOND_DEVICE();
  expect_same_results(
      "graphcutbg device=cpu output=none ! cclabel device=cpu source=mask output=none",
      "graphcutbg cuda-device-id=0 output=none ! cclabel cuda-device-id=1 source=mask output=none",
      "NV12");
}

TEST(RealGpu, DecoderOnTheSecondDevice_ElementsRunOnTheSecondDevice) {
  SKIP_WITHOUT_SECOND_DEVICE();
  for (const char* element : {"x264enc", "h264parse", "nvh264device1dec"}) {
    if (!have_element(element)) GTEST_SKIP() << element << " is not here";
  }
  const Pipeline pipeline(
      "videotestsrc num-buffers=30 ! video/x-raw,format=NV12,width=640,height=480 ! x264enc ! "
      "h264parse ! nvh264device1dec ! video/x-raw(memory:CUDAMemory) ! graphcutbg name=cut ! "
      "regionoverlay name=overlay ! fakesink");
  EXPECT_TRUE(pipeline.plays());
  for (const char* name : {"cut", "overlay"}) {
    GstElement* element = gst_bin_get_by_name(GST_BIN(pipeline.get()), name);
    EXPECT_TRUE(is_on(element, 1)) << name;
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

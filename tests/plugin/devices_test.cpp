// On a machine with a CUDA device: elements give the same bytes and regions on both devices, from
// system memory and from CUDA memory. Elsewhere these tests say that they were skipped.
#include <chrono>
#include <map>
#include <thread>

#include "tests/plugin/elements.hpp"
#include "tests/plugin/harness.hpp"

namespace regions::test {
namespace {

constexpr int kWidth = 131, kHeight = 77;

bool have(const char* element) {
  start_gstreamer();
  GstElementFactory* factory = gst_element_factory_find(element);
  if (factory) gst_object_unref(factory);
  return factory != nullptr;
}

#define NEEDS_CUDA() \
  if (!have_cuda()) GTEST_SKIP() << "no CUDA device here"

// A picture with blobs of every size, different in each channel.
std::vector<uint8_t> blobs(const char* format, int width, int height, int index) {
  GstVideoInfo info;
  gst_video_info_set_format(&info, gst_video_format_from_string(format), static_cast<guint>(width),
                            static_cast<guint>(height));
  std::vector<uint8_t> bytes(GST_VIDEO_INFO_SIZE(&info));
  for (size_t i = 0; i < bytes.size(); ++i) {
    const uint32_t coarse =
        static_cast<uint32_t>(i / 7 + static_cast<size_t>(index) * 31) * 2654435761u;
    bytes[i] = static_cast<uint8_t>((coarse >> 24) + i % 3 * 40);
  }
  return bytes;
}

// The picture's bytes without the padding behind its rows, which holds anything.
std::vector<uint8_t> pixels_of(GstHarness* harness, GstBuffer* buffer) {
  const std::unique_ptr<GstCaps, Unref> caps(gst_pad_get_current_caps(harness->sinkpad));
  GstVideoInfo info;
  GstVideoFrame frame;
  if (!gst_video_info_from_caps(&info, caps.get()) ||
      !gst_video_frame_map(&frame, &info, buffer, GST_MAP_READ)) {
    ADD_FAILURE() << "no picture came out";
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

// The metadata where it leaves the last of our elements, as cudadownload drops it.
void listen(const Harness& h, std::vector<std::string>* said) {
  GstElement* last = gst_harness_find_element(h.get(), "regionoverlay");
  for (const std::string& name : all_elements()) {
    if (!last) last = gst_harness_find_element(h.get(), name.c_str());
  }
  ASSERT_TRUE(last);
  GstPad* source = gst_element_get_static_pad(last, "src");
  gst_pad_add_probe(
      source, GST_PAD_PROBE_TYPE_BUFFER,
      [](GstPad*, GstPadProbeInfo* info, gpointer texts) {
        const GstStructure* made = regions_of(GST_PAD_PROBE_INFO_BUFFER(info));
        GstStructure* regions = made ? gst_structure_copy(made) : gst_structure_new_empty("none");
        // Each backend has its own way to the one minimum.
        gst_structure_remove_fields(regions, "labels", "iterations", nullptr);
        gchar* text = gst_structure_to_string(regions);
        static_cast<std::vector<std::string>*>(texts)->push_back(text);
        g_free(text);
        gst_structure_free(regions);
        return GST_PAD_PROBE_OK;
      },
      said, nullptr);
  gst_object_unref(source);
  gst_object_unref(last);
}

// With pauses, each frame has the chain to itself.
std::vector<Result> run(const std::string& line, const std::string& format, const std::string& out,
                        std::chrono::milliseconds pause = {}) {
  std::vector<std::string> said;
  Harness h(line, out);
  listen(h, &said);
  h.video(format, kWidth, kHeight);
  std::vector<Result> results;
  for (int i = 0; i < 6; ++i) {
    std::this_thread::sleep_for(pause);
    const GstFlowReturn flow = h.push(blobs(format.c_str(), kWidth, kHeight, i), i);
    EXPECT_EQ(flow, GST_FLOW_OK) << line << ": " << h.error_text();
    if (flow != GST_FLOW_OK) return results;
  }
  h.eos();
  for (int i = 0; i < 6; ++i) {
    const BufferPtr buffer = h.pull();
    EXPECT_NE(buffer, nullptr) << line << ": picture " << i << " did not come out";
    if (!buffer) return results;
    results.push_back({pixels_of(h.get(), buffer.get()), ""});
  }
  EXPECT_EQ(said.size(), results.size()) << line;
  for (size_t i = 0; i < std::min(said.size(), results.size()); ++i) results[i].regions = said[i];
  return results;
}

TEST(Cuda, SystemMemoryGivesWhatTheCpuGives) {
  NEEDS_CUDA();
  for (const char* format : {"GRAY8", "GRAY16_LE", "NV12", "I420", "P010_10LE", "YUY2", "UYVY",
                             "RGBA", "BGRA", "RGBx", "BGRx", "RGB", "BGR"}) {
    for (const char* settings :
         {"output=overlay", "output=labels", "output=labels overflow=saturate", "output=mask",
          "output=colors", "output=none", "output=overlay style=fill+outlines connectivity=4",
          "output=labels criterion=equal", "output=labels criterion=difference tolerance=0.3",
          "output=labels min-area=6 max-area=90", "output=labels fill-holes=9"}) {
      const std::string line = std::string(" frames-in-flight=3 ") + settings;
      EXPECT_TRUE(run("cclabel device=cpu" + line, format, "") ==
                  run("cclabel device=cuda" + line, format, ""))
          << format << " " << settings;
    }
  }
}

TEST(Cuda, PartsAndSmallerPicturesGiveWhatTheCpuGives) {
  NEEDS_CUDA();
  for (const char* format : {"GRAY8", "NV12", "I420", "P010_10LE", "YUY2", "RGBA", "BGR"}) {
    for (const std::string& element : with_all_elements(
             {"cclabel output=labels", "cclabel output=none attach-labels=always", "cclabel",
              "graphcutbg output=mask", "graphcutbg", "graphcutbg output=replace",
              "slicsuperpixel output=labels", "slicsuperpixel output=mean"})) {
      for (const char* area : {" process-scale=0.5", " left=11 top=6 width=70 height=50",
                               " left=8 width=100 process-scale=0.3"}) {
        const std::string line = element + area;
        EXPECT_TRUE(run(line + " device=cpu", format, "") == run(line + " device=cuda", format, ""))
            << format << " " << line;
      }
    }
  }
}

TEST(Cuda, CudaMemoryGivesWhatTheCpuGives) {
  NEEDS_CUDA();
  if (!have("cudaupload")) GTEST_SKIP() << "GStreamer's nvcodec plugin is not here";
  for (const char* format : {"NV12", "I420", "P010_10LE", "RGBA", "BGRA", "RGBx", "BGRx"}) {
    for (const char* output : {"overlay", "none"}) {
      const std::string settings = std::string(" output=") + output;
      EXPECT_TRUE(run("cclabel device=cpu" + settings, format, "") ==
                  run("cudaupload ! video/x-raw(memory:CUDAMemory) ! cclabel name=cclabel" +
                          settings + " ! video/x-raw(memory:CUDAMemory) ! cudadownload",
                      format, "video/x-raw"))
          << format << settings;
    }
    EXPECT_TRUE(
        run("cclabel device=cpu output=labels", format, "") ==
        run("cudaupload ! video/x-raw(memory:CUDAMemory) ! cclabel output=labels", format, ""))
        << format;
  }
}

TEST(Cuda, ChainsStayOnTheDevice) {
  NEEDS_CUDA();
  if (!have("cudaupload")) GTEST_SKIP() << "GStreamer's nvcodec plugin is not here";
  EXPECT_TRUE(run("cclabel device=cpu output=none ! regionoverlay device=cpu", "NV12", "") ==
              run("cudaupload ! video/x-raw(memory:CUDAMemory) ! cclabel output=none ! "
                  "video/x-raw(memory:CUDAMemory) ! regionoverlay ! "
                  "video/x-raw(memory:CUDAMemory) ! cudadownload",
                  "NV12", "video/x-raw"));
}

// They go from one element to the next while their work is under way.
TEST(Cuda, FramesAloneOnTheirWayGiveWhatTheCpuGives) {
  NEEDS_CUDA();
  if (!have("cudaupload")) GTEST_SKIP() << "GStreamer's nvcodec plugin is not here";
  constexpr std::chrono::milliseconds kPause{30};
  const std::string cut = "graphcutbg output=none", overlay = " ! regionoverlay";
  for (const std::string next : {" ! cclabel source=mask output=none", " ! cclabel output=none",
                                 " ! slicsuperpixel output=none"}) {
    const std::string here = cut + " device=cpu" + next + " device=cpu" + overlay + " device=cpu";
    const std::string there =
        "cudaupload ! " + cut + next + overlay + " ! video/x-raw(memory:CUDAMemory) ! cudadownload";
    EXPECT_TRUE(run(here, "NV12", "") == run(there, "NV12", "video/x-raw", kPause)) << next;
  }
}

TEST(Cuda, UpstreamIsOfferedPinnedMemory) {
  NEEDS_CUDA();
  Harness h("cclabel device=cuda output=none");
  h.video("NV12", kWidth, kHeight);
  const std::unique_ptr<GstCaps, Unref> caps(gst_pad_get_current_caps(h.get()->srcpad));
  GstQuery* query = gst_query_new_allocation(caps.get(), TRUE);
  ASSERT_TRUE(gst_pad_peer_query(h.get()->srcpad, query));
  EXPECT_EQ(gst_query_get_n_allocation_pools(query), 1u);
  // Base classes set this allocator on the pool; with none they would take its own away.
  ASSERT_EQ(gst_query_get_n_allocation_params(query), 1u);
  GstAllocator* allocator = nullptr;
  gst_query_parse_nth_allocation_param(query, 0, &allocator, nullptr);
  ASSERT_TRUE(allocator);
  EXPECT_STREQ(allocator->mem_type, "RegionsPinnedMemory");
  gst_object_unref(allocator);
  gst_query_unref(query);
}

TEST(Cuda, ManyElementsAtOnce) {
  NEEDS_CUDA();
  std::string line;
  for (int i = 0; i < 4; ++i) {
    line += "videotestsrc num-buffers=60 pattern=snow ! video/x-raw,format=I420,width=" +
            std::to_string(320 + 64 * i) +
            ",height=240 ! cclabel output=none ! regionoverlay ! fakesink ";
  }
  EXPECT_TRUE(Pipeline(line).plays());
}

// "cuda:N" of an element that is made ready; empty if it cannot be.
std::string device_of(GstElement* element) {
  if (gst_element_set_state(element, GST_STATE_READY) == GST_STATE_CHANGE_FAILURE) return "";
  gchar* text = nullptr;
  g_object_get(element, "active-device", &text, nullptr);
  const std::string name = text ? text : "";
  g_free(text);
  return name.substr(0, name.find(' '));
}

bool have_second_device() {
  GstElement* element = gst_element_factory_make("cclabel", nullptr);
  g_object_set(element, "device", 1, "cuda-device-id", 1, nullptr);
  const bool is_there = device_of(element) == "cuda:1";
  gst_element_set_state(element, GST_STATE_NULL);
  gst_object_unref(element);
  return is_there;
}

TEST(Cuda, NewElementsGoWhereTheFewestAre) {
  NEEDS_CUDA();
  if (!have_second_device()) GTEST_SKIP() << "one CUDA device only: nothing to choose from";
  std::map<std::string, int> placed;
  std::vector<GstElement*> elements;
  for (const char* name : {"cclabel", "graphcutbg", "slicsuperpixel", "cclabel"}) {
    elements.push_back(gst_element_factory_make(name, nullptr));
    ++placed[device_of(elements.back())];
  }
  EXPECT_EQ(placed["cuda:0"], placed["cuda:1"]);
  for (GstElement* element : elements) {
    gst_element_set_state(element, GST_STATE_NULL);
    gst_object_unref(element);
  }
}

// What is asked for once of a device must be asked for of each.
TEST(Cuda, TheSecondDeviceGivesWhatTheFirstGives) {
  NEEDS_CUDA();
  if (!have_second_device()) GTEST_SKIP() << "one CUDA device only";
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

TEST(Cuda, MemoryThatIsNotThereIsAClearError) {
  NEEDS_CUDA();
  // 65535 x 65535 pixels in 64 slots are more than any device has.
  Harness h("cclabel device=cuda frames-in-flight=64 output=none");
  h.video("GRAY8", 65535, 65535);
  EXPECT_NE(gst_harness_push(h.get(), gst_buffer_new()), GST_FLOW_OK);
  EXPECT_NE(h.error_text().find("memory"), std::string::npos);
}

}  // namespace
}  // namespace regions::test

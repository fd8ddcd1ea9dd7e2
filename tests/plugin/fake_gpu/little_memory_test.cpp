// device=auto on a GPU with too little free memory: the element runs on the CPU and warns.
#include "tests/plugin/elements.hpp"
#include "tests/plugin/fake_gpu/producer.hpp"
#include "tests/plugin/told.hpp"

namespace regions::test {
namespace {

// Bytes of free memory, while this lives.
class FreeMemory {
 public:
  explicit FreeMemory(size_t bytes) { fake::free_memory() = bytes; }
  FreeMemory(const FreeMemory&) = delete;
  ~FreeMemory() { fake::free_memory() = fake::kAllMemory; }
};

constexpr size_t kNoContext = fake::kContextBytes / 2;
constexpr size_t kNoFrames = fake::kContextBytes + 1000;

std::vector<std::string> lines() {
  return with_all_elements({"cclabel output=none", "cclabel output=labels",
                            "cclabel output=overlay", "graphcutbg output=mask",
                            "slicsuperpixel output=mean",
                            "cclabel depth=2 connectivity=6 output=none"});
}

std::string with_device(const std::string& line, const char* device) {
  const size_t end = std::min(line.find(' '), line.size());
  return line.substr(0, end) + " device=" + device + line.substr(end);
}

void expect_warning(Harness& h, const std::string& where) {
  const Told warning = told(h.message_so_far(GST_MESSAGE_WARNING));
  EXPECT_EQ(warning.domain, GST_RESOURCE_ERROR) << where;
  EXPECT_EQ(warning.code, GST_RESOURCE_ERROR_NO_SPACE_LEFT) << where;
  for (const char* part : {"device=auto", "CPU", "cuda:0", "bytes", "free"}) {
    EXPECT_NE(warning.text.find(part), std::string::npos) << where << ": " << warning.text;
  }
  EXPECT_FALSE(h.message_so_far(GST_MESSAGE_WARNING)) << where;
}

TEST(LittleMemory, AutoWithTooLittle_RunsOnTheCpuAndWarnsOnce) {
  for (const size_t bytes : {kNoContext, kNoFrames}) {
    for (const std::string& line : lines()) {
      const std::string where = line + " with " + std::to_string(bytes);
      Harness expected(with_device(line, "cpu"));
      const FreeMemory little(bytes);
      Harness h(line);
      ASSERT_TRUE(h.starts()) << where << h.error_text();
      for (Harness* each : {&h, &expected}) {
        each->video("RGBA", kWidth, kHeight);
        for (int i = 0; i < 4; ++i) {
          ASSERT_EQ(each->push(squares(i), i), GST_FLOW_OK) << where << h.error_text();
        }
        each->eos();
      }
      for (int i = 0; i < 4; ++i) {
        const BufferPtr out = h.pull(), same = expected.pull();
        ASSERT_TRUE(out && same) << where;
        EXPECT_EQ(bytes_of(out.get()), bytes_of(same.get())) << where;
      }
      EXPECT_TRUE(device_of(h.element()).starts_with("cpu")) << device_of(h.element());
      expect_warning(h, where);
      EXPECT_FALSE(h.has_error()) << where;
    }
  }
}

TEST(LittleMemory, CudaWithTooLittle_IsAnError) {
  for (const size_t bytes : {kNoContext, kNoFrames}) {
    for (const std::string& line : lines()) {
      const FreeMemory little(bytes);
      Harness h(with_device(line, "cuda"));
      h.video("RGBA", kWidth, kHeight);
      GstFlowReturn flow = GST_FLOW_OK;
      for (int i = 0; i < 4 && flow == GST_FLOW_OK; ++i) flow = h.push(squares(i), i);
      EXPECT_NE(flow, GST_FLOW_OK) << line;
      const Told error = told(h.message(GST_MESSAGE_ERROR));
      EXPECT_EQ(error.code, GST_RESOURCE_ERROR_NO_SPACE_LEFT) << line << error.text;
      EXPECT_NE(error.text.find("cuda:0"), std::string::npos) << error.text;
      EXPECT_FALSE(h.message_so_far(GST_MESSAGE_WARNING)) << line;
    }
  }
}

// The CPU cannot read these.
TEST(LittleMemory, FramesInCudaMemoryWithTooLittle_AreAnErrorThatSaysWhatToDo) {
  NEEDS_LIBRARY();
  const Producer producer(0);
  Harness h("cclabel output=mask");
  const FreeMemory little(kNoFrames);
  h.caps(kCudaCaps);
  EXPECT_NE(gst_harness_push(h.get(), producer.frame(0, squares(1))), GST_FLOW_OK);
  const Told error = told(h.message(GST_MESSAGE_ERROR));
  EXPECT_EQ(error.code, GST_RESOURCE_ERROR_NO_SPACE_LEFT) << error.text;
  for (const char* part : {"cuda:0", "bytes", "free", "cudadownload"}) {
    EXPECT_NE(error.text.find(part), std::string::npos) << error.text;
  }
  EXPECT_FALSE(h.message_so_far(GST_MESSAGE_WARNING));
}

TEST(LittleMemory, LargerFramesThatDoNotFit_GoOnOnTheCpu) {
  Harness h("cclabel output=mask frames-in-flight=2");
  h.video("RGBA", kWidth, kHeight);
  for (int i = 0; i < 3; ++i) ASSERT_EQ(h.push(squares(i), i), GST_FLOW_OK);
  EXPECT_TRUE(device_of(h.element()).starts_with("cuda:0"));
  const FreeMemory little(kNoFrames);
  h.video("RGBA", 2 * kWidth, kHeight);
  for (int i = 3; i < 6; ++i) {
    ASSERT_EQ(h.push(std::vector<uint8_t>(size_t{2} * kWidth * kHeight * 4), i), GST_FLOW_OK);
  }
  h.eos();
  for (int i = 0; i < 6; ++i) {
    const BufferPtr out = h.pull();
    ASSERT_TRUE(out) << i;
    EXPECT_EQ(GST_BUFFER_PTS(out.get()), static_cast<GstClockTime>(i) * 40 * GST_MSECOND);
  }
  EXPECT_TRUE(device_of(h.element()).starts_with("cpu")) << device_of(h.element());
  expect_warning(h, "larger frames");
  EXPECT_FALSE(h.has_error());
}

// The element tries the GPU again when it starts again.
TEST(LittleMemory, MemoryThatIsFreeAgain_IsUsedAfterTheNextStart) {
  Harness h("cclabel output=none");
  gst_element_set_state(h.element(), GST_STATE_NULL);
  {
    const FreeMemory little(kNoContext);
    gst_element_set_state(h.element(), GST_STATE_PAUSED);
    EXPECT_TRUE(device_of(h.element()).starts_with("cpu")) << device_of(h.element());
  }
  gst_element_set_state(h.element(), GST_STATE_NULL);
  gst_element_set_state(h.element(), GST_STATE_PAUSED);
  EXPECT_TRUE(device_of(h.element()).starts_with("cuda:0")) << device_of(h.element());
}

}  // namespace
}  // namespace regions::test

// The choice of a device on two fake devices: CUDA contexts from the application and neighbours,
// frames in the memory of another device, and devices with too little free memory.
#include <gst/base/gstbasetransform.h>

#include <algorithm>

#include "tests/plugin/elements.hpp"
#include "tests/plugin/error_details.hpp"
#include "tests/plugin/fake_gpu/producer.hpp"
#include "tests/plugin/log.hpp"

namespace regions::test {
namespace {

// ---- contexts

// One element without neighbours, and its bus.
class Alone {
 public:
  explicit Alone(const std::string& line) {
    start_gstreamer();
    element_ = gst_parse_launch(line.c_str(), nullptr);
    gst_object_ref_sink(element_);
    bus_ = gst_bus_new();
    gst_element_set_bus(element_, bus_);
  }
  Alone(const Alone&) = delete;
  ~Alone() {
    gst_element_set_state(element_, GST_STATE_NULL);
    gst_element_set_bus(element_, nullptr);
    gst_object_unref(element_);
    gst_object_unref(bus_);
  }
  GstElement* get() const { return element_; }
  std::string ready() const {
    gst_element_set_state(element_, GST_STATE_READY);
    return device_of(element_);
  }
  MessagePtr message(GstMessageType type) const {
    return MessagePtr(gst_bus_pop_filtered(bus_, type));
  }
  void offer(GstObject* cuda) const {
    GstContext* context = cuda_library()->new_gst_context(cuda);
    gst_element_set_context(element_, context);
    gst_context_unref(context);
  }

 private:
  GstElement* element_ = nullptr;
  GstBus* bus_ = nullptr;
};

// The CUDA device of a GstContext; -1 if it is another kind of context.
int device_in(GstContext* context) {
  if (!context || !gst_context_has_context_type(context, kCudaContextType)) return -1;
  GstObject* cuda = nullptr;
  gst_structure_get(gst_context_get_structure(context), kCudaContextType,
                    cuda_library()->context_type(), &cuda, nullptr);
  guint device = 99;
  g_object_get(cuda, "cuda-device-id", &device, nullptr);
  gst_object_unref(cuda);
  return static_cast<int>(device);
}

TEST(CudaContext, NotOffered_IsRequestedThenCreatedAndOfferedToAll) {
  NEEDS_LIBRARY();
  const Alone alone("cclabel cuda-device-id=1");
  EXPECT_EQ(alone.ready(), "cuda:1 fake");
  const MessagePtr need = alone.message(GST_MESSAGE_NEED_CONTEXT);
  ASSERT_TRUE(need);
  const gchar* type = nullptr;
  ASSERT_TRUE(gst_message_parse_context_type(need.get(), &type));
  EXPECT_STREQ(type, kCudaContextType);
  const MessagePtr have = alone.message(GST_MESSAGE_HAVE_CONTEXT);
  ASSERT_TRUE(have);
  GstContext* context = nullptr;
  gst_message_parse_have_context(have.get(), &context);
  EXPECT_EQ(device_in(context), 1);
  gst_context_unref(context);
  context = gst_element_get_context(alone.get(), kCudaContextType);
  EXPECT_EQ(device_in(context), 1);
  if (context) gst_context_unref(context);
}

TEST(CudaContext, OfferedByTheApplication_IsUsedAndOfferedToNeighbours) {
  NEEDS_LIBRARY();
  const Producer second(1);
  const Alone alone("cclabel");
  alone.offer(second.context());
  EXPECT_EQ(alone.ready(), "cuda:1 fake");
  EXPECT_FALSE(alone.message(GST_MESSAGE_NEED_CONTEXT));
  EXPECT_FALSE(alone.message(GST_MESSAGE_HAVE_CONTEXT));
  GstQuery* query = gst_query_new_context(kCudaContextType);
  GstPad* pad = gst_element_get_static_pad(alone.get(), "src");
  ASSERT_TRUE(gst_pad_query(pad, query));
  GstContext* answer = nullptr;
  gst_query_parse_context(query, &answer);
  GstObject* cuda = nullptr;
  gst_structure_get(gst_context_get_structure(answer), kCudaContextType,
                    cuda_library()->context_type(), &cuda, nullptr);
  EXPECT_EQ(cuda, second.context());
  gst_object_unref(cuda);
  gst_query_unref(query);
  gst_object_unref(pad);
}

TEST(CudaContext, OfAnotherDeviceThanCudaDeviceId_IsNotUsed) {
  NEEDS_LIBRARY();
  const Producer second(1);
  const Alone alone("cclabel cuda-device-id=0");
  alone.offer(second.context());
  EXPECT_EQ(alone.ready(), "cuda:0 fake");
  // The property is set after a context was offered.
  const Alone later("cclabel");
  later.offer(second.context());
  g_object_set(later.get(), "cuda-device-id", 0, nullptr);
  EXPECT_EQ(later.ready(), "cuda:0 fake");
}

TEST(CudaContext, ContextForOpenGl_IsIgnored) {
  NEEDS_LIBRARY();
  const Alone alone("cclabel cuda-device-id=0");
  GstContext* other = gst_context_new("gst.gl.GLDisplay", TRUE);
  gst_element_set_context(alone.get(), other);
  gst_context_unref(other);
  EXPECT_EQ(alone.ready(), "cuda:0 fake");
  GstQuery* query = gst_query_new_context("gst.gl.GLDisplay");
  GstPad* pad = gst_element_get_static_pad(alone.get(), "sink");
  EXPECT_FALSE(gst_pad_query(pad, query));
  gst_query_unref(query);
  gst_object_unref(pad);
}

// Answers context queries like a decoder.
gboolean answer(GstPad* pad, GstObject* parent, GstQuery* query) {
  auto* context = static_cast<GstObject*>(g_object_get_data(G_OBJECT(pad), "context"));
  if (context && GST_QUERY_TYPE(query) == GST_QUERY_CONTEXT) {
    return cuda_library()->answer_query(nullptr, query, context);
  }
  return gst_pad_query_default(pad, parent, query);
}

TEST(CudaContext, OfferedByANeighbour_IsUsed) {
  NEEDS_LIBRARY();
  const Producer second(1);
  for (const char* side : {"sink", "src"}) {
    const Alone alone("cclabel");
    GstPad* own_pad = gst_element_get_static_pad(alone.get(), side);
    GstPad* neighbour = gst_pad_new(nullptr, GST_PAD_IS_SINK(own_pad) ? GST_PAD_SRC : GST_PAD_SINK);
    gst_object_ref_sink(neighbour);
    g_object_set_data(G_OBJECT(neighbour), "context", second.context());
    gst_pad_set_query_function(neighbour, answer);
    gst_pad_set_active(neighbour, TRUE);
    ASSERT_EQ(gst_pad_link_full(GST_PAD_IS_SINK(own_pad) ? neighbour : own_pad,
                                GST_PAD_IS_SINK(own_pad) ? own_pad : neighbour,
                                GST_PAD_LINK_CHECK_NOTHING),
              GST_PAD_LINK_OK);
    EXPECT_EQ(alone.ready(), "cuda:1 fake") << side;
    EXPECT_FALSE(alone.message(GST_MESSAGE_NEED_CONTEXT)) << side;
    gst_element_set_state(alone.get(), GST_STATE_NULL);
    gst_object_unref(neighbour);
    gst_object_unref(own_pad);
  }
}

TEST(CudaContext, StateNull_ContextIsReleasedAndTheNextStartUsesTheNewlyOfferedOne) {
  NEEDS_LIBRARY();
  const Producer producers[] = {Producer(0), Producer(1)};
  const Alone alone("cclabel");
  for (const int device : {1, 0, 1}) {
    alone.offer(producers[device].context());
    EXPECT_EQ(alone.ready(), "cuda:" + std::to_string(device) + " fake");
    gst_element_set_state(alone.get(), GST_STATE_NULL);
    EXPECT_EQ(device_of(alone.get()), "none");
  }
}

TEST(CudaDeviceId, DeviceDoesNotExist_DeviceAutoRunsOnTheCpuAndDeviceCudaIsAnError) {
  const Alone any("cclabel cuda-device-id=7"), cuda("cclabel cuda-device-id=7 device=cuda");
  EXPECT_TRUE(any.ready().starts_with("cpu: "));
  EXPECT_EQ(cuda.ready(), "none");
  EXPECT_EQ(GST_STATE(cuda.get()), GST_STATE_NULL);
  const ErrorDetails error = error_details(cuda.message(GST_MESSAGE_ERROR));
  EXPECT_EQ(error.domain, GST_RESOURCE_ERROR);
  EXPECT_EQ(error.code, GST_RESOURCE_ERROR_FAILED);
  EXPECT_PRED2(contains, error.text, "no fake device 7");
}

TEST(DeviceBalancer, ElementsStartAndStop_UsesTheDeviceWithTheFewestElements) {
  std::vector<std::unique_ptr<Alone>> elements;
  std::vector<std::string> devices;
  for (int i = 0; i < 5; ++i) {
    elements.push_back(std::make_unique<Alone>("cclabel"));
    devices.push_back(elements.back()->ready());
  }
  const std::string first = "cuda:0 fake", second = "cuda:1 fake";
  EXPECT_EQ(devices, (std::vector<std::string>{first, second, first, second, first}));
  for (int time = 0; time < 3; ++time) {  // stopped elements do not count
    gst_element_set_state(elements[1]->get(), GST_STATE_NULL);
    EXPECT_EQ(elements[1]->ready(), second);
  }
  elements.erase(elements.begin() + 2);
  elements.erase(elements.begin());
  const Alone next("cclabel");  // one element is on the first device, two on the second
  EXPECT_EQ(next.ready(), first);
  const Alone asked("cclabel cuda-device-id=0");  // elements with a chosen device count, too
  EXPECT_EQ(asked.ready(), first);
  const Alone last("cclabel");
  EXPECT_EQ(last.ready(), second);
}

// ---- frames in the memory of another device

TEST(DeviceOfFrames, FramesChangeDevices_LeaveInOrder) {
  NEEDS_LIBRARY();
  const Producer producers[] = {Producer(0), Producer(1)};
  for (const char* line :
       {"cclabel output=none frames-in-flight=3", "cclabel output=overlay frames-in-flight=3",
        "cclabel output=mask frames-in-flight=3",
        "cclabel output=none frames-in-flight=2 depth=2 connectivity=26"}) {
    Harness h(line);
    int notified = 0;
    g_signal_connect(h.element(), "notify::active-device",
                     G_CALLBACK(+[](GObject*, GParamSpec*, int* count) { ++*count; }), &notified);
    h.caps(kCudaCaps);
    const int devices[] = {1, 1, 1, 0, 0, 1, 1, 1};
    for (int i = 0; i < 8; ++i) {
      ASSERT_EQ(gst_harness_push(h.get(), producers[devices[i]].frame(i, squares(i + 1))),
                GST_FLOW_OK)
          << line << ": " << h.error_text();
      EXPECT_EQ(device_of(h.element()), "cuda:" + std::to_string(devices[i]) + " fake") << line;
    }
    h.eos();
    const bool is_volume = contains(line, "depth");
    for (int i = 0; i < 8; ++i) {
      if (is_volume) {
        EXPECT_TRUE(h.pull()) << line << ": " << i;
      } else {
        expect_frame(h, i, static_cast<guint>(i) + 1);
      }
    }
    EXPECT_EQ(notified, 3) << line;
    EXPECT_FALSE(h.has_error()) << line;
  }
}

TEST(DeviceOfFrames, UpstreamElementOnDevice1_DownstreamUsesDevice1) {
  for (const char* line : {"graphcutbg output=none cuda-device-id=1 ! slicsuperpixel output=none ! "
                           "cclabel output=none",
                           "( graphcutbg output=none cuda-device-id=1 ) ! cclabel output=none"}) {
    Harness h(line);
    GstElement* element = gst_harness_find_element(h.get(), "cclabel");
    EXPECT_EQ(device_of(element), "cuda:1 fake") << line;
    gst_object_unref(element);
  }
}

TEST(DeviceOfFrames, ElementMovesToAnotherDevice_IsLogged) {
  const Log log(GST_LEVEL_DEBUG);
  Harness h("cclabel output=none");
  EXPECT_TRUE(log.has("runs on cuda:0 fake"));
  if (library_is("empty")) return;
  const Producer second(1);
  h.caps(kCudaCaps);
  ASSERT_EQ(gst_harness_push(h.get(), second.frame(0, squares(1))), GST_FLOW_OK);
  for (const char* line : {"restarts: frames are on another device",
                           "moves to the device of the frames", "runs on cuda:1 fake"}) {
    EXPECT_TRUE(log.has(line)) << line << "\nnot in\n" << testing::PrintToString(log.all());
  }
}

// References to the pool from buffers that are still in use.
int references_of_output_pool(Harness& h) {
  GstBufferPool* pool = gst_base_transform_get_buffer_pool(GST_BASE_TRANSFORM(h.element()));
  const int count = pool ? GST_OBJECT_REFCOUNT_VALUE(pool) : 0;
  gst_clear_object(&pool);
  return count;
}

TEST(DeviceOfFrames, DeviceWithoutMemory_PostsAnErrorAndReleasesTheFrame) {
  NEEDS_LIBRARY();
  const Producer producers[] = {Producer(0), Producer(1)};
  for (const char* line :
       {"cclabel output=none", "cclabel output=overlay", "cclabel output=mask"}) {
    Harness h(line);
    h.caps(kCudaCaps);
    ASSERT_EQ(gst_harness_push(h.get(), producers[0].frame(0, squares(1))), GST_FLOW_OK);
    ASSERT_TRUE(h.pull());
    const int references = references_of_output_pool(h);
    GstBuffer* frame = producers[1].frame(1, squares(2));
    const BufferPtr parent(gst_buffer_new());
    gst_buffer_add_parent_buffer_meta(frame, parent.get());
    fake::free_memory() = fake::kContextBytes / 2;
    EXPECT_EQ(gst_harness_push(h.get(), frame), GST_FLOW_ERROR) << line;
    fake::free_memory() = fake::kAllMemory;
    EXPECT_EQ(GST_MINI_OBJECT_REFCOUNT_VALUE(parent.get()), 1) << line << ": the frame is leaked";
    EXPECT_EQ(references_of_output_pool(h), references) << line;
    EXPECT_PRED2(contains, h.error_text(), "cuda:1");
  }
}

TEST(DeviceOfFrames, ChainOfElements_MovesToTheFramesDeviceAndStaysAfterNewCaps) {
  NEEDS_LIBRARY();
  const Producer second(1);
  Harness h(
      "graphcutbg output=none attach-labels=always ! cclabel source=mask output=none "
      "! regionoverlay");
  h.caps(kCudaCaps);
  for (int i = 0; i < 6; ++i) {
    if (i == 3) h.caps(std::string(kCudaCaps) + ",pixel-aspect-ratio=2/1");
    ASSERT_EQ(gst_harness_push(h.get(), second.frame(i, squares(i % 3 * 2))), GST_FLOW_OK)
        << h.error_text();
    const BufferPtr out = h.pull();
    ASSERT_TRUE(out) << h.error_text();
    for (const char* name : {"graphcutbg", "cclabel", "regionoverlay"}) {
      GstElement* element = gst_harness_find_element(h.get(), name);
      EXPECT_EQ(device_of(element), "cuda:1 fake") << name << ", frame " << i;
      gst_object_unref(element);
    }
  }
}

TEST(DeviceOfFrames, BackgroundModel_IsLearnedAgainOnAnotherDevice) {
  NEEDS_LIBRARY();
  const Producer producers[] = {Producer(0), Producer(1)};
  Harness h("graphcutbg output=mask");
  h.caps(kCudaCaps);
  const auto foreground = [&](int device, int index, int count) {
    if (gst_harness_push(h.get(), producers[device].frame(index, squares(count))) != GST_FLOW_OK) {
      ADD_FAILURE() << h.error_text();
      return false;
    }
    const BufferPtr out = h.pull();
    const auto mask = out ? bytes_of(out.get()) : std::vector<uint8_t>{};
    EXPECT_FALSE(mask.empty()) << h.error_text();
    return std::any_of(mask.begin(), mask.end(), [](uint8_t value) { return value != 0; });
  };
  EXPECT_FALSE(foreground(0, 0, 0));
  EXPECT_FALSE(foreground(0, 1, 0));
  EXPECT_TRUE(foreground(0, 2, 12)) << "new squares";
  EXPECT_FALSE(foreground(1, 3, 12)) << "the first frame of a new model";
  EXPECT_TRUE(foreground(1, 4, 24));
}

TEST(DeviceOfFrames, FramesOnAnotherDeviceThanCudaDeviceId_AreAnError) {
  NEEDS_LIBRARY();
  const Producer second(1);
  Harness h("cclabel output=none cuda-device-id=0");
  h.caps(kCudaCaps);
  EXPECT_EQ(gst_harness_push(h.get(), second.frame(0, squares(1))), GST_FLOW_ERROR);
  const std::string text = h.error_text();
  EXPECT_PRED2(contains, text, "cuda:1");
  EXPECT_PRED2(contains, text, "cuda-device-id");
  EXPECT_EQ(device_of(h.element()), "cuda:0 fake");
}

TEST(DeviceOfFrames, UpstreamCudaContext_IsUsedBeforeTheFirstFrame) {
  NEEDS_LIBRARY();
  const Producer second(1);
  Harness h("cclabel output=none");
  EXPECT_EQ(device_of(h.element()), "cuda:0 fake");
  gst_pad_set_query_function(h.get()->srcpad, answer);
  g_object_set_data(G_OBJECT(h.get()->srcpad), "context", second.context());
  h.video("RGBA", kWidth, kHeight);
  EXPECT_EQ(device_of(h.element()), "cuda:0 fake")
      << "frames in system memory do not choose a device";
  h.caps(kCudaCaps);
  EXPECT_EQ(device_of(h.element()), "cuda:1 fake");
}

TEST(DeviceOfFrames, ElementMovesToAnotherDevice_NextElementUsesTheFreedDevice) {
  NEEDS_LIBRARY();
  const Producer second(1);
  Harness first("cclabel output=none");
  ASSERT_EQ(device_of(first.element()), "cuda:0 fake");
  first.caps(kCudaCaps);
  ASSERT_EQ(gst_harness_push(first.get(), second.frame(0, squares(1))), GST_FLOW_OK);
  const Harness next("cclabel output=none");
  EXPECT_EQ(device_of(next.element()), "cuda:0 fake") << "the first element has moved away";
}

// Memory is used again: each frame must have its own mask.
TEST(DeviceOfFrames, MaskOnAnotherDevice_RegionCountEqualsThatOnOneDevice) {
  const auto line = [](const char* second) {
    return std::string("graphcutbg cuda-device-id=0 output=none frames-in-flight=1 ! ") +
           "cclabel cuda-device-id=" + second + " source=mask output=none frames-in-flight=1";
  };
  Harness h(line("1")), same(line("0"));
  h.video("RGBA", kWidth, kHeight);
  same.video("RGBA", kWidth, kHeight);
  guint most = 0;
  for (int i = 0; i < 8; ++i) {
    ASSERT_EQ(h.push(squares(i * 3), i), GST_FLOW_OK) << h.error_text();
    ASSERT_EQ(same.push(squares(i * 3), i), GST_FLOW_OK);
    const BufferPtr out = h.pull(), expected = same.pull();
    ASSERT_TRUE(out && expected) << h.error_text();
    EXPECT_EQ(total_of(out.get()), total_of(expected.get())) << "frame " << i;
    most = std::max(most, total_of(out.get()));
  }
  EXPECT_GT(most, 3u);
}

// ---- device=auto on a GPU with too little free memory: the element runs on the CPU and warns

// Sets the free memory (bytes) while this object exists.
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
  const ErrorDetails warning = error_details(h.message_so_far(GST_MESSAGE_WARNING));
  EXPECT_EQ(warning.domain, GST_RESOURCE_ERROR) << where;
  EXPECT_EQ(warning.code, GST_RESOURCE_ERROR_NO_SPACE_LEFT) << where;
  for (const char* part : {"device=auto", "CPU", "cuda:0", "bytes", "free"}) {
    EXPECT_PRED2(contains, warning.text, part) << where;
  }
  EXPECT_FALSE(h.has_warning()) << where;
}

TEST(LowDeviceMemory, DeviceAuto_RunsOnTheCpuAndWarnsOnce) {
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

TEST(LowDeviceMemory, DeviceCuda_IsAnError) {
  for (const size_t bytes : {kNoContext, kNoFrames}) {
    for (const std::string& line : lines()) {
      const FreeMemory little(bytes);
      Harness h(with_device(line, "cuda"));
      h.video("RGBA", kWidth, kHeight);
      GstFlowReturn flow = GST_FLOW_OK;
      for (int i = 0; i < 4 && flow == GST_FLOW_OK; ++i) flow = h.push(squares(i), i);
      EXPECT_NE(flow, GST_FLOW_OK) << line;
      const ErrorDetails error = error_details(h.message(GST_MESSAGE_ERROR));
      EXPECT_EQ(error.code, GST_RESOURCE_ERROR_NO_SPACE_LEFT) << line << error.text;
      EXPECT_PRED2(contains, error.text, "cuda:0");
      EXPECT_FALSE(h.has_warning()) << line;
    }
  }
}

// The CPU cannot read CUDA memory.
TEST(LowDeviceMemory, FramesInCudaMemory_IsAnErrorThatNamesCudadownload) {
  NEEDS_LIBRARY();
  const Producer producer(0);
  Harness h("cclabel output=mask");
  const FreeMemory little(kNoFrames);
  h.caps(kCudaCaps);
  EXPECT_NE(gst_harness_push(h.get(), producer.frame(0, squares(1))), GST_FLOW_OK);
  const ErrorDetails error = error_details(h.message(GST_MESSAGE_ERROR));
  EXPECT_EQ(error.code, GST_RESOURCE_ERROR_NO_SPACE_LEFT) << error.text;
  for (const char* part : {"cuda:0", "bytes", "free", "cudadownload"}) {
    EXPECT_PRED2(contains, error.text, part);
  }
  EXPECT_FALSE(h.has_warning());
}

TEST(LowDeviceMemory, CapsWithLargerFrames_ContinueOnTheCpu) {
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
    EXPECT_EQ(GST_BUFFER_PTS(out.get()), time_of(i));
  }
  EXPECT_TRUE(device_of(h.element()).starts_with("cpu")) << device_of(h.element());
  expect_warning(h, "larger frames");
  EXPECT_FALSE(h.has_error());
}

TEST(LowDeviceMemory, MemoryIsFreeAgain_UsesTheGpuAfterTheNextStart) {
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

// Errors: each kind of failure has its domain, code and text, is posted as early as possible, and
// ends with a flush or a new start. Failures are injected at every step.
#include <glib/gstdio.h>

#include <set>

#include "tests/plugin/counted_memory.hpp"
#include "tests/plugin/elements.hpp"
#include "tests/plugin/error_details.hpp"
#include "tests/plugin/injected_fault.hpp"
#include "tests/plugin/moving_square.hpp"
#include "tests/plugin/region_structures.hpp"

namespace regions::test {
namespace {

void expect_error(const ErrorDetails& error, GQuark domain, int code, const std::string& part,
                  const std::string& where) {
  EXPECT_EQ(error.domain, domain) << where << ": " << error.text;
  EXPECT_EQ(error.code, code) << where << ": " << error.text;
  EXPECT_PRED2(contains, error.text, part) << where;
}

// ---- at the start

// The error of an element that does not start.
ErrorDetails error_at_start(const std::string& line) {
  Harness h(line);
  EXPECT_FALSE(h.starts()) << line;
  return error_details(h.message(GST_MESSAGE_ERROR));
}

// A model is written at the end of the stream, which is too late for an error.
TEST(ErrorAtStart, UnusableFile_ElementPostsAResourceError) {
  struct Case {
    const char *property, *path, *says;
    int code;
  };
  constexpr int kMissing = GST_RESOURCE_ERROR_NOT_FOUND, kRead = GST_RESOURCE_ERROR_OPEN_READ,
                kWrite = GST_RESOURCE_ERROR_OPEN_WRITE;
  for (const auto& [property, path, says, code] :
       {Case{"background-image", "/nowhere/picture.png", "", kMissing},
        {"exclusion-image", "/nowhere/picture.png", "", kMissing},
        {"replace-image", "/nowhere/picture.png", "", kMissing},
        {"background-image", "/", "", kRead},
        {"model-location", "/nowhere/model", "the folder '/nowhere/' does not exist", kMissing},
        {"model-location", "nowhere/deep/model", "the folder 'nowhere/deep/' does not exist",
         kMissing},
        {"model-location", "/tmp/nowhere/", "the folder '/tmp/nowhere/' does not exist", kMissing},
        {"model-location", "/", "not a regular file", kRead},
        {"model-location", "/tmp", "not a regular file", kRead},
        {"model-location", "/dev/null", "not a regular file", kRead},
        {"model-location", "/etc/passwd/model", "Not a directory", kRead},
        // Even the superuser cannot create files in these folders.
        {"model-location", "/proc/model", "no file can be created in the folder '/proc/'", kWrite},
        {"model-location", "/sys/model", "no file can be created in the folder '/sys/'", kWrite}}) {
    const std::string line = std::string("graphcutbg ") + property + "=" + path;
    const ErrorDetails error = error_at_start(line);
    expect_error(error, GST_RESOURCE_ERROR, code, says, line);
    EXPECT_PRED2(contains, error.text, path);
  }
}

TEST(ErrorAtStart, ModelFileThatDoesNotExistYet_IsNotAnError) {
  gchar* folder = g_dir_make_tmp("regions-XXXXXX", nullptr);
  const std::string path = folder + std::string("/model");
  {
    Harness h("graphcutbg model-location=" + path);
    EXPECT_TRUE(h.starts());
    EXPECT_FALSE(h.has_error());
    EXPECT_FALSE(g_file_test(path.c_str(), G_FILE_TEST_EXISTS));
  }
  EXPECT_EQ(g_rmdir(folder), 0) << "a temporary file is left";
  g_free(folder);
}

TEST(ErrorAtStart, ContradictorySettings_ElementPostsASettingsError) {
  for (const char* line :
       {"cclabel depth=8 output=none", "cclabel connectivity=26 output=none",
        "cclabel depth=8 connectivity=6", "cclabel thresholds=<0.2,0.4>",
        "cclabel sliding=true output=none", "cclabel track=true label-background=true",
        "cclabel seeds=<1.0,2.0,3.0>", "cclabel criterion=equal thresholds=<0.2,0.4> output=none",
        "cclabel track=true max-regions=65536", "cclabel fill-holes=9 label-background=true"}) {
    expect_error(error_at_start(line), GST_LIBRARY_ERROR, GST_LIBRARY_ERROR_SETTINGS, "", line);
  }
  Harness h("cclabel depth=2 output=none");
  ASSERT_FALSE(h.starts());
  h.set("connectivity", "6");
  EXPECT_EQ(gst_element_set_state(h.element(), GST_STATE_PAUSED), GST_STATE_CHANGE_SUCCESS);
}

TEST(ErrorAtStart, NoGpuForTheDevice_IsAResourceError) {
  if (have_cuda()) GTEST_SKIP() << "this machine has a CUDA device";
  expect_error(error_at_start("cclabel device=cuda"), GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_FAILED,
               "CUDA", "device=cuda");
}

TEST(ElementStart, DeviceAutoWithoutAGpu_ProcessesFramesWithoutAWarning) {
  if (have_cuda()) GTEST_SKIP() << "this machine has a CUDA device";
  for (const std::string& line : with_all_elements({"cclabel output=none"})) {
    Harness h(line);
    h.video("GRAY8", 64, 48);
    EXPECT_EQ(h.push(std::vector<uint8_t>(64 * 48)), GST_FLOW_OK) << line;
    EXPECT_FALSE(h.has_warning()) << line;
  }
}

// ---- while frames flow

// The first error of a stream of three frames.
ErrorDetails error_of_stream(const std::string& line, const std::string& format,
                             const std::string& sink = "", const std::string& fault = "") {
  const Fault injected(fault);
  Harness h(line, sink);
  h.video(format, kWidth, kHeight);
  const bool gray = format == "GRAY8";
  for (int i = 0; i < 3; ++i) {
    if (h.push(gray ? dots() : std::vector<uint8_t>(kWidth * kHeight * 3), i) != GST_FLOW_OK) break;
  }
  h.eos();
  return error_details(h.message(GST_MESSAGE_ERROR));
}

TEST(ErrorInStream, EachCause_ErrorHasTheExpectedDomainCodeAndText) {
  const std::string path = std::string(g_get_tmp_dir()) + "/regions-no-picture";
  ASSERT_TRUE(g_file_set_contents(path.c_str(), "no picture", -1, nullptr));
  struct Case {
    std::string line;
    const char *format, *sink, *fault;
    GQuark domain;
    int code;
    const char* says;
  };
  const std::string none = "cclabel output=none";
  const GQuark resource = GST_RESOURCE_ERROR, stream = GST_STREAM_ERROR,
               library = GST_LIBRARY_ERROR;
  constexpr int kFormat = GST_STREAM_ERROR_FORMAT, kSettings = GST_LIBRARY_ERROR_SETTINGS,
                kFailed = GST_RESOURCE_ERROR_FAILED;
  for (const Case& c : {Case{none, "GRAY8", "", "allocation=1", resource,
                             GST_RESOURCE_ERROR_NO_SPACE_LEFT, "injected"},
                        {none, "GRAY8", "", "launch=1", resource, kFailed, "injected"},
                        {none, "GRAY8", "", "gone=5", resource, kFailed, "injected"},
                        {none, "GRAY8", "", "nonsense=1", stream, kFormat, "nonsense"},
                        {"cclabel source=mask", "GRAY8", "", "", stream, kFormat, "without a mask"},
                        {"cclabel source=alpha", "RGB", "", "", stream, kFormat, "alpha"},
                        {"cclabel output=labels overflow=error", "GRAY8",
                         "video/x-raw,format=GRAY8", "", stream, kFormat, "768 regions"},
                        {"cclabel left=64", "GRAY8", "", "", library, kSettings,
                         "edge is at 64; the picture ends at"},
                        {"cclabel top=48", "GRAY8", "", "", library, kSettings,
                         "edge is at 48; the picture ends at"},
                        {"cclabel output=labels depth=2 connectivity=6 process-scale=0.5", "GRAY8",
                         "", "", library, kSettings, "require depth=1"},
                        {"graphcutbg output=replace replace-with=image replace-image=" + path,
                         "RGB", "", "", resource, GST_RESOURCE_ERROR_OPEN_READ, path.c_str()}}) {
    expect_error(error_of_stream(c.line, c.format, c.sink, c.fault), c.domain, c.code, c.says,
                 c.line + " " + c.fault);
  }
  g_unlink(path.c_str());
}

// After a flush the element works like a new element.
TEST(ErrorInStream, FlushAfterAnError_FramesEqualThoseOfANewElement) {
  for (const char* line :
       {"cclabel output=labels overflow=error frames-in-flight=2 device=cpu",
        "cclabel output=labels overflow=error track=true device=cpu",
        "cclabel output=labels overflow=error depth=2 connectivity=26 device=cpu",
        "cclabel output=labels overflow=error left=4 device=cpu"}) {
    GrayHarness h(line, "video/x-raw,format=GRAY8"), fresh(line, "video/x-raw,format=GRAY8");
    fresh.video("GRAY8", kWidth, kHeight);
    for (int time = 0; time < 2; ++time) {
      for (int i = 0; i < 4; ++i) h.push(dots(), i);
      EXPECT_PRED2(contains, h.error_text(), "regions") << line;
      while (h.has_error()) continue;
      h.flush();
      while (h.waiting() > 0) h.pull();
      for (int i = 10; i < 14; ++i) {
        ASSERT_EQ(h.push(gray_with_square(), i), GST_FLOW_OK) << line;
        if (time == 0) {
          ASSERT_EQ(fresh.push(gray_with_square(), i), GST_FLOW_OK) << line;
        }
      }
      for (int i = 10; i < 14; ++i) {
        const BufferPtr out = h.pull();
        ASSERT_TRUE(out) << line;
        EXPECT_EQ(GST_BUFFER_PTS(out.get()), time_of(i));
        if (time > 0) continue;
        const BufferPtr same = fresh.pull();
        ASSERT_TRUE(same);
        EXPECT_EQ(bytes_of(out.get()), bytes_of(same.get())) << line << ", frame " << i;
        EXPECT_EQ(field_of(regions_of(out.get()), "regions"),
                  field_of(regions_of(same.get()), "regions"))
            << line << ", frame " << i;
      }
      EXPECT_FALSE(h.has_error()) << line;
    }
  }
}

TEST(Warning, MoreRegionsThanGray8Holds_IsPostedOnceAfterEachNewCaps) {
  Harness h("cclabel output=labels", "video/x-raw,format=GRAY8");
  for (const char* shape : {"", ",interlace-mode=interleaved"}) {
    h.video("GRAY8", kWidth, kHeight, shape);
    for (int i = 0; i < 3; ++i) {
      ASSERT_EQ(h.push(dots(), i), GST_FLOW_OK);
      ASSERT_TRUE(h.pull());
    }
    expect_error(error_details(h.message_so_far(GST_MESSAGE_WARNING)), GST_STREAM_ERROR,
                 GST_STREAM_ERROR_FORMAT, "768", shape);
    EXPECT_FALSE(h.has_warning()) << shape;
  }
}

// The folder of the model is removed while the stream runs.
TEST(Warning, ModelFileCannotBeWritten_IsPosted) {
  gchar* folder = g_dir_make_tmp("regions-XXXXXX", nullptr);
  const std::string path = folder + std::string("/model");
  Harness h("graphcutbg output=mask model-location=" + path);
  EXPECT_EQ(g_rmdir(folder), 0);
  g_free(folder);
  h.video("GRAY8", kWidth, kHeight);
  ASSERT_EQ(h.push(gray_with_square()), GST_FLOW_OK);
  ASSERT_TRUE(h.pull());
  h.video("GRAY8", kWidth / 2, kHeight);
  expect_error(error_details(h.message_so_far(GST_MESSAGE_WARNING)), GST_RESOURCE_ERROR,
               GST_RESOURCE_ERROR_WRITE, path, "model");
  EXPECT_FALSE(h.has_error());
}

// ---- texts

// A frame with metadata of one region in a picture of that size, and with a label map.
GstBuffer* frame_with(const Box& box, int width = kWidth, int height = kHeight) {
  start_gstreamer();
  GstBuffer* frame = Harness::buffer(std::vector<uint8_t>(kWidth * kHeight, 20));
  GstStructure* s = add_regions(frame);
  const BufferPtr labels(Harness::buffer(std::vector<uint8_t>(kWidth * kHeight * 4)));
  gst_structure_set(s, "width", G_TYPE_INT, width, "height", G_TYPE_INT, height, "labels",
                    GST_TYPE_BUFFER, labels.get(), "labels-format", G_TYPE_STRING, "U32_LE",
                    "labels-width", G_TYPE_INT, kWidth, "labels-height", G_TYPE_INT, kHeight,
                    nullptr);
  set_regions(s, {box_structure(box, 7u)});
  return frame;
}

GstStructure* metadata_of(GstBuffer* frame) {
  return gst_custom_meta_get_structure(gst_buffer_get_custom_meta(frame, "regions"));
}
GstStructure* first_region(GstBuffer* frame) {
  return const_cast<GstStructure*>(region_of(metadata_of(frame), 0));
}

TEST(ErrorText, MalformedMetadata_NamesTheFaultyPart) {
  using Change = std::function<void(GstStructure * metadata, GstStructure * region)>;
  const auto without = [](const char* field) -> Change {
    return [field](GstStructure* s, GstStructure*) { gst_structure_remove_field(s, field); };
  };
  const auto region_without = [](const char* field) -> Change {
    return [field](GstStructure*, GstStructure* r) { gst_structure_remove_field(r, field); };
  };
  const auto number = [](const char* field, int value) -> Change {
    return [field, value](GstStructure* s, GstStructure*) {
      gst_structure_set(s, field, G_TYPE_INT, value, nullptr);
    };
  };
  const auto format = [](const char* name) -> Change {
    return [name](GstStructure* s, GstStructure*) {
      gst_structure_set(s, "labels-format", G_TYPE_STRING, name, nullptr);
    };
  };
  const auto array_of_int = [](GstStructure* s, GstStructure*) {
    GValue array = G_VALUE_INIT, item = G_VALUE_INIT;
    g_value_init(&array, GST_TYPE_ARRAY);
    g_value_init(&item, G_TYPE_INT);
    gst_value_array_append_and_take_value(&array, &item);
    gst_structure_take_value(s, "regions", &array);
  };
  const std::pair<Change, const char*> cases[] = {
      {[](GstStructure*, GstStructure*) {}, ""},
      {without("labels-format"), ""},
      {without("width"), "lacks the number 'width'"},
      {without("height"), "lacks the number 'height'"},
      {number("width", 0), "regions metadata has no size"},
      {number("height", 0), "regions metadata has no size"},
      {without("regions"), "lacks the array 'regions'"},
      {number("regions", 1), "lacks the array 'regions'"},
      {array_of_int, "holds a value that is not a region"},
      {region_without("id"), "lacks 'id'"},
      {region_without("x"), "lacks the number 'x'"},
      {region_without("y"), "lacks the number 'y'"},
      {region_without("width"), "lacks the number 'width'"},
      {region_without("height"), "lacks the number 'height'"},
      {number("labels-width", 0), "label map has no size"},
      {number("labels-height", 0), "label map has no size"},
      {number("labels-height", kHeight + 1), "label map must have one channel"},
      {format("RGB"), "label map must have one channel"},
      {format("NV12"), "label map must have one channel"},
      {format("FOO"), "FOO"},
  };
  for (const auto& [change, says] : cases) {
    GrayHarness h("regionoverlay style=boxes+fill");
    GstBuffer* frame = frame_with({3, 3, 9, 9});
    change(metadata_of(frame), first_region(frame));
    gst_harness_push(h.get(), frame);
    h.eos();
    const ErrorDetails error = error_details(h.error_so_far());
    if (says[0] == 0) {
      EXPECT_EQ(error.text, "");
    } else {
      expect_error(error, GST_STREAM_ERROR, GST_STREAM_ERROR_FORMAT, says, says);
    }
  }
}

TEST(ErrorText, OutOfMemoryForLabelMaps_NamesThem) {
  for (const auto& [line, says] : {std::pair{"cclabel output=none frames-in-flight=1",
                                             "out of memory for label maps: injected"},
                                   {"cclabel output=none frames-in-flight=1",
                                    "out of memory for a label map or mask: injected"},
                                   {"cclabel output=none depth=2 connectivity=6 frames-in-flight=1",
                                    "out of memory for a label map: injected"}}) {
    std::set<std::string> texts;
    for (int n = 1; n < 60; ++n) {
      const Fault fault("allocation=" + std::to_string(n));
      GrayHarness h(line);
      for (int i = 0; i < 8 && h.push(gray_with_square(), i) == GST_FLOW_OK; ++i) continue;
      h.eos();
      const ErrorDetails error = error_details(h.error_so_far());
      if (error.text.empty()) break;
      texts.insert(error.text);
    }
    const std::string all = testing::PrintToString(texts);
    EXPECT_PRED2(contains, all, says) << line;
  }
  const Harness works("cclabel output=none");  // removes the fault from this process
  EXPECT_TRUE(works.starts());
}

TEST(ErrorText, BufferThatCannotBeMapped_NamesTheBuffer) {
  const auto expect = [](const char* line, const char* sink, GstBuffer* frame, const char* says) {
    Harness h(line, sink);
    CountedMemory::offer(h.get()->sinkpad);
    h.video("GRAY8", kWidth, kHeight);
    CountedMemory::refuse_maps(true);
    EXPECT_EQ(gst_harness_push(h.get(), frame), GST_FLOW_ERROR) << line;
    EXPECT_PRED2(contains, error_details(h.message(GST_MESSAGE_ERROR)).text, says);
    CountedMemory::refuse_maps(false);
  };
  const std::vector<uint8_t> picture(kWidth * kHeight, 20);
  expect("cclabel output=none device=cpu", "", CountedMemory::buffer(picture),
         "of 3072 bytes cannot be mapped as the 64x48 GRAY8 picture");
  expect("cclabel output=labels device=cpu", "video/x-region-labels", Harness::buffer(picture),
         "the buffer of the label map cannot be mapped");
  GstBuffer* frame = frame_with({3, 3, 9, 9});
  const BufferPtr labels(CountedMemory::buffer(std::vector<uint8_t>(kWidth * kHeight * 4)));
  gst_structure_set(metadata_of(frame), "labels", GST_TYPE_BUFFER, labels.get(), nullptr);
  expect("regionoverlay device=cpu", "", frame, "label map cannot be mapped");
}

// ---- no threads

// Tasks get no thread while this object exists.
class NoThreads {
 public:
  NoThreads() {
    start_gstreamer();
    kind_ = GST_TASK_POOL_CLASS(g_type_class_ref(GST_TYPE_TASK_POOL));
    push_ = kind_->push;
    kind_->push = [](GstTaskPool*, GstTaskPoolFunction, gpointer, GError** error) -> gpointer {
      g_set_error(error, G_THREAD_ERROR, G_THREAD_ERROR_AGAIN, "no thread in this test");
      return nullptr;
    };
    previous_ = g_log_set_default_handler([](auto...) {}, nullptr);  // hides GStreamer's warning
  }
  NoThreads(const NoThreads&) = delete;
  ~NoThreads() {
    g_log_set_default_handler(previous_, nullptr);
    kind_->push = push_;
    g_type_class_unref(kind_);
  }

 private:
  GstTaskPoolClass* kind_;
  decltype(GstTaskPoolClass::push) push_;
  GLogFunc previous_;
};

TEST(ErrorInStream, ThreadCannotBeCreated_PostsAnErrorAndFramesLeaveAfterAFlush) {
  for (const std::string& line :
       with_all_elements({"cclabel", "cclabel depth=2 connectivity=6 output=labels"})) {
    Harness h(line);
    h.video("GRAY8", 16, 16);
    {
      const NoThreads none;
      GstFlowReturn flow = GST_FLOW_OK;
      for (int i = 0; i < 20 && flow == GST_FLOW_OK; ++i) {
        flow = h.push(std::vector<uint8_t>(16 * 16), i);
      }
      EXPECT_EQ(flow, GST_FLOW_ERROR) << line;
      EXPECT_EQ(h.error_text(), "the system cannot create the thread that pushes frames") << line;
      h.eos();
    }
    h.flush();
    for (int i = 0; i < 2; ++i) {
      EXPECT_EQ(h.push(std::vector<uint8_t>(16 * 16), i), GST_FLOW_OK) << line;
    }
    EXPECT_TRUE(h.pull()) << line;
  }
}

// ---- injected failures

constexpr int kFrames = 6;

struct Outcome {
  bool failed = false;
  int left = 0;  // frames that left
};

// A stream of six frames with an injected failure. Finished frames must leave.
Outcome play(const std::string& line, const std::string& fault) {
  Outcome outcome;
  Harness h(line);
  h.video("I420", kWidth, kHeight);
  GstFlowReturn flow = GST_FLOW_OK;
  int accepted = 0;
  for (int i = 0; i < kFrames && flow == GST_FLOW_OK; ++i) {
    flow = h.push(std::vector<uint8_t>(kWidth * kHeight * 3 / 2, static_cast<uint8_t>(40 * i)), i);
    accepted += flow == GST_FLOW_OK;
  }
  h.eos();
  const MessagePtr message = h.error_so_far();
  outcome.failed = message != nullptr;
  if (message) {
    GError* error = nullptr;
    gst_message_parse_error(message.get(), &error, nullptr);
    EXPECT_TRUE(is_injected_fault(*error)) << fault << ": " << error->message;
    EXPECT_EQ(error->domain, GST_RESOURCE_ERROR) << fault;
    g_error_free(error);
  } else {
    EXPECT_EQ(flow, GST_FLOW_OK) << line << ": refused without an error, " << fault;
    EXPECT_EQ(h.waiting(), static_cast<guint>(kFrames)) << fault;
  }
  for (; h.waiting() > 0; ++outcome.left) {
    EXPECT_EQ(GST_BUFFER_PTS(h.pull().get()), time_of(outcome.left)) << fault;
  }
  EXPECT_LE(outcome.left, accepted) << fault;
  return outcome;
}

Outcome run(const std::string& line, const std::string& text) {
  const Fault fault(text);
  return play(line, text);
}

class ElementFaults : public ::testing::TestWithParam<std::string> {};

TEST_P(ElementFaults, FailureAtAnyStep_PostsAnErrorAndALaterStreamIsComplete) {
  const std::string line = GetParam();
  EXPECT_FALSE(run(line, "").failed);
  for (const char* kind : {"allocation", "launch", "work"}) {
    if (have_cuda() && strcmp(kind, "work") == 0) continue;
    int failures = 0;
    bool reached = true;  // whether a stream has that many steps
    for (int n = 1; reached && n < 400; n += n < 40 ? 1 : 7) {
      const Outcome outcome = run(line, std::string(kind) + "=" + std::to_string(n));
      reached = outcome.failed;
      failures += outcome.failed;
      if (!outcome.failed) {
        EXPECT_EQ(outcome.left, kFrames) << line << " " << kind << "=" << n;
      }
    }
    EXPECT_GT(failures, 2) << line << " " << kind;
    EXPECT_FALSE(run(line, "").failed) << "does not work again after " << kind;
  }
}

// A removed GPU: this stream and the next one end in an error. When the device is back, the element
// works.
TEST_P(ElementFaults, DeviceLost_StreamsPostErrorsUntilItReturns) {
  const std::string line = GetParam();
  for (const int step : {1, 2, 5, 9, 14, 20}) {
    const std::string text = "gone=" + std::to_string(step);
    {
      const Fault fault(text);
      EXPECT_TRUE(play(line, text).failed) << line << " " << text;
      const Outcome later = play(line, text);
      EXPECT_TRUE(later.failed) << line << " " << text;
      EXPECT_EQ(later.left, 0) << line << " " << text;
    }
    EXPECT_FALSE(run(line, "").failed) << line << " after " << text;
  }
}

// With several frames in flight, later frames must not wait for a failed frame. An element that has
// too few steps for these tests is tested in a chain.
INSTANTIATE_TEST_SUITE_P(
    Elements, ElementFaults,
    ::testing::ValuesIn(with_all_elements(
        {"cclabel frames-in-flight=4", "cclabel frames-in-flight=4 output=labels track=true",
         "cclabel frames-in-flight=4 output=none", "graphcutbg frames-in-flight=4 output=replace",
         "slicsuperpixel frames-in-flight=4 warm-start=true",
         "cclabel frames-in-flight=4 process-scale=0.5",
         "graphcutbg frames-in-flight=4 output=none ! cclabel frames-in-flight=3 "
         "source=mask track=true output=none ! regionoverlay frames-in-flight=2"})));

}  // namespace
}  // namespace regions::test

// Failures on demand, at every place where one may come: each ends in an element error that says
// so, frames that were finished before have left, and the element works again afterwards.
#include "tests/plugin/asked_failure.hpp"
#include "tests/plugin/elements.hpp"
#include "tests/plugin/harness.hpp"

namespace regions::test {
namespace {

constexpr int kFrames = 6;

struct Outcome {
  bool failed = false;
  int left = 0;
};

// A run of a few frames while `fault` is asked for.
Outcome play(const std::string& line, const std::string& fault) {
  Outcome outcome;
  {
    Harness h(line);
    h.video("I420", 64, 48);
    GstFlowReturn flow = GST_FLOW_OK;
    int accepted = 0;
    for (int i = 0; i < kFrames && flow == GST_FLOW_OK; ++i) {
      flow = h.push(std::vector<uint8_t>(64 * 48 * 3 / 2, static_cast<uint8_t>(40 * i)), i);
      accepted += flow == GST_FLOW_OK;
    }
    h.eos();
    const MessagePtr message = h.error_so_far();
    outcome.failed = message != nullptr;
    if (message) {
      GError* error = nullptr;
      gst_message_parse_error(message.get(), &error, nullptr);
      EXPECT_TRUE(is_asked_failure(*error)) << fault << ": " << error->message;
      EXPECT_EQ(error->domain, GST_RESOURCE_ERROR) << fault;
      g_error_free(error);
    } else {
      EXPECT_EQ(flow, GST_FLOW_OK) << line << ": refused without a word, " << fault;
      EXPECT_EQ(h.waiting(), static_cast<guint>(kFrames)) << fault;
    }
    // What left is the beginning of what came, in order.
    while (h.waiting() > 0) {
      const BufferPtr buffer = h.pull();
      EXPECT_EQ(GST_BUFFER_PTS(buffer.get()),
                static_cast<GstClockTime>(outcome.left) * 40 * GST_MSECOND)
          << fault;
      ++outcome.left;
    }
    EXPECT_LE(outcome.left, accepted) << fault;
  }
  return outcome;
}

Outcome run(const std::string& line, const std::string& fault) {
  g_setenv("REGIONS_FAULTS", fault.c_str(), TRUE);
  const Outcome outcome = play(line, fault);
  g_unsetenv("REGIONS_FAULTS");
  return outcome;
}

class Faults : public ::testing::TestWithParam<std::string> {};

TEST_P(Faults, EndInAnElementError) {
  const std::string line = GetParam();
  EXPECT_FALSE(run(line, "").failed);
  for (const char* kind : {"allocation", "launch", "work"}) {
    if (have_cuda() && strcmp(kind, "work") == 0) continue;
    int failures = 0;
    bool reached = true;  // whether a run has so many steps
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

// As if the GPU was taken away: this stream ends in an error, and so does the next one; with the
// device back the element works.
TEST_P(Faults, ADeviceThatIsGoneStaysGone) {
  const std::string line = GetParam();
  for (const int step : {1, 2, 5, 9, 14, 20}) {
    const std::string fault = "gone=" + std::to_string(step);
    g_setenv("REGIONS_FAULTS", fault.c_str(), TRUE);
    EXPECT_TRUE(play(line, fault).failed) << line << " " << fault;
    const Outcome later = play(line, fault);
    EXPECT_TRUE(later.failed) << line << " " << fault;
    EXPECT_EQ(later.left, 0) << line << " " << fault;
    g_unsetenv("REGIONS_FAULTS");
    EXPECT_FALSE(run(line, "").failed) << line << " after " << fault;
  }
}

// Several frames at once: those behind a failed one must not wait for it.
// An element that has fewer steps to fail than these tests want is named in a chain.
INSTANTIATE_TEST_SUITE_P(
    Elements, Faults,
    ::testing::ValuesIn(with_all_elements(
        {"cclabel frames-in-flight=4", "cclabel frames-in-flight=4 output=labels track=true",
         "cclabel frames-in-flight=4 output=none", "graphcutbg frames-in-flight=4 output=replace",
         "slicsuperpixel frames-in-flight=4 warm-start=true",
         "cclabel frames-in-flight=4 process-scale=0.5",
         "graphcutbg frames-in-flight=4 output=none ! cclabel frames-in-flight=3 "
         "source=mask track=true output=none ! regionoverlay frames-in-flight=2"})));

TEST(Faults, AWrongWishIsRefused) {
  g_setenv("REGIONS_FAULTS", "nonsense=3", TRUE);
  start_gstreamer();
  GstElement* element = gst_element_factory_make("cclabel", nullptr);
  EXPECT_EQ(gst_element_set_state(element, GST_STATE_READY), GST_STATE_CHANGE_FAILURE);
  g_unsetenv("REGIONS_FAULTS");
  EXPECT_NE(gst_element_set_state(element, GST_STATE_READY), GST_STATE_CHANGE_FAILURE);
  gst_element_set_state(element, GST_STATE_NULL);
  gst_object_unref(element);
}

}  // namespace
}  // namespace regions::test

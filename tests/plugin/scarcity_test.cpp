// Where the system gives no thread or no memory, an element says so and ends.
#include "tests/plugin/elements.hpp"
#include "tests/plugin/harness.hpp"

namespace regions::test {
namespace {

// Tasks get no threads while this lives.
class NoThreads {
 public:
  NoThreads() {
    start_gstreamer();
    kind_ = GST_TASK_POOL_CLASS(g_type_class_ref(GST_TYPE_TASK_POOL));
    push_ = kind_->push;
    kind_->push = [](GstTaskPool*, GstTaskPoolFunction, gpointer, GError** error) -> gpointer {
      g_set_error(error, G_THREAD_ERROR, G_THREAD_ERROR_AGAIN, "no thread, as the test wants");
      return nullptr;
    };
    // GStreamer warns.
    previous_ = g_log_set_default_handler([](auto...) {}, nullptr);
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

TEST(Scarcity, WithoutAThreadForItsFramesAnElementEndsInAnError) {
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
    // With threads the element goes on.
    h.flush();
    for (int i = 0; i < 2; ++i) {
      EXPECT_EQ(h.push(std::vector<uint8_t>(16 * 16), i), GST_FLOW_OK) << line;
    }
    EXPECT_TRUE(h.pull()) << line;
  }
}

}  // namespace
}  // namespace regions::test

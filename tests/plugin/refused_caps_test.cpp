// Caps that an element refuses: how many errors it posts, and what works afterwards.
#include <atomic>

#include "tests/plugin/told.hpp"

namespace regions::test {
namespace {

constexpr int kWidth = 64, kHeight = 48;

std::vector<uint8_t> picture() { return std::vector<uint8_t>(kWidth * kHeight, 200); }

// Upstream elements negotiate again and again after a failure.
TEST(Errors, CapsRefusedManyTimes_PostOneError) {
  for (const char* line :
       {"cclabel left=640", "cclabel output=none left=640", "cclabel source=alpha",
        "graphcutbg top=480", "slicsuperpixel left=640", "regionoverlay left=640",
        "graphcutbg output=replace replace-with=image replace-image=/etc/passwd"}) {
    for (const char* between : {"", "! queue ", "! identity "}) {
      const Pipeline p(
          "videotestsrc num-buffers=30 ! video/x-raw,format=RGB,width=320,height=240 " +
          std::string(between) + "! " + line + " ! fakesink sync=false");
      const std::string name = std::string(line).substr(0, std::string(line).find(' '));
      std::atomic<int> errors = 0;
      const auto count = [&](GstMessage* message) {
        const bool is_ours = GST_IS_ELEMENT(GST_MESSAGE_SRC(message)) &&
                             g_str_has_prefix(GST_MESSAGE_SRC_NAME(message), name.c_str());
        errors += GST_MESSAGE_TYPE(message) == GST_MESSAGE_ERROR && is_ours;
      };
      GstBus* bus = gst_element_get_bus(p.get());
      gst_element_set_state(p.get(), GST_STATE_PLAYING);
      // The source posts an error when it gives up.
      for (bool ended = false; !ended;) {
        const MessagePtr message(gst_bus_timed_pop_filtered(
            bus, 10 * GST_SECOND,
            static_cast<GstMessageType>(GST_MESSAGE_ERROR | GST_MESSAGE_EOS)));
        ASSERT_TRUE(message) << line << between;
        count(message.get());
        ended = g_str_has_prefix(GST_MESSAGE_SRC_NAME(message.get()), "videotestsrc") ||
                g_str_has_prefix(GST_MESSAGE_SRC_NAME(message.get()), "queue") ||
                GST_MESSAGE_TYPE(message.get()) == GST_MESSAGE_EOS;
      }
      gst_element_set_state(p.get(), GST_STATE_READY);
      while (const MessagePtr rest{gst_bus_pop_filtered(bus, GST_MESSAGE_ERROR)}) count(rest.get());
      gst_object_unref(bus);
      EXPECT_EQ(errors, 1) << line << between;
    }
  }
}

// After a flush, or other caps that suit, the same error is a new one.
TEST(Errors, CapsRefusedAfterAFlushOrOtherCaps_PostAnotherError) {
  for (const bool flushes : {true, false}) {
    Harness h("cclabel output=none left=100");
    for (int time = 0; time < 2; ++time) {
      for (int i = 0; i < 3; ++i) {
        h.video("GRAY8", kWidth, kHeight);
        EXPECT_NE(h.push(picture(), i), GST_FLOW_OK);
      }
      EXPECT_TRUE(h.has_error()) << time << flushes;
      EXPECT_FALSE(h.has_error()) << time << flushes;
      if (flushes) {
        h.flush();
      } else {
        const int width = (time + 4) * kWidth;
        h.video("GRAY8", width, kHeight);
        EXPECT_EQ(h.push(std::vector<uint8_t>(static_cast<size_t>(width) * kHeight), 9),
                  GST_FLOW_OK);
      }
    }
  }
}

// GstBaseTransform skips set_caps for caps that its pads still have.
TEST(Errors, FormerCapsAfterRefusedOnes_WorkAgain) {
  for (const char* line : {"cclabel output=none left=40", "cclabel output=mask left=40"}) {
    Harness h(line);
    for (int time = 0; time < 3; ++time) {
      h.video("GRAY8", kWidth, kHeight);
      ASSERT_EQ(h.push(picture(), time), GST_FLOW_OK) << line << ", " << time;
      ASSERT_TRUE(h.pull()) << line;
      h.video("GRAY8", kWidth / 2, kHeight);
      EXPECT_NE(h.push(std::vector<uint8_t>(kWidth / 2 * kHeight), time), GST_FLOW_OK) << line;
      EXPECT_TRUE(h.has_error()) << line << ", " << time;
      while (h.has_error()) continue;
    }
  }
}

}  // namespace
}  // namespace regions::test

// Gaps in a stream: what forgets earlier frames and what does not, and that ids are given once.
#include <algorithm>
#include <set>

#include "tests/plugin/moving_square.hpp"

namespace regions::test {
namespace {

// The track of the one region of the next frame.
std::string next_track(Harness& h) {
  const BufferPtr out = h.pull();
  const GstStructure* regions = out ? regions_of(out.get()) : nullptr;
  return regions && region_count(regions) == 1 ? region_field(regions, 0, "track") : "none";
}

std::string track_of_pushed(Harness& h, int index, guint flags = 0) {
  GstBuffer* frame = Harness::buffer(gray_with_square(), index);
  GST_BUFFER_FLAG_SET(frame, flags);
  EXPECT_EQ(gst_harness_push(h.get(), frame), GST_FLOW_OK);
  return next_track(h);
}

class Tracked : public ::testing::TestWithParam<const char*> {
 protected:
  Tracked() : h_(GetParam()) { h_.video("GRAY8", kWidth, kHeight); }
  Harness h_;
};

TEST_P(Tracked, LostFramesAreNoNewScene) {
  EXPECT_EQ(track_of_pushed(h_, 0, GST_BUFFER_FLAG_DISCONT), "1");
  EXPECT_EQ(track_of_pushed(h_, 1), "1");
  EXPECT_EQ(track_of_pushed(h_, 3, GST_BUFFER_FLAG_DISCONT), "1");
  EXPECT_EQ(track_of_pushed(h_, 4, GST_BUFFER_FLAG_DISCONT | GST_BUFFER_FLAG_RESYNC), "1");
  gst_harness_push_event(h_.get(), gst_event_new_gap(200 * GST_MSECOND, 400 * GST_MSECOND));
  EXPECT_EQ(track_of_pushed(h_, 15), "1");
  EXPECT_EQ(track_of_pushed(h_, 15 + 120), "1");  // 4.76 s
  EXPECT_EQ(track_of_pushed(h_, 15), "1");        // and back
}

TEST_P(Tracked, AJumpInTimeBeginsASceneAndIdsGoOn) {
  EXPECT_EQ(track_of_pushed(h_, 1000), "1");
  EXPECT_EQ(track_of_pushed(h_, 1000 + 150), "2");  // 5.96 s
  EXPECT_EQ(track_of_pushed(h_, 1000), "3");
  EXPECT_EQ(track_of_pushed(h_, 1001), "3");
  g_object_set(h_.element(), "max-gap", 100.0, nullptr);
  EXPECT_EQ(track_of_pushed(h_, 2000), "3");
}

TEST_P(Tracked, AnotherSizeOrRectangleIsASceneAndIdsGoOn) {
  EXPECT_EQ(track_of_pushed(h_, 0), "1");
  h_.video("GRAY8", kWidth / 2, kHeight * 2);
  EXPECT_EQ(h_.push(std::vector<uint8_t>(kWidth * kHeight, 200), 1), GST_FLOW_OK);
  EXPECT_EQ(next_track(h_), "2");
  h_.video("GRAY8", kWidth, kHeight);
  EXPECT_EQ(track_of_pushed(h_, 2), "3");
  g_object_set(h_.element(), "width", 40, nullptr);
  EXPECT_EQ(track_of_pushed(h_, 3), "4");
  g_object_set(h_.element(), "left", 4, nullptr);
  EXPECT_EQ(track_of_pushed(h_, 4), "5");
  EXPECT_FALSE(h_.has_error());
}

TEST_P(Tracked, AFlushBeginsAgain) {
  EXPECT_EQ(track_of_pushed(h_, 0), "1");
  EXPECT_EQ(track_of_pushed(h_, 1000), "2");
  h_.flush();
  EXPECT_EQ(track_of_pushed(h_, 1001), "1");
}

INSTANTIATE_TEST_SUITE_P(All, Tracked,
                         ::testing::Values("cclabel output=none track=true",
                                           "cclabel output=none depth=2 sliding=true "
                                           "connectivity=6"));

// A square on a background that was learnt is foreground; without what was learnt nothing is.
TEST(Gaps, TheBackgroundModelStays) {
  Harness h("graphcutbg output=mask");
  h.video("GRAY8", kWidth, kHeight);
  const std::vector<uint8_t> empty(kWidth * kHeight, 10);
  const auto foreground = [&](const std::vector<uint8_t>& picture, int index) {
    GstBuffer* frame = Harness::buffer(picture, index);
    GST_BUFFER_FLAG_SET(frame, GST_BUFFER_FLAG_DISCONT);
    EXPECT_EQ(gst_harness_push(h.get(), frame), GST_FLOW_OK);
    const std::vector<uint8_t> mask = bytes_of(h.pull().get());
    return std::count_if(mask.begin(), mask.end(), [](uint8_t m) { return m > 127; });
  };
  for (int i = 0; i < 30; ++i) foreground(empty, i);
  EXPECT_GT(foreground(gray_with_square(), 30), 200);
  EXPECT_GT(foreground(gray_with_square(), 130), 200);
  EXPECT_EQ(foreground(gray_with_square(), 1130), 0);  // another scene
}

}  // namespace
}  // namespace regions::test

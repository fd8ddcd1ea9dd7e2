// Caps and rectangles that change while playing: what stays of what was learnt and allocated.
#include <algorithm>

#include "tests/plugin/moving_square.hpp"

namespace regions::test {
namespace {

// The track of the one region of a frame.
std::string track_of(Harness& h, int index) {
  EXPECT_EQ(h.push(gray_with_square(), index), GST_FLOW_OK);
  const BufferPtr out = h.pull();
  const GstStructure* regions = out ? regions_of(out.get()) : nullptr;
  return regions && region_count(regions) == 1 ? region_field(regions, 0, "track") : "none";
}

constexpr const char* kSize = "video/x-raw,format=GRAY8,width=64,height=48,";

TEST(CapsChange, FrameRatesAndPixelShapesChangeNothingElse) {
  for (const char* output : {"none", "overlay", "labels"}) {
    Harness h(std::string("cclabel track=true frames-in-flight=3 output=") + output);
    h.caps(std::string(kSize) + "framerate=25/1");
    EXPECT_EQ(track_of(h, 0), "1");
    ASSERT_EQ(h.push(gray_with_square(), 1), GST_FLOW_OK);
    h.caps(std::string(kSize) + "framerate=50/1,pixel-aspect-ratio=4/3");
    ASSERT_TRUE(h.pull());
    EXPECT_EQ(track_of(h, 2), "1") << output;
    EXPECT_NE(h.caps_out().find("50/1"), std::string::npos) << output;
    EXPECT_NE(h.caps_out().find("4/3"), std::string::npos) << output;
    // A parameter that waits for other caps comes with any.
    g_object_set(h.element(), "max-regions", 1, nullptr);
    h.caps(std::string(kSize) + "framerate=25/1");
    EXPECT_EQ(track_of(h, 3), "2") << output;
    h.caps(std::string(kSize) + "framerate=25/1,colorimetry=1:1:5:1");
    EXPECT_EQ(stat(h, "frames-out"), 4u);
    EXPECT_FALSE(h.has_error());
  }
}

size_t foreground(Harness& h, const std::vector<uint8_t>& picture, int index) {
  EXPECT_EQ(h.push(picture, index), GST_FLOW_OK);
  const BufferPtr out = h.pull();
  const std::vector<uint8_t> mask = out ? bytes_of(out.get()) : std::vector<uint8_t>();
  return static_cast<size_t>(
      std::count_if(mask.begin(), mask.end(), [](uint8_t m) { return m > 127; }));
}

TEST(CapsChange, TheBackgroundModelStaysButWhereTheRectangleMoves) {
  Harness h("graphcutbg output=mask width=48");
  h.caps(std::string(kSize) + "framerate=25/1");
  const std::vector<uint8_t> empty(kWidth * kHeight, 10);
  for (int i = 0; i < 30; ++i) foreground(h, empty, i);
  EXPECT_GT(foreground(h, gray_with_square(), 30), 200u);
  h.caps(std::string(kSize) + "framerate=50/1");
  EXPECT_GT(foreground(h, gray_with_square(), 31), 200u);
  g_object_set(h.element(), "left", 8, nullptr);
  EXPECT_EQ(foreground(h, gray_with_square(), 32), 0u);
  EXPECT_FALSE(h.has_error());
}

// Makes every allocation of this process fail.
class NoMemory {
 public:
  NoMemory() { want("allocation=1"); }
  ~NoMemory() { want(""); }
  NoMemory(const NoMemory&) = delete;
  NoMemory& operator=(const NoMemory&) = delete;

 private:
  // Elements look when they open.
  static void want(const char* faults) {
    g_setenv("REGIONS_FAULTS", faults, TRUE);
    GstElement* element = gst_element_factory_make("cclabel", nullptr);
    gst_element_set_state(element, GST_STATE_READY);
    gst_element_set_state(element, GST_STATE_NULL);
    gst_object_unref(element);
    g_unsetenv("REGIONS_FAULTS");
  }
};

TEST(CapsChange, NothingIsAllocatedWhereSizesStay) {
  Harness h("cclabel output=overlay track=true attach-labels=never width=40");
  h.caps(std::string(kSize) + "framerate=25/1");
  EXPECT_EQ(track_of(h, 0), "1");
  {
    const NoMemory no_memory;
    h.caps(std::string(kSize) + "framerate=50/1");
    EXPECT_EQ(track_of(h, 1), "1");
    g_object_set(h.element(), "left", 4, nullptr);
    EXPECT_EQ(track_of(h, 2), "2");
    EXPECT_FALSE(h.has_error());
    g_object_set(h.element(), "width", 44, nullptr);
    h.push(gray_with_square(), 3);
    EXPECT_TRUE(h.has_error());  // or this test could not fail
  }
}

// Regions have the picture's coordinates wherever the rectangle is.
TEST(CapsChange, AMovedRectangleSeesItsPlace) {
  Harness h("cclabel output=none width=40 process-scale=0.5 frames-in-flight=4");
  h.caps(std::string(kSize) + "framerate=25/1");
  for (int i = 0; i < 12; ++i) {
    g_object_set(h.element(), "left", i, nullptr);
    ASSERT_EQ(h.push(gray_with_square(), i), GST_FLOW_OK);
  }
  h.eos();
  for (int i = 0; i < 12; ++i) {
    const BufferPtr out = h.pull();
    ASSERT_TRUE(out);
    const GstStructure* regions = regions_of(out.get());
    ASSERT_EQ(region_count(regions), 1u) << "frame " << i;
    const int x = std::stoi(region_field(regions, 0, "x"));
    EXPECT_NEAR(x, std::max(8, i), 1) << "frame " << i;
  }
  EXPECT_EQ(h.waiting(), 0u);
}

}  // namespace
}  // namespace regions::test

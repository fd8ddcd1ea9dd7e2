// The files of the element graphcutbg: models written and read, pictures given by name.
#include <filesystem>

#include "tests/graphcutbg/room.hpp"

namespace regions::test {
namespace {

std::string in_temporary_folder(const std::string& name) {
  return (std::filesystem::path(testing::TempDir()) / ("regions-graphcutbg-" + name)).string();
}

// A file with a grey picture of the room's colours.
std::string png_file(const std::string& name, int width, int height) {
  start_gstreamer();
  const std::string path = in_temporary_folder(name);
  const std::string line =
      "videotestsrc pattern=solid-color foreground-color=0xff3f3f3f "
      "num-buffers=1 ! video/x-raw,format=RGB,width=" +
      std::to_string(width) + ",height=" + std::to_string(height) +
      " ! pngenc ! filesink location=" + path;
  GstElement* pipeline = gst_parse_launch(line.c_str(), nullptr);
  gst_element_set_state(pipeline, GST_STATE_PLAYING);
  GstBus* bus = gst_element_get_bus(pipeline);
  const MessagePtr end(gst_bus_timed_pop_filtered(
      bus, 20 * GST_SECOND, static_cast<GstMessageType>(GST_MESSAGE_EOS | GST_MESSAGE_ERROR)));
  EXPECT_TRUE(end && GST_MESSAGE_TYPE(end.get()) == GST_MESSAGE_EOS);
  gst_object_unref(bus);
  gst_element_set_state(pipeline, GST_STATE_NULL);
  gst_object_unref(pipeline);
  return path;
}

TEST(GraphCutBg, ModelIsWrittenAndReadAgain) {
  const std::string path = in_temporary_folder("model");
  std::filesystem::remove(path);
  {
    Harness h("graphcutbg output=mask model-location=" + path);
    h.video("GRAY8", kWidth, kHeight);
    ASSERT_TRUE(last_of(h));
  }
  ASSERT_TRUE(std::filesystem::exists(path));
  Harness h("graphcutbg output=mask model-location=" + path);
  h.video("GRAY8", kWidth, kHeight);
  ASSERT_EQ(h.push(room(true)), GST_FLOW_OK);
  const BufferPtr out = h.pull();
  ASSERT_TRUE(out);
  EXPECT_GT(foreground_share(bytes_of(out.get()), true), 0.98);  // of its very first frame
}

TEST(GraphCutBg, NoFrameNoModel) {
  const std::string path = in_temporary_folder("no-model");
  std::filesystem::remove(path);
  {
    Harness h("graphcutbg output=mask model-location=" + path);
    h.video("GRAY8", kWidth, kHeight);
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(GraphCutBg, ModelOfAnotherSizeIsRefused) {
  const std::string path = in_temporary_folder("model-of-another-size");
  std::filesystem::remove(path);
  {
    Harness h("graphcutbg output=mask model-location=" + path);
    h.video("GRAY8", kWidth, kHeight);
    ASSERT_TRUE(last_of(h, 2));
  }
  Harness h("graphcutbg output=mask model-location=" + path);
  h.video("GRAY8", kWidth / 2, kHeight);
  EXPECT_NE(h.push(std::vector<uint8_t>(kWidth / 2 * kHeight)), GST_FLOW_OK);
  EXPECT_NE(h.error_text(), "");
}

TEST(GraphCutBg, BackgroundImageIsTheModel) {
  const std::string path = png_file("background.png", kWidth, kHeight);
  Harness h("graphcutbg output=mask background-image=" + path);
  h.video("GRAY8", kWidth, kHeight);
  ASSERT_EQ(h.push(room(true)), GST_FLOW_OK);
  const BufferPtr out = h.pull();
  ASSERT_TRUE(out);
  EXPECT_GT(foreground_share(bytes_of(out.get()), true), 0.98);
  EXPECT_LT(foreground_share(bytes_of(out.get()), false), 0.01);
}

TEST(GraphCutBg, BadPicturesAreNamed) {
  const std::string small = png_file("small.png", kWidth / 2, kHeight);
  for (const std::string& path : {small, in_temporary_folder("missing.png")}) {
    Harness h("graphcutbg output=mask background-image=" + path);
    h.video("GRAY8", kWidth, kHeight);
    EXPECT_NE(h.push(room(false)), GST_FLOW_OK);
    EXPECT_NE(h.error_text().find(path), std::string::npos);
  }
}

TEST(GraphCutBg, ReplacementOfAnotherSizeIsScaled) {
  const std::string path = png_file("replacement.png", 31, 17);
  Harness h("graphcutbg output=replace replace-with=image replace-image=" + path);
  h.video("GRAY8", kWidth, kHeight);
  const BufferPtr out = last_of(h);
  ASSERT_TRUE(out);
  EXPECT_NEAR(bytes_of(out.get())[kWidth * 2 + 2], 0x3f, 2);
}

}  // namespace
}  // namespace regions::test

// Pictures for graphcutbg: each of their pixels, their place with rectangles and smaller pictures,
// and the errors for unsuitable pictures.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <random>

#include "plugin/files/property_files.hpp"
#include "tests/plugin/told.hpp"

namespace regions::test {
namespace {

constexpr int kWidth = 64, kHeight = 48;

std::string in_folder(const std::string& name) {
  return (std::filesystem::path(testing::TempDir()) / ("regions-pictures-" + name)).string();
}

std::string write(const std::string& name, const std::string& bytes) {
  std::ofstream(in_folder(name), std::ios::binary) << bytes;
  return in_folder(name);
}

// Blocks of 8x8 pixels, each in another colour.
std::string blocks(int width, int height) {
  std::mt19937 random(7);
  std::vector<uint8_t> of_block(64 * 64 * 3);
  for (uint8_t& value : of_block) value = static_cast<uint8_t>(30 + random() % 200);
  std::string rgb;
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      for (int c = 0; c < 3; ++c) {
        rgb += static_cast<char>(of_block[static_cast<size_t>((y / 8 * 64 + x / 8) * 3 + c)]);
      }
    }
  }
  return rgb;
}

std::string pixmap(const std::string& name, int width, int height, const std::string& rgb) {
  return write(name, "P6 " + std::to_string(width) + " " + std::to_string(height) + " 255\n" + rgb);
}

std::vector<uint8_t> bytes(const std::string& text) { return {text.begin(), text.end()}; }

std::string read(const PictureFile& picture) {
  return {reinterpret_cast<const char*>(picture.pixels.data()), picture.pixels.size()};
}

TEST(Pictures, AreReadPixelByPixel) {
  start_gstreamer();
  for (const auto& [width, height] : {std::pair{5, 3}, {31, 17}, {64, 48}, {1, 1}}) {
    const std::string rgb = blocks(width, height);
    const PictureFile map = load_picture(pixmap("a.ppm", width, height, rgb), {}, {});
    EXPECT_EQ(map.size, (Size{width, height}));
    EXPECT_TRUE(read(map) == rgb) << width << "x" << height;
    // Also through a lossless encoder.
    GstHarness* encoder = gst_harness_new("pngenc");
    const int row = (width * 3 + 3) / 4 * 4;
    std::vector<uint8_t> padded(static_cast<size_t>(row * height));
    for (int y = 0; y < height; ++y) {
      std::copy_n(&rgb[static_cast<size_t>(y * width * 3)], width * 3,
                  &padded[static_cast<size_t>(y * row)]);
    }
    gst_harness_set_src_caps_str(
        encoder, ("video/x-raw,format=RGB,framerate=1/1,width=" + std::to_string(width) +
                  ",height=" + std::to_string(height))
                     .c_str());
    gst_harness_push(encoder, Harness::buffer(padded));
    const BufferPtr png(gst_harness_pull(encoder));
    gst_harness_teardown(encoder);
    const std::vector<uint8_t> file = bytes_of(png.get());
    const PictureFile picture =
        load_picture(write("a.png", std::string(file.begin(), file.end())), {}, {});
    EXPECT_EQ(picture.size, (Size{width, height}));
    EXPECT_TRUE(read(picture) == rgb) << width << "x" << height;
    const ConstFrame frame = picture.frame();
    EXPECT_EQ(frame.size(), picture.size);
    EXPECT_EQ(frame.pitch[0], width * 3);
    EXPECT_EQ(frame.layout.format, PixelFormat::rgb);
  }
}

TEST(Pictures, AreScaledWithoutBorders) {
  start_gstreamer();
  const std::string halves("\0\0\0\xff\xff\xff", 6);
  const PictureFile picture = load_picture(pixmap("halves.ppm", 2, 1, halves), {8, 6}, {});
  ASSERT_EQ(picture.size, (Size{8, 6}));
  const std::string pixels = read(picture);
  for (size_t y = 0; y < 6; ++y) {
    EXPECT_EQ(static_cast<uint8_t>(pixels[y * 24]), 0) << y;
    EXPECT_EQ(static_cast<uint8_t>(pixels[y * 24 + 23]), 255) << y;
  }
}

// Each picture is seen through the rectangle as the frames are.
TEST(Pictures, LieUnderTheRectangle) {
  const std::string rgb = blocks(kWidth, kHeight);
  const std::string path = pixmap("background.ppm", kWidth, kHeight, rgb);
  for (const char* place : {"", "left=16 top=8 width=32 height=24", "process-scale=0.5",
                            "left=16 top=8 width=32 height=32 process-scale=0.5"}) {
    Harness h(std::string("graphcutbg output=mask background-image=") + path + " " + place);
    h.video("RGB", kWidth, kHeight);
    for (int i = 0; i < 3; ++i) {
      if (i == 2) g_object_set(h.element(), "left", 24, "width", 32, nullptr);  // it moves
      ASSERT_EQ(h.push(bytes(rgb), i), GST_FLOW_OK) << h.error_text();
      const BufferPtr out = h.pull();
      ASSERT_TRUE(out) << place << h.error_text();
      EXPECT_EQ(bytes_of(out.get()), std::vector<uint8_t>(kWidth * kHeight))
          << place << ", frame " << i << " is its background";
    }
  }
}

// White pixels of the exclusion picture are never foreground. A replacement picture shows in the
// pixels of the background.
TEST(Pictures, ExcludeAndReplace) {
  std::string left_white(kWidth * kHeight * 3, '\0');
  for (size_t i = 0; i < left_white.size(); ++i) {
    if (i / 3 % kWidth < kWidth / 2) left_white[i] = '\xff';
  }
  const std::string exclusion = pixmap("exclusion.ppm", kWidth, kHeight, left_white);
  const std::string rgb = blocks(kWidth, kHeight);
  const std::string background = pixmap("background.ppm", kWidth, kHeight, rgb);
  {
    Harness h("graphcutbg output=mask background-image=" + background +
              " exclusion-image=" + exclusion);
    h.video("RGB", kWidth, kHeight);
    std::string inverted = rgb;
    for (char& value : inverted) value = static_cast<char>(255 - static_cast<uint8_t>(value));
    ASSERT_EQ(h.push(bytes(inverted)), GST_FLOW_OK) << h.error_text();
    const std::vector<uint8_t> mask = bytes_of(h.pull().get());
    int left = 0, right = 0;
    for (size_t i = 0; i < mask.size(); ++i)
      (i % kWidth < kWidth / 2 ? left : right) += mask[i] > 0;
    EXPECT_EQ(left, 0);
    EXPECT_GT(right, kWidth * kHeight / 4);
  }
  for (const char* place : {"", " left=16 top=8 width=32 height=24"}) {
    Harness h("graphcutbg output=replace replace-with=image replace-image=" + background + place);
    h.video("RGB", kWidth, kHeight);
    ASSERT_EQ(h.push(std::vector<uint8_t>(rgb.size(), 99)), GST_FLOW_OK) << h.error_text();
    const std::vector<uint8_t> out = bytes_of(h.pull().get());
    for (size_t i = 0; i < out.size(); ++i) {
      const size_t x = i / 3 % kWidth, y = i / 3 / kWidth;
      const bool inside = !place[0] || (x >= 16 && x < 48 && y >= 8 && y < 32);
      ASSERT_NEAR(out[i], inside ? static_cast<uint8_t>(rgb[i]) : 99, 1) << x << ", " << y << place;
    }
  }
}

// ---- messages

std::string error_of(const std::string& settings) {
  Harness h("graphcutbg " + settings);
  h.video("RGB", kWidth, kHeight);
  h.push(std::vector<uint8_t>(kWidth * kHeight * 3));
  return told(h.message(GST_MESSAGE_ERROR)).text;
}

TEST(Pictures, ThatDoNotSuitAreNamed) {
  const std::string small = pixmap("small.ppm", 5, 3, blocks(5, 3));
  for (const char* property : {"background-image", "exclusion-image"}) {
    EXPECT_EQ(error_of(std::string(property) + "=" + small),
              "the picture '" + small + "' has 5x3 pixels, the video 64x48");
    EXPECT_EQ(error_of(std::string(property) + "=/nowhere/a.png"),
              "there is no picture '/nowhere/a.png'");
  }
  const std::string cut = pixmap("cut.ppm", 5, 4, blocks(5, 3));
  EXPECT_EQ(error_of("replace-image=" + cut),
            "cannot read the picture '" + cut +
                "': it is damaged, truncated or larger than 16384 pixels in one direction");
  const std::string none = write("none.png", "GIF89a");
  EXPECT_EQ(error_of("replace-image=" + none),
            "'" + none + "' is not a PNG, JPEG, WebP or PNM picture");
  const std::string damaged = write("damaged.png", "\x89PNG\r\n\x1a\n and nothing");
  const std::string text = error_of("replace-image=" + damaged);
  EXPECT_NE(text.find(damaged), std::string::npos) << text;
  EXPECT_NE(error_of("output=replace replace-with=image").find("requires replace-image"),
            std::string::npos);
}

TEST(Pictures, CutsThatWereStoppedSayByHowMuch) {
  Harness h("graphcutbg output=mask max-iterations=1 lambda=32 neighbours=8 device=cpu");
  h.video("RGB", kWidth, kHeight);
  std::mt19937 random(3);
  for (int i = 0; i < 4; ++i) {
    std::vector<uint8_t> noise(kWidth * kHeight * 3);
    for (uint8_t& value : noise) value = static_cast<uint8_t>(random());
    ASSERT_EQ(h.push(noise, i), GST_FLOW_OK);
    const BufferPtr out = h.pull();
    ASSERT_TRUE(out);
    const MessagePtr message = h.message_so_far(GST_MESSAGE_WARNING);
    if (!message) continue;
    const GstStructure* s = regions_of(out.get());
    gint64 gap = 0, flow = 0;
    if (s) gst_structure_get(s, "gap", G_TYPE_INT64, &gap, "flow", G_TYPE_INT64, &flow, nullptr);
    EXPECT_EQ(told(message).text, "a cut was stopped early and is not exact: it costs at most " +
                                      std::to_string(gap) +
                                      " more than the minimum, which is at least " +
                                      std::to_string(flow) + " (time-budget, max-iterations)");
    EXPECT_GT(gap, 0);
    return;
  }
  FAIL() << "no cut was stopped: this test could not fail";
}

}  // namespace
}  // namespace regions::test

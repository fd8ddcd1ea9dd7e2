// Files that properties of graphcutbg name: Netpbm pictures, pictures of other formats, stored
// models, and files that are invalid or unsafe to open.
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <random>

#include "core/error.hpp"
#include "plugin/files/property_files.hpp"
#include "tests/graphcutbg/room_with_square.hpp"
#include "tests/plugin/error_details.hpp"

namespace regions::test {
namespace {

using namespace std::string_literals;
namespace fs = std::filesystem;

// ---- Netpbm files

// Returns "2x1: 0 0 0 255 255 255 …" including the padding of rows, or "none" for invalid files.
std::string read_netpbm(const std::string& file, int most = 100) {
  const auto map = read_anymap(std::as_bytes(std::span(file.data(), file.size())), most);
  if (!map) return "none";
  std::string text = std::to_string(map->size.width) + "x" + std::to_string(map->size.height) + ":";
  for (const std::byte b : map->pixels) text += " " + std::to_string(static_cast<int>(b));
  return text;
}

TEST(Netpbm, FormatsP1ToP6_PixelsAreDecoded) {
  const std::pair<std::string, std::string> cases[] = {
      // Bits: 1 is black. P1 needs no spaces between digits. Rows of P4 begin at a byte.
      {"P1 2 2 1001", "2x2: 0 0 0 255 255 255 0 0 255 255 255 0 0 0 0 0"},
      {"P1 1 1 1", "1x1: 0 0 0 0"},
      {"P1\n2\n1\n 1\t0", "2x1: 0 0 0 255 255 255 0 0"},
      {"P4 3 2 \xbf\x40"s,
       "3x2: 0 0 0 255 255 255 0 0 0 0 0 0 255 255 255 0 0 0 255 255 255 0 0 0"},
      {"P4 9 1 \xff\x7f"s, "9x1: 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 255 255 255 0"},
      // Gray levels are scaled from the maximum in the header.
      {"P2 3 1 10 0 5 10", "3x1: 0 0 0 128 128 128 255 255 255 0 0 0"},
      {"P2 1 1 65535 32896", "1x1: 128 128 128 0"},
      {"P2 1 1 1 1", "1x1: 255 255 255 0"},
      {"P5 2 1 255 \x01\x02"s, "2x1: 1 1 1 2 2 2 0 0"},
      {"P5 2 1 10 \x03\x0a"s, "2x1: 77 77 77 255 255 255 0 0"},
      {"P5 1 1 256 \x01\x00"s, "1x1: 255 255 255 0"},
      {"P5 1 1 1000 \x01\xf4"s, "1x1: 128 128 128 0"},
      // Colours.
      {"P3 1 2 255 1 2 3 4 5 6", "1x2: 1 2 3 0 4 5 6 0"},
      {"P6 2 1 255 \x01\x02\x03\x04\x05\x06"s, "2x1: 1 2 3 4 5 6 0 0"},
      {"P6 1 1 511 \x00\x01\x01\x00\x01\xff"s, "1x1: 0 128 255 0"},
      // White space and comments in a header, and any single character after it.
      {"P2#a\n# b\r\t1 #c\n1\v9\f9 ", "1x1: 255 255 255 0"},
      {"P5 1 1 255\n#", "1x1: 35 35 35 0"},
      {"P5 1 1 255##", "1x1: 35 35 35 0"},
      {"P2 0001 01 0255 007", "1x1: 7 7 7 0"},
      // Bytes after the picture.
      {"P5 1 1 255 ab", "1x1: 97 97 97 0"},
  };
  for (const auto& [file, expected] : cases) EXPECT_EQ(read_netpbm(file), expected) << file;
}

TEST(Netpbm, DamagedFile_IsRefused) {
  for (const std::string& file : {"P0 1 1 255 a"s,
                                  "P7 1 1 255 a"s,
                                  "Q5 1 1 255 a"s,
                                  "P51 1 255 "s,
                                  "P"s,
                                  ""s,
                                  "P5"s,
                                  "P5 "s,
                                  "P5 1"s,
                                  "P5 1 1"s,
                                  "P5 1 1 255"s,
                                  "P5 1 1 255 "s,
                                  "P5 0 1 255 a"s,
                                  "P5 1 0 255 a"s,
                                  "P5 1 1 0 a"s,
                                  "P5 1 1 65536 ab"s,
                                  "P5 x 1 255 a"s,
                                  "P5 1 -1 255 a"s,
                                  "P5 1 1 # 255 a"s,
                                  "P5 1 1 10 \x0b"s,
                                  "P5 1 1 256 \x01\x01"s,
                                  "P2 1 1 10 11"s,
                                  "P2 1 1 10 "s,
                                  "P2 1 1 10 x"s,
                                  "P1 1 1 2"s,
                                  "P1 1 1 x"s,
                                  "P1 2 1 1"s,
                                  "P3 1 1 9 1 2"s,
                                  "P3 1 1 9 1 2 10"s,
                                  "P6 1 1 255 ab"s,
                                  "P6 1 1 256 \x00\x01\x00\x01\x00"s,
                                  "P4 9 1 a"s,
                                  "P4 9 2 abc"s,
                                  "P5 4294967297 1 255 a"s}) {
    EXPECT_EQ(read_netpbm(file), "none") << file;
  }
}

TEST(Netpbm, PictureSideTooLarge_IsRefused) {
  const std::string wide = "P5 3 1 255 abc", high = "P5 1 3 255 abc";
  EXPECT_EQ(read_netpbm(wide, 3).substr(0, 3), "3x1");
  EXPECT_EQ(read_netpbm(high, 3).substr(0, 3), "1x3");
  EXPECT_EQ(read_netpbm(wide, 2), "none");
  EXPECT_EQ(read_netpbm(high, 2), "none");
}

// ---- pictures and models in a folder of each test

class GraphCutPropertyFiles : public testing::Test {
 protected:
  void SetUp() override {
    start_gstreamer();
    std::string name = (fs::path(testing::TempDir()) / "regions-files-XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  std::string write(const std::string& name, const std::string& bytes) const {
    std::ofstream(path(name), std::ios::binary) << bytes;
    return path(name);
  }
  static std::string read(const std::string& name) {
    std::ifstream file(name, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  // The error message of an element whose property names the file.
  static std::string error_of(const std::string& property, const std::string& file) {
    Harness h("graphcutbg output=replace");
    g_object_set(h.element(), property.c_str(), file.c_str(), nullptr);
    if (property == "replace-image") {
      gst_util_set_object_arg(G_OBJECT(h.element()), "replace-with", "image");
    }
    h.video("GRAY8", kWidth, kHeight);
    EXPECT_NE(h.push(room_picture(false)), GST_FLOW_OK) << property << "=" << file;
    return h.error_text();
  }
  // A grey picture of 32x16 pixels, encoded by GStreamer.
  std::string encoded(const std::string& name, const std::string& encoder) const {
    const std::string line =
        "videotestsrc pattern=solid-color foreground-color=0xff3f3f3f num-buffers=1 ! "
        "video/x-raw,width=32,height=16 ! videoconvert ! " +
        encoder + " ! filesink location=" + path(name);
    GstElement* pipeline = gst_parse_launch(line.c_str(), nullptr);
    gst_element_set_state(pipeline, GST_STATE_PLAYING);
    GstBus* bus = gst_element_get_bus(pipeline);
    const MessagePtr end(gst_bus_timed_pop_filtered(
        bus, 20 * GST_SECOND, static_cast<GstMessageType>(GST_MESSAGE_EOS | GST_MESSAGE_ERROR)));
    EXPECT_TRUE(end && GST_MESSAGE_TYPE(end.get()) == GST_MESSAGE_EOS) << line;
    gst_object_unref(bus);
    gst_element_set_state(pipeline, GST_STATE_NULL);
    gst_object_unref(pipeline);
    return path(name);
  }

  // An RGB picture.
  std::string pixmap(const std::string& name, int width, int height, const std::string& rgb) const {
    return write(name,
                 "P6 " + std::to_string(width) + " " + std::to_string(height) + " 255\n" + rgb);
  }

  fs::path folder_;
};

// Blocks of 8x8 pixels with random colours.
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

std::vector<uint8_t> bytes(const std::string& text) { return {text.begin(), text.end()}; }

std::string pixels_of(const PictureFile& picture) {
  return {reinterpret_cast<const char*>(picture.pixels.data()), picture.pixels.size()};
}

constexpr const char* kProperties[] = {"model-location", "background-image", "exclusion-image",
                                       "replace-image"};

constexpr int kVideoWidth = 64, kVideoHeight = 48;

TEST_F(GraphCutPropertyFiles, LoadPicture_PpmOrPng_PixelsEqualTheEncodedOnes) {
  for (const auto& [width, height] : {std::pair{5, 3}, {31, 17}, {64, 48}, {1, 1}}) {
    const std::string rgb = blocks(width, height);
    const PictureFile map = load_picture(pixmap("a.ppm", width, height, rgb), {}, {});
    EXPECT_EQ(map.size, (Size{width, height}));
    EXPECT_TRUE(pixels_of(map) == rgb) << width << "x" << height;
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
    EXPECT_TRUE(pixels_of(picture) == rgb) << width << "x" << height;
    const ConstFrame frame = picture.frame();
    EXPECT_EQ(frame.size(), picture.size);
    EXPECT_EQ(frame.pitch[0], width * 3);
    EXPECT_EQ(frame.layout.format, PixelFormat::rgb);
  }
}

TEST_F(GraphCutPropertyFiles,
       LoadPicture_SmallerThanRequested_FillsTheRequestedSizeWithoutBorders) {
  const std::string halves("\0\0\0\xff\xff\xff", 6);
  const PictureFile picture = load_picture(pixmap("halves.ppm", 2, 1, halves), {8, 6}, {});
  ASSERT_EQ(picture.size, (Size{8, 6}));
  const std::string pixels = pixels_of(picture);
  for (size_t y = 0; y < 6; ++y) {
    EXPECT_EQ(static_cast<uint8_t>(pixels[y * 24]), 0) << y;
    EXPECT_EQ(static_cast<uint8_t>(pixels[y * 24 + 23]), 255) << y;
  }
}

TEST_F(GraphCutPropertyFiles, BackgroundImage_AnyWorkArea_FrameEqualToItHasNoForeground) {
  const std::string rgb = blocks(kVideoWidth, kVideoHeight);
  const std::string path = pixmap("background.ppm", kVideoWidth, kVideoHeight, rgb);
  for (const char* place : {"", "left=16 top=8 width=32 height=24", "process-scale=0.5",
                            "left=16 top=8 width=32 height=32 process-scale=0.5"}) {
    Harness h(std::string("graphcutbg output=mask background-image=") + path + " " + place);
    h.video("RGB", kVideoWidth, kVideoHeight);
    for (int i = 0; i < 3; ++i) {
      if (i == 2) g_object_set(h.element(), "left", 24, "width", 32, nullptr);
      ASSERT_EQ(h.push(bytes(rgb), i), GST_FLOW_OK) << h.error_text();
      const BufferPtr out = h.pull();
      ASSERT_TRUE(out) << place << h.error_text();
      EXPECT_EQ(bytes_of(out.get()), std::vector<uint8_t>(kVideoWidth * kVideoHeight))
          << place << ", frame " << i << " is its background";
    }
  }
}

// White pixels of the exclusion picture are never foreground. The replacement picture is visible in
// the background.
TEST_F(GraphCutPropertyFiles, ExclusionImageHidesForegroundAndReplaceImageIsVisibleInBackground) {
  std::string left_white(kVideoWidth * kVideoHeight * 3, '\0');
  for (size_t i = 0; i < left_white.size(); ++i) {
    if (i / 3 % kVideoWidth < kVideoWidth / 2) left_white[i] = '\xff';
  }
  const std::string exclusion = pixmap("exclusion.ppm", kVideoWidth, kVideoHeight, left_white);
  const std::string rgb = blocks(kVideoWidth, kVideoHeight);
  const std::string background = pixmap("background.ppm", kVideoWidth, kVideoHeight, rgb);
  {
    Harness h("graphcutbg output=mask background-image=" + background +
              " exclusion-image=" + exclusion);
    h.video("RGB", kVideoWidth, kVideoHeight);
    std::string inverted = rgb;
    for (char& value : inverted) value = static_cast<char>(255 - static_cast<uint8_t>(value));
    ASSERT_EQ(h.push(bytes(inverted)), GST_FLOW_OK) << h.error_text();
    const std::vector<uint8_t> mask = bytes_of(h.pull().get());
    int left = 0, right = 0;
    for (size_t i = 0; i < mask.size(); ++i)
      (i % kVideoWidth < kVideoWidth / 2 ? left : right) += mask[i] > 0;
    EXPECT_EQ(left, 0);
    EXPECT_GT(right, kVideoWidth * kVideoHeight / 4);
  }
  for (const char* place : {"", " left=16 top=8 width=32 height=24"}) {
    Harness h("graphcutbg output=replace replace-with=image replace-image=" + background + place);
    h.video("RGB", kVideoWidth, kVideoHeight);
    ASSERT_EQ(h.push(std::vector<uint8_t>(rgb.size(), 99)), GST_FLOW_OK) << h.error_text();
    const std::vector<uint8_t> out = bytes_of(h.pull().get());
    for (size_t i = 0; i < out.size(); ++i) {
      const size_t x = i / 3 % kVideoWidth, y = i / 3 / kVideoWidth;
      const bool inside = !place[0] || (x >= 16 && x < 48 && y >= 8 && y < 32);
      ASSERT_NEAR(out[i], inside ? static_cast<uint8_t>(rgb[i]) : 99, 1) << x << ", " << y << place;
    }
  }
}

std::string error_with(const std::string& settings) {
  Harness h("graphcutbg " + settings);
  h.video("RGB", kVideoWidth, kVideoHeight);
  h.push(std::vector<uint8_t>(kVideoWidth * kVideoHeight * 3));
  return error_details(h.message(GST_MESSAGE_ERROR)).text;
}

TEST_F(GraphCutPropertyFiles, UnusablePicture_IsRefusedWithTheReason) {
  const std::string small = pixmap("small.ppm", 5, 3, blocks(5, 3));
  for (const char* property : {"background-image", "exclusion-image"}) {
    EXPECT_EQ(error_with(std::string(property) + "=" + small),
              "the picture '" + small + "' has 5x3 pixels, the video 64x48");
    EXPECT_EQ(error_with(std::string(property) + "=/nowhere/a.png"),
              "there is no picture '/nowhere/a.png'");
  }
  const std::string cut = pixmap("cut.ppm", 5, 4, blocks(5, 3));
  EXPECT_EQ(error_with("replace-image=" + cut),
            "cannot read the picture '" + cut +
                "': it is damaged, truncated or larger than 16384 pixels in one direction");
  const std::string none = write("none.png", "GIF89a");
  EXPECT_EQ(error_with("replace-image=" + none),
            "'" + none + "' is not a PNG, JPEG, WebP or PNM picture");
  const std::string damaged = write("damaged.png", "\x89PNG\r\n\x1a\n and nothing");
  const std::string text = error_with("replace-image=" + damaged);
  EXPECT_NE(text.find(damaged), std::string::npos) << text;
  EXPECT_NE(error_with("output=replace replace-with=image").find("requires replace-image"),
            std::string::npos);
}

TEST_F(GraphCutPropertyFiles, ReplaceImageOfOtherSize_BackgroundHasItsColor) {
  const std::string path = encoded("replacement.png", "pngenc");
  Harness h("graphcutbg output=replace replace-with=image replace-image=" + path);
  h.video("GRAY8", kWidth, kHeight);
  const BufferPtr out = last_of(h);
  ASSERT_TRUE(out);
  EXPECT_NEAR(bytes_of(out.get())[kWidth * 2 + 2], 0x3f, 2);
}

TEST_F(GraphCutPropertyFiles, ModelFileOfAnEarlierRun_FirstFrameHasForeground) {
  const std::string file = this->path("model");
  {
    Harness h("graphcutbg output=mask model-location=" + file);
    h.video("GRAY8", kWidth, kHeight);
    ASSERT_TRUE(last_of(h));
  }
  ASSERT_TRUE(fs::exists(file));
  Harness h("graphcutbg output=mask model-location=" + file);
  h.video("GRAY8", kWidth, kHeight);
  ASSERT_EQ(h.push(room_picture(true)), GST_FLOW_OK);
  const BufferPtr out = h.pull();
  ASSERT_TRUE(out);
  EXPECT_GT(foreground_share(bytes_of(out.get()), true), 0.98);  // in the first frame
}

TEST_F(GraphCutPropertyFiles, StreamWithoutFrames_WritesNoModelFile) {
  const std::string file = this->path("model");
  {
    Harness h("graphcutbg output=mask model-location=" + file);
    h.video("GRAY8", kWidth, kHeight);
  }
  EXPECT_FALSE(fs::exists(file));
}

TEST_F(GraphCutPropertyFiles, ModelFileOfAnotherFrameSize_PostsAnError) {
  const std::string file = this->path("model");
  {
    Harness h("graphcutbg output=mask model-location=" + file);
    h.video("GRAY8", kWidth, kHeight);
    ASSERT_TRUE(last_of(h, 2));
  }
  Harness h("graphcutbg output=mask model-location=" + file);
  h.video("GRAY8", kWidth / 2, kHeight);
  EXPECT_NE(h.push(std::vector<uint8_t>(kWidth / 2 * kHeight)), GST_FLOW_OK);
  EXPECT_NE(h.error_text(), "");
}

TEST_F(GraphCutPropertyFiles, FifoFolderOrLinkToADevice_GivenAsFile_ErrorSaysNotARegularFile) {
  ASSERT_EQ(mkfifo(path("fifo").c_str(), 0600), 0);
  fs::create_symlink("/dev/zero", path("endless.png"));
  for (const char* property : kProperties) {
    for (const std::string& file : {path("fifo"), path("endless.png"), folder_.string()}) {
      const std::string text = error_of(property, file);
      EXPECT_NE(text.find(file), std::string::npos) << property << ": " << text;
      EXPECT_NE(text.find("not a regular file"), std::string::npos) << property << ": " << text;
    }
  }
}

TEST_F(GraphCutPropertyFiles, FileOf4GiB_PostsAnErrorAndIsReadOnlyUpToTheLimit) {
  const std::string picture = write("large.png", "\x89PNG\r\n\x1a\n"),
                    model = write("model", "GCBM");
  fs::resize_file(picture, uintmax_t{1} << 32);
  fs::resize_file(model, uintmax_t{1} << 32);
  EXPECT_NE(error_of("replace-image", picture).find("larger than 256 MiB"), std::string::npos);
  EXPECT_NE(error_of("model-location", model).find("background model"), std::string::npos);
  EXPECT_EQ(read_file(model, 7)->size(), 7u);
  EXPECT_FALSE(read_file(path("none"), 7));
}

TEST_F(GraphCutPropertyFiles, PlaylistOrUnknownFormat_IsRefusedWithoutNetworkRequest) {
  const int server = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ASSERT_EQ(bind(server, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  ASSERT_EQ(listen(server, 8), 0);
  socklen_t length = sizeof address;
  getsockname(server, reinterpret_cast<sockaddr*>(&address), &length);
  const std::string url = "http://127.0.0.1:" + std::to_string(ntohs(address.sin_port)) + "/a.ts";
  for (const std::string& text :
       {"#EXTM3U\n#EXT-X-VERSION:3\n#EXT-X-TARGETDURATION:5\n#EXTINF:5,\n" + url +
            "\n#EXT-X-ENDLIST\n",
        std::string("GIF89a") + std::string(5000, '\xff'), std::string("RIFF\1\0\0\0WAVE", 12),
        std::string("P"), std::string()}) {
    const std::string file = write("list.png", text);
    for (const char* property : {"background-image", "exclusion-image", "replace-image"}) {
      EXPECT_NE(error_of(property, file).find("is not a PNG, JPEG, WebP or PNM picture"),
                std::string::npos)
          << text;
    }
  }
  EXPECT_LT(accept(server, nullptr, nullptr), 0) << "the element requested " << url;
  close(server);
}

TEST_F(GraphCutPropertyFiles, PictureWithWrongSuffix_FormatIsDetectedByContent) {
  for (const char* encoder : {"pngenc", "jpegenc", "webpenc", "pnmenc"}) {
    GstElementFactory* factory = gst_element_factory_find(encoder);
    if (!factory) continue;
    gst_object_unref(factory);
    const PictureFile picture = load_picture(encoded("picture.txt", encoder), {}, {});
    ASSERT_EQ(picture.size, (Size{32, 16})) << encoder;
    EXPECT_NEAR(static_cast<int>(picture.pixels[100]), 0x3f, 8) << encoder;
  }
  // A file that ends early gives an error or a picture.
  const std::string whole = read(encoded("whole.png", "pngenc"));
  for (size_t cut = 8; cut < whole.size(); cut += whole.size() / 10) {
    try {
      load_picture(write("cut.png", whole.substr(0, cut)), {}, {});
    } catch (const InputError& error) {
      EXPECT_NE(std::string(error.what()).find("cut.png"), std::string::npos);
    }
  }
}

// GStreamer's decoder would search for the end of this picture forever.
TEST_F(GraphCutPropertyFiles, LoadPicture_JpegWithoutEnd_Throws) {
  const std::string file =
      write("endless.jpg", "\xff\xd8\xff\xd8\xff\x4e\x6c\x4e\x6c\xaf\xff\xff\xff");
  EXPECT_THROW(load_picture(file, {}, {}), InputError);
}

TEST_F(GraphCutPropertyFiles, PictureWithTooManyPixels_IsRefused) {
  const std::string file = write("wide.pnm", "P5 40000 40000 255\n" + std::string(40000, 'x'));
  EXPECT_NE(error_of("replace-image", file).find("16384"), std::string::npos);
}

TEST_F(GraphCutPropertyFiles, LoadPicture_StopRequestedBefore_ThrowsInterrupted) {
  std::stop_source stop;
  stop.request_stop();
  const std::string file = encoded("picture.png", "pngenc");
  try {
    load_picture(file, {}, stop.get_token());
    FAIL() << "was not interrupted";
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("interrupted"), std::string::npos) << error.what();
  }
  EXPECT_EQ(load_picture(file, {}, {}).size.width, 32);
}

// Links have the names of possible temporary files and of the model.
TEST_F(GraphCutPropertyFiles, ModelFileIsSymbolicLink_LinkIsReplacedAndItsTargetUnchanged) {
  const std::string model = path("model"), victim = write("victim", "precious");
  for (const char* name : {"model.part", "model.tmp", "model~", "model"}) {
    fs::create_symlink(victim, path(name));
  }
  const std::vector<std::byte> bytes(1000, std::byte{7});
  write_file(model, bytes);
  EXPECT_EQ(read(victim), "precious");
  EXPECT_FALSE(fs::is_symlink(model));
  EXPECT_EQ(fs::file_size(model), 1000u);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), {}), 5) << "a temporary file is left";
  const mode_t mask = umask(0);
  umask(mask);
  struct stat about = {};
  ASSERT_EQ(stat(model.c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 0777, 0666 & ~mask);

  fs::remove(model);
  {
    Harness h("graphcutbg output=mask model-location=" + model);
    h.video("GRAY8", kWidth, kHeight);
    ASSERT_TRUE(last_of(h));
  }
  EXPECT_EQ(read(victim), "precious");
  EXPECT_GT(fs::file_size(model), 1000u);
}

TEST_F(GraphCutPropertyFiles, WriteFile_UnwritablePath_ThrowsAndLeavesNoTemporaryFile) {
  const std::vector<std::byte> bytes(10, std::byte{7});
  EXPECT_THROW(write_file(path("no/such/folder"), bytes), InputError);
  fs::create_directory(path("folder"));
  EXPECT_THROW(write_file(path("folder"), bytes), InputError);
  EXPECT_TRUE(fs::is_directory(path("folder")));
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), {}), 1) << "a temporary file is left";
}

}  // namespace
}  // namespace regions::test

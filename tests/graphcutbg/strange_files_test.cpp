// Files that graphcutbg's properties may name by mistake or by malice: nothing is waited for,
// nothing is fetched, and no file but the named one is written.
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "core/error.hpp"
#include "plugin/files/property_files.hpp"
#include "tests/graphcutbg/room.hpp"

namespace regions::test {
namespace {

namespace fs = std::filesystem;

class StrangeFiles : public testing::Test {
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
  // The error of an element that is given the file.
  static std::string error_of(const std::string& property, const std::string& file) {
    Harness h("graphcutbg output=replace");
    g_object_set(h.element(), property.c_str(), file.c_str(), nullptr);
    if (property == "replace-image") {
      gst_util_set_object_arg(G_OBJECT(h.element()), "replace-with", "image");
    }
    h.video("GRAY8", kWidth, kHeight);
    EXPECT_NE(h.push(room(false)), GST_FLOW_OK) << property << "=" << file;
    return h.error_text();
  }
  // What GStreamer's encoder makes of a small grey picture.
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

  fs::path folder_;
};

constexpr const char* kProperties[] = {"model-location", "background-image", "exclusion-image",
                                       "replace-image"};

TEST_F(StrangeFiles, WhatIsNoRegularFileIsRefused) {
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

// Holes take no room on the disk.
TEST_F(StrangeFiles, LargeFilesAreNotReadToTheirEnd) {
  const std::string picture = write("large.png", "\x89PNG\r\n\x1a\n"),
                    model = write("model", "GCBM");
  fs::resize_file(picture, uintmax_t{1} << 32);
  fs::resize_file(model, uintmax_t{1} << 32);
  EXPECT_NE(error_of("replace-image", picture).find("larger than 256 MiB"), std::string::npos);
  EXPECT_NE(error_of("model-location", model).find("background model"), std::string::npos);
  EXPECT_EQ(read_file(model, 7)->size(), 7u);
  EXPECT_FALSE(read_file(path("none"), 7));
}

TEST_F(StrangeFiles, PlaylistsAreNoPicturesAndNothingIsFetched) {
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
  EXPECT_LT(accept(server, nullptr, nullptr), 0) << "a request came for " << url;
  close(server);
}

TEST_F(StrangeFiles, KindsAreToldByTheirContent) {
  for (const char* encoder : {"pngenc", "jpegenc", "webpenc", "pnmenc"}) {
    GstElementFactory* factory = gst_element_factory_find(encoder);
    if (!factory) continue;
    gst_object_unref(factory);
    const PictureFile picture = load_picture(encoded("picture.txt", encoder), {}, {});
    ASSERT_EQ(picture.size, (Size{32, 16})) << encoder;
    EXPECT_NEAR(static_cast<int>(picture.pixels[100]), 0x3f, 8) << encoder;
  }
  // Ten kinds of damage to one file: an error or a picture, and soon.
  const std::string whole = read(encoded("whole.png", "pngenc"));
  for (size_t cut = 8; cut < whole.size(); cut += whole.size() / 10) {
    try {
      load_picture(write("cut.png", whole.substr(0, cut)), {}, {});
    } catch (const InputError& error) {
      EXPECT_NE(std::string(error.what()).find("cut.png"), std::string::npos);
    }
  }
}

// Two pictures seem to begin and none ends: GStreamer's decoder would look for an end for ever.
TEST_F(StrangeFiles, AJpegWithoutEndIsAnError) {
  const std::string file =
      write("endless.jpg", "\xff\xd8\xff\xd8\xff\x4e\x6c\x4e\x6c\xaf\xff\xff\xff");
  EXPECT_THROW(load_picture(file, {}, {}), InputError);
}

TEST_F(StrangeFiles, AnymapsAreReadOrRefused) {
  const auto pixels = [&](const std::string& text) {
    const PictureFile picture = load_picture(write("a.pnm", text), {}, {});
    std::string values = std::to_string(picture.size.width) + ":";
    for (const std::byte b : picture.pixels) values += " " + std::to_string(static_cast<int>(b));
    return values;
  };
  EXPECT_EQ(pixels("P1\n# two\n2 1 10"), "2: 0 0 0 255 255 255");
  EXPECT_EQ(pixels(std::string("P4 9 2\n") + "\x7f\x80" + std::string(2, '\0')).substr(0, 19),
            "9: 255 255 255 0 0 ");
  EXPECT_EQ(pixels("P2 2 1 15 0 3\n"), "2: 0 0 0 51 51 51");
  EXPECT_EQ(pixels("P3 1 1\n255 1 2 3"), "1: 1 2 3");
  EXPECT_EQ(pixels(std::string("P5 1 2 65535\n") + "\x80" + std::string(1, '\0') + "\xff\xff"),
            "1: 128 128 128 255 255 255");
  EXPECT_EQ(pixels("P6 1 1 255\n\x01\x02\x03"), "1: 1 2 3");
  EXPECT_EQ(load_picture(write("a.pnm", "P5 2 2 255\nabcd"), {7, 5}, {}).size, (Size{7, 5}));
  for (const std::string text : {"P4\n2  # 32\xed", "P5 2 2 255\nabc", "P2 1 1 3 4", "P1 2 1 12",
                                 "P3 1 1 255 1 2", "P5 0 1 9 ", "P5 1 1 0 a", "P5 1 1 65536 aa",
                                 "P6 -1 1 255 aaa", "P5 99999999999 1 255 a", "P5 ", "P4 1"}) {
    const std::string error = error_of("replace-image", write("bad.pnm", text));
    EXPECT_NE(error.find("bad.pnm"), std::string::npos) << text << ": " << error;
  }
}

// 40000x40000 pixels in a header.
TEST_F(StrangeFiles, PicturesOfManyPixelsAreRefused) {
  const std::string file = write("wide.pnm", "P5 40000 40000 255\n" + std::string(40000, 'x'));
  EXPECT_NE(error_of("replace-image", file).find("16384"), std::string::npos);
}

TEST_F(StrangeFiles, WaitingEndsWhenTheElementIsToStop) {
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

// Links of the names that a temporary file might have, and of the model's own.
TEST_F(StrangeFiles, ModelsAreWrittenThroughNoLink) {
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

TEST_F(StrangeFiles, AModelThatCannotBeWrittenLeavesTheOldOne) {
  const std::vector<std::byte> bytes(10, std::byte{7});
  EXPECT_THROW(write_file(path("no/such/folder"), bytes), InputError);
  fs::create_directory(path("folder"));
  EXPECT_THROW(write_file(path("folder"), bytes), InputError);
  EXPECT_TRUE(fs::is_directory(path("folder")));
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), {}), 1) << "a temporary file is left";
}

}  // namespace
}  // namespace regions::test

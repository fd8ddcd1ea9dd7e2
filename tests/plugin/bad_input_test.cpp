// Unusual and wrong input: GstVideoMeta and region metadata with any values, the smallest pictures,
// and random streams. The result is right, or an element error; never a crash.
#include <algorithm>

#include "tests/plugin/elements.hpp"
#include "tests/plugin/moving_square.hpp"
#include "tests/plugin/region_structures.hpp"

namespace regions::test {
namespace {

// GStreamer reports programming errors by critical messages, which end the process while this
// exists.
class FatalCriticals {
 public:
  FatalCriticals() = default;
  FatalCriticals(const FatalCriticals&) = delete;
  ~FatalCriticals() { g_log_set_always_fatal(before_); }

 private:
  const GLogLevelFlags before_ =
      g_log_set_always_fatal(static_cast<GLogLevelFlags>(G_LOG_FATAL_MASK | G_LOG_LEVEL_CRITICAL));
};

// ---- GstVideoMeta

GstVideoInfo info_of(const char* format, int width, int height) {
  start_gstreamer();
  GstVideoInfo info;
  gst_video_info_set_format(&info, gst_video_format_from_string(format), static_cast<guint>(width),
                            static_cast<guint>(height));
  return info;
}

// A buffer whose GstVideoMeta describes plane `p` by this offset and stride (bytes).
GstBuffer* buffer_with_plane(const GstVideoInfo& info, guint p, gsize offset, gint stride) {
  GstBuffer* buffer = gst_buffer_new_allocate(nullptr, GST_VIDEO_INFO_SIZE(&info), nullptr);
  gst_buffer_memset(buffer, 0, 100, GST_VIDEO_INFO_SIZE(&info));
  gsize offsets[GST_VIDEO_MAX_PLANES] = {};
  gint strides[GST_VIDEO_MAX_PLANES] = {};
  for (guint i = 0; i < GST_VIDEO_INFO_N_PLANES(&info); ++i) {
    offsets[i] = i == p ? offset : GST_VIDEO_INFO_PLANE_OFFSET(&info, i);
    strides[i] = i == p ? stride : GST_VIDEO_INFO_PLANE_STRIDE(&info, i);
  }
  gst_buffer_add_video_meta_full(buffer, GST_VIDEO_FRAME_FLAG_NONE, GST_VIDEO_INFO_FORMAT(&info),
                                 static_cast<guint>(GST_VIDEO_INFO_WIDTH(&info)),
                                 static_cast<guint>(GST_VIDEO_INFO_HEIGHT(&info)),
                                 GST_VIDEO_INFO_N_PLANES(&info), offsets, strides);
  return buffer;
}

TEST(VideoMeta, WrongOffsetOrStride_IsAnError) {
  for (const char* format : {"GRAY8", "NV12", "I420", "RGB"}) {
    const GstVideoInfo info = info_of(format, kWidth, kHeight);
    const gsize size = GST_VIDEO_INFO_SIZE(&info);
    const guint p = GST_VIDEO_INFO_N_PLANES(&info) - 1;
    const gsize offset = GST_VIDEO_INFO_PLANE_OFFSET(&info, p);
    const gint stride = GST_VIDEO_INFO_PLANE_STRIDE(&info, p);
    for (const std::string& line : with_all_elements(
             {"cclabel", "cclabel output=labels depth=2 connectivity=6", "cclabel output=none",
              "graphcutbg process-scale=0.5", "slicsuperpixel output=mean left=8"})) {
      Harness h(line);
      for (const auto& [at, row] : {std::pair{offset, stride + 1},
                                    {offset, 1 << 20},
                                    {offset, G_MAXINT},
                                    {offset + 1, stride},
                                    {size - 1, stride},
                                    {size, stride},
                                    {size + 4096, stride},
                                    {gsize{G_MAXSSIZE}, stride},
                                    {G_MAXSIZE - 3, stride},
                                    {0, -stride},
                                    {offset, G_MININT},
                                    {offset, stride - 8},
                                    {offset, 0}}) {
        const std::string where = line + ", " + format + " at " + std::to_string(at) + ", " +
                                  std::to_string(row) + " bytes per row";
        h.video(format, kWidth, kHeight);
        EXPECT_EQ(gst_harness_push(h.get(), buffer_with_plane(info, p, at, row)), GST_FLOW_ERROR)
            << where;
        EXPECT_PRED2(contains, h.error_text(), "buffer") << where;
        h.flush();
      }
    }
  }
}

// GStreamer's own functions post a critical message for each of these.
TEST(VideoMeta, ContradictsTheCaps_IsOneErrorWithoutGLibCriticals) {
  struct Bad {
    void (*change)(GstVideoMeta&);
    const char* says;
  };
  const Bad kinds[] = {{[](GstVideoMeta& m) { m.n_planes = 0; }, "0 planes"},
                       {[](GstVideoMeta& m) { m.n_planes = 1; }, "1 planes"},
                       {[](GstVideoMeta& m) { m.n_planes = 3; }, "3 planes"},
                       {[](GstVideoMeta& m) { m.n_planes = G_MAXUINT; }, "4294967295 planes"},
                       {[](GstVideoMeta& m) { m.format = GST_VIDEO_FORMAT_I420; }, "I420"},
                       {[](GstVideoMeta& m) { m.format = GST_VIDEO_FORMAT_UNKNOWN; }, "number 0"},
                       {[](GstVideoMeta& m) { m.format = GST_VIDEO_FORMAT_ENCODED; }, "ENCODED"},
                       {[](GstVideoMeta& m) { m.width = 63; }, "63x48"},
                       {[](GstVideoMeta& m) { m.height = 0; }, "64x0"},
                       {[](GstVideoMeta& m) { m.map = nullptr; }, "maps its planes"},
                       {[](GstVideoMeta& m) { m.unmap = nullptr; }, "maps its planes"},
                       {[](GstVideoMeta& m) { m.stride[1] = 0; }, "overlap"},
                       {[](GstVideoMeta& m) { m.stride[0] = G_MININT; }, "2 GiB or more apart"},
                       {[](GstVideoMeta& m) { m.offset[1] = G_MAXSIZE; }, "cannot be mapped"}};
  for (const std::string& line :
       with_all_elements({"cclabel output=labels", "cclabel output=none", "graphcutbg output=mask",
                          "cclabel depth=2 connectivity=6 output=none"})) {
    for (const auto& [change, says] : kinds) {
      SCOPED_TRACE(line + ", " + says);
      Harness h(line);
      h.video("NV12", kWidth, kHeight);
      GstBuffer* buffer = Harness::buffer(std::vector<uint8_t>(kWidth * kHeight * 2));
      change(*gst_buffer_add_video_meta(buffer, GST_VIDEO_FRAME_FLAG_NONE, GST_VIDEO_FORMAT_NV12,
                                        kWidth, kHeight));
      const FatalCriticals fatal;
      EXPECT_EQ(gst_harness_push(h.get(), buffer), GST_FLOW_ERROR);
      const std::string text = h.error_text();
      EXPECT_PRED2(contains, text, "buffer");
      EXPECT_PRED2(contains, text, says);
      EXPECT_FALSE(h.has_error()) << "one error";
    }
  }
}

TEST(VideoMeta, OtherFormatOrSmallerPicture_IsAnErrorWithoutGLibCriticals) {
  for (const auto& [format, width, height, text] :
       {std::tuple{GST_VIDEO_FORMAT_RGB, 64u, 48u, "format"},
        {GST_VIDEO_FORMAT_GRAY8, 60u, 48u, "smaller"},
        {GST_VIDEO_FORMAT_GRAY8, 64u, 47u, "smaller"}}) {
    GrayHarness h("cclabel");
    GstBuffer* buffer = Harness::buffer(std::vector<uint8_t>(kWidth * kHeight * 3));
    gst_buffer_add_video_meta(buffer, GST_VIDEO_FRAME_FLAG_NONE, format, width, height);
    const FatalCriticals fatal;
    EXPECT_EQ(gst_harness_push(h.get(), buffer), GST_FLOW_ERROR) << text;
    EXPECT_PRED2(contains, h.error_text(), text);
  }
}

TEST(VideoMeta, NegativeStride_RowsAreReadFromBottomToTop) {
  GrayHarness h("cclabel output=mask threshold=0.5");
  GstBuffer* upwards =
      buffer_with_plane(info_of("GRAY8", kWidth, kHeight), 0, (kHeight - 1) * kWidth, -kWidth);
  gst_buffer_memset(upwards, (kHeight - 1) * kWidth, 200, kWidth);  // the first row
  ASSERT_EQ(gst_harness_push(h.get(), upwards), GST_FLOW_OK);
  const BufferPtr out = h.pull();
  ASSERT_TRUE(out);
  const std::vector<uint8_t> mask = bytes_of(out.get());
  EXPECT_EQ(std::count(mask.begin(), mask.begin() + kWidth, 255), kWidth);
  EXPECT_EQ(std::count(mask.begin() + kWidth, mask.end(), 255), 0);
}

// If the padding were read, it would be a large region.
TEST(VideoMeta, PaddedRows_PaddingIsNotARegion) {
  constexpr size_t kPitch = 96;
  std::vector<uint8_t> padded(kPitch * kHeight, 255);
  const std::vector<uint8_t> plain = gray_with_square();
  for (size_t y = 0; y < kHeight; ++y) {
    std::copy_n(&plain[y * kWidth], kWidth, &padded[y * kPitch]);
  }
  for (const char* output : {"none", "overlay", "labels"}) {
    GrayHarness h(std::string("cclabel output=") + output);
    GstBuffer* in = Harness::buffer(padded);
    gsize offset[] = {0, 0, 0, 0};
    gint stride[] = {kPitch, 0, 0, 0};
    gst_buffer_add_video_meta_full(in, GST_VIDEO_FRAME_FLAG_NONE, GST_VIDEO_FORMAT_GRAY8, kWidth,
                                   kHeight, 1, offset, stride);
    ASSERT_EQ(gst_harness_push(h.get(), in), GST_FLOW_OK);
    const BufferPtr out = h.pull();
    EXPECT_EQ(region_count(regions_of(out.get())), 1u) << output;
    if (std::string(output) == "overlay") {
      EXPECT_EQ(bytes_of(out.get())[kWidth + 5], 255);
    }
  }
}

// ---- region metadata from other programs

// A frame of value 20. Its metadata has one region, in a picture of that size, and these labels.
GstBuffer* frame_with(const Box& box, int width = kWidth, int height = kHeight,
                      GstBuffer* labels = nullptr) {
  start_gstreamer();
  GstBuffer* buffer = Harness::buffer(std::vector<uint8_t>(kWidth * kHeight, 20));
  GstStructure* s = add_regions(buffer);
  gst_structure_set(s, "width", G_TYPE_INT, width, "height", G_TYPE_INT, height, nullptr);
  set_regions(s, {box_structure(box, 1u)});
  if (labels) {
    gst_structure_set(s, "labels", GST_TYPE_BUFFER, labels, "labels-format", G_TYPE_STRING,
                      "U32_LE", nullptr);
    gst_buffer_unref(labels);
  }
  return buffer;
}

std::vector<uint8_t> drawn(const std::string& line, GstBuffer* frame) {
  GrayHarness h(line);
  EXPECT_EQ(gst_harness_push(h.get(), frame), GST_FLOW_OK) << line;
  const BufferPtr out = h.pull();
  EXPECT_TRUE(out) << line << h.error_text();
  return out ? bytes_of(out.get()) : std::vector<uint8_t>(kWidth * kHeight);
}

TEST(BoxInMetadata, MetadataOfOtherPictureSize_BoxIsScaled) {
  struct Case {
    Box box;
    int width, height;
    Box scaled;
  };
  const std::string line = "regionoverlay thickness=1 style=boxes";
  for (const Case& c : {Case{{20, 10, 30, 20}, 128, 96, {10, 5, 15, 10}},
                        {{5, 4, 7, 6}, 32, 24, {10, 8, 14, 12}},
                        {{5, 4, 7, 6}, 64, 24, {5, 8, 7, 12}},
                        {{5, 4, 7, 6}, 32, 48, {10, 4, 14, 6}},
                        {{21, 11, 1, 1}, 128, 96, {10, 5, 1, 1}},
                        {{20, 10, 5, 5}, 192, 144, {6, 3, 2, 2}},
                        {{8, 8, 0, 0}, 64, 48, {8, 8, 1, 1}}}) {
    EXPECT_EQ(drawn(line, frame_with(c.box, c.width, c.height)), drawn(line, frame_with(c.scaled)))
        << c.box.x << ", " << c.box.y << " of " << c.width << "x" << c.height;
    EXPECT_NE(drawn(line, frame_with(c.scaled)), std::vector<uint8_t>(kWidth * kHeight, 20));
  }
}

// The number next to a box is the track, or the id of a region without a track.
TEST(NumberAtBox, DrawnNumber_IsTheTrackOfARegionWithATrackAndElseItsId) {
  const auto with = [](guint id, int track) {
    GstBuffer* frame = frame_with({20, 20, 20, 20});
    auto* region = const_cast<GstStructure*>(region_of(regions_of(frame), 0));
    gst_structure_set(region, "id", G_TYPE_UINT, id, nullptr);
    if (track >= 0) {
      gst_structure_set(region, "track", G_TYPE_UINT, static_cast<guint>(track), nullptr);
    }
    return drawn("regionoverlay style=ids", frame);
  };
  EXPECT_EQ(with(7, -1), with(1, 7));
  EXPECT_EQ(with(7, 7), with(1, 7));
  EXPECT_NE(with(7, 1), with(7, 7));
}

// A box with extreme numbers looks the same as a box that ends far outside the picture.
TEST(BoxInMetadata, ExtremeCoordinates_BoxIsClippedToThePicture) {
  constexpr int kFar = 4 * kWidth;
  const std::pair<Box, Box> boxes[] = {
      {{10, 10, G_MAXINT, 5}, {10, 10, kFar, 5}},
      {{10, 10, 5, G_MAXINT}, {10, 10, 5, kFar}},
      {{G_MININT, 10, G_MAXINT, 5}, {-kFar, 10, kFar - 10, 5}},
      {{G_MAXINT, G_MAXINT, G_MAXINT, G_MAXINT}, {kFar, kFar, kFar, kFar}},
      {{G_MININT, G_MININT, G_MININT, G_MININT}, {-kFar, -kFar, -kFar, -kFar}}};
  for (const char* line :
       {"regionoverlay style=boxes", "regionoverlay style=boxes+ids left=8 top=4",
        "regionoverlay style=boxes left=8 process-scale=0.5"}) {
    for (const auto& [strange, plain] : boxes) {
      EXPECT_EQ(drawn(line, frame_with(strange)), drawn(line, frame_with(plain)))
          << line << ": " << strange.x << ", " << strange.y << ", " << strange.width << "x"
          << strange.height;
    }
    const auto open = drawn(line, frame_with({10, 10, G_MAXINT, 5}));
    EXPECT_NE(open[10 * kWidth + 50], 20) << line << ": the upper edge";
  }
  // The size of the picture in the metadata is extreme, too.
  for (const auto& [width, height] : {std::pair{1, 1}, {G_MAXINT, G_MAXINT}, {1, G_MAXINT}}) {
    drawn("regionoverlay", frame_with({G_MAXINT, G_MININT, 3, G_MAXINT}, width, height));
  }
}

const char* const kReadersOfLabels[] = {"regionoverlay style=outlines+fill",
                                        "cclabel source=mask output=mask", "graphcutbg source=mask",
                                        "cclabel source=mask process-scale=0.5"};

// Memory that is part of larger memory can begin at any byte.
TEST(LabelMapInMetadata, UnalignedMemory_IsAnError) {
  constexpr gsize kBytes = kWidth * kHeight * sizeof(uint32_t);
  for (const char* line : kReadersOfLabels) {
    for (const gsize offset : {0, 1, 2, 3, 4}) {
      const BufferPtr whole(gst_buffer_new_allocate(nullptr, kBytes + 8, nullptr));
      gst_buffer_memset(whole.get(), 0, 0, kBytes + 8);
      GstBuffer* part = gst_buffer_copy_region(whole.get(), GST_BUFFER_COPY_MEMORY, offset, kBytes);
      GrayHarness h(line);
      GstBuffer* frame = frame_with({3, 3, 9, 9}, kWidth, kHeight, part);
      const bool is_aligned = offset % sizeof(uint32_t) == 0;
      EXPECT_EQ(gst_harness_push(h.get(), frame), is_aligned ? GST_FLOW_OK : GST_FLOW_ERROR)
          << line << " " << offset;
      if (!is_aligned) {
        EXPECT_PRED2(contains, h.error_text(), "label map") << line;
      }
    }
  }
}

// The product of the sides can be as small as the map, and sides can be impossible.
TEST(LabelMapInMetadata, ImpossibleSize_ElementsThatReadTheMapPostAnError) {
  std::vector<std::string> lines(std::begin(kReadersOfLabels), std::end(kReadersOfLabels));
  lines.emplace_back("slicsuperpixel output=overlay left=8");
  for (const std::string& line : lines) {
    for (const auto& [width, height] : {std::pair{-1, -1},
                                        {-kWidth, -kHeight},
                                        {0, 0},
                                        {0, kHeight},
                                        {-1, 1},
                                        {1, G_MININT},
                                        {G_MAXINT, G_MAXINT}}) {
      GrayHarness h(line);
      GstBuffer* labels = Harness::buffer(std::vector<uint8_t>(kWidth * kHeight * 4, 1));
      GstBuffer* frame = frame_with({3, 3, 9, 9}, kWidth, kHeight, labels);
      gst_structure_set(const_cast<GstStructure*>(regions_of(frame)), "labels-width", G_TYPE_INT,
                        width, "labels-height", G_TYPE_INT, height, nullptr);
      const bool reads = !line.starts_with("slicsuperpixel");
      EXPECT_EQ(gst_harness_push(h.get(), frame), reads ? GST_FLOW_ERROR : GST_FLOW_OK)
          << line << " " << width << "x" << height;
    }
  }
}

// ---- pictures

TEST(SmallestPicture, BrightPicturesOf1To15Pixels_EveryFormatAndOutput_AreOneRegion) {
  for (const char* output : {"overlay", "labels", "mask", "colors", "none"}) {
    Harness h(std::string("cclabel threshold=0 output=") + output);
    for (const auto& [width, height] : {std::pair{1, 1}, {1, 9}, {9, 1}, {2, 2}, {3, 5}}) {
      for (const char* format : {"GRAY8", "GRAY16_LE", "NV12", "I420", "P010_10LE", "YUY2", "UYVY",
                                 "RGBA", "BGRA", "RGBx", "BGRx", "RGB", "BGR"}) {
        h.video(format, width, height);
        const GstVideoInfo info = info_of(format, width, height);
        ASSERT_EQ(h.push(std::vector<uint8_t>(GST_VIDEO_INFO_SIZE(&info), 128)), GST_FLOW_OK)
            << format << " " << width << "x" << height << " " << output;
        const BufferPtr out = h.pull();
        ASSERT_TRUE(out);
        EXPECT_EQ(region_field(regions_of(out.get()), 0, "area"), std::to_string(width * height))
            << format << " " << width << "x" << height << " " << output;
      }
    }
  }
}

// ---- random caps, properties, contents and events, within the ranges of the properties

// Random numbers from a counter, so that a failing seed can be repeated alone.
class Dice {
 public:
  explicit Dice(uint64_t seed) : state_(seed * 0x9E3779B97F4A7C15u + 1) {}
  uint64_t next() {  // splitmix64
    uint64_t z = state_ += 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  }
  int below(int n) { return static_cast<int>(next() % static_cast<uint64_t>(n)); }
  double unit() { return static_cast<double>(next() >> 11) / 9007199254740992.0; }

 private:
  uint64_t state_;
};

// Sets a property to a random value of its specification.
void roll(GObject* object, GParamSpec* spec, Dice& dice) {
  GValue value = G_VALUE_INIT;
  g_value_init(&value, spec->value_type);
  if (G_IS_PARAM_SPEC_DOUBLE(spec)) {
    auto* s = G_PARAM_SPEC_DOUBLE(spec);
    g_value_set_double(&value, s->minimum + dice.unit() * (s->maximum - s->minimum));
  } else if (G_IS_PARAM_SPEC_INT(spec)) {
    auto* s = G_PARAM_SPEC_INT(spec);
    const int span = std::min(s->maximum - s->minimum, 99);  // larger numbers only need more memory
    g_value_set_int(&value, s->minimum + dice.below(span + 1));
  } else if (G_IS_PARAM_SPEC_INT64(spec)) {
    g_value_set_int64(&value, dice.below(3) ? dice.below(40) : 0);
  } else if (G_IS_PARAM_SPEC_ENUM(spec)) {
    auto* s = G_PARAM_SPEC_ENUM(spec)->enum_class;
    g_value_set_enum(&value, s->values[dice.below(static_cast<int>(s->n_values))].value);
  } else if (G_IS_PARAM_SPEC_FLAGS(spec)) {
    g_value_set_flags(
        &value, static_cast<guint>(dice.below(16)) & G_PARAM_SPEC_FLAGS(spec)->flags_class->mask);
  } else if (G_IS_PARAM_SPEC_BOOLEAN(spec)) {
    g_value_set_boolean(&value, dice.below(2));
  } else {
    g_value_unset(&value);
    return;
  }
  g_object_set_property(object, spec->name, &value);
  g_value_unset(&value);
}

void roll_all(GstElement* element, Dice& dice, bool playing) {
  guint count = 0;
  GParamSpec** specs = g_object_class_list_properties(G_OBJECT_GET_CLASS(element), &count);
  for (guint i = 0; i < count; ++i) {
    const char* name = specs[i]->name;
    const bool own = specs[i]->owner_type == G_OBJECT_TYPE(element);
    // The device depends on the machine.
    if (!own || !(specs[i]->flags & G_PARAM_WRITABLE) || g_str_has_prefix(name, "device") ||
        g_str_has_prefix(name, "cuda") || g_str_has_prefix(name, "cpu") || dice.below(3) == 0) {
      continue;
    }
    if (playing && !(specs[i]->flags & GST_PARAM_MUTABLE_PLAYING)) continue;
    roll(G_OBJECT(element), specs[i], dice);
  }
  g_free(specs);
  if (!playing) g_object_set(element, "frames-in-flight", dice.below(4), nullptr);
  // Most rectangles begin inside the picture.
  g_object_set(element, "left", dice.below(4), "top", dice.below(3), nullptr);
}

struct Shape {
  const char* format;
  int width, height;
  size_t bytes;
};

Shape roll_shape(Dice& dice) {
  static const char* formats[] = {"NV12", "I420", "P010_10LE", "YUY2", "UYVY",  "RGBA",     "BGRA",
                                  "RGBx", "BGRx", "RGB",       "BGR",  "GRAY8", "GRAY16_LE"};
  Shape shape = {formats[dice.below(13)], 1 + dice.below(140), 1 + dice.below(90), 0};
  const GstVideoInfo info = info_of(shape.format, shape.width, shape.height);
  shape.bytes = GST_VIDEO_INFO_SIZE(&info);
  return shape;
}

std::vector<uint8_t> roll_picture(const Shape& shape, Dice& dice) {
  std::vector<uint8_t> bytes(shape.bytes);
  const int kind = dice.below(3);
  const auto flat = static_cast<uint8_t>(dice.below(256));
  for (uint8_t& b : bytes)
    b = kind == 0 ? flat
                  : static_cast<uint8_t>(dice.below(kind == 1 ? 2 : 256) * (kind == 1 ? 255 : 1));
  return bytes;
}

class RandomStream : public ::testing::TestWithParam<int> {};

TEST_P(RandomStream, RandomSettingsAndCaps_EachFrameLeavesUnlessAnErrorIsPosted) {
  for (int round = 0; round < 30; ++round) {
    Dice dice(static_cast<uint64_t>(GetParam() * 1000 + round));
    const bool chain = dice.below(2);
    Harness h(chain ? "cclabel ! regionoverlay name=second" : "cclabel");
    roll_all(h.element(), dice, false);
    if (chain) {
      g_object_set(h.element(), "output", dice.below(2) ? 0 : 4, nullptr);
      GstElement* second = gst_harness_find_element(h.get(), "regionoverlay");
      roll_all(second, dice, false);
      gst_object_unref(second);
    }
    int accepted = 0;
    bool refused = false;
    for (int stretch = 0; stretch < 3 && !refused; ++stretch) {
      const Shape shape = roll_shape(dice);
      h.video(shape.format, shape.width, shape.height);
      for (int i = 0; i < 4 && !refused; ++i) {
        roll_all(h.element(), dice, true);
        refused = h.push(roll_picture(shape, dice), accepted) != GST_FLOW_OK;
        if (!refused) ++accepted;
      }
    }
    h.eos();
    const bool error = h.has_error();
    EXPECT_TRUE(!refused || error)
        << "refused without an error, seed " << GetParam() << "/" << round;
    if (!error) {
      EXPECT_EQ(h.waiting(), static_cast<guint>(accepted)) << "seed " << GetParam() << "/" << round;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomStream, ::testing::Range(0, 10));

}  // namespace
}  // namespace regions::test

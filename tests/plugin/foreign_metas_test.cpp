// Masks and objects that other elements attach: segmentations of GStreamer's analytics library (or
// of the fake library for older versions), and the alpha channel.
#include <gst/video/video.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "plugin/metadata/standard_metas.hpp"
#include "tests/plugin/error_details.hpp"
#include "tests/plugin/harness.hpp"

namespace regions::test {
namespace {

using Library = AnalyticsLibrary;
constexpr int kWidth = 44, kHeight = 30;

#define NEEDS_SEGMENTATION(library)                                         \
  const Library* const library = (start_gstreamer(), Library::find());      \
  if (!library || !library->segmentation_type)                              \
  GTEST_SKIP() << "no segmentation here: it is part of GStreamer 1.26, or " \
                  "of the fake library of the tests fake-analytics"

// A segmentation as a decoder of a neural network attaches it.
struct Segments {
  int width = kWidth, height = kHeight;  // samples
  gint x = 0, y = 0;                     // position in the frame
  guint across = kWidth, down = kHeight;
  GstVideoFormat format = GST_VIDEO_FORMAT_GRAY8;
  int stride = 0;  // 0: that of the samples
  bool has_meta = true;
  size_t missing_bytes = 0;  // at the end of the buffer
  std::vector<uint8_t> values = {};
  GstBufferPool* pool = nullptr;  // the values are written without padding into a buffer of it

  // Sets the samples of a rectangle.
  Segments with(int left, int top, int right, int bottom, uint8_t value) const {
    Segments changed = *this;
    changed.values.resize(static_cast<size_t>(width * height));
    for (int row = top; row < bottom; ++row) {
      for (int column = left; column < right; ++column) {
        changed.values[static_cast<size_t>(row * width + column)] = value;
      }
    }
    return changed;
  }
};

// A buffer of the pool that begins with these bytes.
GstBuffer* in_buffer_of(GstBufferPool* pool, const std::vector<uint8_t>& bytes) {
  GstBuffer* buffer = nullptr;
  EXPECT_EQ(gst_buffer_pool_acquire_buffer(pool, &buffer, nullptr), GST_FLOW_OK);
  gst_buffer_memset(buffer, 0, 0, gst_buffer_get_size(buffer));
  gst_buffer_fill(buffer, 0, bytes.data(), bytes.size());
  return buffer;
}

void attach(const Library& library, GstBuffer* frame, const Segments& segments) {
  const int bytes = segments.format == GST_VIDEO_FORMAT_GRAY16_LE ? 2 : 1;
  std::vector<uint8_t> data;
  for (const uint8_t value : segments.values) {
    data.push_back(value);
    if (bytes == 2) data.push_back(1);  // 256 more
  }
  data.resize(data.size() - segments.missing_bytes);
  GstBuffer* map = segments.pool ? in_buffer_of(segments.pool, data) : Harness::buffer(data);
  gsize offset[GST_VIDEO_MAX_PLANES] = {};
  gint stride[GST_VIDEO_MAX_PLANES] = {segments.stride ? segments.stride : segments.width * bytes};
  if (segments.pool) {
    GstVideoMeta* meta = gst_buffer_get_video_meta(map);
    meta->width = static_cast<guint>(segments.width);
    meta->height = static_cast<guint>(segments.height);
  } else if (segments.has_meta) {
    gst_buffer_add_video_meta_full(map, GST_VIDEO_FRAME_FLAG_NONE, segments.format,
                                   static_cast<guint>(segments.width),
                                   static_cast<guint>(segments.height), 1, offset, stride);
  }
  RelationMeta* meta = library.get(frame);
  const RelationSpace space = {4, 4000};
  if (!meta) meta = library.add(frame, &space);
  std::vector<guint> ids(256);
  for (guint i = 0; i < ids.size(); ++i) ids[i] = i;
  AnalyticsEntry entry;
  ASSERT_TRUE(library.add_segmentation(meta, map, 0, ids.size(), ids.data(), segments.x, segments.y,
                                       segments.across, segments.down, &entry));
}

GstBuffer* gray_frame(int i = 0) {
  return Harness::buffer(std::vector<uint8_t>(kWidth * kHeight, 90), i);
}

// The foreground of a frame with segmentations. Appends a warning to `warning`.
std::vector<uint8_t> mask_of(const Library& library, const std::vector<Segments>& segmentations,
                             const std::string& properties = {}, std::string* warning = nullptr) {
  Harness h("graphcutbg source=mask output=mask lambda=0 " + properties);
  h.video("GRAY8", kWidth, kHeight);
  GstBuffer* frame = gray_frame();
  for (const Segments& each : segmentations) attach(library, frame, each);
  EXPECT_EQ(gst_harness_push(h.get(), frame), GST_FLOW_OK) << h.error_text();
  const BufferPtr out = h.pull();
  const MessagePtr message = h.message_so_far(GST_MESSAGE_WARNING);
  if (warning) *warning = error_details(message).text;
  EXPECT_EQ(message != nullptr, warning != nullptr && !warning->empty());
  return out ? bytes_of(out.get()) : std::vector<uint8_t>();
}

// A mask of rectangles (left, top, right, bottom).
std::vector<uint8_t> rectangles(std::initializer_list<std::array<int, 4>> parts) {
  Segments all;
  all.values.resize(kWidth * kHeight);
  for (const auto& [left, top, right, bottom] : parts) {
    all = all.with(left, top, right, bottom, 255);
  }
  return all.values;
}

TEST(ForeignMask, SegmentationOfTheWholeFrame_IsTheMask) {
  NEEDS_SEGMENTATION(library);
  EXPECT_EQ(mask_of(*library, {Segments().with(3, 4, 20, 17, 5)}), rectangles({{3, 4, 20, 17}}));
  Segments wide;
  wide.format = GST_VIDEO_FORMAT_GRAY16_LE;
  EXPECT_EQ(mask_of(*library, {wide.with(3, 4, 20, 17, 5)}, "mask-values=261"),
            rectangles({{3, 4, 20, 17}}));
  Segments padded;
  padded.width = kWidth - 4;
  padded.across = kWidth - 4;
  Segments rows = Segments().with(3, 4, 20, 17, 5);
  padded.values = rows.values;
  padded.stride = kWidth;
  EXPECT_EQ(mask_of(*library, {padded}), rectangles({{3, 4, 20, 17}}));
}

TEST(ForeignMask, SegmentationAtAPosition_CoversThatPartOfTheFrame) {
  NEEDS_SEGMENTATION(library);
  Segments part;
  part.width = part.height = 10;
  part.x = 20;
  part.y = 8;
  part.across = part.down = 10;
  EXPECT_EQ(mask_of(*library, {part.with(0, 0, 10, 10, 1)}), rectangles({{20, 8, 30, 18}}));
  part.x = -4;
  part.y = 25;  // most of it is outside the frame
  EXPECT_EQ(mask_of(*library, {part.with(0, 0, 10, 10, 1)}), rectangles({{0, 25, 6, 30}}));
  part.x = 100;
  EXPECT_EQ(mask_of(*library, {part.with(0, 0, 10, 10, 1)}), rectangles({}));
}

// yolosegv8tensordec of GStreamer 1.28 keeps the stride of its pool in the meta of smaller
// pictures.
TEST(ForeignMask, SmallerPictureThanThoseOfItsPool_RowsHaveNoPadding) {
  NEEDS_SEGMENTATION(library);
  GstBufferPool* pool = gst_video_buffer_pool_new();
  GstStructure* config = gst_buffer_pool_get_config(pool);
  const CapsPtr caps(gst_caps_from_string("video/x-raw,format=GRAY8,width=32,height=32"));
  gst_buffer_pool_config_set_params(config, caps.get(), 32 * 32, 0, 0);
  gst_buffer_pool_config_add_option(config, GST_BUFFER_POOL_OPTION_VIDEO_META);
  ASSERT_TRUE(gst_buffer_pool_set_config(pool, config));
  ASSERT_TRUE(gst_buffer_pool_set_active(pool, TRUE));
  Segments part;
  part.width = part.height = 9;
  part.x = 20;
  part.y = 8;
  part.across = part.down = 9;
  part.pool = pool;
  EXPECT_EQ(mask_of(*library, {part.with(1, 0, 9, 7, 1)}), rectangles({{21, 8, 29, 15}}));
  gst_buffer_pool_set_active(pool, FALSE);
  gst_object_unref(pool);
}

// A coarse segmentation is not enlarged: the cut finds the edge in the picture.
TEST(ForeignMask, CoarseSegmentations_MaskHasTheFinestResolution) {
  NEEDS_SEGMENTATION(library);
  Segments coarse, fine;
  coarse.width = kWidth / 4;
  coarse.height = kHeight / 5;
  fine.width = 6;
  fine.height = 5;
  fine.across = 12;
  fine.down = 10;
  GstBuffer* frame = gray_frame();
  attach(*library, frame, coarse.with(2, 1, 4, 3, 1));
  EXPECT_EQ(read_segmentations(frame, {kWidth, kHeight}, {}).size, (Size{kWidth / 4, kHeight / 5}));
  attach(*library, frame, fine.with(0, 0, 6, 5, 1));
  const ForeignMask mask = read_segmentations(frame, {kWidth, kHeight}, {});
  EXPECT_EQ(mask.size, (Size{kWidth / 2, kHeight / 2}));
  const std::vector<uint8_t> pixels = bytes_of(mask.pixels.get());
  for (int y = 0; y < mask.size.height; ++y) {
    for (int x = 0; x < mask.size.width; ++x) {
      // A mask pixel has the value at its centre, (2 x + 1, 2 y + 1).
      const bool in_fine = 2 * x + 1 < 12 && 2 * y + 1 < 10;
      const bool in_coarse = 2 * x + 1 >= 8 && 2 * x + 1 < 16 && 2 * y + 1 >= 5 && 2 * y + 1 < 15;
      ASSERT_EQ(pixels[static_cast<size_t>(y * mask.size.width + x)],
                in_fine || in_coarse ? 255 : 0)
          << x << ", " << y;
    }
  }
  gst_buffer_unref(frame);
}

TEST(ForeignMask, ChosenValues_OnlyTheyAreForeground) {
  NEEDS_SEGMENTATION(library);
  const Segments all = Segments().with(0, 0, 10, 10, 7).with(20, 0, 30, 10, 255);
  const Segments other = Segments().with(30, 20, 40, 30, 9);
  EXPECT_EQ(mask_of(*library, {all, other}),
            rectangles({{0, 0, 10, 10}, {20, 0, 30, 10}, {30, 20, 40, 30}}));
  EXPECT_EQ(mask_of(*library, {all, other}, "mask-values=\"9, 7\""),
            rectangles({{0, 0, 10, 10}, {30, 20, 40, 30}}));
  EXPECT_EQ(mask_of(*library, {all, other}, "mask-values=255"), rectangles({{20, 0, 30, 10}}));
  EXPECT_EQ(mask_of(*library, {all}, "mask-values=1000"), rectangles({}));
  // The value 0 is foreground only if it is chosen.
  EXPECT_EQ(mask_of(*library, {Segments().with(0, 0, kWidth, kHeight, 1).with(5, 5, 9, 9, 0)},
                    "mask-values=0"),
            rectangles({{5, 5, 9, 9}}));
}

TEST(ForeignMask, MalformedSegmentation_FramePassesWithAWarningAndOthersAreRead) {
  NEEDS_SEGMENTATION(library);
  const Segments good = Segments().with(3, 4, 20, 17, 5);
  Segments short_rows = good, long_rows = good, truncated = good, bare = good, colored = good,
           empty = good, negative = good;
  short_rows.stride = kWidth - 1;
  long_rows.stride = kWidth + 1;
  truncated.missing_bytes = 1;
  bare.has_meta = false;
  colored.format = GST_VIDEO_FORMAT_RGB;
  empty.across = 0;
  negative.stride = -kWidth;
  const std::string start = "a segmentation of another element is left out: ";
  const std::string bytes = "its picture has 1320 bytes, but a stride of ";
  const std::pair<Segments, std::string> cases[] = {
      {short_rows, bytes + "43 bytes for 44x30 pixels"},
      {long_rows, bytes + "45 bytes for 44x30 pixels"},
      {negative, bytes + "-44 bytes for 44x30 pixels"},
      {truncated, "its picture has 1319 bytes, but a stride of 44 bytes for 44x30 pixels"},
      {bare, "its picture lacks a GstVideoMeta"},
      {colored, "its picture has the format RGB; expected GRAY8 or GRAY16_LE"},
      {empty, "it covers 0x30 pixels of the frame; expected sides from 1 to 65535"}};
  for (const auto& [segments, text] : cases) {
    const bool is_gray = segments.has_meta && segments.format != GST_VIDEO_FORMAT_RGB;
    if (GST_CHECK_VERSION(1, 26, 0) && !is_gray) continue;  // GStreamer refuses to attach it
    std::string warning;
    EXPECT_EQ(mask_of(*library, {segments}, "", &warning), rectangles({}));
    EXPECT_EQ(warning, start + text);
    EXPECT_EQ(mask_of(*library, {segments, good}, "", &warning), rectangles({{3, 4, 20, 17}}));
    EXPECT_EQ(warning, start + text);
  }
}

TEST(ForeignMask, FrameWithoutSegmentation_HasNoForegroundOnlyIfItIsRequested) {
  NEEDS_SEGMENTATION(library);
  EXPECT_EQ(mask_of(*library, {}, "mask-from=segmentation"), rectangles({}));
  Harness h("graphcutbg source=mask output=mask");
  h.video("GRAY8", kWidth, kHeight);
  EXPECT_EQ(gst_harness_push(h.get(), gray_frame()), GST_FLOW_ERROR);
  EXPECT_NE(h.error_text().find("without a mask or label map"), std::string::npos);
}

TEST(ForeignMask, FrameWithALabelMapToo_TheLabelMapIsUsed) {
  NEEDS_SEGMENTATION(library);
  Harness h("cclabel threshold=0.5 output=none ! graphcutbg source=mask output=mask lambda=0");
  h.video("GRAY8", kWidth, kHeight);
  std::vector<uint8_t> picture(kWidth * kHeight, 10);
  for (size_t x = 5; x < 15; ++x) picture[4 * kWidth + x] = 240;
  GstBuffer* frame = Harness::buffer(picture);
  attach(*library, frame, Segments().with(20, 20, 30, 28, 1));
  ASSERT_EQ(gst_harness_push(h.get(), frame), GST_FLOW_OK) << h.error_text();
  EXPECT_EQ(bytes_of(h.pull().get()), rectangles({{5, 4, 15, 5}}));
}

TEST(ForeignMask, AlphaChannel_IsTheMaskIfItIsRequested) {
  Harness h("graphcutbg source=mask mask-from=alpha output=mask lambda=0");
  h.video("RGBA", kWidth, kHeight);
  const std::vector<uint8_t> wanted = rectangles({{8, 2, 30, 29}});
  std::vector<uint8_t> pixels;
  for (const uint8_t alpha : wanted) pixels.insert(pixels.end(), {40, 50, 60, alpha});
  ASSERT_EQ(h.push(pixels), GST_FLOW_OK) << h.error_text();
  EXPECT_EQ(bytes_of(h.pull().get()), wanted);

  Harness gray("graphcutbg source=mask mask-from=alpha output=mask");
  gray.video("GRAY8", kWidth, kHeight);
  EXPECT_EQ(gst_harness_push(gray.get(), gray_frame()), GST_FLOW_ERROR);
  EXPECT_EQ(gray.error_text(),
            "mask-from=alpha requires a format with an alpha channel, not GRAY8");
}

TEST(ForeignMask, MaskValuesThatAreNoNumbers_StreamDoesNotStart) {
  for (const char* text : {"person", "1,", ",1", "1;2", "-1", "99999999999"}) {
    Harness h("graphcutbg source=mask mask-values=\"" + std::string(text) + "\"");
    h.video("GRAY8", kWidth, kHeight);
    EXPECT_NE(h.push(std::vector<uint8_t>(kWidth * kHeight, 90)), GST_FLOW_OK) << text;
    EXPECT_EQ(h.error_text(),
              "mask-values is '" + std::string(text) + "'; expected numbers such as 1,15");
  }
}

// ---- objects, drawn by regionoverlay

// A frame whose pixels all differ from their neighbours.
std::vector<uint8_t> texture() {
  std::vector<uint8_t> bytes(kWidth * kHeight);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(i * 97 % 251);
  return bytes;
}
GstBuffer* textured_frame() {
  start_gstreamer();
  return Harness::buffer(texture());
}

void add_object(GstBuffer* frame, const char* label, int x, int y, int width, int height,
                double confidence = 0.5) {
  GstVideoRegionOfInterestMeta* roi = gst_buffer_add_video_region_of_interest_meta(
      frame, label, static_cast<guint>(x), static_cast<guint>(y), static_cast<guint>(width),
      static_cast<guint>(height));
  gst_video_region_of_interest_meta_add_param(
      roi, gst_structure_new("detection", "confidence", G_TYPE_DOUBLE, confidence, nullptr));
}

// The pixels that regionoverlay changes: left, top, right, bottom of their box, and their number.
struct Changes {
  int left = kWidth, top = kHeight, right = -1, bottom = -1, count = 0;
  std::vector<uint8_t> picture = {};
};
Changes drawn(const std::string& properties, GstBuffer* frame) {
  Harness h("regionoverlay " + properties);
  h.video("GRAY8", kWidth, kHeight);
  EXPECT_EQ(gst_harness_push(h.get(), frame), GST_FLOW_OK) << h.error_text();
  Changes changes;
  const BufferPtr out = h.pull();
  if (out) changes.picture = bytes_of(out.get());
  const std::vector<uint8_t> before = texture();
  for (int i = 0; i < kWidth * kHeight && changes.picture.size() == before.size(); ++i) {
    if (changes.picture[static_cast<size_t>(i)] == before[static_cast<size_t>(i)]) continue;
    changes.left = std::min(changes.left, i % kWidth);
    changes.right = std::max(changes.right, i % kWidth);
    changes.top = std::min(changes.top, i / kWidth);
    changes.bottom = std::max(changes.bottom, i / kWidth);
    ++changes.count;
  }
  return changes;
}
Changes drawn_object(const std::string& properties) {
  GstBuffer* frame = textured_frame();
  add_object(frame, "person", 10, 16, 12, 12);
  return drawn(properties, frame);
}

TEST(ForeignObject, StylePixelate_HidesItsBoxAndTheMargin) {
  const Changes bare = drawn_object("style=pixelate pixelate=256 grow=0");
  EXPECT_EQ(bare.left, 10);
  EXPECT_EQ(bare.right, 21);
  EXPECT_EQ(bare.top, 16);
  EXPECT_EQ(bare.bottom, 27);
  const uint8_t mean = bare.picture[20 * kWidth + 15];
  for (int y = 16; y < 28; ++y) {
    for (int x = 10; x < 22; ++x) {
      ASSERT_EQ(bare.picture[static_cast<size_t>(y * kWidth + x)], mean) << x << ", " << y;
    }
  }
  const Changes grown = drawn_object("style=blur grow=2");
  EXPECT_EQ(grown.left, 8);
  EXPECT_EQ(grown.bottom, 29);
}

TEST(ForeignObject, ObjectsBoxesOrLabels_AreDrawnOnlyIfRequested) {
  EXPECT_EQ(drawn_object("style=boxes").count, 0);
  const Changes boxes = drawn_object("style=boxes thickness=1 objects=boxes");
  EXPECT_EQ(boxes.left, 10);
  EXPECT_EQ(boxes.top, 16);
  EXPECT_EQ(boxes.right, 21);
  EXPECT_EQ(boxes.bottom, 27);
  const Changes labels = drawn_object("style=boxes thickness=1 objects=labels");
  EXPECT_LT(labels.top, 16) << "the label is above the box";
  EXPECT_GT(labels.right, 21) << "and wider";
}

TEST(ForeignObject, DetectionOfAnalyticsLibrary_IsHiddenAndOneOfThisPluginIsDrawnOnce) {
  NEEDS_SEGMENTATION(library);
  const RelationSpace space = {4, 400};
  GstBuffer* frame = textured_frame();
  AnalyticsEntry entry;
  RelationMeta* meta = library->add(frame, &space);
  ASSERT_TRUE(library->add_detection(meta, g_quark_from_string("car"), 4, 5, 8, 9, 0.7F, &entry));
  ASSERT_TRUE(library->add_detection(meta, g_quark_from_string("region"), 30, 5, 8, 9, 1, &entry));
  const std::vector<DetectedObject> objects = read_objects(frame);
  ASSERT_EQ(objects.size(), 1u) << "the other is of this plugin, which reads its own metadata";
  EXPECT_STREQ(objects[0].label, "car");
  EXPECT_NEAR(objects[0].confidence, 0.7, 1e-6);
  const Changes changes = drawn("style=pixelate grow=0 pixelate=64", frame);
  EXPECT_EQ(changes.left, 4);
  EXPECT_EQ(changes.right, 11);
  EXPECT_EQ(changes.top, 5);
  EXPECT_EQ(changes.bottom, 13);
}

TEST(ForeignObject, BoxesOutsideEmptyOrVeryMany_FramePasses) {
  GstBuffer* frame = textured_frame();
  add_object(frame, "far", 2000000000, 5, 4, 4);
  add_object(frame, "empty", 3, 3, 0, 5);
  add_object(frame, "", 40, 28, 2000000000, 2000000000, NAN);
  const Changes changes = drawn("style=pixelate+boxes objects=labels grow=0", frame);
  EXPECT_GE(changes.left, 0);
  EXPECT_FALSE(changes.picture.empty());
  frame = textured_frame();
  for (int i = 0; i < 10000; ++i) add_object(frame, "dot", i % kWidth, i / kWidth % 20, 1, 1, -3);
  EXPECT_FALSE(drawn("style=pixelate objects=labels grow=0", frame).picture.empty());
}

TEST(ForeignObject, HidingChosenWhilePlayingOrScaled_IsRefused) {
  Harness h("regionoverlay style=boxes");
  h.video("GRAY8", kWidth, kHeight);
  ASSERT_EQ(h.push(texture()), GST_FLOW_OK);
  const std::string before = h.property("style");
  h.set("style", "blur");
  EXPECT_EQ(h.property("style"), before);
  EXPECT_EQ(error_details(h.message(GST_MESSAGE_WARNING)).text,
            "style kept as it was: style=pixelate and style=blur must be chosen before the stream "
            "starts");
  Harness scaled("regionoverlay style=blur process-scale=0.5");
  scaled.video("GRAY8", kWidth, kHeight);
  EXPECT_NE(scaled.push(texture()), GST_FLOW_OK);
  EXPECT_EQ(scaled.error_text(), "style=pixelate and style=blur require process-scale=1");
}

}  // namespace
}  // namespace regions::test

// Label maps and masks as buffers: read whole and in part, written by none, and gone with their
// last holder.
#include <cstring>

#include "tests/plugin/moving_square.hpp"

namespace regions::test {
namespace {

BufferPtr map_of(GstBuffer* frame) {
  return BufferPtr(
      gst_buffer_ref(gst_value_get_buffer(gst_structure_get_value(regions_of(frame), "labels"))));
}

// The square is at (8, 8), 20x16, or a region of a mask.
BufferPtr map_after(const std::string& line) {
  Harness h(line);
  h.video("GRAY8", kWidth, kHeight);
  EXPECT_EQ(h.push(gray_with_square()), GST_FLOW_OK);
  const BufferPtr out = h.pull();
  return out ? map_of(out.get()) : nullptr;
}

TEST(LabelBuffers, ArePictures) {
  const BufferPtr labels = map_after("cclabel output=none");
  ASSERT_TRUE(labels);  // the element is gone
  EXPECT_EQ(gst_buffer_n_memory(labels.get()), 1u);
  for (int time = 0; time < 2; ++time) {
    const std::vector<uint8_t> bytes = bytes_of(labels.get());
    ASSERT_EQ(bytes.size(), kWidth * kHeight * sizeof(uint32_t));
    for (int i = 0; i < kWidth * kHeight; ++i) {
      uint32_t label = 9;
      std::memcpy(&label, &bytes[static_cast<size_t>(i) * 4], 4);
      ASSERT_EQ(label, gray_with_square()[static_cast<size_t>(i)] == 200 ? 1u : 0u) << i;
    }
  }
  const BufferPtr mask = map_after("graphcutbg output=none");
  EXPECT_EQ(bytes_of(mask.get()), std::vector<uint8_t>(kWidth * kHeight)) << "all is background";
}

TEST(LabelBuffers, PartsShareTheMap) {
  const BufferPtr labels = map_after("cclabel output=none");
  const std::vector<uint8_t> whole = bytes_of(labels.get());
  const size_t row = kWidth * 4, begin = 9 * row + 20, bytes = 3 * row;
  BufferPtr part(gst_buffer_copy_region(labels.get(), GST_BUFFER_COPY_MEMORY, begin, bytes));
  EXPECT_EQ(bytes_of(part.get()), std::vector<uint8_t>(&whole[begin], &whole[begin + bytes]));
  const BufferPtr inner(
      gst_buffer_copy_region(part.get(), GST_BUFFER_COPY_MEMORY, row, static_cast<gsize>(-1)));
  EXPECT_EQ(bytes_of(inner.get()),
            std::vector<uint8_t>(&whole[begin + row], &whole[begin + bytes]));
  GstMapInfo map;
  for (GstBuffer* one : {part.get(), inner.get()}) {
    GstMemory* memory = gst_buffer_peek_memory(one, 0);
    EXPECT_FALSE(gst_memory_map(memory, &map, GST_MAP_WRITE)) << "others see the same";
    EXPECT_TRUE(memory->parent);
    EXPECT_FALSE(memory->parent->parent) << "of the whole";
  }
  GstMemory* rest = gst_memory_share(gst_buffer_peek_memory(labels.get(), 0), 40, -1);
  ASSERT_TRUE(rest);
  EXPECT_EQ(rest->size, whole.size() - 40);
  ASSERT_TRUE(gst_memory_map(rest, &map, GST_MAP_READ));
  EXPECT_EQ(std::memcmp(map.data, &whole[40], whole.size() - 40), 0);
  gst_memory_unmap(rest, &map);
  gst_memory_unref(rest);
  part.reset();
  EXPECT_EQ(bytes_of(labels.get()), whole);
}

// Of a device's memory the host sees a copy, which it may not write.
TEST(LabelBuffers, OfADeviceAreNotWritten) {
  if (!have_cuda()) GTEST_SKIP() << "no CUDA device here";
  const BufferPtr labels = map_after("cclabel output=none device=cuda");
  GstMemory* memory = gst_buffer_peek_memory(labels.get(), 0);
  EXPECT_STREQ(memory->allocator->mem_type, "RegionsDeviceMemory");
  GstMapInfo map;
  EXPECT_FALSE(gst_memory_map(memory, &map, GST_MAP_WRITE));
  EXPECT_TRUE(gst_memory_map(memory, &map, GST_MAP_READ));
  gst_memory_unmap(memory, &map);
}

// Maps serve again once their frames are gone, and a stream has so many at once as frames are under
// way.
TEST(LabelBuffers, ServeAgain) {
  Harness h("cclabel output=none frames-in-flight=1 device=cpu");
  h.video("GRAY8", kWidth, kHeight);
  const void* first = nullptr;
  for (int i = 0; i < 6; ++i) {
    ASSERT_EQ(h.push(gray_with_square(i), i), GST_FLOW_OK);
    const BufferPtr out = h.pull();
    const void* memory = gst_buffer_peek_memory(map_of(out.get()).get(), 0);
    if (i == 0) first = memory;
    EXPECT_EQ(memory, first) << "frame " << i;
  }
}

// What a reader sees is this frame's map, though its memory may have held another's that was read.
TEST(LabelBuffers, TellOfTheirOwnFrame) {
  Harness h("cclabel output=none frames-in-flight=1");
  h.video("GRAY8", kWidth, kHeight);
  for (int i = 0; i < 8; ++i) {
    ASSERT_EQ(h.push(gray_with_square(i), i), GST_FLOW_OK);
    const BufferPtr out = h.pull();
    const std::vector<uint8_t> bytes = bytes_of(map_of(out.get()).get());
    for (int x = 0; x < kWidth; ++x) {
      const bool inside = x >= 8 + i && x < 28 + i;
      ASSERT_EQ(bytes[static_cast<size_t>((10 * kWidth + x) * 4)], inside ? 1 : 0)
          << "frame " << i << ", column " << x;
    }
  }
}

// ---- rows

// With a GstVideoMeta rows may lie closer than caps have them.
TEST(TightRows, AreRead) {
  struct Case {
    const char* format;
    std::vector<int> rows;  // bytes of each plane's
    std::vector<int> counts;
  };
  for (const Case& c : {Case{"GRAY8", {41}, {30}},
                        {"RGB", {41 * 3}, {30}},
                        {"NV12", {41, 42}, {30, 15}},
                        {"I420", {41, 21, 21}, {30, 15, 15}},
                        {"YUY2", {84}, {30}}}) {
    gsize offset[GST_VIDEO_MAX_PLANES] = {}, bytes = 0;
    gint stride[GST_VIDEO_MAX_PLANES] = {};
    for (size_t p = 0; p < c.rows.size(); ++p) {
      offset[p] = bytes;
      stride[p] = c.rows[p];
      bytes += static_cast<gsize>(c.rows[p] * c.counts[p]);
    }
    for (const int lacking : {0, 1}) {
      Harness h("cclabel output=none threshold=0");
      h.video(c.format, 41, 30);
      GstBuffer* in =
          Harness::buffer(std::vector<uint8_t>(bytes - static_cast<size_t>(lacking), 130));
      gst_buffer_add_video_meta_full(in, GST_VIDEO_FRAME_FLAG_NONE,
                                     gst_video_format_from_string(c.format), 41, 30,
                                     static_cast<guint>(c.rows.size()), offset, stride);
      ASSERT_EQ(gst_harness_push(h.get(), in), GST_FLOW_OK) << c.format << h.error_text();
      const BufferPtr out = h.pull();
      ASSERT_TRUE(out) << c.format << h.error_text();
      // A frame without all of its bytes passes, and a warning says so.
      EXPECT_EQ(regions_of(out.get()) != nullptr, lacking == 0) << c.format;
      EXPECT_EQ(h.message_so_far(GST_MESSAGE_WARNING) != nullptr, lacking == 1) << c.format;
      if (lacking == 0) {
        EXPECT_EQ(region_field(regions_of(out.get()), 0, "area"), "1230") << c.format;
      }
    }
  }
}

}  // namespace
}  // namespace regions::test

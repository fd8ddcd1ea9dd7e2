// Metadata `regions` that a stranger wrote: numbers at the ends of their types, label maps whose
// rows begin anywhere.
#include <algorithm>

#include "tests/plugin/region_structures.hpp"

namespace regions::test {
namespace {

constexpr int kWidth = 64, kHeight = 48;

// A frame of value 20 with metadata that tells of one region in a picture of `from` pixels, and of
// these labels unless that is null.
GstBuffer* frame_that_tells(const Box& box, int width = kWidth, int height = kHeight,
                            GstBuffer* labels = nullptr) {
  GstBuffer* buffer = Harness::buffer(std::vector<uint8_t>(kWidth * kHeight, 20));
  GstStructure* s = gst_custom_meta_get_structure(gst_buffer_add_custom_meta(buffer, "regions"));
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
  Harness h(line);
  h.video("GRAY8", kWidth, kHeight);
  EXPECT_EQ(gst_harness_push(h.get(), frame), GST_FLOW_OK) << line;
  const BufferPtr out = h.pull();
  EXPECT_TRUE(out) << line << h.error_text();
  return out ? bytes_of(out.get()) : std::vector<uint8_t>(kWidth * kHeight);
}

// What is drawn of a box that goes on and on is what is drawn of one that ends far outside.
TEST(StrangeMeta, BoxesOfAnySizeAreDrawnWhereTheyAre) {
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
      EXPECT_EQ(drawn(line, frame_that_tells(strange)), drawn(line, frame_that_tells(plain)))
          << line << ": " << strange.x << ", " << strange.y << ", " << strange.width << "x"
          << strange.height;
    }
    const auto open = drawn(line, frame_that_tells({10, 10, G_MAXINT, 5}));
    EXPECT_NE(open[10 * kWidth + 50], 20) << line << ": the upper side";
  }
  // Of a picture of any size.
  for (const auto& [width, height] : {std::pair{1, 1}, {G_MAXINT, G_MAXINT}, {1, G_MAXINT}}) {
    drawn("regionoverlay", frame_that_tells({G_MAXINT, G_MININT, 3, G_MAXINT}, width, height));
  }
}

// As a part of a larger memory may lie.
TEST(StrangeMeta, LabelMapsThatBeginBetweenLabelsAreRefused) {
  constexpr gsize kBytes = kWidth * kHeight * sizeof(uint32_t);
  for (const char* line : {"regionoverlay style=outlines+fill", "cclabel source=mask output=mask",
                           "graphcutbg source=mask", "cclabel source=mask process-scale=0.5"}) {
    for (const gsize offset : {0, 1, 2, 3, 4}) {
      GstBuffer* whole = gst_buffer_new_allocate(nullptr, kBytes + 8, nullptr);
      gst_buffer_memset(whole, 0, 0, kBytes + 8);
      GstBuffer* part = gst_buffer_copy_region(whole, GST_BUFFER_COPY_MEMORY, offset, kBytes);
      gst_buffer_unref(whole);
      Harness h(line);
      h.video("GRAY8", kWidth, kHeight);
      GstBuffer* frame = frame_that_tells({3, 3, 9, 9}, kWidth, kHeight, part);
      const bool is_aligned = offset % sizeof(uint32_t) == 0;
      EXPECT_EQ(gst_harness_push(h.get(), frame), is_aligned ? GST_FLOW_OK : GST_FLOW_ERROR)
          << line << " " << offset;
      if (!is_aligned) {
        EXPECT_NE(h.error_text().find("label map"), std::string::npos) << line;
      }
    }
  }
}

// Sides whose product is as small as the map itself, and sides that no picture has.
TEST(StrangeMeta, LabelMapsOfImpossibleSizesAreRefused) {
  for (const char* line : {"regionoverlay style=outlines+fill", "cclabel source=mask output=mask",
                           "graphcutbg source=mask", "cclabel source=mask process-scale=0.5",
                           "slicsuperpixel output=overlay left=8"}) {
    for (const auto& [width, height] : {std::pair{-1, -1},
                                        {-kWidth, -kHeight},
                                        {0, 0},
                                        {0, kHeight},
                                        {-1, 1},
                                        {1, G_MININT},
                                        {G_MAXINT, G_MAXINT}}) {
      Harness h(line);
      h.video("GRAY8", kWidth, kHeight);
      GstBuffer* labels = gst_buffer_new_allocate(nullptr, kWidth * kHeight * 4, nullptr);
      gst_buffer_memset(labels, 0, 1, kWidth * kHeight * 4);
      GstBuffer* frame = frame_that_tells({3, 3, 9, 9}, kWidth, kHeight, labels);
      gst_structure_set(gst_custom_meta_get_structure(gst_buffer_get_custom_meta(frame, "regions")),
                        "labels-width", G_TYPE_INT, width, "labels-height", G_TYPE_INT, height,
                        nullptr);
      const bool reads = !g_str_has_prefix(line, "slicsuperpixel");
      EXPECT_EQ(gst_harness_push(h.get(), frame), reads ? GST_FLOW_ERROR : GST_FLOW_OK)
          << line << " " << width << "x" << height;
    }
  }
}

}  // namespace
}  // namespace regions::test

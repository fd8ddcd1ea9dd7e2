// GStreamer's analytics metadata of label maps and masks: segmentations. Skips where it is not
// here.
#include <algorithm>

#include "tests/plugin/analytics_entries.hpp"

namespace regions::test {
namespace {

std::vector<uint8_t> map_on(const Library& library, const Entries& entries, size_t index = 0) {
  const std::vector<AnalyticsEntry> maps = entries.of(library.segmentation_type());
  if (maps.size() <= index) return {};
  gint x = -1, y = -1;
  guint w = 0, h = 0;
  const BufferPtr map(library.segmentation_map(&maps[index], &x, &y, &w, &h));
  EXPECT_EQ(x, 0);
  EXPECT_EQ(y, 0);
  const GstVideoMeta* meta = gst_buffer_get_video_meta(map.get());
  EXPECT_EQ(meta->format, GST_VIDEO_FORMAT_GRAY8);
  EXPECT_EQ(meta->width, static_cast<guint>(kWidth));
  EXPECT_EQ(meta->height, static_cast<guint>(kHeight));
  EXPECT_EQ(meta->stride[0], kWidth);
  return bytes_of(map.get());
}

TEST(AnalyticsMaps, LabelMapsAreSegmentationsLargestFirst) {
  NEEDS_SEGMENTATION(library);
  const BufferPtr out = after("cclabel output=none");
  const Entries entries(*library, out.get());
  const std::vector<uint8_t> picture = two_rectangles(), indices = map_on(*library, entries);
  ASSERT_EQ(indices.size(), picture.size());
  for (size_t i = 0; i < picture.size(); ++i) {
    ASSERT_EQ(indices[i], picture[i] == 240 ? 1 : picture[i] == 200 ? 2 : 0) << i;
  }
  const AnalyticsEntry map = entries.of(library->segmentation_type())[0];
  for (const AnalyticsEntry& object : entries.of(library->detection_type())) {
    EXPECT_EQ(library->relation(map.meta, map.id, object.id), Library::kContain);
  }
}

// Numbers stand in a map for all that a byte tells apart; what is smaller is background.
TEST(AnalyticsMaps, SegmentationsNumberTheLargestRegions) {
  NEEDS_SEGMENTATION(library);
  static auto* const count_of =
      in_library<gsize(const AnalyticsEntry*)>("gst_analytics_segmentation_mtd_get_region_count");
  static auto* const value_of = in_library<guint(const AnalyticsEntry*, gsize)>(
      "gst_analytics_segmentation_mtd_get_region_id");
  for (const int dots : {3, 255, 300}) {
    std::vector<uint8_t> picture(kWidth * kHeight, 16);  // the last dot is two pixels wide
    for (int i = 0; i < dots; ++i) {
      picture[static_cast<size_t>((i / 20) * 2 * kWidth + (i % 20) * 2)] = 200;
    }
    const auto last = static_cast<size_t>(((dots - 1) / 20) * 2 * kWidth + ((dots - 1) % 20) * 2);
    picture[last + 1] = 200;
    const BufferPtr out =
        after("cclabel output=none connectivity=4", Harness::buffer(padded(picture)));
    const Entries entries(*library, out.get());
    const std::vector<AnalyticsEntry> maps = entries.of(library->segmentation_type());
    ASSERT_EQ(maps.size(), 1u);
    const auto shown = static_cast<gsize>(std::min(dots, 255));
    ASSERT_EQ(count_of(&maps[0]), shown + 1) << "and background";
    for (gsize i = 0; i <= shown; ++i) EXPECT_EQ(value_of(&maps[0], i), i);
    const std::vector<uint8_t> indices = map_on(*library, entries);
    EXPECT_EQ(indices[last], 1) << "the largest";
    EXPECT_EQ(indices[0], 2) << "the first of the others";
    std::set<uint8_t> all(indices.begin(), indices.end());
    EXPECT_EQ(all.size(), shown + 1);
    const auto labelled = [&](uint8_t index) { return index != 0; };
    EXPECT_EQ(std::count_if(indices.begin(), indices.end(), labelled),
              static_cast<ptrdiff_t>(shown + 1));
    EXPECT_EQ(entries.of(library->detection_type()).size(),
              static_cast<size_t>(std::min(dots, 256)));
    const auto objects = entries.of(library->detection_type());
    for (size_t i = 0; i < objects.size(); ++i) {
      EXPECT_EQ(library->relation(maps[0].meta, maps[0].id, objects[i].id),
                i < shown ? Library::kContain : Library::kNone)
          << i;
    }
  }
}

// The map may be read, and copied in part, but not written.
TEST(AnalyticsMaps, SegmentationsAreRead) {
  NEEDS_SEGMENTATION(library);
  const BufferPtr out = after("cclabel output=none");
  const Entries entries(*library, out.get());
  const AnalyticsEntry entry = entries.of(library->segmentation_type())[0];
  const BufferPtr map(library->segmentation_map(&entry, nullptr, nullptr, nullptr, nullptr));
  GstMemory* memory = gst_buffer_peek_memory(map.get(), 0);
  EXPECT_EQ(memory->size, size_t{kWidth} * kHeight);
  GstMapInfo info;
  EXPECT_FALSE(gst_memory_map(memory, &info, GST_MAP_WRITE));
  const std::vector<uint8_t> whole = bytes_of(map.get());
  EXPECT_EQ(bytes_of(map.get()), whole) << "again";
  const BufferPtr part(
      gst_buffer_copy_region(map.get(), GST_BUFFER_COPY_ALL, 12 * kWidth + 15, 20));
  EXPECT_EQ(bytes_of(part.get()),
            std::vector<uint8_t>(&whole[12 * kWidth + 15], &whole[12 * kWidth + 35]));
  EXPECT_EQ(bytes_of(part.get())[5], 1);
}

TEST(AnalyticsMaps, MasksAreSegmentations) {
  NEEDS_SEGMENTATION(library);
  Harness h("graphcutbg output=none device=cpu");
  h.video("GRAY8", kWidth, kHeight);
  BufferPtr out;
  for (int i = 0; i < 4; ++i) {
    const std::vector<uint8_t> empty(kWidth * kHeight, 16);
    EXPECT_EQ(h.push(padded(i < 3 ? empty : two_rectangles()), i), GST_FLOW_OK);
    out = h.pull();
  }
  const Entries entries(*library, out.get());
  const std::vector<uint8_t> mask =
      bytes_of(gst_value_get_buffer(gst_structure_get_value(regions_of(out.get()), "labels")));
  std::vector<uint8_t> expected;
  for (const uint8_t m : mask) expected.push_back(m != 0);
  EXPECT_EQ(map_on(*library, entries), expected);
  EXPECT_NE(std::count(expected.begin(), expected.end(), 1), 0);
}

TEST(AnalyticsMaps, SegmentationsGoWithTheirMap) {
  NEEDS_SEGMENTATION(library);
  const auto maps_after = [&](const std::string& rest) {
    const BufferPtr out = after("cclabel output=none ! " + rest);
    const Entries entries(*library, out.get());
    EXPECT_EQ(entries.boxes(), kBoxes) << rest;
    return entries.of(library->segmentation_type()).size();
  };
  EXPECT_EQ(maps_after("identity"), 1u);
  EXPECT_EQ(maps_after("videoconvert ! video/x-raw,format=RGBA ! identity"), 1u);
  EXPECT_EQ(maps_after("regionoverlay style=boxes attach-labels=never"), 0u);
  EXPECT_EQ(maps_after("videoconvert ! jpegenc"), 0u);
}

TEST(AnalyticsMaps, SegmentationOverlayColoursTheRegions) {
  NEEDS_SEGMENTATION(library);
  GstElementFactory* factory = gst_element_factory_find("segmentationoverlay");
  if (!factory) GTEST_SKIP() << "segmentationoverlay is not installed here";
  gst_object_unref(factory);
  const BufferPtr out = after(
      "cclabel output=none ! videoconvert ! video/x-raw,format=RGBA ! segmentationoverlay ! "
      "video/x-raw,format=RGBA ! identity");
  const std::vector<uint8_t> drawn = bytes_of(out.get()), picture = two_rectangles();
  for (size_t i = 0; i < picture.size(); ++i) {
    const bool colourful = drawn[4 * i] != drawn[4 * i + 1] || drawn[4 * i] != drawn[4 * i + 2];
    ASSERT_EQ(colourful, picture[i] != 16) << "pixel " << i;
  }
}

}  // namespace
}  // namespace regions::test

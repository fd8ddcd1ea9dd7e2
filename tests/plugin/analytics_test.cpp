// GStreamer's analytics metadata of the regions, read by GStreamer's own library. Skips where that
// is not here.
#include <dlfcn.h>

#include <algorithm>
#include <set>
#include <stdexcept>

#include "plugin/analytics_library.hpp"
#include "tests/plugin/harness.hpp"

namespace regions::test {
namespace {

using Library = AnalyticsLibrary;
constexpr int kWidth = 41, kHeight = 30;  // rows are no multiple of four bytes

#define NEEDS(library)                                                 \
  const Library* const library = (start_gstreamer(), Library::find()); \
  if (!library) GTEST_SKIP() << "no analytics library here: it came with GStreamer 1.24"
#define NEEDS_SEGMENTATION(library) \
  NEEDS(library);                   \
  if (!library->segmentation_type) GTEST_SKIP() << "segmentation came with GStreamer 1.26"

// The first with 24 pixels at (3, 2), the second with 50 at (20, 12).
std::vector<uint8_t> two_rectangles() {
  std::vector<uint8_t> bytes(kWidth * kHeight, 16);
  for (int y = 2; y < 6; ++y) std::fill_n(&bytes[static_cast<size_t>(y * kWidth + 3)], 6, 200);
  for (int y = 12; y < 17; ++y) std::fill_n(&bytes[static_cast<size_t>(y * kWidth + 20)], 10, 240);
  return bytes;
}

// As caps have it: rows of a multiple of four bytes.
std::vector<uint8_t> padded(const std::vector<uint8_t>& picture) {
  constexpr size_t kRow = 44;
  std::vector<uint8_t> bytes(kRow * kHeight);
  for (size_t y = 0; y < kHeight; ++y) std::copy_n(&picture[y * kWidth], kWidth, &bytes[y * kRow]);
  return bytes;
}

// Functions that only tests need.
template <class Function>
Function* in_library(const char* name) {
  void* library = dlopen("libgstanalytics-1.0.so.0", RTLD_NOW);
  return reinterpret_cast<Function*>(dlsym(library, name));
}

struct Track {
  guint64 id = 0;
  GstClockTime first = 0, last = 0;
};

// Entries of a frame, in order.
class Entries {
 public:
  Entries(const Library& library, GstBuffer* buffer)
      : library_(library), meta_(library.get(buffer)) {
    gpointer state = nullptr;
    AnalyticsEntry entry;
    while (meta_ && library.iterate(meta_, &state, nullptr, &entry)) {
      if (library.type_of(&entry)) all_.push_back(entry);
    }
  }
  size_t count() const { return all_.size(); }
  std::vector<AnalyticsEntry> of(const AnalyticsType* type) const {
    std::vector<AnalyticsEntry> some;
    for (const AnalyticsEntry& e : all_) {
      if (library_.type_of(&e) == type) some.push_back(e);
    }
    return some;
  }
  std::set<std::string> boxes() const {
    static auto* const location =
        in_library<gboolean(const AnalyticsEntry*, gint*, gint*, gint*, gint*, gfloat*)>(
            "gst_analytics_od_mtd_get_location");
    std::set<std::string> result;
    for (const AnalyticsEntry& e : of(library_.detection_type())) {
      gint x = 0, y = 0, w = 0, h = 0;
      gfloat confidence = 0;
      location(&e, &x, &y, &w, &h, &confidence);
      result.insert(std::string(g_quark_to_string(library_.detection_object(&e))) + " " +
                    std::to_string(x) + " " + std::to_string(y) + " " + std::to_string(w) + " " +
                    std::to_string(h));
    }
    return result;
  }
  std::vector<Track> tracks() const {
    static auto* const info =
        in_library<gboolean(const AnalyticsEntry*, guint64*, GstClockTime*, GstClockTime*,
                            gboolean*)>("gst_analytics_tracking_mtd_get_info");
    std::vector<Track> result;
    for (const AnalyticsEntry& e : of(library_.tracking_type())) {
      Track& track = result.emplace_back();
      gboolean lost = TRUE;
      info(&e, &track.id, &track.first, &track.last, &lost);
      EXPECT_FALSE(lost);
    }
    return result;
  }

 private:
  const Library& library_;
  RelationMeta* meta_;
  std::vector<AnalyticsEntry> all_;
};

BufferPtr after(const std::string& line, GstBuffer* in = nullptr) {
  Harness h(line);
  h.video("GRAY8", kWidth, kHeight, ",pixel-aspect-ratio=1/1");
  GstBuffer* frame = in ? in : Harness::buffer(padded(two_rectangles()));
  if (gst_harness_push(h.get(), frame) != GST_FLOW_OK) throw std::runtime_error(h.error_text());
  h.eos();
  BufferPtr out = h.pull();
  if (!out) throw std::runtime_error(line + " gave no frame");
  return out;
}

const std::set<std::string> kBoxes = {"region 3 2 6 4", "region 20 12 10 5"};

TEST(Analytics, ObjectsWithoutTracksWhereNothingTracks) {
  NEEDS(library);
  const BufferPtr out = after("cclabel output=none attach-labels=never");
  const Entries entries(*library, out.get());
  EXPECT_EQ(entries.boxes(), kBoxes);
  EXPECT_EQ(entries.count(), 2u);
}

TEST(Analytics, TracksSinceTheirFirstFrame) {
  NEEDS(library);
  Harness h("cclabel output=none track=true device=cpu");
  h.video("GRAY8", kWidth, kHeight);
  std::vector<uint8_t> first_only = two_rectangles();
  std::fill(first_only.begin() + 12 * kWidth, first_only.end(), uint8_t{16});
  for (int i = 1; i <= 3; ++i) {
    EXPECT_EQ(h.push(padded(i == 1 ? first_only : two_rectangles()), i), GST_FLOW_OK);
    const BufferPtr out = h.pull();
    const Entries entries(*library, out.get());
    const std::vector<Track> tracks = entries.tracks();
    ASSERT_EQ(tracks.size(), i == 1 ? 1u : 2u);
    for (const Track& track : tracks) {
      EXPECT_EQ(track.first, (track.id == 1 ? 40 : 80) * GST_MSECOND);
      EXPECT_EQ(track.last, static_cast<GstClockTime>(i) * 40 * GST_MSECOND);
    }
    for (const AnalyticsEntry& object : entries.of(library->detection_type())) {
      gpointer state = nullptr;
      AnalyticsEntry track;
      EXPECT_TRUE(library->related(object.meta, object.id, Library::kRelateTo,
                                   library->tracking_type(), &state, &track));
    }
  }
}

TEST(Analytics, ASecondElementReplacesTheFirstOnes) {
  NEEDS(library);
  const BufferPtr out = after(
      "slicsuperpixel warm-start=true superpixels=60 output=none ! "
      "cclabel output=none attach-labels=never min-area=30");
  const Entries entries(*library, out.get());
  EXPECT_EQ(entries.boxes(), (std::set<std::string>{"region 20 12 10 5"}));
  EXPECT_EQ(entries.count(), 1u);
}

// What others say stays, with its relations; a track that others gave our object goes with it.
TEST(Analytics, EntriesOfOthersStay) {
  NEEDS(library);
  GstBuffer* in = Harness::buffer(padded(two_rectangles()));
  const RelationSpace space = {2, 100};
  RelationMeta* meta = library->add(in, &space);
  AnalyticsEntry face, track;
  library->add_detection(meta, g_quark_from_static_string("face"), 1, 2, 3, 4, 0.5F, &face);
  library->add_tracking(meta, 77, 5, &track);
  library->set_relation(meta, Library::kRelateTo, face.id, track.id);
  const BufferPtr out = after(
      "cclabel name=one output=none ! cclabel name=two output=none ! "
      "cclabel output=none attach-labels=never track=true",
      in);
  const Entries entries(*library, out.get());
  std::set<std::string> boxes = kBoxes;
  boxes.insert("face 1 2 3 4");
  EXPECT_EQ(entries.boxes(), boxes);
  EXPECT_EQ(entries.count(), 6u);
  const std::vector<AnalyticsEntry> objects = entries.of(library->detection_type());
  gpointer state = nullptr;
  AnalyticsEntry found;
  ASSERT_TRUE(library->related(objects[0].meta, objects[0].id, Library::kRelateTo,
                               library->tracking_type(), &state, &found));
  EXPECT_EQ(entries.tracks()[0].id, 77u);
  EXPECT_EQ(found.id, entries.of(library->tracking_type())[0].id);
}

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

TEST(Analytics, LabelMapsAreSegmentationsLargestFirst) {
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

TEST(Analytics, MasksAreSegmentations) {
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

TEST(Analytics, SegmentationsGoWithTheirMap) {
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

// They agree with the regions wherever these go, see meta_transform_test.
TEST(Analytics, ObjectsMoveWithTheRegions) {
  NEEDS(library);
  for (const char* rest : {"videoscale ! video/x-raw,width=82,height=60,pixel-aspect-ratio=1/1",
                           "videoscale ! video/x-raw,width=90,height=40,pixel-aspect-ratio=1/1",
                           "videocrop left=5 top=3", "videoflip video-direction=90r",
                           "videoflip video-direction=vert", "videobox left=-4 top=-6"}) {
    const BufferPtr out = after(std::string("cclabel output=none ! ") + rest + " ! identity");
    const GstStructure* regions = regions_of(out.get());
    std::set<std::string> boxes;
    for (guint i = 0; regions && i < region_count(regions); ++i) {
      std::string text = "region";
      for (const char* f : {"x", "y", "width", "height"}) text += " " + region_field(regions, i, f);
      boxes.insert(text);
    }
    EXPECT_EQ(Entries(*library, out.get()).boxes(), boxes) << rest;
  }
}

TEST(Analytics, SegmentationOverlayColoursTheRegions) {
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

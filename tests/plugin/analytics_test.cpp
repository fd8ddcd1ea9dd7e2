// GStreamer's analytics metadata: objects, tracks and segmentations that elements add to frames. It
// is read by GStreamer's library, or by the fake library for older versions.
#include <dlfcn.h>

#include <algorithm>
#include <set>
#include <stdexcept>

#include "plugin/metadata/standard_metas.hpp"
#include "tests/plugin/harness.hpp"

namespace regions::test {
namespace {

using Library = AnalyticsLibrary;
constexpr int kWidth = 41, kHeight = 30;  // a row is not a multiple of four bytes

// The minor version whose library must be available; 0 if none is required.
int required_minor() {
  const gchar* minor = g_getenv("REGIONS_ANALYTICS");
  return minor ? static_cast<int>(g_ascii_strtoll(minor, nullptr, 10)) : 0;
}

#define NEEDS_ANALYTICS(library)                                       \
  const Library* const library = (start_gstreamer(), Library::find()); \
  ASSERT_TRUE(library || required_minor() < 24);                       \
  if (!library) GTEST_SKIP() << "no analytics library here: it is part of GStreamer 1.24"
#define NEEDS_SEGMENTATION(library)                                 \
  NEEDS_ANALYTICS(library);                                         \
  ASSERT_TRUE(library->segmentation_type || required_minor() < 26); \
  if (!library->segmentation_type) GTEST_SKIP() << "segmentation is part of GStreamer 1.26"

// The first rectangle has 24 pixels at (3, 2), the second 50 pixels at (20, 12).
std::vector<uint8_t> two_rectangles() {
  std::vector<uint8_t> bytes(kWidth * kHeight, 16);
  for (int y = 2; y < 6; ++y) std::fill_n(&bytes[static_cast<size_t>(y * kWidth + 3)], 6, 200);
  for (int y = 12; y < 17; ++y) std::fill_n(&bytes[static_cast<size_t>(y * kWidth + 20)], 10, 240);
  return bytes;
}

// The picture with rows of a multiple of four bytes, as caps require.
std::vector<uint8_t> padded(const std::vector<uint8_t>& picture) {
  constexpr size_t kRow = 44;
  std::vector<uint8_t> bytes(kRow * kHeight);
  for (size_t y = 0; y < kHeight; ++y) std::copy_n(&picture[y * kWidth], kWidth, &bytes[y * kRow]);
  return bytes;
}

// A function of the library that only tests use.
template <class Function>
Function* in_library(const char* name) {
  void* library = dlopen("libgstanalytics-1.0.so.0", RTLD_NOW);
  return reinterpret_cast<Function*>(dlsym(library, name));
}

struct Track {
  guint64 id = 0;
  GstClockTime first = 0, last = 0;
};

// The entries of a frame, in order.
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
  std::vector<AnalyticsEntry> of_type(const AnalyticsType* type) const {
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
    for (const AnalyticsEntry& e : of_type(library_.detection_type())) {
      gint x = 0, y = 0, w = 0, h = 0;
      gfloat confidence = 0;
      location(&e, &x, &y, &w, &h, &confidence);
      const bool is_ours = library_.detection_object(&e) == g_quark_from_string("region");
      EXPECT_EQ(confidence, is_ours ? 1.0F : 0.5F);
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
    for (const AnalyticsEntry& e : of_type(library_.tracking_type())) {
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
  if (!out) throw std::runtime_error("no frame leaves " + line);
  return out;
}

const std::set<std::string> kBoxes = {"region 3 2 6 4", "region 20 12 10 5"};

// ---- objects and tracks

TEST(AnalyticsObject, TrackingDisabled_ObjectHasNoTrack) {
  NEEDS_ANALYTICS(library);
  const BufferPtr out = after("cclabel output=none attach-labels=never");
  const Entries entries(*library, out.get());
  EXPECT_EQ(entries.boxes(), kBoxes);
  EXPECT_EQ(entries.count(), 2u);
}

TEST(Describe, AnalyticsAloneOrNot_ObjectsAreAttachedOrNot) {
  NEEDS_ANALYTICS(library);
  const std::string scaled = " ! videoscale ! video/x-raw,width=32,height=24 ! identity";
  for (const std::string& rest : {std::string(), scaled}) {
    const BufferPtr with =
        after("cclabel output=none attach-labels=never describe=analytics" + rest);
    EXPECT_EQ(Entries(*library, with.get()).boxes().size(), 2u) << rest;
    const BufferPtr without = after("cclabel output=none describe=table+structures+roi" + rest);
    EXPECT_FALSE(library->get(without.get())) << rest;
  }
}

TEST(AnalyticsTrack, TrackedRegion_HasTheTimesOfItsFirstAndLastFrame) {
  NEEDS_ANALYTICS(library);
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
      EXPECT_EQ(track.last, time_of(i));
    }
    for (const AnalyticsEntry& object : entries.of_type(library->detection_type())) {
      gpointer state = nullptr;
      AnalyticsEntry track;
      EXPECT_TRUE(library->related(object.meta, object.id, Library::kRelateTo,
                                   library->tracking_type(), &state, &track));
    }
  }
}

TEST(AnalyticsObject, SecondElement_ReplacesTheObjectsOfTheFirst) {
  NEEDS_ANALYTICS(library);
  const BufferPtr out = after(
      "slicsuperpixel warm-start=true superpixels=60 output=none ! "
      "cclabel output=none attach-labels=never min-area=30");
  const Entries entries(*library, out.get());
  EXPECT_EQ(entries.boxes(), (std::set<std::string>{"region 20 12 10 5"}));
  EXPECT_EQ(entries.count(), 1u);
}

// Entries of other elements stay with their relations, except a relation to a replaced object.
TEST(AnalyticsObject, EntriesOfOtherElements_AreKept) {
  NEEDS_ANALYTICS(library);
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
  const std::vector<AnalyticsEntry> objects = entries.of_type(library->detection_type());
  gpointer state = nullptr;
  AnalyticsEntry found;
  ASSERT_TRUE(library->related(objects[0].meta, objects[0].id, Library::kRelateTo,
                               library->tracking_type(), &state, &found));
  EXPECT_EQ(entries.tracks()[0].id, 77u);
  EXPECT_EQ(found.id, entries.of_type(library->tracking_type())[0].id);
}

TEST(AnalyticsObject, TransformedFrame_BoxesOfObjectsEqualThoseOfRegions) {
  NEEDS_ANALYTICS(library);
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

// A detection of another producer, such as a neural network, with a track unless that is 0.
void add_foreign_detection(const Library& library, RelationMeta* meta, int x, guint64 track) {
  AnalyticsEntry detection, tracking;
  ASSERT_TRUE(
      library.add_detection(meta, g_quark_from_string("person"), x, 2, 4, 9, 0.9F, &detection));
  if (track == 0) return;
  ASSERT_TRUE(library.add_tracking(meta, track, 0, &tracking));
  library.set_relation(meta, Library::kRelateTo, detection.id, tracking.id);
}

TEST(RegionEvents, DetectionsOfAnotherProducer_AreItsObjects) {
  NEEDS_ANALYTICS(library);
  for (const guint64 track : {guint64{0}, guint64{5}}) {
    Harness h(
        R"(regionevents rules="[{\"id\":\"right\",\"points\":[[20,0],[41,0],[41,30],[20,30]],\"occupancy\":true}]")");
    h.video("GRAY8", kWidth, kHeight);
    std::string events;
    for (const int x : {5, 25, 30}) {
      GstBuffer* buffer = Harness::buffer(padded(two_rectangles()), x);
      const RelationSpace space = {4, 400};
      add_foreign_detection(*library, library->add(buffer, &space), x, track);
      ASSERT_EQ(gst_harness_push(h.get(), buffer), GST_FLOW_OK);
      const BufferPtr out = h.pull();
      const GValue* list = gst_structure_get_value(regions_of(out.get()), "events");
      for (guint i = 0; i < gst_value_array_get_size(list); ++i) {
        const GValue* item = gst_value_array_get_value(list, i);
        events += field_of(gst_value_get_structure(item), "event") + " ";
      }
      EXPECT_EQ(region_count(regions_of(out.get())), 0U);
      EXPECT_EQ(Entries(*library, out.get()).of_type(library->detection_type()).size(), 1U);
    }
    EXPECT_EQ(events, track ? "enter occupancy " : "occupancy ");
  }
}

// The classes of each detection: "person: right, person: ".
std::string classes_of(const Library& library, const Entries& entries) {
  static auto* const name =
      in_library<GQuark(const AnalyticsEntry*, gsize)>("gst_analytics_cls_mtd_get_quark");
  std::string text;
  for (const AnalyticsEntry& object : entries.of_type(library.detection_type())) {
    text += std::string(g_quark_to_string(library.detection_object(&object))) + ":";
    gpointer state = nullptr;
    AnalyticsEntry found;
    while (library.related(object.meta, object.id, Library::kRelateTo, library.class_type(), &state,
                           &found)) {
      text += std::string(" ") + g_quark_to_string(name(&found, 0));
    }
    text += ", ";
  }
  return text;
}
constexpr const char* kRightAndAll =
    R"(regionevents attach-classes=true rules="[{\"id\":\"right\",\"points\":[[20,0],[41,0],[41,30],[20,30]]},{\"id\":\"all\",\"points\":[[0,0],[41,0],[41,30],[0,30]]}]")";

TEST(RegionEvents, AttachClasses_DetectionsHaveTheIdsOfTheirZones) {
  NEEDS_ANALYTICS(library);
  const std::string line = std::string("cclabel output=none attach-labels=never ! ") + kRightAndAll;
  EXPECT_EQ(classes_of(*library, Entries(*library, after(line).get())),
            "region: right all, region: all, ");  // the largest region first
  Harness h(kRightAndAll);
  h.video("GRAY8", kWidth, kHeight);
  GstBuffer* buffer = Harness::buffer(padded(two_rectangles()));
  const RelationSpace space = {4, 400};
  add_foreign_detection(*library, library->add(buffer, &space), 25, 5);
  ASSERT_EQ(gst_harness_push(h.get(), buffer), GST_FLOW_OK);
  EXPECT_EQ(classes_of(*library, Entries(*library, h.pull().get())), "person: right all, ");
}

TEST(RegionEvents, AttachClasses_NextElementReplacesThemWithItsObjects) {
  NEEDS_ANALYTICS(library);
  const std::string line = std::string("cclabel output=none attach-labels=never ! ") +
                           kRightAndAll + " ! cclabel output=none attach-labels=never min-area=30";
  const BufferPtr out = after(line);
  EXPECT_EQ(classes_of(*library, Entries(*library, out.get())), "region:, ");
  EXPECT_EQ(Entries(*library, out.get()).count(), 1U);
}

// A library next to an older GStreamer belongs to another installation.
TEST(AnalyticsLibrary, GStreamerBefore1_24_LibraryIsNotUsedAndRegionsAreAttached) {
  start_gstreamer();
  if (required_minor() == 0 || required_minor() >= 24) {
    GTEST_SKIP() << "this GStreamer may have its own analytics library";
  }
  EXPECT_FALSE(Library::find());
  EXPECT_EQ(region_count(regions_of(after("cclabel output=none").get())), 2u);
}

// ---- segmentations: label maps and masks

std::vector<uint8_t> map_on(const Library& library, const Entries& entries, size_t index = 0) {
  const std::vector<AnalyticsEntry> maps = entries.of_type(library.segmentation_type());
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

TEST(Segmentation, SegmentationMap_LargestRegionHasNumber1) {
  NEEDS_SEGMENTATION(library);
  const BufferPtr out = after("cclabel output=none");
  const Entries entries(*library, out.get());
  const std::vector<uint8_t> picture = two_rectangles(), indices = map_on(*library, entries);
  ASSERT_EQ(indices.size(), picture.size());
  for (size_t i = 0; i < picture.size(); ++i) {
    ASSERT_EQ(indices[i], picture[i] == 240 ? 1 : picture[i] == 200 ? 2 : 0) << i;
  }
  const AnalyticsEntry map = entries.of_type(library->segmentation_type())[0];
  for (const AnalyticsEntry& object : entries.of_type(library->detection_type())) {
    EXPECT_EQ(library->relation(map.meta, map.id, object.id), Library::kContain);
  }
}

// A segmentation has one byte per pixel. Smaller regions become background.
TEST(Segmentation, MoreThan255Regions_ContainsOnlyTheLargest255) {
  NEEDS_SEGMENTATION(library);
  static auto* const count_of =
      in_library<gsize(const AnalyticsEntry*)>("gst_analytics_segmentation_mtd_get_region_count");
  static auto* const value_of = in_library<guint(const AnalyticsEntry*, gsize)>(
      "gst_analytics_segmentation_mtd_get_region_id");
  for (const int dots : {3, 255, 300}) {
    std::vector<uint8_t> picture(kWidth * kHeight, 16);  // the last dot has two pixels
    for (int i = 0; i < dots; ++i) {
      picture[static_cast<size_t>((i / 20) * 2 * kWidth + (i % 20) * 2)] = 200;
    }
    const auto last = static_cast<size_t>(((dots - 1) / 20) * 2 * kWidth + ((dots - 1) % 20) * 2);
    picture[last + 1] = 200;
    const BufferPtr out =
        after("cclabel output=none connectivity=4", Harness::buffer(padded(picture)));
    const Entries entries(*library, out.get());
    const std::vector<AnalyticsEntry> maps = entries.of_type(library->segmentation_type());
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
    EXPECT_EQ(entries.of_type(library->detection_type()).size(),
              static_cast<size_t>(std::min(dots, 256)));
    const auto objects = entries.of_type(library->detection_type());
    for (size_t i = 0; i < objects.size(); ++i) {
      EXPECT_EQ(library->relation(maps[0].meta, maps[0].id, objects[i].id),
                i < shown ? Library::kContain : Library::kNone)
          << i;
    }
  }
}

TEST(Segmentation, SegmentationMap_IsReadOnlyAndCanBeCopiedInPart) {
  NEEDS_SEGMENTATION(library);
  const BufferPtr out = after("cclabel output=none");
  const Entries entries(*library, out.get());
  const AnalyticsEntry entry = entries.of_type(library->segmentation_type())[0];
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

TEST(Segmentation, ForegroundMask_IsAttachedAsASegmentation) {
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
  const std::vector<uint8_t> mask = bytes_of(labels_of(out.get()));
  std::vector<uint8_t> expected;
  for (const uint8_t m : mask) expected.push_back(m != 0);
  EXPECT_EQ(map_on(*library, entries), expected);
  EXPECT_NE(std::count(expected.begin(), expected.end(), 1), 0);
}

TEST(Segmentation, LabelMapRemoved_SegmentationIsRemovedToo) {
  NEEDS_SEGMENTATION(library);
  const auto maps_after = [&](const std::string& rest) {
    const BufferPtr out = after("cclabel output=none ! " + rest);
    const Entries entries(*library, out.get());
    EXPECT_EQ(entries.boxes(), kBoxes) << rest;
    return entries.of_type(library->segmentation_type()).size();
  };
  EXPECT_EQ(maps_after("identity"), 1u);
  EXPECT_EQ(maps_after("videoconvert ! video/x-raw,format=RGBA ! identity"), 1u);
  EXPECT_EQ(maps_after("regionoverlay style=boxes attach-labels=never"), 0u);
  EXPECT_EQ(maps_after("videoconvert ! jpegenc"), 0u);
}

TEST(Segmentation, SegmentationOverlay_ColorsTheRegions) {
  NEEDS_SEGMENTATION(library);
  if (!have_element("segmentationoverlay")) {
    GTEST_SKIP() << "segmentationoverlay is not installed here";
  }
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

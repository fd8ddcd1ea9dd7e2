// source=boxes of graphcutbg: which boxes of other elements and of this plugin it cuts, and what
// it attaches. Analytics metadata is read by GStreamer's library, or by the fake library.
#include <dlfcn.h>
#include <gst/video/video.h>

#include <array>
#include <cmath>

#include "plugin/metadata/standard_metas.hpp"
#include "tests/plugin/error_details.hpp"
#include "tests/plugin/harness.hpp"

namespace regions::test {
namespace {

using Library = AnalyticsLibrary;
constexpr int kWidth = 96, kHeight = 64;

#define NEEDS_DETECTIONS(library)                                      \
  const Library* const library = (start_gstreamer(), Library::find()); \
  if (!library || !library->detection_box)                             \
  GTEST_SKIP() << "no analytics library here: it is part of GStreamer 1.24"

struct Square {
  int left, top, side;
  uint8_t gray;

  bool contains(int x, int y) const {
    return x >= left && x < left + side && y >= top && y < top + side;
  }
};
constexpr Square kBright = {12, 14, 20, 220}, kDark = {60, 30, 18, 8};

// A grey wall with both squares.
std::vector<uint8_t> picture() {
  std::vector<uint8_t> gray(kWidth * kHeight);
  for (int y = 0; y < kHeight; ++y) {
    for (int x = 0; x < kWidth; ++x) {
      const int wall = 100 + (x * 7 + y * 13) % 8;
      gray[static_cast<size_t>(y * kWidth + x)] = kBright.contains(x, y) ? kBright.gray
                                                  : kDark.contains(x, y)
                                                      ? kDark.gray
                                                      : static_cast<uint8_t>(wall);
    }
  }
  return gray;
}
// 255 in the squares.
std::vector<uint8_t> mask_of(const std::vector<Square>& squares) {
  std::vector<uint8_t> mask(kWidth * kHeight);
  for (int y = 0; y < kHeight; ++y) {
    for (int x = 0; x < kWidth; ++x) {
      for (const Square& square : squares) {
        if (square.contains(x, y)) mask[static_cast<size_t>(y * kWidth + x)] = 255;
      }
    }
  }
  return mask;
}

GstBuffer* frame_at(int index = 0) {
  start_gstreamer();
  return Harness::buffer(picture(), index);
}

// A box of a detector: some pixels larger than the object.
struct Prompt {
  const char* label;
  Square square;
  double confidence = 0.5;
  int margin = 4;

  int x() const { return square.left - margin; }
  int y() const { return square.top - margin; }
  int side() const { return square.side + 2 * margin; }
};
const Prompt kPerson = {"person", kBright}, kCar = {"car", kDark};

GstVideoRegionOfInterestMeta* add_roi(GstBuffer* frame, const char* label, int x, int y, int width,
                                      int height, double confidence = 0.5) {
  GstVideoRegionOfInterestMeta* roi = gst_buffer_add_video_region_of_interest_meta(
      frame, label, static_cast<guint>(x), static_cast<guint>(y), static_cast<guint>(width),
      static_cast<guint>(height));
  gst_video_region_of_interest_meta_add_param(
      roi, gst_structure_new("detection", "confidence", G_TYPE_DOUBLE, confidence, nullptr));
  return roi;
}
void add_roi(GstBuffer* frame, const Prompt& p) {
  add_roi(frame, p.label, p.x(), p.y(), p.side(), p.side(), p.confidence);
}

// Adds a detection and, for a track above 0, its tracking entry.
void add_detection(const Library& library, GstBuffer* frame, const Prompt& p, guint64 track = 0,
                   bool is_lost = false) {
  RelationMeta* meta = library.get(frame);
  const RelationSpace space = {8, 800};
  if (!meta) meta = library.add(frame, &space);
  AnalyticsEntry detection, tracking;
  ASSERT_TRUE(library.add_detection(meta, g_quark_from_string(p.label), p.x(), p.y(), p.side(),
                                    p.side(), static_cast<gfloat>(p.confidence), &detection));
  if (track == 0) return;
  ASSERT_TRUE(library.add_tracking(meta, track, 0, &tracking));
  ASSERT_TRUE(library.set_relation(meta, Library::kRelateTo, detection.id, tracking.id));
  if (!is_lost) return;
  void* analytics = dlopen("libgstanalytics-1.0.so.0", RTLD_NOW);
  const auto set_lost = reinterpret_cast<gboolean (*)(AnalyticsEntry*)>(
      dlsym(analytics, "gst_analytics_tracking_mtd_set_lost"));
  ASSERT_TRUE(set_lost);
  ASSERT_TRUE(set_lost(&tracking));
}

// The result of one frame.
struct Cut {
  std::vector<uint8_t> bytes;  // the output picture
  BufferPtr frame;
  std::string warning;
  std::string error;
};
Cut cut_of(GstBuffer* frame, const std::string& properties,
           const std::string& upstream = std::string()) {
  Harness h(upstream + "graphcutbg source=boxes " + properties);
  h.video("GRAY8", kWidth, kHeight);
  Cut cut;
  if (!h.starts()) {
    gst_buffer_unref(frame);
    cut.error = h.error_text();
    return cut;
  }
  if (gst_harness_push(h.get(), frame) != GST_FLOW_OK) {
    cut.error = h.error_text();
    return cut;
  }
  cut.frame = h.pull();
  if (cut.frame) cut.bytes = bytes_of(cut.frame.get());
  cut.warning = error_details(h.message_so_far(GST_MESSAGE_WARNING)).text;
  return cut;
}
Cut mask_with(const std::vector<Prompt>& prompts, const std::string& properties = {}) {
  GstBuffer* frame = frame_at();
  for (const Prompt& prompt : prompts) add_roi(frame, prompt);
  return cut_of(frame, "output=mask " + properties);
}

// The id, box and track of each attached region.
std::vector<std::string> regions_in(GstBuffer* frame) {
  std::vector<std::string> rows;
  const GstStructure* metadata = regions_of(frame);
  for (guint i = 0; metadata && i < region_count(metadata); ++i) {
    std::string row;
    for (const char* name : {"id", "x", "y", "width", "height", "area", "track"}) {
      row += region_field(metadata, i, name) + " ";
    }
    rows.push_back(row);
  }
  return rows;
}
using Rows = std::vector<std::string>;

// ---- masks and output pictures

TEST(BoxSource, BoxesAroundObjects_MaskIsTheObjects) {
  const Cut cut = mask_with({kPerson, kCar});
  EXPECT_EQ(cut.error, "");
  EXPECT_EQ(cut.warning, "");
  EXPECT_EQ(cut.bytes, mask_of({kBright, kDark}));
}

TEST(BoxSource, FrameWithoutBoxes_HasNoForeground) {
  const Cut cut = mask_with({});
  EXPECT_EQ(cut.error, "");
  EXPECT_EQ(cut.warning, "");
  EXPECT_EQ(cut.bytes, mask_of({}));
  EXPECT_EQ(field_of(regions_of(cut_of(frame_at(), "output=none").frame.get()), "boxes"), "0");
}

TEST(BoxSource, ReplaceForeground_OnlyTheObjectIsHidden) {
  GstBuffer* frame = frame_at();
  add_roi(frame, kPerson);
  const Cut cut =
      cut_of(frame, "output=replace replace=foreground replace-with=color grow=0 hold=0");
  ASSERT_EQ(cut.error, "");
  const std::vector<uint8_t> before = picture(), mask = mask_of({kBright});
  ASSERT_EQ(cut.bytes.size(), before.size());
  for (size_t i = 0; i < before.size(); ++i) {
    ASSERT_EQ(cut.bytes[i] != before[i], mask[i] == 255) << i % kWidth << ", " << i / kWidth;
  }
}

TEST(BoxSource, OverlayAndCutout_ShowTheObject) {
  GstBuffer* frame = frame_at();
  add_roi(frame, kPerson);
  const Cut overlay = cut_of(frame, "output=overlay color=0xff000000 opacity=1");
  ASSERT_EQ(overlay.error, "");
  std::vector<uint8_t> expected = picture();
  const std::vector<uint8_t> mask = mask_of({kBright});
  for (size_t i = 0; i < expected.size(); ++i) {
    if (mask[i] == 255) expected[i] = 0;
  }
  EXPECT_EQ(overlay.bytes, expected);
  frame = frame_at();
  add_roi(frame, kPerson);
  const Cut cutout = cut_of(frame, "output=cutout");
  ASSERT_EQ(cutout.bytes.size(), 4 * mask.size()) << cutout.error;
  for (size_t i = 0; i < mask.size(); ++i) ASSERT_EQ(cutout.bytes[4 * i + 3], mask[i]) << i;
}

TEST(BoxSource, ChosenWhilePlaying_NextFramesAreCut) {
  Harness h("graphcutbg output=none");
  h.video("GRAY8", kWidth, kHeight);
  ASSERT_EQ(gst_harness_push(h.get(), frame_at()), GST_FLOW_OK) << h.error_text();
  EXPECT_FALSE(gst_structure_has_field(regions_of(h.pull().get()), "boxes"));
  h.set("source", "boxes");
  GstBuffer* frame = frame_at(1);
  add_roi(frame, kPerson);
  ASSERT_EQ(gst_harness_push(h.get(), frame), GST_FLOW_OK) << h.error_text();
  EXPECT_EQ(regions_in(h.pull().get()), Rows{"1 12 14 20 20 400 1 "});
}

// ---- metadata

TEST(BoxSource, OutputNone_AttachesALabelMapAndOneRegionPerObject) {
  GstBuffer* frame = frame_at();
  add_roi(frame, kPerson);
  add_roi(frame, kCar);
  const Cut cut = cut_of(frame, "output=none");
  ASSERT_TRUE(cut.frame) << cut.error;
  EXPECT_EQ(cut.bytes, picture());
  EXPECT_EQ(regions_in(cut.frame.get()), (Rows{"1 12 14 20 20 400 1 ", "2 60 30 18 18 324 2 "}));
  const GstStructure* metadata = regions_of(cut.frame.get());
  EXPECT_EQ(field_of(metadata, "boxes"), "2");
  EXPECT_STREQ(gst_structure_get_string(metadata, "box-labels"), "person,car");
  EXPECT_EQ(field_of(metadata, "regions-total"), "2");
  EXPECT_EQ(field_of(metadata, "labels-format"), "U32_LE");
  const std::vector<uint8_t> bytes = bytes_of(labels_of(cut.frame.get()));
  ASSERT_EQ(bytes.size(), size_t{4} * kWidth * kHeight);
  for (int y = 0; y < kHeight; ++y) {
    for (int x = 0; x < kWidth; ++x) {
      const uint8_t label = kBright.contains(x, y) ? 1 : kDark.contains(x, y) ? 2 : 0;
      ASSERT_EQ(bytes[static_cast<size_t>(4 * (y * kWidth + x))], label) << x << ", " << y;
    }
  }
}

TEST(BoxSource, BoxWithoutAnObject_HasNoRegion) {
  GstBuffer* frame = frame_at();
  add_roi(frame, "person", 200, 5, 10, 10);
  add_roi(frame, kCar);
  const Cut cut = cut_of(frame, "output=none");
  ASSERT_TRUE(cut.frame) << cut.error;
  EXPECT_EQ(regions_in(cut.frame.get()), Rows{"1 60 30 18 18 324 1 "});
}

TEST(BoxSource, NextElement_ReadsTheObjects) {
  const Prompt prompts[] = {kPerson, kCar};
  Harness h(
      "graphcutbg source=boxes output=none ! regionevents "
      "rules=\"{\\\"zones\\\":[{\\\"id\\\":\\\"all\\\","
      "\\\"points\\\":[[0,0],[96,0],[96,64],[0,64]]}]}\"");
  h.video("GRAY8", kWidth, kHeight);
  GstBuffer* frame = frame_at();
  for (const Prompt& prompt : prompts) add_roi(frame, prompt);
  ASSERT_EQ(gst_harness_push(h.get(), frame), GST_FLOW_OK) << h.error_text();
  const BufferPtr out = h.pull();
  EXPECT_EQ(region_count(regions_of(out.get())), 2u);
  const GValue* zones = gst_structure_get_value(regions_of(out.get()), "zones");
  ASSERT_TRUE(zones);
  EXPECT_EQ(bytes_of(gst_value_get_buffer(zones)).at(0), 2) << "objects in the zone";
}

TEST(BoxSource, Rectangle_OnlyItsBoxesAreCutAndNumbered) {
  GstBuffer* frame = frame_at();
  add_roi(frame, kPerson);
  add_roi(frame, kCar);
  const Cut cut = cut_of(frame, "output=none left=50 width=46");
  ASSERT_TRUE(cut.frame) << cut.error;
  EXPECT_EQ(cut.warning, "");
  EXPECT_EQ(regions_in(cut.frame.get()), Rows{"1 60 30 18 18 324 1 "});
  EXPECT_STREQ(gst_structure_get_string(regions_of(cut.frame.get()), "box-labels"), "car");
}

TEST(BoxSource, ScaledWorkArea_RegionsHaveTheSizeOfThePicture) {
  GstBuffer* frame = frame_at();
  add_roi(frame, kPerson);
  const Cut cut = cut_of(frame, "output=none process-scale=0.5");
  ASSERT_TRUE(cut.frame) << cut.error;
  EXPECT_EQ(regions_in(cut.frame.get()), Rows{"1 12 14 20 20 400 1 "});
}

// ---- the choice of boxes

TEST(BoxSource, ChosenLabels_OnlyTheirObjectsAreCut) {
  EXPECT_EQ(mask_with({kPerson, kCar}, "box-labels=car").bytes, mask_of({kDark}));
  EXPECT_EQ(mask_with({kPerson, kCar}, "box-labels=\"bus, person,car\"").bytes,
            mask_of({kBright, kDark}));
  const Prompt light = {"traffic light", kDark};
  EXPECT_EQ(mask_with({kPerson, light}, "box-labels=\"traffic light\"").bytes, mask_of({kDark}));
}

TEST(BoxSource, MinimumConfidence_OnlySurerObjectsAreCut) {
  Prompt sure = kPerson, unsure = kCar;
  sure.confidence = 0.8;
  unsure.confidence = 0.3;
  EXPECT_EQ(mask_with({sure, unsure}, "box-confidence=0.5").bytes, mask_of({kBright}));
  EXPECT_EQ(mask_with({sure, unsure}, "box-confidence=0.3").bytes, mask_of({kBright, kDark}));
  sure.confidence = NAN;
  EXPECT_EQ(mask_with({sure, unsure}, "box-confidence=0.1").bytes, mask_of({kDark}));
  EXPECT_EQ(mask_with({sure, unsure}).bytes, mask_of({kBright, kDark}));
}

TEST(BoxSource, LabelThatNoObjectHas_OneWarningAndTheFramePasses) {
  const Cut cut = mask_with({kPerson}, "box-labels=persn");
  EXPECT_EQ(cut.bytes, mask_of({}));
  EXPECT_EQ(cut.warning,
            "no object has a label of box-labels='persn'; this frame has the label 'person'");
  // No warning once an object had one of the labels.
  Harness h("graphcutbg source=boxes output=mask box-labels=person");
  h.video("GRAY8", kWidth, kHeight);
  for (int i = 0; i < 3; ++i) {
    GstBuffer* frame = frame_at(i);
    if (i < 2) add_roi(frame, i == 0 ? kPerson : kCar);
    ASSERT_EQ(gst_harness_push(h.get(), frame), GST_FLOW_OK) << h.error_text();
    EXPECT_EQ(bytes_of(h.pull().get()), i == 0 ? mask_of({kBright}) : mask_of({})) << i;
    EXPECT_FALSE(h.has_warning()) << i;
  }
}

TEST(BoxSource, EmptyName_StreamDoesNotStart) {
  for (const char* text : {"a,,b", "a,", ",a", " ", ","}) {
    const Cut cut = cut_of(frame_at(), "box-labels=\"" + std::string(text) + "\"");
    EXPECT_EQ(cut.error,
              "box-labels is '" + std::string(text) + "'; expected names such as person,car");
  }
}

TEST(BoxSource, RegionsOfThisPlugin_AreBoxesWithTheLabelRegion) {
  // cclabel finds the bright square, whose box has no margin.
  const std::string cclabel = "cclabel threshold=0.7 output=none ! ";
  Prompt exact = kPerson;
  exact.margin = 0;
  const std::vector<uint8_t> alone = mask_with({exact}).bytes;
  EXPECT_EQ(cut_of(frame_at(), "output=mask", cclabel).bytes, alone);
  GstBuffer* frame = frame_at();
  add_roi(frame, kCar);
  EXPECT_EQ(cut_of(frame, "output=mask box-labels=car", cclabel).bytes, mask_of({kDark}));
  frame = frame_at();
  add_roi(frame, kCar);
  EXPECT_EQ(cut_of(frame, "output=mask box-labels=region", cclabel).bytes, alone);
  const Cut tracked =
      cut_of(frame_at(), "output=none", "cclabel threshold=0.7 track=true output=none ! ");
  ASSERT_TRUE(tracked.frame) << tracked.error;
  ASSERT_EQ(regions_in(tracked.frame.get()).size(), 1u);
  EXPECT_EQ(region_field(regions_of(tracked.frame.get()), 0, "track"), "1");
}

// ---- analytics metadata

TEST(BoxSource, DetectionAndRegionOfInterestOfOneObject_AreOneBox) {
  NEEDS_DETECTIONS(library);
  GstBuffer* frame = frame_at();
  add_detection(*library, frame, kCar, 7);
  Prompt rounded = kCar;
  rounded.margin = 5;  // each edge is one pixel away
  add_roi(frame, rounded);
  add_roi(frame, kPerson);
  const Cut cut = cut_of(frame, "output=none");
  ASSERT_TRUE(cut.frame) << cut.error;
  EXPECT_EQ(regions_in(cut.frame.get()), (Rows{"1 60 30 18 18 324 7 ", "2 12 14 20 20 400 0 "}));
}

TEST(BoxSource, LostTrack_IsNotCut) {
  NEEDS_DETECTIONS(library);
  GstBuffer* frame = frame_at();
  add_detection(*library, frame, kPerson, 3);
  add_detection(*library, frame, kCar, 4, true);
  EXPECT_EQ(cut_of(frame, "output=mask").bytes, mask_of({kBright}));
}

TEST(BoxSource, DetectionsOfAnotherElement_StayOnTheFrame) {
  NEEDS_DETECTIONS(library);
  GstBuffer* frame = frame_at();
  add_detection(*library, frame, kPerson, 3);
  const Cut cut = cut_of(frame, "output=none");
  ASSERT_TRUE(cut.frame) << cut.error;
  const std::vector<DetectedObject> objects = read_objects(cut.frame.get());
  ASSERT_EQ(objects.size(), 1u);
  EXPECT_STREQ(objects[0].label, "person");
  EXPECT_EQ(objects[0].track, 3u);
}

TEST(DetectedObject, RotatedBox_IsTheBoxThatEnclosesIt) {
  NEEDS_DETECTIONS(library);
  void* analytics = dlopen("libgstanalytics-1.0.so.0", RTLD_NOW);
  const auto add_rotated = reinterpret_cast<gboolean (*)(RelationMeta*, GQuark, gint, gint, gint,
                                                         gint, gfloat, gfloat, AnalyticsEntry*)>(
      dlsym(analytics, "gst_analytics_relation_meta_add_oriented_od_mtd"));
  if (!add_rotated) GTEST_SKIP() << "rotated boxes are part of GStreamer 1.26";
  GstBuffer* frame = frame_at();
  const RelationSpace space = {4, 400};
  AnalyticsEntry entry;
  constexpr auto kQuarterTurn = static_cast<gfloat>(G_PI / 2);
  ASSERT_TRUE(add_rotated(library->add(frame, &space), g_quark_from_string("car"), 10, 20, 30, 8,
                          kQuarterTurn, 1, &entry));
  const std::vector<DetectedObject> objects = read_objects(frame);
  ASSERT_EQ(objects.size(), 1u);
  EXPECT_NEAR(objects[0].left, 21, 1);
  EXPECT_NEAR(objects[0].top, 9, 1);
  EXPECT_NEAR(objects[0].right, 29, 1);
  EXPECT_NEAR(objects[0].bottom, 39, 1);
  gst_buffer_unref(frame);
}

// ---- bad input

TEST(BoxSource, BoxesWithoutPixelsInThePicture_AreLeftOutWithAWarning) {
  const std::string text =
      " boxes are empty or outside the picture of 96x64 pixels and are left out";
  const std::array<int, 4> boxes[] = {
      {2000000000, 5, 4, 4}, {96, 5, 4, 4}, {5, 64, 4, 4}, {3, 3, 0, 5}, {3, 3, 5, 0}};
  for (const auto& [x, y, width, height] : boxes) {
    GstBuffer* frame = frame_at();
    add_roi(frame, "person", x, y, width, height);
    add_roi(frame, kCar);
    const Cut cut = cut_of(frame, "output=mask");
    EXPECT_EQ(cut.bytes, mask_of({kDark})) << x << " " << y << " " << cut.error;
    EXPECT_EQ(cut.warning, "1 of 2" + text);
  }
}

TEST(BoxSource, DetectionsInvertedOrOutside_AreLeftOutWithAWarning) {
  NEEDS_DETECTIONS(library);
  Prompt inverted = kPerson, outside = kPerson;
  inverted.margin = -20;
  outside.square.left = -100;
  GstBuffer* frame = frame_at();
  add_detection(*library, frame, inverted);
  add_detection(*library, frame, outside);
  add_detection(*library, frame, kCar);
  const Cut cut = cut_of(frame, "output=mask");
  EXPECT_EQ(cut.bytes, mask_of({kDark})) << cut.error;
  EXPECT_EQ(cut.warning,
            "2 of 3 boxes are empty or outside the picture of 96x64 pixels and are left out");
}

TEST(BoxSource, BoxLargerThanThePicture_FramePasses) {
  GstBuffer* frame = frame_at();
  add_roi(frame, "person", 0, 0, 2147483647, 2147483647);
  const Cut cut = cut_of(frame, "output=mask");
  EXPECT_EQ(cut.error, "");
  EXPECT_EQ(cut.bytes.size(), size_t{kWidth} * kHeight);
}

TEST(BoxSource, TenThousandBoxes_TheMostConfidentAreCut) {
  GstBuffer* frame = frame_at();
  for (int i = 0; i < 10000; ++i) {
    add_roi(frame, "dot", i % 90, 60 + i / 90 % 3, 2, 2, i % 2 ? 0.1 : NAN);
  }
  Prompt sure = kCar;
  sure.confidence = 0.9;
  add_roi(frame, sure);
  const Cut cut = cut_of(frame, "output=none");
  ASSERT_TRUE(cut.frame) << cut.error;
  EXPECT_EQ(cut.warning,
            "a frame has 10001 boxes; only the 256 with the highest confidence are cut");
  EXPECT_EQ(field_of(regions_of(cut.frame.get()), "boxes"), "256");
  const Rows rows = regions_in(cut.frame.get());
  ASSERT_FALSE(rows.empty());
  EXPECT_EQ(rows.back(), "256 60 30 18 18 324 256 ");
}

}  // namespace
}  // namespace regions::test

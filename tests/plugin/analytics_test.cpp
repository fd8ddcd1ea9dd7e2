// GStreamer's analytics metadata of the regions. Skips where it is not here.
#include <algorithm>

#include "tests/plugin/analytics_entries.hpp"

namespace regions::test {
namespace {

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

// One that lies beside an older GStreamer is another installation's.
TEST(Analytics, AreOfTheGStreamerThatRuns) {
  start_gstreamer();
  if (promised() == 0 || promised() >= 24) GTEST_SKIP() << "this GStreamer may have its own";
  EXPECT_FALSE(Library::find());
  EXPECT_EQ(region_count(regions_of(after("cclabel output=none").get())), 2u);
}

}  // namespace
}  // namespace regions::test

// The region metadata of a frame: its fields, the regions of interest made from it, its lifetime,
// and how elements downstream use it.
#include <map>
#include <random>
#include <sstream>
#include <thread>

#include "tests/plugin/moving_square.hpp"
#include "tests/plugin/region_structures.hpp"

namespace regions::test {
namespace {

// Two rectangles: 6×4 at (3, 2) of value 200, 10×5 at (20, 12) of value 240.
std::vector<uint8_t> two_rectangles() {
  std::vector<uint8_t> bytes(kWidth * kHeight, 16);
  for (size_t y = 2; y < 6; ++y) std::fill_n(&bytes[y * kWidth + 3], 6, uint8_t{200});
  for (size_t y = 12; y < 17; ++y) std::fill_n(&bytes[y * kWidth + 20], 10, uint8_t{240});
  return bytes;
}

// The last of the frames that leave the element; each frame has the same picture.
BufferPtr after(const std::string& line, const std::vector<uint8_t>& picture, int frames = 1) {
  GrayHarness h(line);
  BufferPtr out;
  for (int i = 0; i < frames; ++i) EXPECT_EQ(h.push(picture, i), GST_FLOW_OK) << line;
  for (int i = 0; i < frames; ++i) out = h.pull();
  EXPECT_TRUE(out) << line;
  return out;
}

// ---- fields

// "name:type" of all fields, in order.
std::string types_of(const GstStructure* s) {
  std::string text;
  for (gint i = 0; i < gst_structure_n_fields(s); ++i) {
    const char* name = gst_structure_nth_field_name(s, static_cast<guint>(i));
    text += (text.empty() ? "" : " ") + std::string(name) + ":" +
            g_type_name(gst_structure_get_field_type(s, name));
  }
  return text;
}

const std::string kEmpty =
    "algorithm:gchararray width:gint height:gint regions-total:guint regions:GstValueArray";
const std::string kRows = " table:GstBuffer table-columns:gchararray";
const std::string kAll = kEmpty + kRows;
const std::string kTableOnly =
    "algorithm:gchararray width:gint height:gint regions-total:guint" + kRows;
const std::string kLabels = " labels:GstBuffer labels-format:gchararray";
const std::string kRegion =
    "id:guint track:guint x:gint y:gint width:gint height:gint area:guint64 cx:gdouble cy:gdouble "
    "first-x:gint first-y:gint red:gdouble green:gdouble blue:gdouble";
const std::string kOfVolumes = " z:gint depth:gint cz:gdouble first-z:gint layer:guint";
const std::string kTracks =
    " births:gint64 deaths:gint64 splits:gint64 merges:gint64 tracks-lost:gint64 last-track:gint64";

TEST(RegionMetadata, EachElementAndOption_HasTheDocumentedFields) {
  struct Case {
    const char* line;
    int frames;
    std::string fields, region;
  };
  for (const Case& c :
       {Case{"cclabel output=none", 1, kAll + kLabels, kRegion},
        {"cclabel output=overlay", 1, kAll, kRegion},
        {"cclabel output=overlay attach-labels=always", 1, kAll + kLabels, kRegion},
        {"cclabel output=none attach-labels=never", 1, kAll, kRegion},
        {"cclabel output=none track=true", 1, kAll + kTracks + kLabels,
         kRegion + " first-seen:guint64 still:guint part-of:guint"},
        {"cclabel output=none attach-runs=true", 1,
         kAll + " runs:GstBuffer runs-truncated:gboolean" + kLabels, kRegion},
        {"cclabel output=none depth=2 connectivity=6", 2,
         kAll + " slice:gint slices:gint" + kLabels, kRegion + kOfVolumes},
        {"cclabel output=none thresholds=<0.2,0.6>", 1, kAll + " layers:gint" + kLabels,
         kRegion + kOfVolumes},
        {"cclabel output=none describe=table", 1, kTableOnly + kLabels, ""},
        {"slicsuperpixel output=none", 1, kTableOnly + kLabels, ""},
        {"slicsuperpixel output=none describe=structures", 1, kAll + kLabels,
         kRegion + " lab-l:gdouble lab-a:gdouble lab-b:gdouble"},
        {"slicsuperpixel output=mean attach-covariance=true attach-adjacency=true warm-start=true "
         "describe=structures",
         1, kAll + " adjacency:GstBuffer",
         kRegion + " first-seen:guint64 lab-l:gdouble lab-a:gdouble lab-b:gdouble cov-xx:gdouble "
                   "cov-xy:gdouble cov-yy:gdouble"},
        {"graphcutbg output=none", 1,
         kEmpty +
             " exact:gboolean flow:gint64 gap:gint64 iterations:gint64 "
             "foreground-pixels:gint64 restarted:gboolean scene-change:gchararray" +
             kLabels,
         ""}}) {
    const BufferPtr out = after(c.line, gray_with_square(), c.frames);
    ASSERT_TRUE(out);
    const GstStructure* s = regions_of(out.get());
    ASSERT_TRUE(s) << c.line;
    const std::string fields = types_of(s);
    EXPECT_EQ(fields, c.fields) << c.line;
    if (c.region.empty()) {
      EXPECT_EQ(region_count(s), 0u) << c.line;
      continue;
    }
    ASSERT_GT(region_count(s), 0u) << c.line;
    // The order of a region's fields is not documented.
    std::map<std::string, int> found, expected;
    std::istringstream one(types_of(region_of(s, 0))), other(c.region);
    for (std::string field; one >> field;) ++found[field];
    for (std::string field; other >> field;) ++expected[field];
    EXPECT_EQ(found, expected) << c.line;
    EXPECT_TRUE(gst_structure_has_name(region_of(s, 0), "region")) << c.line;
  }
}

TEST(RegionMetadata, TwoRectangles_EachHasBoxAreaCentroidColorIdAndTrack) {
  const BufferPtr out = after("cclabel output=none", two_rectangles());
  const GstStructure* regions = regions_of(out.get());
  ASSERT_TRUE(regions);
  EXPECT_STREQ(gst_structure_get_string(regions, "algorithm"), "cclabel");
  EXPECT_EQ(field_of(regions, "width"), std::to_string(kWidth));
  EXPECT_EQ(field_of(regions, "regions-total"), "2");
  ASSERT_EQ(region_count(regions), 2u);
  const std::pair<const char*, const char*> second[] = {
      {"id", "2"},       {"track", "2"}, {"x", "20"},      {"y", "12"},    {"width", "10"},
      {"height", "5"},   {"area", "50"}, {"cx", "24.5"},   {"cy", "14"},   {"first-x", "20"},
      {"first-y", "12"}, {"red", "240"}, {"green", "240"}, {"blue", "240"}};
  for (const auto& [name, value] : second) EXPECT_EQ(region_field(regions, 1, name), value) << name;
}

TEST(RegionMetadata, SeveralThresholdsOrVolume_LayersAndSlicesAreNumbered) {
  const BufferPtr layers = after("cclabel output=none thresholds=<0.2,0.6>", gray_with_square());
  EXPECT_EQ(field_of(regions_of(layers.get()), "layers"), "2");
  EXPECT_EQ(region_field(regions_of(layers.get()), 1, "layer"), "1");
  const BufferPtr slice =
      after("cclabel output=none depth=3 connectivity=26", gray_with_square(), 3);
  EXPECT_EQ(field_of(regions_of(slice.get()), "slice"), "2");
  EXPECT_EQ(field_of(regions_of(slice.get()), "slices"), "3");
  for (const auto& [name, value] :
       {std::pair{"depth", "3"}, {"cz", "1"}, {"z", "0"}, {"area", "960"}}) {
    EXPECT_EQ(region_field(regions_of(slice.get()), 0, name), value) << name;
  }
}

TEST(RegionMetadata, MoreRegionsThanMaxRegions_TotalCountsThemAll) {
  const BufferPtr out = after("cclabel output=none max-regions=1", two_rectangles());
  EXPECT_EQ(field_of(regions_of(out.get()), "regions-total"), "2");
  EXPECT_EQ(region_count(regions_of(out.get())), 1u);
}

TEST(RegionMetadata, MoreRunsThanMaxRuns_AreTruncated) {
  for (const int most : {16, 15}) {
    const BufferPtr out =
        after("cclabel output=none attach-runs=true max-runs=" + std::to_string(most),
              gray_with_square());
    const GstStructure* s = regions_of(out.get());
    gboolean truncated = most == 16;
    EXPECT_TRUE(gst_structure_get_boolean(s, "runs-truncated", &truncated));
    EXPECT_EQ(truncated, most == 15);
    GstBuffer* runs = gst_value_get_buffer(gst_structure_get_value(s, "runs"));
    EXPECT_EQ(gst_buffer_get_size(runs), static_cast<gsize>(most) * 16);
  }
}

// Each half of the picture is a superpixel of 32×32 pixels.
TEST(RegionMetadata, Slicsuperpixel_RegionsHaveAdjacencyAndCovariance) {
  Harness h(
      "slicsuperpixel output=none region-size=32 iterations=0 min-size=0 attach-adjacency=true "
      "attach-covariance=true describe=structures device=cpu");
  h.video("GRAY8", 64, 32);
  std::vector<uint8_t> halves(64 * 32, 20);
  for (size_t i = 0; i < halves.size(); ++i) halves[i] = i % 64 < 32 ? 20 : 230;
  ASSERT_EQ(h.push(halves), GST_FLOW_OK);
  const BufferPtr out = h.pull();
  const GstStructure* s = regions_of(out.get());
  ASSERT_EQ(region_count(s), 2u);
  const std::vector<uint8_t> pairs =
      bytes_of(gst_value_get_buffer(gst_structure_get_value(s, "adjacency")));
  ASSERT_EQ(pairs.size(), 12u);
  guint32 pair[3];
  memcpy(pair, pairs.data(), 12);
  EXPECT_EQ(pair[0], 1u);
  EXPECT_EQ(pair[1], 2u);
  EXPECT_EQ(pair[2], 32u) << "length of the shared border";
  for (guint i = 0; i < 2; ++i) {
    const auto real = [&](const char* name) {
      return g_ascii_strtod(region_field(s, i, name).c_str(), nullptr);
    };
    EXPECT_NEAR(real("cov-xx"), (32 * 32 - 1) / 12.0, 1e-9);
    EXPECT_NEAR(real("cov-xy"), 0, 1e-9);
    EXPECT_NEAR(real("cov-yy"), (32 * 32 - 1) / 12.0, 1e-9);
    EXPECT_NEAR(real("cx"), 15.5 + 32 * i, 1e-9);
  }
}

// ---- regions of interest

double real_in(const GstStructure* s, const char* name) {
  gdouble value = -1;
  EXPECT_TRUE(gst_structure_get_double(s, name, &value)) << name;
  return value;
}

// DL Streamer's elements read these parameters.
TEST(RegionOfInterest, EachRegion_HasItsIdBoxAndParameters) {
  for (const bool tracked : {false, true}) {
    const BufferPtr out =
        after(tracked ? "cclabel output=none track=true" : "cclabel output=none", two_rectangles());
    auto* small = gst_buffer_get_video_region_of_interest_meta_id(out.get(), 1);
    auto* large = gst_buffer_get_video_region_of_interest_meta_id(out.get(), 2);
    ASSERT_TRUE(small && large);
    EXPECT_EQ(small->x, 3u);
    EXPECT_EQ(small->w, 6u);
    EXPECT_EQ(large->x, 20u);
    EXPECT_EQ(large->w, 10u);
    EXPECT_STREQ(g_quark_to_string(large->roi_type), "region");
    EXPECT_FALSE(gst_buffer_get_video_region_of_interest_meta_id(out.get(), 3));
    const GstStructure* box = gst_video_region_of_interest_meta_get_param(large, "detection");
    ASSERT_TRUE(box);
    EXPECT_STREQ(gst_structure_get_string(box, "label"), "region");
    EXPECT_EQ(real_in(box, "confidence"), 1);
    EXPECT_EQ(real_in(box, "x_min"), 20.0 / kWidth);
    EXPECT_EQ(real_in(box, "y_min"), 12.0 / kHeight);
    EXPECT_EQ(real_in(box, "x_max"), 30.0 / kWidth);
    EXPECT_EQ(real_in(box, "y_max"), 17.0 / kHeight);
    const GstStructure* object = gst_video_region_of_interest_meta_get_param(large, "object_id");
    EXPECT_EQ(object ? field_of(object, "id") : "none", tracked ? "2" : "none");
  }
}

// The largest regions come first. Regions of equal size are in the order of their ids.
TEST(RegionOfInterest, MoreThan256Regions_KeepsThe256Largest) {
  for (const int dots : {256, 257, 300}) {
    GrayHarness h("cclabel output=none connectivity=4 device=cpu");
    std::vector<uint8_t> picture(kWidth * kHeight);
    const auto place = [](int i) {
      return static_cast<size_t>((i / 20) * 2 * kWidth + (i % 20) * 3);
    };
    for (int i = 0; i < dots; ++i) picture[place(i)] = 255;
    for (const int large : {100, dots - 1}) picture[place(large) + 1] = 255;
    ASSERT_EQ(h.push(picture), GST_FLOW_OK);
    const BufferPtr out = h.pull();
    std::vector<int> expected = {101, dots};
    for (int id = 1; expected.size() < 256; ++id) {
      if (id != 101 && id != dots) expected.push_back(id);
    }
    std::vector<int> found;
    gpointer state = nullptr;
    while (GstMeta* meta = gst_buffer_iterate_meta_filtered(
               out.get(), &state, GST_VIDEO_REGION_OF_INTEREST_META_API_TYPE)) {
      auto* roi = reinterpret_cast<GstVideoRegionOfInterestMeta*>(meta);
      found.push_back(roi->id);
      EXPECT_EQ(roi->parent_id, 0);
      EXPECT_EQ(roi->h, 1u);
    }
    EXPECT_EQ(found, expected) << dots;
    EXPECT_EQ(region_count(regions_of(out.get())), static_cast<guint>(dots));
  }
}

// ---- tracks

TEST(Track, LostAndFoundAgain_KeepsItsFirstSeenTime) {
  GrayHarness h("cclabel output=none track=true device=cpu");
  const auto times = [&](const std::vector<uint8_t>& picture, int index) {
    EXPECT_EQ(h.push(picture, index), GST_FLOW_OK);
    const BufferPtr out = h.pull();
    std::string text;
    for (guint i = 0; i < region_count(regions_of(out.get())); ++i) {
      text += region_field(regions_of(out.get()), i, "first-seen") + " ";
    }
    return text;
  };
  std::vector<uint8_t> one = two_rectangles();
  std::fill(one.begin() + 12 * kWidth, one.end(), uint8_t{16});
  EXPECT_EQ(times(one, 1), "40000000 ");
  EXPECT_EQ(times(two_rectangles(), 2), "40000000 80000000 ");
  EXPECT_EQ(times(one, 3), "40000000 ");
  EXPECT_EQ(times(two_rectangles(), 4), "40000000 80000000 ");
  h.flush();
  EXPECT_EQ(times(two_rectangles(), 9), "360000000 360000000 ");
}

// Before its birth a track has number 0 and is as old as the frame.
TEST(Track, RegionBeforeItsTrackBirth_HasNoTrackNumber) {
  GrayHarness h("cclabel output=none track=true track-birth=3 device=cpu");
  for (int t = 1; t < 6; ++t) {
    ASSERT_EQ(h.push(gray_with_square(t), t), GST_FLOW_OK);
    const BufferPtr out = h.pull();
    const GstStructure* regions = regions_of(out.get());
    ASSERT_EQ(region_count(regions), 1u);
    EXPECT_EQ(region_field(regions, 0, "track"), t < 3 ? "0" : "1") << t;
    EXPECT_EQ(region_field(regions, 0, "first-seen"), std::to_string(time_of(std::min(t, 3))));
    auto* roi = gst_buffer_get_video_region_of_interest_meta(out.get());
    ASSERT_TRUE(roi);
    EXPECT_EQ(gst_video_region_of_interest_meta_get_param(roi, "object_id") != nullptr, t >= 3)
        << t;
  }
}

// The square rests for four frames, jumps, and rests again.
TEST(Track, RegionRests_MetadataCountsItsFrames) {
  GrayHarness h("cclabel output=none track=true device=cpu");
  for (int t = 0; t < 8; ++t) {
    ASSERT_EQ(h.push(gray_with_square(t < 5 ? 0 : 9), t), GST_FLOW_OK);
    const BufferPtr out = h.pull();
    const GstStructure* regions = regions_of(out.get());
    ASSERT_EQ(region_count(regions), 1u);
    EXPECT_EQ(region_field(regions, 0, "still"), std::to_string(t < 5 ? t : t - 5)) << t;
    EXPECT_EQ(region_field(regions, 0, "part-of"), "0") << t;
  }
}

TEST(Track, LabelsWithTrackNumbers_AreZeroBeforeTheTracksBirth) {
  GrayHarness h("cclabel output=labels label-values=track track=true track-birth=2 device=cpu",
                "video/x-raw,format=GRAY8");
  for (int t = 0; t < 3; ++t) {
    ASSERT_EQ(h.push(gray_with_square(), t), GST_FLOW_OK);
    EXPECT_EQ(bytes_of(h.pull().get())[10 * kWidth + 10], t < 1 ? 0 : 1) << t;
  }
}

// ---- the metadata of earlier elements

TEST(RegionMetadata, SecondElement_ReplacesTheMetadataOfTheFirst) {
  const BufferPtr out =
      after("cclabel name=first output=none ! cclabel name=cclabel output=none min-area=30",
            two_rectangles());
  EXPECT_EQ(region_count(regions_of(out.get())), 1u);
  EXPECT_EQ(gst_buffer_get_n_meta(out.get(), GST_VIDEO_REGION_OF_INTEREST_META_API_TYPE), 1u);
}

TEST(RegionMetadata, LabelMap_NextElementWithSourceMask_FindsOnlyTheRegionsOfTheMap) {
  const BufferPtr out = after(
      "cclabel name=first output=none max-area=30 ! cclabel name=cclabel source=mask "
      "output=none",
      two_rectangles());
  ASSERT_EQ(region_count(regions_of(out.get())), 1u);
  EXPECT_EQ(region_field(regions_of(out.get()), 0, "x"), "3");
}

TEST(RegionOverlay, RegionsFromUpstream_AreDrawnAndKept) {
  const BufferPtr out =
      after("cclabel output=none ! regionoverlay style=boxes thickness=1", two_rectangles());
  EXPECT_EQ(region_count(regions_of(out.get())), 2u);
  const std::vector<uint8_t> drawn = bytes_of(out.get()), plain = two_rectangles();
  EXPECT_NE(drawn[12 * kWidth + 20], plain[12 * kWidth + 20]) << "corner of the box";
  EXPECT_EQ(drawn[14 * kWidth + 25], plain[14 * kWidth + 25]) << "inside";
  EXPECT_EQ(drawn[28 * kWidth + 2], plain[28 * kWidth + 2]) << "outside";
}

TEST(RegionOverlay, NoRegions_ChangesNothing) {
  const BufferPtr out = after("regionoverlay", two_rectangles());
  EXPECT_EQ(bytes_of(out.get()), two_rectangles());
}

// The metadata contains regions as a table for the next element, and as structures for
// applications. If the structures were changed, elements must read the structures.
class RegionTable : public testing::Test {
 protected:
  // Hundreds of regions in noise.
  static BufferPtr labelled() {
    std::vector<uint8_t> bytes(kWidth * kHeight);
    std::mt19937 random(7);
    for (uint8_t& pixel : bytes) pixel = random() % 4 ? 16 : 240;
    return after("cclabel output=none attach-labels=never", bytes);
  }
  static GstStructure* metadata(GstBuffer* frame) {
    return gst_custom_meta_get_structure(gst_buffer_get_custom_meta(frame, "regions"));
  }
  static std::vector<uint8_t> drawn(GstBuffer* frame) {
    GrayHarness h("regionoverlay style=boxes+ids");
    EXPECT_EQ(gst_harness_push(h.get(), frame), GST_FLOW_OK);
    return bytes_of(h.pull().get());
  }
};

TEST_F(RegionTable, RegionStructuresEdited_OverlayDrawsTheEditedRegions) {
  struct Case {
    const char* name;
    void (*change)(GstStructure* metadata);
  };
  const Case cases[] = {
      {"unchanged", [](GstStructure*) {}},
      {"of a larger picture",
       [](GstStructure* s) {
         gst_structure_set(s, "width", G_TYPE_INT, 2 * kWidth, "height", G_TYPE_INT, 3 * kHeight,
                           nullptr);
       }},
      {"one other region instead of all",
       [](GstStructure* s) {
         set_regions(s, {box_structure({30, 20, 20, 20}, 9)});
       }},
      {"another region instead of the last",
       [](GstStructure* s) {
         const GValue* array = gst_structure_get_value(s, "regions");
         std::vector<GstStructure*> regions;
         for (guint i = 0; i + 1 < gst_value_array_get_size(array); ++i) {
           regions.push_back(
               gst_structure_copy(gst_value_get_structure(gst_value_array_get_value(array, i))));
         }
         regions.push_back(box_structure({10, 10, 40, 30}, 9));
         set_regions(s, regions);
       }},
      {"none", [](GstStructure* s) { set_regions(s, {}); }},
  };
  std::vector<std::vector<uint8_t>> pictures;
  for (const Case& c : cases) {
    BufferPtr frame = labelled();
    ASSERT_GT(region_count(regions_of(frame.get())), 100u);
    BufferPtr copy(gst_buffer_copy_deep(frame.get()));  // copies the structures, too
    c.change(metadata(frame.get()));
    c.change(metadata(copy.get()));
    pictures.push_back(drawn(frame.release()));
    EXPECT_EQ(pictures.back(), drawn(copy.release())) << c.name;
    for (size_t other = 0; other + 1 < pictures.size(); ++other) {
      EXPECT_NE(pictures.back(), pictures[other]) << c.name << ", " << cases[other].name;
    }
  }
}

// ---- the property describe

// The number of regions of interest.
int rois_of(GstBuffer* frame) {
  int count = 0;
  gpointer state = nullptr;
  while (
      gst_buffer_iterate_meta_filtered(frame, &state, GST_VIDEO_REGION_OF_INTEREST_META_API_TYPE))
    ++count;
  return count;
}

TEST(Describe, EachForm_IsAttachedAlone) {
  struct Case {
    const char* forms;
    guint structures;
    int rois;
  };
  for (const Case& c : {Case{"table", 0, 0},
                        {"structures", 2, 0},
                        {"roi", 0, 2},
                        {"table+structures+roi", 2, 2},
                        {"analytics", 0, 0}}) {
    const BufferPtr out =
        after(std::string("cclabel output=none describe=") + c.forms, two_rectangles());
    const GstStructure* s = regions_of(out.get());
    EXPECT_TRUE(gst_structure_has_field(s, "table")) << c.forms;
    EXPECT_EQ(region_count(s), c.structures) << c.forms;
    EXPECT_EQ(rois_of(out.get()), c.rois) << c.forms;
  }
}

TEST(Describe, NoRegions_FrameHasAnEmptyArray) {
  const BufferPtr out =
      after("cclabel output=none describe=table", std::vector<uint8_t>(kWidth * kHeight, 16));
  const GstStructure* s = regions_of(out.get());
  EXPECT_FALSE(gst_structure_has_field(s, "table"));
  ASSERT_TRUE(gst_structure_has_field(s, "regions"));
  EXPECT_EQ(region_count(s), 0u);
}

// `identity` hands on the same buffer, `videoconvert` a copy, and `videoscale` moves the regions.
TEST(Describe, TableAlone_NextElementsReadTheSameRegions) {
  for (const char* between :
       {"", "identity ! ", "videoconvert ! video/x-raw,format=RGBA ! ",
        "videoscale method=nearest-neighbour ! video/x-raw,width=32,height=24 ! "}) {
    for (const char* reader : {"regionoverlay style=boxes+ids", "cclabel source=mask output=labels",
                               "regionevents attach-shapes=true ! regionoverlay style=boxes"}) {
      // A label map that was scaled has another size than the picture.
      if (contains(between, "videoscale") && contains(reader, "source=mask")) continue;
      const auto drawn = [&](const std::string& forms) {
        return bytes_of(after("cclabel output=none track=true attach-labels=always describe=" +
                                  forms + " ! " + between + reader,
                              two_rectangles(), 3)
                            .get());
      };
      EXPECT_EQ(drawn("table"), drawn("table+structures+roi+analytics")) << between << reader;
    }
  }
}

TEST(Describe, TableAloneThenScaled_StructuresEqualThoseOfAllForms) {
  const std::string rest = " ! videoscale ! video/x-raw,width=32,height=24 ! identity";
  for (const std::string& element : {std::string("cclabel output=none track=true"),
                                     std::string("slicsuperpixel output=none "
                                                 "superpixels=20 attach-covariance=true")}) {
    const BufferPtr table = after(element + " describe=table" + rest, two_rectangles(), 2);
    const BufferPtr all = after(element + " describe=structures+roi" + rest, two_rectangles(), 2);
    const GstStructure* found = regions_of(table.get());
    const GstStructure* expected = regions_of(all.get());
    ASSERT_TRUE(found && expected);
    ASSERT_GT(region_count(expected), 1u);
    ASSERT_EQ(region_count(found), region_count(expected));
    for (guint i = 0; i < region_count(expected); ++i)
      EXPECT_TRUE(gst_structure_is_equal(region_of(found, i), region_of(expected, i))) << i;
    EXPECT_FALSE(gst_structure_has_field(found, "table"));
    EXPECT_EQ(rois_of(table.get()), 0) << "a form that was not wanted";
    EXPECT_EQ(rois_of(all.get()), static_cast<int>(region_count(expected)));
  }
}

TEST(Describe, TableAlone_MessagesHaveTheRegions) {
  GrayHarness h("cclabel output=none describe=table post-messages=true");
  ASSERT_EQ(h.push(two_rectangles()), GST_FLOW_OK);
  h.pull();
  const auto message = h.message(GST_MESSAGE_ELEMENT);
  ASSERT_TRUE(message);
  const GstStructure* s = gst_message_get_structure(message.get());
  ASSERT_EQ(region_count(s), 2u);
  EXPECT_EQ(region_field(s, 1, "x"), "20");
  EXPECT_FALSE(gst_structure_has_field(s, "table"));
}

TEST(Describe, MalformedTable_NextElementPostsAnErrorAndScalingDropsTheRegions) {
  struct Case {
    const char* name;
    std::function<void(GstStructure*)> change;
    const char* error;
  };
  const auto set_columns = [](const char* columns) {
    return [columns](GstStructure* s) {
      gst_structure_set(s, "table-columns", G_TYPE_STRING, columns, nullptr);
    };
  };
  for (const Case& c :
       {Case{"no columns", [](GstStructure* s) { gst_structure_remove_field(s, "table-columns"); },
             "table without 'table-columns'"},
        {"empty columns", set_columns(" "), "rows of 0 bytes"},
        {"unknown type", set_columns("id:<u4 x:<f4"), "unknown column 'x:<f4'"},
        {"no type", set_columns("id"), "unknown column 'id'"},
        {"other row size",
         set_columns("id:<u4 track:<u8 x:<i4 y:<i4 width:<i4 height:<i4 "
                     "area:<u8 cx:<f8 cy:<f8 first-x:<i4 first-y:<i4 a:<f8"),
         "its columns make rows of"},
        {"no box",
         set_columns("id:<u4 a:<u4 b:<u8 c:<u8 d:<u8 e:<f8 f:<f8 g:<i4 h:<i4 i:<f8 "
                     "j:<f8 k:<f8"),
         "lacks the number 'x'"},
        {"a text instead of bytes",
         [](GstStructure* s) { gst_structure_set(s, "table", G_TYPE_STRING, "rows", nullptr); },
         "lacks the array 'regions' and the buffer 'table'"}}) {
    const BufferPtr frame = after("cclabel output=none describe=table", two_rectangles());
    BufferPtr copy(gst_buffer_copy_deep(frame.get()));  // without the table of its element
    c.change(gst_custom_meta_get_structure(gst_buffer_get_custom_meta(copy.get(), "regions")));
    GrayHarness overlay("regionoverlay");
    EXPECT_EQ(gst_harness_push(overlay.get(), gst_buffer_ref(copy.get())), GST_FLOW_ERROR)
        << c.name;
    EXPECT_PRED2(contains, overlay.error_text(), c.error) << c.name;
    if (c.name == std::string("no box")) continue;  // scaling reads a missing field as 0
    GrayHarness scaler("videoscale ! video/x-raw,width=32,height=24 ! identity");
    EXPECT_EQ(gst_harness_push(scaler.get(), copy.release()), GST_FLOW_OK) << c.name;
    EXPECT_FALSE(regions_of(scaler.pull().get())) << c.name;
  }
}

// ---- lifetime: structures and tables are used again, frame after frame

// `count` squares of 2×2 pixels, side by side from (x, 0) on.
std::vector<uint8_t> squares(int x, int count) {
  std::vector<uint8_t> bytes(kWidth * kHeight, 16);
  for (int i = 0; i < count; ++i) {
    uint8_t* first = &bytes[static_cast<size_t>(x) + 4 * static_cast<size_t>(i)];
    first[0] = first[1] = first[kWidth] = first[kWidth + 1] = 240;
  }
  return bytes;
}

struct StructureFree {
  void operator()(GstStructure* s) const { gst_structure_free(s); }
};
using StructureOwner = std::unique_ptr<GstStructure, StructureFree>;

std::string left_edges(const GstStructure* regions) {
  std::string edges;
  for (guint i = 0; i < region_count(regions); ++i) edges += region_field(regions, i, "x") + " ";
  return edges;
}

class RegionLifetime : public testing::Test {
 protected:
  RegionLifetime() { h_.video("GRAY8", kWidth, kHeight); }
  BufferPtr labelled(int x, int count) {
    EXPECT_EQ(h_.push(squares(x, count), frames_++), GST_FLOW_OK);
    return h_.pull();
  }

  Harness h_{"cclabel output=none frames-in-flight=1 device=cpu"};
  int frames_ = 0;
};

TEST_F(RegionLifetime, HeldFrames_KeepTheirRegions) {
  std::vector<BufferPtr> held;
  for (int i = 0; i < 24; ++i) held.push_back(labelled(i, 1 + i % 3));
  for (int i = 0; i < 24; i += 2) held[static_cast<size_t>(i)].reset();
  for (int i = 0; i < 24; ++i) labelled(30, 5);
  for (int i = 1; i < 24; i += 2) {
    std::string expected;
    for (int k = 0; k < 1 + i % 3; ++k) expected += std::to_string(i + 4 * k) + " ";
    EXPECT_EQ(left_edges(regions_of(held[static_cast<size_t>(i)].get())), expected);
  }
}

TEST_F(RegionLifetime, FrameFreed_CopiesOfFrameAndStructuresKeepTheirRegions) {
  BufferPtr frame = labelled(7, 2);
  const BufferPtr other(gst_buffer_copy(frame.get()));
  const StructureOwner structure(gst_structure_copy(regions_of(frame.get())));
  const StructureOwner region(gst_structure_copy(region_of(structure.get(), 1)));
  frame.reset();
  for (int i = 0; i < 3; ++i) EXPECT_EQ(left_edges(regions_of(labelled(20, 3).get())), "20 24 28 ");
  EXPECT_EQ(left_edges(regions_of(other.get())), "7 11 ");
  EXPECT_EQ(left_edges(structure.get()), "7 11 ");
  EXPECT_EQ(field_of(region.get(), "x"), "11");
}

TEST_F(RegionLifetime, FrameFreed_TableThatIsStillHeldIsNotOverwritten) {
  std::vector<BufferPtr> held;
  std::vector<std::vector<uint8_t>> bytes;
  for (int i = 0; i < 24; ++i) {
    const BufferPtr frame = labelled(i, 1 + i % 3);
    GstBuffer* table = nullptr;
    ASSERT_TRUE(
        gst_structure_get(regions_of(frame.get()), "table", GST_TYPE_BUFFER, &table, nullptr));
    bytes.push_back(bytes_of(table));
    ASSERT_EQ(bytes.back().size() % static_cast<size_t>(1 + i % 3), 0u);
    held.emplace_back(i % 4 ? table : nullptr);  // others are freed, and their memory is used again
    if (!held.back()) gst_buffer_unref(table);
  }
  for (size_t i = 0; i < held.size(); ++i) {
    if (held[i]) {
      EXPECT_EQ(bytes_of(held[i].get()), bytes[i]) << i;
    }
  }
}

// The rows are computed when a reader first maps the table, also for two readers at the same time.
TEST_F(RegionLifetime, FrameFreed_TableReadLaterHasItsRowsForEachReader) {
  std::vector<BufferPtr> tables;
  for (int i = 0; i < 24; ++i) {
    const BufferPtr frame = labelled(i, 2);
    GstBuffer* table = nullptr;
    ASSERT_TRUE(
        gst_structure_get(regions_of(frame.get()), "table", GST_TYPE_BUFFER, &table, nullptr));
    tables.emplace_back(table);
  }
  const auto left_of = [](const std::vector<uint8_t>& row) {
    int32_t left;
    std::memcpy(&left, row.data() + 2 * sizeof left, sizeof left);  // after `id` and `track`
    return left;
  };
  for (int i = 0; i < 24; ++i) {
    GstBuffer* table = tables[static_cast<size_t>(i)].get();
    const gsize row = gst_buffer_get_size(table) / 2;
    const BufferPtr second(gst_buffer_copy_region(table, GST_BUFFER_COPY_MEMORY, row, row));
    std::vector<uint8_t> bytes;
    std::thread reader([&] { bytes = bytes_of(table); });
    EXPECT_EQ(left_of(bytes_of(second.get())), i + 4);
    reader.join();
    EXPECT_EQ(bytes.size(), 2 * row);
    EXPECT_EQ(left_of(bytes), i);
    EXPECT_EQ(bytes_of(second.get()),
              std::vector(bytes.begin() + static_cast<int>(row), bytes.end()));
    gst_buffer_memset(second.get(), 0, 0xff, row);
    EXPECT_EQ(bytes_of(table), bytes) << "another buffer has its own copy";
  }
}

TEST_F(RegionLifetime, ElementFreed_FrameKeepsItsRegions) {
  const BufferPtr last = after("cclabel output=none device=cpu", squares(9, 2));
  labelled(1, 2);
  EXPECT_EQ(left_edges(regions_of(last.get())), "9 13 ");
}

// An element downstream can write to the structures of a frame. The next frame must not show it.
TEST_F(RegionLifetime, StructureChangedDownstream_NextFrameHasUnchangedStructures) {
  const auto first_of = [](const BufferPtr& frame) {
    return const_cast<GstStructure*>(region_of(regions_of(frame.get()), 0));
  };
  for (int round = 0; round < 4; ++round) {
    BufferPtr frame = labelled(5, 1);
    EXPECT_EQ(gst_structure_n_fields(first_of(frame)), 14);
    EXPECT_TRUE(gst_structure_has_name(first_of(frame), "region"));
    EXPECT_EQ(left_edges(regions_of(frame.get())), "5 ");
    if (round == 0) gst_structure_set(first_of(frame), "x", G_TYPE_STRING, "five", nullptr);
    if (round == 1) gst_structure_set(first_of(frame), "guess", G_TYPE_STRING, "cat", nullptr);
    if (round == 2) gst_structure_set_name(first_of(frame), "cat");
  }
}

TEST_F(RegionLifetime, ParameterChangedDownstream_NextFrameHasUnchangedParameters) {
  for (int round = 0; round < 4; ++round) {
    BufferPtr frame = labelled(5 + round, 1);
    auto* roi = gst_buffer_get_video_region_of_interest_meta_id(frame.get(), 1);
    ASSERT_TRUE(roi);
    EXPECT_EQ(g_list_length(roi->params), 1u);
    GstStructure* box = gst_video_region_of_interest_meta_get_param(roi, "detection");
    ASSERT_TRUE(box);
    EXPECT_EQ(gst_structure_n_fields(box), 6);
    EXPECT_STREQ(gst_structure_get_string(box, "label"), "region");
    EXPECT_EQ(real_in(box, "x_min"), (5.0 + round) / kWidth);
    if (round == 0) gst_structure_set(box, "label", G_TYPE_STRING, "cat", nullptr);
    if (round == 1) gst_structure_remove_field(box, "x_min");
    if (round == 2) {
      gst_video_region_of_interest_meta_add_param(roi, gst_structure_new_empty("classification"));
    }
  }
}

TEST_F(RegionLifetime, BufferReusedByItsPool_HasOnlyTheRegionsOfItsNewFrame) {
  GstBufferPool* pool = gst_buffer_pool_new();
  GstStructure* config = gst_buffer_pool_get_config(pool);
  gst_buffer_pool_config_set_params(config, nullptr, kWidth * kHeight, 1, 1);
  gst_buffer_pool_set_config(pool, config);
  gst_buffer_pool_set_active(pool, TRUE);
  for (const int count : {3, 9, 1, 4}) {
    GstBuffer* buffer = nullptr;
    ASSERT_EQ(gst_buffer_pool_acquire_buffer(pool, &buffer, nullptr), GST_FLOW_OK);
    EXPECT_FALSE(regions_of(buffer));
    const std::vector<uint8_t> picture = squares(count, count);
    gst_buffer_fill(buffer, 0, picture.data(), picture.size());
    EXPECT_EQ(gst_harness_push(h_.get(), buffer), GST_FLOW_OK);
    const BufferPtr out = h_.pull();
    ASSERT_EQ(region_count(regions_of(out.get())), static_cast<guint>(count));
    EXPECT_EQ(region_field(regions_of(out.get()), 0, "x"), std::to_string(count));
    for (guint i = 0; i < static_cast<guint>(count); ++i) {
      auto* roi =
          gst_buffer_get_video_region_of_interest_meta_id(out.get(), static_cast<gint>(i) + 1);
      ASSERT_TRUE(roi);
      EXPECT_EQ(real_in(gst_video_region_of_interest_meta_get_param(roi, "detection"), "x_min"),
                static_cast<double>(count + 4 * static_cast<int>(i)) / kWidth);
    }
  }
  gst_buffer_pool_set_active(pool, FALSE);
  gst_object_unref(pool);
}

}  // namespace
}  // namespace regions::test

// Every field of the metadata, with its type, of each element; and which regions GStreamer's own
// metadata tell of.
#include <map>
#include <sstream>

#include "tests/plugin/moving_square.hpp"

namespace regions::test {
namespace {

// "name:type" of all fields but those left out, in order.
std::string types_of(const GstStructure* s) {
  std::string text;
  for (gint i = 0; i < gst_structure_n_fields(s); ++i) {
    const char* name = gst_structure_nth_field_name(s, static_cast<guint>(i));
    text += (text.empty() ? "" : " ") + std::string(name) + ":" +
            g_type_name(gst_structure_get_field_type(s, name));
  }
  return text;
}

const GstStructure* region_of(const GstStructure* s, guint i) {
  return gst_value_get_structure(
      gst_value_array_get_value(gst_structure_get_value(s, "regions"), i));
}

BufferPtr after(const std::string& line, int frames = 1) {
  Harness h(line);
  h.video("GRAY8", kWidth, kHeight);
  BufferPtr out;
  for (int i = 0; i < frames; ++i) EXPECT_EQ(h.push(gray_with_square(), i), GST_FLOW_OK) << line;
  for (int i = 0; i < frames; ++i) out = h.pull();
  EXPECT_TRUE(out) << line;
  return out;
}

const std::string kEmpty =
    "algorithm:gchararray width:gint height:gint regions-total:guint regions:GstValueArray";
const std::string kAll = kEmpty + " table:GstBuffer table-columns:gchararray";
const std::string kLabels = " labels:GstBuffer labels-format:gchararray";
const std::string kRegion =
    "id:guint track:guint x:gint y:gint width:gint height:gint area:guint64 cx:gdouble cy:gdouble "
    "first-x:gint first-y:gint red:gdouble green:gdouble blue:gdouble";
const std::string kOfVolumes = " z:gint depth:gint cz:gdouble first-z:gint layer:guint";
const std::string kTracks =
    " births:gint64 deaths:gint64 splits:gint64 merges:gint64 tracks-lost:gint64 last-track:gint64";

TEST(MetaFields, AreOfTheirTypes) {
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
         kRegion + " first-seen:guint64"},
        {"cclabel output=none attach-runs=true", 1,
         kAll + " runs:GstBuffer runs-truncated:gboolean" + kLabels, kRegion},
        {"cclabel output=none depth=2 connectivity=6", 2,
         kAll + " slice:gint slices:gint" + kLabels, kRegion + kOfVolumes},
        {"cclabel output=none thresholds=<0.2,0.6>", 1, kAll + " layers:gint" + kLabels,
         kRegion + kOfVolumes},
        {"slicsuperpixel output=none", 1, kAll + kLabels,
         kRegion + " lab-l:gdouble lab-a:gdouble lab-b:gdouble"},
        {"slicsuperpixel output=mean attach-covariance=true attach-adjacency=true warm-start=true",
         1, kAll + " adjacency:GstBuffer",
         kRegion + " first-seen:guint64 lab-l:gdouble lab-a:gdouble lab-b:gdouble cov-xx:gdouble "
                   "cov-xy:gdouble cov-yy:gdouble"},
        {"graphcutbg output=none", 1,
         kEmpty +
             " exact:gboolean flow:gint64 gap:gint64 iterations:gint64 "
             "foreground-pixels:gint64 restarted:gboolean" +
             kLabels,
         ""}}) {
    const BufferPtr out = after(c.line, c.frames);
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
    // Fields beyond these are in the order that they are documented in, whatever that is.
    std::map<std::string, int> found, expected;
    std::istringstream one(types_of(region_of(s, 0))), other(c.region);
    for (std::string field; one >> field;) ++found[field];
    for (std::string field; other >> field;) ++expected[field];
    EXPECT_EQ(found, expected) << c.line;
    EXPECT_TRUE(gst_structure_has_name(region_of(s, 0), "region")) << c.line;
  }
}

int number(const GstStructure* s, const char* name) {
  gint value = -1;
  gst_structure_get_int(s, name, &value);
  return value;
}

TEST(MetaFields, LayersAndSlicesAreCounted) {
  const BufferPtr layers = after("cclabel output=none thresholds=<0.2,0.6>");
  EXPECT_EQ(number(regions_of(layers.get()), "layers"), 2);
  EXPECT_EQ(region_field(regions_of(layers.get()), 1, "layer"), "1");
  const BufferPtr slice = after("cclabel output=none depth=3 connectivity=26", 3);
  EXPECT_EQ(number(regions_of(slice.get()), "slice"), 2);
  EXPECT_EQ(number(regions_of(slice.get()), "slices"), 3);
  EXPECT_EQ(region_field(regions_of(slice.get()), 0, "depth"), "3");
  EXPECT_EQ(region_field(regions_of(slice.get()), 0, "cz"), "1");
  EXPECT_EQ(region_field(regions_of(slice.get()), 0, "z"), "0");
  EXPECT_EQ(region_field(regions_of(slice.get()), 0, "area"), std::to_string(3 * 320));
}

TEST(MetaFields, RunsThatAreTooManyAreSaid) {
  for (const int most : {16, 15}) {
    const BufferPtr out =
        after("cclabel output=none attach-runs=true max-runs=" + std::to_string(most));
    const GstStructure* s = regions_of(out.get());
    gboolean truncated = most == 16;
    EXPECT_TRUE(gst_structure_get_boolean(s, "runs-truncated", &truncated));
    EXPECT_EQ(truncated, most == 15);
    GstBuffer* runs = gst_value_get_buffer(gst_structure_get_value(s, "runs"));
    EXPECT_EQ(gst_buffer_get_size(runs), static_cast<gsize>(most) * 16);
  }
}

// Adjacency and covariance where two superpixels share one side of the picture: of 64x48 pixels,
// halves of 32x48.
TEST(MetaFields, SuperpixelsTellOfTheirPlaces) {
  Harness h(
      "slicsuperpixel output=none region-size=32 iterations=0 min-size=0 attach-adjacency=true "
      "attach-covariance=true device=cpu");
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
  EXPECT_EQ(pair[2], 32u) << "sides of pixels";
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

// Of many regions GStreamer's metadata tell of the 256 largest: the largest first, of equal ones
// the first.
TEST(MetaFields, RegionsOfInterestAreTheLargest) {
  for (const int dots : {256, 257, 300}) {
    Harness h("cclabel output=none connectivity=4 device=cpu");
    h.video("GRAY8", kWidth, kHeight);
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

}  // namespace
}  // namespace regions::test

// What becomes of regions where other elements scale, crop, turn or encode a frame: every line of
// the table in docs/metadata.md.
#include <fstream>
#include <set>
#include <sstream>

#include "tests/plugin/harness.hpp"

namespace regions::test {
namespace {

constexpr int kWidth = 80, kHeight = 60;

// Three rectangles of even places and sizes, away from the edges, on black.
std::vector<uint8_t> rectangles() {
  std::vector<uint8_t> bytes(kWidth * kHeight, 16);
  const auto fill = [&](int x0, int y0, int w, int h, uint8_t value) {
    for (int y = y0; y < y0 + h; ++y) {
      for (int x = x0; x < x0 + w; ++x) bytes[static_cast<size_t>(y * kWidth + x)] = value;
    }
  };
  fill(14, 8, 12, 6, 220);
  fill(30, 20, 8, 16, 235);
  fill(26, 40, 20, 8, 200);
  return bytes;
}

struct Row {
  std::string element, before_matrix, with_matrix, map;
};

// The table's lines; cells lie between bars, elements in backticks.
std::vector<Row> table() {
  const gchar* docs = g_getenv("REGIONS_DOCS");
  EXPECT_NE(docs, nullptr) << "REGIONS_DOCS names no folder of documents";
  std::ifstream file(std::string(docs ? docs : "docs") + "/metadata.md");
  std::vector<Row> rows;
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("| `", 0) != 0) continue;
    std::vector<std::string> cells;
    std::istringstream in(line.substr(1));
    for (std::string cell; std::getline(in, cell, '|');) {
      const size_t first = cell.find_first_not_of(" `"), last = cell.find_last_not_of(" `");
      cells.push_back(first == std::string::npos ? "" : cell.substr(first, last - first + 1));
    }
    if (cells.size() >= 4) rows.push_back({cells[0], cells[1], cells[2], cells[3]});
  }
  return rows;
}

// Whether elements tell metadata what they do by a matrix.
bool has_matrix() {
  guint major = 0, minor = 0, micro = 0, nano = 0;
  gst_version(&major, &minor, &micro, &nano);
  return minor >= 28;
}

bool have_element(const std::string& name) {
  GstElementFactory* factory = gst_element_factory_find(name.c_str());
  if (factory) gst_object_unref(factory);
  return factory != nullptr;
}

// What a frame says of its regions, in order of places: box, area, centroid.
using Boxes = std::set<std::string>;

Boxes regions_on(GstBuffer* buffer, std::initializer_list<const char*> fields) {
  Boxes boxes;
  const GstStructure* s = regions_of(buffer);
  for (guint i = 0; s && i < region_count(s); ++i) {
    std::string text;
    for (const char* field : fields) text += region_field(s, i, field) + " ";
    boxes.insert(text);
  }
  return boxes;
}

Boxes rois_on(GstBuffer* buffer) {
  Boxes boxes;
  gpointer state = nullptr;
  while (GstMeta* meta = gst_buffer_iterate_meta_filtered(
             buffer, &state, GST_VIDEO_REGION_OF_INTEREST_META_API_TYPE)) {
    auto* roi = reinterpret_cast<GstVideoRegionOfInterestMeta*>(meta);
    std::ostringstream text;
    text << roi->id << " " << roi->x << " " << roi->y << " " << roi->w << " " << roi->h << " ";
    boxes.insert(text.str());
    EXPECT_TRUE(gst_video_region_of_interest_meta_get_param(roi, "detection"));
  }
  return boxes;
}

class Chain {
 public:
  explicit Chain(const std::string& rest)
      : harness_("cclabel output=none connectivity=4 device=cpu ! videoconvert ! " + rest +
                 " ! identity") {
    harness_.video("GRAY8", kWidth, kHeight, ",pixel-aspect-ratio=1/1");
  }
  // The frame that comes out for one that went in, and its caps.
  BufferPtr frame() {
    EXPECT_EQ(harness_.push(rectangles()), GST_FLOW_OK) << harness_.error_text();
    harness_.eos();
    return harness_.pull();
  }
  std::unique_ptr<GstCaps, Unref> caps() {
    return std::unique_ptr<GstCaps, Unref>(gst_pad_get_current_caps(harness_.get()->sinkpad));
  }

 private:
  Harness harness_;
};

constexpr auto kCompared = {"x", "y", "width", "height", "area", "cx", "cy"};

// What cclabel finds in that picture.
Boxes found_in(GstBuffer* picture, GstCaps* caps) {
  Harness h("videoconvert ! cclabel output=none connectivity=4 device=cpu name=cclabel");
  gchar* text = gst_caps_to_string(caps);
  h.caps(text);
  g_free(text);
  GstBuffer* plain = gst_buffer_copy_deep(picture);
  if (GstCustomMeta* meta = gst_buffer_get_custom_meta(plain, "regions")) {
    gst_buffer_remove_meta(plain, &meta->meta);
  }
  EXPECT_EQ(gst_harness_push(h.get(), plain), GST_FLOW_OK);
  return regions_on(h.pull().get(), kCompared);
}

TEST(MetaTransform, IsAsTheTableSays) {
  start_gstreamer();
  const std::vector<Row> rows = table();
  ASSERT_GT(rows.size(), 20u) << "the table of docs/metadata.md is not where it was";
  for (const Row& row : rows) {
    SCOPED_TRACE(row.element);
    const std::string name = row.element.substr(0, row.element.find(' '));
    if (!have_element(name)) {
      std::cout << "not here, not tested: " << row.element << "\n";
      continue;
    }
    Chain chain(row.element);
    const BufferPtr out = chain.frame();
    ASSERT_TRUE(out);
    const bool there = regions_of(out.get()) != nullptr;
    const std::string expected = has_matrix() ? row.with_matrix : row.before_matrix;
    EXPECT_EQ(there, expected != "dropped");
    EXPECT_EQ(rois_on(out.get()), regions_on(out.get(), {"id", "x", "y", "width", "height"}));
    if (!there) continue;
    EXPECT_EQ(gst_structure_has_field(regions_of(out.get()), "labels"), row.map == "kept");
    const auto caps = chain.caps();
    const GstStructure* format = gst_caps_get_structure(caps.get(), 0);
    if (!gst_structure_has_name(format, "video/x-raw")) continue;
    EXPECT_EQ(regions_on(out.get(), kCompared), found_in(out.get(), caps.get()));
    gint width = 0, said = 0;
    gst_structure_get_int(format, "width", &width);
    gst_structure_get_int(regions_of(out.get()), "width", &said);
    EXPECT_EQ(said, width);
  }
}

// A region that the edge cuts has its visible box, and its whole area and centroid.
TEST(MetaTransform, RegionsThatTheEdgeCutsKeepWhatIsKnown) {
  if (!has_matrix()) GTEST_SKIP() << "videocrop tells metadata what it does from GStreamer 1.28";
  Chain chain("videocrop left=20 bottom=14");
  const BufferPtr out = chain.frame();
  EXPECT_EQ(
      regions_on(out.get(), kCompared),
      (Boxes{"0 8 6 6 72 -0.5 10.5 ", "10 20 8 16 128 13.5 27.5 ", "6 40 20 6 160 15.5 43.5 "}));
  EXPECT_EQ(rois_on(out.get()), regions_on(out.get(), {"id", "x", "y", "width", "height"}));
  const GstStructure* cut = gst_value_get_structure(
      gst_value_array_get_value(gst_structure_get_value(regions_of(out.get()), "regions"), 0));
  EXPECT_FALSE(gst_structure_has_field(cut, "first-x"));  // outside
  guint total = 0;
  gst_structure_get_uint(regions_of(out.get()), "regions-total", &total);
  EXPECT_EQ(total, 3u);
  const BufferPtr part = Chain("videocrop left=44").frame();
  EXPECT_EQ(regions_on(part.get(), {"id", "x", "width"}), (Boxes{"3 0 2 "}));
}

// Masks of every size are read; after scaling they say which they have.
TEST(MetaTransform, ScaledLabelMapsTellTheirSize) {
  Chain chain("videoscale ! video/x-raw,width=160,height=120");
  const BufferPtr out = chain.frame();
  gint width = 0, height = 0;
  EXPECT_TRUE(gst_structure_get_int(regions_of(out.get()), "labels-width", &width));
  EXPECT_TRUE(gst_structure_get_int(regions_of(out.get()), "labels-height", &height));
  EXPECT_EQ(width, kWidth);
  EXPECT_EQ(height, kHeight);
}

TEST(MetaTransform, ScaledMasksAreReadInTheirSize) {
  Harness h(
      "cclabel name=first output=none max-area=100 ! videoscale ! video/x-raw,width=40,height=30 ! "
      "regionoverlay style=fill opacity=1 device=cpu");
  h.video("GRAY8", kWidth, kHeight, ",pixel-aspect-ratio=1/1");
  h.push(rectangles());
  const std::vector<uint8_t> drawn = bytes_of(h.pull().get());
  EXPECT_NE(drawn[5 * 40 + 9], 220);    // inside of the first
  EXPECT_EQ(drawn[22 * 40 + 18], 200);  // the third is too large
}

// Frames that are held encoded must not hold their maps, which no queue counts.
TEST(MetaTransform, LabelMapsAreFreeBehindAnEncoder) {
  if (!have_element("jpegenc")) GTEST_SKIP() << "jpegenc is not installed here";
  Harness h(
      "cclabel output=none device=cpu frames-in-flight=1 ! jpegenc ! queue max-size-buffers=0");
  h.video("GRAY8", kWidth, kHeight);
  std::set<const void*> maps;
  GstPad* source = gst_element_get_static_pad(h.element(), "src");
  gst_pad_add_probe(
      source, GST_PAD_PROBE_TYPE_BUFFER,
      [](GstPad*, GstPadProbeInfo* info, gpointer data) {
        const GstStructure* s = regions_of(GST_PAD_PROBE_INFO_BUFFER(info));
        static_cast<std::set<const void*>*>(data)->insert(
            gst_value_get_buffer(gst_structure_get_value(s, "labels")));
        return GST_PAD_PROBE_OK;
      },
      &maps, nullptr);
  gst_object_unref(source);
  constexpr int kFrames = 40;
  std::vector<BufferPtr> held;
  for (int i = 0; i < kFrames; ++i) {
    ASSERT_EQ(h.push(rectangles(), i), GST_FLOW_OK);
    held.push_back(h.pull());
    EXPECT_EQ(region_count(regions_of(held.back().get())), 3u);
  }
  EXPECT_LT(maps.size(), kFrames / 4);
}

// Copies of the picture keep its map, also copies that get the picture later.
TEST(MetaTransform, CopiesKeepTheLabelMap) {
  Chain chain("identity");
  const BufferPtr frame = chain.frame();
  const BufferPtr shared(gst_buffer_copy(frame.get())), deep(gst_buffer_copy_deep(frame.get()));
  const BufferPtr later(gst_buffer_new());
  gst_buffer_copy_into(later.get(), frame.get(), GST_BUFFER_COPY_META, 0, static_cast<gsize>(-1));
  for (const BufferPtr* copy : {&shared, &deep, &later}) {
    EXPECT_TRUE(gst_structure_has_field(regions_of(copy->get()), "labels"));
    EXPECT_EQ(rois_on(copy->get()), rois_on(frame.get()));
  }
}

}  // namespace
}  // namespace regions::test

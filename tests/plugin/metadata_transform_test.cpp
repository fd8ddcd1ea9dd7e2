// Region metadata after elements that scale, crop, turn or encode a frame. The first part runs such
// elements. The second part calls the transform function, also with values that no element passes.
#include <algorithm>
#include <climits>
#include <cmath>
#include <fstream>
#include <set>
#include <sstream>

#include "tests/plugin/region_structures.hpp"

namespace regions::test {
namespace {

constexpr int kWidth = 80, kHeight = 60;

// The regions of interest of a type: "id x y w h".
std::vector<std::string> rois_on(GstBuffer* buffer, const std::string& type = "region") {
  std::vector<std::string> all;
  gpointer state = nullptr;
  while (GstMeta* meta = gst_buffer_iterate_meta_filtered(
             buffer, &state, GST_VIDEO_REGION_OF_INTEREST_META_API_TYPE)) {
    auto* roi = reinterpret_cast<GstVideoRegionOfInterestMeta*>(meta);
    if (g_quark_to_string(roi->roi_type) != type) continue;
    std::ostringstream text;
    text << roi->id << " " << roi->x << " " << roi->y << " " << roi->w << " " << roi->h;
    all.push_back(text.str());
  }
  return all;
}

// ---- elements: every row of the table in docs/metadata.md

// Three rectangles with even coordinates and sizes, away from the edges.
std::vector<uint8_t> rectangles() {
  std::vector<uint8_t> bytes(kWidth * kHeight, 16);
  const auto fill = [&](int x0, int y0, int w, int h, uint8_t value) {
    for (int y = y0; y < y0 + h; ++y) {
      std::fill_n(&bytes[static_cast<size_t>(y * kWidth + x0)], w, value);
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

// The rows of the table. Bars separate cells; elements are in backticks.
std::vector<Row> table() {
  const gchar* docs = g_getenv("REGIONS_DOCS");
  EXPECT_NE(docs, nullptr) << "REGIONS_DOCS is not set";
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

// Whether videocrop and others pass a matrix to the metadata.
bool has_matrix() {
  guint major = 0, minor = 0, micro = 0, nano = 0;
  gst_version(&major, &minor, &micro, &nano);
  return minor >= 28;
}

using Boxes = std::set<std::string>;
constexpr auto kCompared = {"x", "y", "width", "height", "area", "cx", "cy"};
constexpr auto kBox = {"id", "x", "y", "width", "height"};

// The fields of each region, in any order.
Boxes boxes_on(GstBuffer* buffer, std::initializer_list<const char*> fields) {
  Boxes boxes;
  const GstStructure* s = regions_of(buffer);
  for (guint i = 0; s && i < region_count(s); ++i) {
    std::string text;
    for (const char* field : fields) {
      text += (text.empty() ? "" : " ") + region_field(s, i, field);
    }
    boxes.insert(text);
  }
  return boxes;
}

Boxes roi_boxes_on(GstBuffer* buffer) {
  const std::vector<std::string> all = rois_on(buffer);
  return {all.begin(), all.end()};
}

// The frame that leaves a chain of cclabel and other elements.
class Chain {
 public:
  explicit Chain(const std::string& rest)
      : harness_("cclabel output=none connectivity=4 device=cpu ! videoconvert ! " + rest +
                 " ! identity") {
    harness_.video("GRAY8", kWidth, kHeight, ",pixel-aspect-ratio=1/1");
  }
  BufferPtr frame() {
    EXPECT_EQ(harness_.push(rectangles()), GST_FLOW_OK) << harness_.error_text();
    harness_.eos();
    return harness_.pull();
  }
  CapsPtr caps() { return CapsPtr(gst_pad_get_current_caps(harness_.get()->sinkpad)); }

 private:
  Harness harness_;
};

// The regions that cclabel finds in that picture.
Boxes found_in(GstBuffer* picture, GstCaps* caps) {
  Harness h("videoconvert ! cclabel output=none connectivity=4 device=cpu name=cclabel");
  h.caps(taken(gst_caps_to_string(caps)));
  GstBuffer* plain = gst_buffer_copy_deep(picture);
  if (GstCustomMeta* meta = gst_buffer_get_custom_meta(plain, "regions")) {
    gst_buffer_remove_meta(plain, &meta->meta);
  }
  EXPECT_EQ(gst_harness_push(h.get(), plain), GST_FLOW_OK);
  return boxes_on(h.pull().get(), kCompared);
}

TEST(MetadataTransform, ElementsOfTheTableInTheDocumentation_TreatRegionsAsItSays) {
  start_gstreamer();
  const std::vector<Row> rows = table();
  ASSERT_GT(rows.size(), 20u) << "docs/metadata.md has no table";
  for (const Row& row : rows) {
    SCOPED_TRACE(row.element);
    if (!have_element(row.element.substr(0, row.element.find(' ')))) {
      std::cout << "not installed, not tested: " << row.element << "\n";
      continue;
    }
    Chain chain(row.element);
    const BufferPtr out = chain.frame();
    ASSERT_TRUE(out);
    const bool there = regions_of(out.get()) != nullptr;
    EXPECT_EQ(there, (has_matrix() ? row.with_matrix : row.before_matrix) != "dropped");
    EXPECT_EQ(roi_boxes_on(out.get()), boxes_on(out.get(), kBox));
    if (!there) continue;
    EXPECT_EQ(gst_structure_has_field(regions_of(out.get()), "labels"), row.map == "kept");
    const CapsPtr caps = chain.caps();
    const GstStructure* format = gst_caps_get_structure(caps.get(), 0);
    if (!gst_structure_has_name(format, "video/x-raw")) continue;
    EXPECT_EQ(boxes_on(out.get(), kCompared), found_in(out.get(), caps.get()));
    EXPECT_EQ(field_of(regions_of(out.get()), "width"), field_of(format, "width"));
    for (gint id : {1, 2, 3}) {
      auto* roi = gst_buffer_get_video_region_of_interest_meta_id(out.get(), id);
      EXPECT_TRUE(!roi || gst_video_region_of_interest_meta_get_param(roi, "detection")) << id;
    }
  }
}

// The box is the visible part. Area and centroid belong to the whole region.
TEST(MetadataTransform, RegionCutByTheEdge_KeepsItsAreaAndCentroid) {
  if (!has_matrix()) GTEST_SKIP() << "videocrop passes its matrix since GStreamer 1.28";
  const BufferPtr out = Chain("videocrop left=20 bottom=14").frame();
  EXPECT_EQ(boxes_on(out.get(), kCompared),
            (Boxes{"0 8 6 6 72 -0.5 10.5", "10 20 8 16 128 13.5 27.5", "6 40 20 6 160 15.5 43.5"}));
  EXPECT_EQ(roi_boxes_on(out.get()), boxes_on(out.get(), kBox));
  EXPECT_FALSE(gst_structure_has_field(region_of(regions_of(out.get()), 0), "first-x"))
      << "the first pixel is outside";
  EXPECT_EQ(field_of(regions_of(out.get()), "regions-total"), "3");
  const BufferPtr part = Chain("videocrop left=44").frame();
  EXPECT_EQ(boxes_on(part.get(), {"id", "x", "width"}), (Boxes{"3 0 2"}));
}

TEST(MetadataTransform, ScaledFrame_LabelMapKeepsItsSizeAndIsDrawn) {
  const BufferPtr out = Chain("videoscale ! video/x-raw,width=160,height=120").frame();
  EXPECT_EQ(field_of(regions_of(out.get()), "labels-width"), std::to_string(kWidth));
  EXPECT_EQ(field_of(regions_of(out.get()), "labels-height"), std::to_string(kHeight));
  Harness h(
      "cclabel name=first output=none max-area=100 ! videoscale ! video/x-raw,width=40,height=30 ! "
      "regionoverlay style=fill opacity=1 device=cpu");
  h.video("GRAY8", kWidth, kHeight, ",pixel-aspect-ratio=1/1");
  h.push(rectangles());
  const std::vector<uint8_t> drawn = bytes_of(h.pull().get());
  EXPECT_NE(drawn[5 * 40 + 9], 220) << "inside the first region";
  EXPECT_EQ(drawn[22 * 40 + 18], 200) << "the third region is larger than max-area";
}

// Encoded frames may be queued for long. No queue counts the memory of their label maps.
TEST(MetadataTransform, EncodedFramesHeld_LabelMapMemoryIsReused) {
  if (!have_element("jpegenc")) GTEST_SKIP() << "jpegenc is not installed here";
  Harness h(
      "cclabel output=none device=cpu frames-in-flight=1 ! jpegenc ! queue max-size-buffers=0");
  h.video("GRAY8", kWidth, kHeight);
  std::set<const void*> maps;
  GstPad* source = gst_element_get_static_pad(h.element(), "src");
  gst_pad_add_probe(
      source, GST_PAD_PROBE_TYPE_BUFFER,
      [](GstPad*, GstPadProbeInfo* info, gpointer data) {
        static_cast<std::set<const void*>*>(data)->insert(
            labels_of(GST_PAD_PROBE_INFO_BUFFER(info)));
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

TEST(MetadataTransform, CopiedFrame_KeepsItsLabelMap) {
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

// ---- the transform function, without an element

constexpr GstVideoRectangle kWhole = {0, 0, kWidth, kHeight};
using Texts = std::vector<std::string>;

// GstVideoMetaTransformMatrix of GStreamer 1.28.
struct MatrixTransform {
  const GstVideoInfo* in_info;
  GstVideoRectangle in;
  const GstVideoInfo* out_info;
  GstVideoRectangle out;
  gfloat matrix[3][3];
};

struct Moments {
  int x, y, width, height;
  guint64 area;
  double cx, cy;
  int first_x, first_y;
  double cov_xx, cov_xy, cov_yy;
};
constexpr Moments kInside = {14, 8, 12, 6, 72, 19.5, 10.5, 14, 9, 4, 1, 2};
constexpr Moments kAtTheEdge = {70, 50, 10, 10, 100, 74.5, 54.5, 72, 50, 8, 2, 8};

GstStructure* structure_of(const Moments& r, guint id) {
  return gst_structure_new("region", "id", G_TYPE_UINT, id, "x", G_TYPE_INT, r.x, "y", G_TYPE_INT,
                           r.y, "width", G_TYPE_INT, r.width, "height", G_TYPE_INT, r.height,
                           "area", G_TYPE_UINT64, r.area, "cx", G_TYPE_DOUBLE, r.cx, "cy",
                           G_TYPE_DOUBLE, r.cy, "first-x", G_TYPE_INT, r.first_x, "first-y",
                           G_TYPE_INT, r.first_y, "cov-xx", G_TYPE_DOUBLE, r.cov_xx, "cov-xy",
                           G_TYPE_DOUBLE, r.cov_xy, "cov-yy", G_TYPE_DOUBLE, r.cov_yy, nullptr);
}

// A frame with these regions. Their coordinates refer to a picture of width × height pixels.
BufferPtr picture(const std::vector<GstStructure*>& regions, int width = kWidth,
                  int height = kHeight, int layers = 1) {
  start_gstreamer();
  gst_object_unref(gst_element_factory_make("cclabel", nullptr));  // registers the metadata
  BufferPtr buffer(gst_buffer_new_allocate(nullptr, kWidth * kHeight, nullptr));
  GstStructure* s = add_regions(buffer.get());
  gst_structure_set(s, "algorithm", G_TYPE_STRING, "test", "width", G_TYPE_INT, width, "height",
                    G_TYPE_INT, height, "regions-total", G_TYPE_UINT, 17u, "labels-format",
                    G_TYPE_STRING, "U32_LE", "runs-truncated", G_TYPE_BOOLEAN, TRUE, nullptr);
  for (const char* name : {"labels", "runs", "adjacency"}) {
    const BufferPtr map(gst_buffer_new_allocate(nullptr, kWidth * kHeight * 4, nullptr));
    gst_structure_set(s, name, GST_TYPE_BUFFER, map.get(), nullptr);
  }
  if (layers > 1) gst_structure_set(s, "layers", G_TYPE_INT, layers, nullptr);
  set_regions(s, regions);
  return buffer;
}
BufferPtr picture(const Moments& region, int width = kWidth, int height = kHeight, int layers = 1) {
  return picture({structure_of(region, 1)}, width, height, layers);
}

// The metadata after a transform. The new buffer already has a region of interest of an earlier
// element's regions, and of a face.
BufferPtr transformed(GstBuffer* from, const char* kind, gpointer transform) {
  BufferPtr to(gst_buffer_new_allocate(nullptr, kWidth * kHeight * 4, nullptr));
  gst_buffer_add_video_region_of_interest_meta(to.get(), "region", 1, 2, 3, 4);
  gst_buffer_add_video_region_of_interest_meta(to.get(), "face", 1, 2, 3, 4);
  GstMeta* meta = &gst_buffer_get_custom_meta(from, "regions")->meta;
  EXPECT_TRUE(
      meta->info->transform_func(to.get(), meta, from, g_quark_from_string(kind), transform));
  return to;
}

struct Move {
  GstVideoRectangle in, out;
  int width, height;  // of the output picture
  float m[2][3];
};

BufferPtr moved(GstBuffer* from, const Move& move, int width = kWidth, int height = kHeight) {
  GstVideoInfo in, out;
  gst_video_info_set_format(&in, GST_VIDEO_FORMAT_GRAY8, static_cast<guint>(width),
                            static_cast<guint>(height));
  gst_video_info_set_format(&out, GST_VIDEO_FORMAT_GRAY8, static_cast<guint>(move.width),
                            static_cast<guint>(move.height));
  MatrixTransform t = {&in, move.in, &out, move.out, {}};
  for (int row = 0; row < 2; ++row) std::copy_n(move.m[row], 3, t.matrix[row]);
  t.matrix[2][2] = 1;
  return transformed(from, "gst-video-matrix", &t);
}

BufferPtr scaled(GstBuffer* from, int width, int height, int par_n = 1, int par_d = 1) {
  GstVideoInfo in, out;
  gst_video_info_set_format(&in, GST_VIDEO_FORMAT_GRAY8, kWidth, kHeight);
  gst_video_info_set_format(&out, GST_VIDEO_FORMAT_GRAY8, static_cast<guint>(width),
                            static_cast<guint>(height));
  out.par_n = par_n;
  out.par_d = par_d;
  GstVideoMetaTransform t = {&in, &out};
  return transformed(from, "gst-video-scale", &t);
}

std::string fields_of(const GstStructure* s, std::initializer_list<const char*> names) {
  std::string text;
  for (const char* name : names) {
    const GValue* value = gst_structure_get_value(s, name);
    text += (text.empty() ? "" : " ") + (value ? taken(gst_value_serialize(value)) : "-");
  }
  return text;
}

// "x y w h, area cx cy, first pixel, covariance" of each region.
Texts regions_on(GstBuffer* buffer) {
  Texts all;
  const GstStructure* s = regions_of(buffer);
  for (guint i = 0; s && i < region_count(s); ++i) {
    const GstStructure* region = region_of(s, i);
    all.push_back(fields_of(region, {"x", "y", "width", "height"}) + ", " +
                  fields_of(region, {"area", "cx", "cy"}) + ", " +
                  fields_of(region, {"first-x", "first-y"}) + ", " +
                  fields_of(region, {"cov-xx", "cov-xy", "cov-yy"}));
  }
  return all;
}

struct MoveCase {
  const char* name;
  Move move;
  Texts inside, at_the_edge;
  bool keeps_labels;
};
const MoveCase kMoves[] = {
    {"scaled up",
     {kWhole, {0, 0, 160, 120}, 160, 120, {{2, 0, 0}, {0, 2, 0}}},
     {"28 16 24 12, 288 39.5 21.5, 28 18, 16 4 8"},
     {"140 100 20 20, 400 149.5 109.5, 144 100, 32 8 32"},
     true},
    {"scaled to double width and half height",
     {kWhole, {0, 0, 160, 30}, 160, 30, {{2, 0, 0}, {0, 0.5, 0}}},
     {"28 4 24 3, 72 39.5 5, 28 4, 16 1 0.5"},
     {"140 25 20 5, 100 149.5 27, 144 25, 32 2 2"},
     true},
    {"scaled down by 4",
     {kWhole, {0, 0, 20, 15}, 20, 15, {{0.25, 0, 0}, {0, 0.25, 0}}},
     {"3 2 3 1, 5 4.5 2.25, 3 2, 0.25 0.0625 0.125"},
     {"17 12 3 3, 6 18.25 13.25, 18 12, 0.5 0.125 0.5"},
     true},
    {"scaled down by 10",
     {kWhole, {0, 0, 8, 6}, 8, 6, {{0.1f, 0, 0}, {0, 0.1f, 0}}},
     {"1 0 1 1, 1 1.5 0.6, 1 0, 0.04 0.01 0.02"},
     {"7 5 1 1, 1 7 5, 7 5, 0.08 0 0.08"},
     true},
    {"cropped left and top",
     {{10, 5, 70, 55}, {0, 0, 70, 55}, 70, 55, {{1, 0, 0}, {0, 1, 0}}},
     {"4 3 12 6, 72 9.5 5.5, 4 4, 4 1 2"},
     {"60 45 10 10, 100 64.5 49.5, 62 45, 8 2 8"},
     false},
    {"cropped inside both regions",
     {{20, 10, 53, 42}, {0, 0, 53, 42}, 53, 42, {{1, 0, 0}, {0, 1, 0}}},
     {"0 0 6 4, 72 -0.5 0.5, - -, 4 1 2"},
     {"50 40 3 2, 100 54.5 44.5, 52 40, 8 2 8"},
     false},
    {"cropped without regions",
     {{26, 14, 44, 36}, {0, 0, 44, 36}, 44, 36, {{1, 0, 0}, {0, 1, 0}}},
     {},
     {},
     false},
    {"with borders",
     {kWhole, {20, 10, 80, 60}, 120, 80, {{1, 0, 0}, {0, 1, 0}}},
     {"34 18 12 6, 72 39.5 20.5, 34 19, 4 1 2"},
     {"90 60 10 10, 100 94.5 64.5, 92 60, 8 2 8"},
     false},
    {"turned clockwise",
     {kWhole, {0, 0, 60, 80}, 60, 80, {{0, -1, 59}, {1, 0, 0}}},
     {"46 14 6 12, 72 48.5 19.5, - -, 2 -1 4"},
     {"0 70 10 10, 100 4.5 74.5, - -, 8 -2 8"},
     false},
    {"turned counterclockwise",
     {kWhole, {0, 0, 60, 80}, 60, 80, {{0, 1, 0}, {-1, 0, 79}}},
     {"8 54 6 12, 72 10.5 59.5, - -, 2 -1 4"},
     {"50 0 10 10, 100 54.5 4.5, - -, 8 -2 8"},
     false},
    {"mirrored",
     {kWhole, kWhole, 80, 60, {{-1, 0, 79}, {0, 1, 0}}},
     {"54 8 12 6, 72 59.5 10.5, - -, 4 -1 2"},
     {"0 50 10 10, 100 4.5 54.5, - -, 8 -2 8"},
     false},
    {"flipped",
     {kWhole, kWhole, 80, 60, {{1, 0, 0}, {0, -1, 59}}},
     {"14 46 12 6, 72 19.5 48.5, - -, 4 -1 2"},
     {"70 0 10 10, 100 74.5 4.5, - -, 8 -2 8"},
     false},
    {"turned by 180 degrees",
     {kWhole, kWhole, 80, 60, {{-1, 0, 79}, {0, -1, 59}}},
     {"54 46 12 6, 72 59.5 48.5, - -, 4 1 2"},
     {"0 0 10 10, 100 4.5 4.5, - -, 8 2 8"},
     false},
    {"transposed",
     {kWhole, {0, 0, 60, 80}, 60, 80, {{0, 1, 0}, {1, 0, 0}}},
     {"8 14 6 12, 72 10.5 19.5, - -, 2 1 4"},
     {"50 70 10 10, 100 54.5 74.5, - -, 8 2 8"},
     false},
    {"cropped, turned and with borders",
     {{10, 0, 70, 60}, {5, 7, 60, 70}, 90, 90, {{0, -1, 59}, {1, 0, 0}}},
     {"51 11 6 12, 72 53.5 16.5, - -, 2 -1 4"},
     {"5 67 10 10, 100 9.5 71.5, - -, 8 -2 8"},
     false},
};

TEST(MatrixTransform, ScaledCroppedOrTurned_RegionsMoveWithTheirPixels) {
  for (const MoveCase& c : kMoves) {
    for (const bool inside : {true, false}) {
      SCOPED_TRACE(std::string(c.name) + (inside ? ", inside" : ", at the edge"));
      const BufferPtr from = picture(inside ? kInside : kAtTheEdge);
      gst_buffer_add_video_region_of_interest_meta(from.get(), "region", 0, 0, 1, 1);
      const BufferPtr to = moved(from.get(), c.move);
      const Texts& expected = inside ? c.inside : c.at_the_edge;
      Texts found = regions_on(to.get());
      if (std::string(c.name) == "scaled down by 10") {  // 0.1 is not exact as a float
        ASSERT_EQ(found.size(), 1u);
        found[0] = found[0].substr(0, found[0].find(','));
        EXPECT_EQ(found[0], expected[0].substr(0, expected[0].find(',')));
        continue;
      }
      EXPECT_EQ(found, expected);
      const GstStructure* s = regions_of(to.get());
      ASSERT_TRUE(s);
      EXPECT_EQ(
          fields_of(s, {"algorithm", "width", "height", "regions-total"}),
          "test " + std::to_string(c.move.width) + " " + std::to_string(c.move.height) + " 17");
      EXPECT_EQ(fields_of(s, {"runs", "runs-truncated", "adjacency"}), "- - -");
      EXPECT_EQ(gst_structure_has_field(s, "labels"), c.keeps_labels);
      EXPECT_EQ(fields_of(s, {"labels-format", "labels-width", "labels-height"}),
                c.keeps_labels ? "U32_LE 80 60" : "- - -");
      Texts boxes;
      for (const std::string& text : expected)
        boxes.push_back("1 " + text.substr(0, text.find(',')));
      EXPECT_EQ(rois_on(to.get(), "region"), boxes);
      EXPECT_EQ(rois_on(to.get(), "face"), Texts{"0 1 2 3 4"});
    }
  }
}

TEST(MatrixTransform, RegionsInCoordinatesOfHalfTheSize_AreScaledToTheFrame) {
  const BufferPtr half = picture(kInside, kWidth / 2, kHeight / 2);
  EXPECT_EQ(
      regions_on(moved(half.get(), {kWhole, {0, 0, 60, 80}, 60, 80, {{0, 1, 0}, {1, 0, 0}}}).get()),
      Texts{"16 28 12 24, 288 21.5 39.5, - -, 8 4 16"});
  const BufferPtr to = scaled(half.get(), kWidth, kHeight);
  EXPECT_EQ(regions_on(to.get()), Texts{"28 16 24 12, 288 39.5 21.5, 28 18, 16 4 8"});
  EXPECT_EQ(fields_of(regions_of(to.get()), {"labels-width", "labels-height"}), "40 30");
}

// Before 1.28 only sizes are passed. If the aspect ratio differs, there may be borders of any
// width.
TEST(ScaleTransform, AspectRatioDiffers_DropsRegions) {
  struct Case {
    int width, height, par_n, par_d;
    bool known;
  };
  for (const auto& [width, height, n, d, known] : {Case{80, 60, 1, 1, true},
                                                   {160, 120, 1, 1, true},
                                                   {40, 30, 1, 1, true},
                                                   {81, 60, 1, 1, true},
                                                   {80, 61, 1, 1, true},
                                                   {82, 60, 1, 1, false},
                                                   {80, 62, 1, 1, false},
                                                   {160, 60, 1, 2, true},
                                                   {80, 120, 2, 1, true},
                                                   {160, 60, 2, 1, false},
                                                   {80, 60, 2, 1, true},
                                                   {60, 80, 1, 1, false}}) {
    const BufferPtr from = picture(kInside);
    const BufferPtr to = scaled(from.get(), width, height, n, d);
    EXPECT_EQ(regions_of(to.get()) != nullptr, known)
        << width << "x" << height << " of pixels " << n << "/" << d;
  }
}

TEST(MatrixTransform, StackedLayersScaledByTwo_RegionsAndLayerHeightAreScaled) {
  const BufferPtr from = picture(kInside, kWidth, kHeight, 3);
  const BufferPtr twice = moved(
      from.get(), {{0, 0, 80, 180}, {0, 0, 160, 360}, 160, 360, {{2, 0, 0}, {0, 2, 0}}}, 80, 180);
  EXPECT_EQ(regions_on(twice.get()), Texts{"28 16 24 12, 288 39.5 21.5, 28 18, 16 4 8"});
  EXPECT_EQ(fields_of(regions_of(twice.get()), {"width", "height", "layers"}), "160 120 3");
}

TEST(MatrixTransform, StackedLayersCroppedOrScaledToFractionalRows_RegionsAreDropped) {
  const BufferPtr from = picture(kInside, kWidth, kHeight, 3);
  const Move fractional = {
      {0, 0, 80, 180}, {0, 0, 80, 91}, 80, 91, {{1, 0, 0}, {0, 91.0f / 180, 0}}};
  const Move crop = {{0, 60, 80, 120}, {0, 0, 80, 120}, 80, 120, {{1, 0, 0}, {0, 1, 0}}};
  for (const Move& move : {fractional, crop}) {
    EXPECT_FALSE(regions_of(moved(from.get(), move, 80, 180).get()));
  }
}

TEST(MatrixTransform, CroppedToPartOfOneLayer_RegionsMove) {
  const BufferPtr from = picture(kInside, kWidth, kHeight, 3);
  const BufferPtr cut =
      moved(from.get(), {{10, 5, 70, 55}, {0, 0, 70, 55}, 70, 55, {{1, 0, 0}, {0, 1, 0}}}, 80, 60);
  EXPECT_EQ(regions_on(cut.get()), Texts{"4 3 12 6, 72 9.5 5.5, 4 4, 4 1 2"});
}

TEST(MatrixTransform, IdentityMatrix_KeepsAllFields) {
  const BufferPtr from = picture({structure_of(kInside, 1), structure_of(kAtTheEdge, 2)});
  auto* roi = gst_buffer_add_video_region_of_interest_meta(from.get(), "region", 9, 8, 7, 6);
  roi->id = 5;
  for (const bool by_matrix : {true, false}) {
    const BufferPtr to = by_matrix
                             ? moved(from.get(), {kWhole, kWhole, 80, 60, {{1, 0, 0}, {0, 1, 0}}})
                             : scaled(from.get(), kWidth, kHeight);
    EXPECT_TRUE(gst_structure_is_equal(regions_of(to.get()), regions_of(from.get())));
    EXPECT_EQ(rois_on(to.get(), "region"), Texts{"5 9 8 7 6"});
  }
}

// Regions of interest get an object id if their region has a first time, which only tracks have.
TEST(ScaleTransform, TrackedRegions_KeepTheirObjectIds) {
  for (const bool tracked : {true, false}) {
    std::vector<GstStructure*> regions = {structure_of(kInside, 1), structure_of(kAtTheEdge, 2)};
    for (guint i = 0; i < 2; ++i) {
      gst_structure_set(regions[i], "track", G_TYPE_UINT, 70 + i, nullptr);
    }
    if (tracked) gst_structure_set(regions[1], "first-seen", G_TYPE_UINT64, guint64{40}, nullptr);
    const BufferPtr from = picture(regions);
    gst_buffer_add_video_region_of_interest_meta(from.get(), "region", 0, 0, 1, 1);
    const BufferPtr to = scaled(from.get(), 160, 120);
    for (gint id : {1, 2}) {
      auto* roi = gst_buffer_get_video_region_of_interest_meta_id(to.get(), id);
      ASSERT_TRUE(roi);
      const GstStructure* object = gst_video_region_of_interest_meta_get_param(roi, "object_id");
      EXPECT_EQ(object ? field_of(object, "id") : "none",
                tracked ? std::to_string(69 + id) : "none");
    }
  }
}

// ---- unclear transforms and metadata

TEST(MatrixTransform, SkewedSingularOrNonFiniteMatrix_RegionsAreDropped) {
  const BufferPtr from = picture(kInside);
  const Move unclear[] = {{kWhole, kWhole, 80, 60, {{1, 0.5, 0}, {0, 1, 0}}},
                          {kWhole, kWhole, 80, 60, {{1, 0, 0}, {0.5, 1, 0}}},
                          {kWhole, kWhole, 80, 60, {{0, 0, 0}, {0, 1, 0}}},
                          {kWhole, kWhole, 80, 60, {{1, 0, 0}, {0, 0, 0}}},
                          {kWhole, kWhole, 80, 60, {{0, 1, 0}, {0, 0, 0}}},
                          {kWhole, kWhole, 80, 60, {{0, 0, 0}, {1, 0, 0}}},
                          {kWhole, kWhole, 80, 60, {{0.5, 1, 0}, {1, 0, 0}}},
                          {kWhole, kWhole, 80, 60, {{0, 1, 0}, {1, 0.5, 0}}},
                          {kWhole, kWhole, 80, 60, {{NAN, 0, 0}, {0, 1, 0}}},
                          {kWhole, kWhole, 80, 60, {{1, 0, INFINITY}, {0, 1, 0}}}};
  for (const Move& move : unclear) {
    const BufferPtr to = moved(from.get(), move);
    EXPECT_FALSE(regions_of(to.get()))
        << move.m[0][0] << " " << move.m[0][1] << " " << move.m[1][0];
    EXPECT_EQ(rois_on(to.get(), "region"), Texts());
    EXPECT_EQ(rois_on(to.get(), "face").size(), 1u);
  }
  GstVideoInfo info;
  gst_video_info_set_format(&info, GST_VIDEO_FORMAT_GRAY8, kWidth, kHeight);
  for (const auto& [row, column] : {std::pair{2, 0}, {2, 1}, {2, 2}}) {
    MatrixTransform t = {&info, kWhole, &info, kWhole, {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}};
    t.matrix[row][column] = 0.5;  // perspective
    EXPECT_FALSE(regions_of(transformed(from.get(), "gst-video-matrix", &t).get())) << column;
  }
  EXPECT_FALSE(regions_of(transformed(from.get(), "some-other-transform", nullptr).get()));
}

TEST(MatrixTransform, RectangleBeyondThePicture_IsClipped) {
  const BufferPtr from = picture(kInside);
  const BufferPtr unchanged = moved(from.get(), {kWhole, kWhole, 80, 60, {{1, 0, 0}, {0, 1, 0}}});
  ASSERT_EQ(regions_on(unchanged.get()).size(), 1u);
  const Move beyond{kWhole, {-5, -3, INT_MAX, INT_MAX}, 80, 60, {{1, 0, 5}, {0, 1, 3}}};
  EXPECT_EQ(regions_on(moved(from.get(), beyond).get()), regions_on(unchanged.get()));
  for (const GstVideoRectangle& outside :
       {GstVideoRectangle{80, 0, 80, 60}, {0, INT_MAX, 80, INT_MAX}, {INT_MIN, 0, 1, 60}}) {
    const Move move{kWhole, outside, 80, 60, {{1, 0, 0}, {0, 1, 0}}};
    EXPECT_EQ(regions_on(moved(from.get(), move).get()), Texts()) << outside.x << " " << outside.y;
  }
}

TEST(ScaleTransform, MalformedMetadata_IsDropped) {
  for (const char* field : {"width", "regions"}) {
    const BufferPtr from = picture(kInside);
    gst_structure_remove_field(
        gst_custom_meta_get_structure(gst_buffer_get_custom_meta(from.get(), "regions")), field);
    const BufferPtr to = scaled(from.get(), 160, 120);
    EXPECT_FALSE(regions_of(to.get())) << field;
    EXPECT_EQ(rois_on(to.get(), "region"), Texts()) << field;
  }
}

TEST(ScaleTransform, RegionWithFewerFields_HasNoOtherFieldsAfterScaling) {
  const BufferPtr from = picture({gst_structure_new(
      "region", "id", G_TYPE_UINT, 1u, "x", G_TYPE_INT, 4, "y", G_TYPE_INT, 2, "width", G_TYPE_INT,
      3, "height", G_TYPE_INT, 5, "cx", G_TYPE_DOUBLE, 1.0, nullptr)});
  EXPECT_EQ(regions_on(scaled(from.get(), 160, 120).get()), Texts{"8 4 6 10, - 1 -, - -, - - -"});
}

// Scaled coordinates would overflow.
TEST(ScaleTransform, BoxLargerThanThePicture_IsClipped) {
  const auto moved = [](int x, int y) {
    const BufferPtr from = picture({box_structure({x, y, G_MAXINT, G_MAXINT}, 1)});
    return regions_on(scaled(from.get(), 320, 240).get());
  };
  EXPECT_EQ(moved(40, 15), Texts{"160 60 160 180, - - -, - -, - - -"});
  EXPECT_EQ(moved(-5, 0), Texts{"0 0 320 240, - - -, - -, - - -"});
  EXPECT_EQ(moved(0, G_MININT), Texts());
}

}  // namespace
}  // namespace regions::test

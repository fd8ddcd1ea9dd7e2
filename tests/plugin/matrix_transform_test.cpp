// Regions where an element tells metadata by a matrix, as from GStreamer 1.28 on, or by two sizes
// what it does to the picture: given to the metadata here without the element.
#include "tests/plugin/moved_picture.hpp"

namespace regions::test {
namespace {

TEST(MatrixTransform, RegionsGoWithTheirPixels) {
  struct Case {
    const char* name;
    Move move;
    Texts inside, at_the_edge;
    bool keeps_labels;
  };
  const Case cases[] = {
      {"scaled up",
       {kWhole, {0, 0, 160, 120}, 160, 120, {{2, 0, 0}, {0, 2, 0}}},
       {"28 16 24 12, 288 39.5 21.5, 28 18, 16 4 8"},
       {"140 100 20 20, 400 149.5 109.5, 144 100, 32 8 32"},
       true},
      {"wide and low",
       {kWhole, {0, 0, 160, 30}, 160, 30, {{2, 0, 0}, {0, 0.5, 0}}},
       {"28 4 24 3, 72 39.5 5, 28 4, 16 1 0.5"},
       {"140 25 20 5, 100 149.5 27, 144 25, 32 2 2"},
       true},
      {"small",
       {kWhole, {0, 0, 20, 15}, 20, 15, {{0.25, 0, 0}, {0, 0.25, 0}}},
       {"3 2 3 1, 5 4.5 2.25, 3 2, 0.25 0.0625 0.125"},
       {"17 12 3 3, 6 18.25 13.25, 18 12, 0.5 0.125 0.5"},
       true},
      {"a tenth",
       {kWhole, {0, 0, 8, 6}, 8, 6, {{0.1f, 0, 0}, {0, 0.1f, 0}}},
       {"1 0 1 1, 1 1.5 0.6, 1 0, 0.04 0.01 0.02"},
       {"7 5 1 1, 1 7 5, 7 5, 0.08 0 0.08"},
       true},
      {"cut left and above",
       {{10, 5, 70, 55}, {0, 0, 70, 55}, 70, 55, {{1, 0, 0}, {0, 1, 0}}},
       {"4 3 12 6, 72 9.5 5.5, 4 4, 4 1 2"},
       {"60 45 10 10, 100 64.5 49.5, 62 45, 8 2 8"},
       false},
      {"cut through",
       {{20, 10, 53, 42}, {0, 0, 53, 42}, 53, 42, {{1, 0, 0}, {0, 1, 0}}},
       {"0 0 6 4, 72 -0.5 0.5, - -, 4 1 2"},
       {"50 40 3 2, 100 54.5 44.5, 52 40, 8 2 8"},
       false},
      {"cut away",
       {{26, 14, 44, 36}, {0, 0, 44, 36}, 44, 36, {{1, 0, 0}, {0, 1, 0}}},
       {},
       {},
       false},
      {"with borders",
       {kWhole, {20, 10, 80, 60}, 120, 80, {{1, 0, 0}, {0, 1, 0}}},
       {"34 18 12 6, 72 39.5 20.5, 34 19, 4 1 2"},
       {"90 60 10 10, 100 94.5 64.5, 92 60, 8 2 8"},
       false},
      {"to the right",
       {kWhole, {0, 0, 60, 80}, 60, 80, {{0, -1, 59}, {1, 0, 0}}},
       {"46 14 6 12, 72 48.5 19.5, - -, 2 -1 4"},
       {"0 70 10 10, 100 4.5 74.5, - -, 8 -2 8"},
       false},
      {"to the left",
       {kWhole, {0, 0, 60, 80}, 60, 80, {{0, 1, 0}, {-1, 0, 79}}},
       {"8 54 6 12, 72 10.5 59.5, - -, 2 -1 4"},
       {"50 0 10 10, 100 54.5 4.5, - -, 8 -2 8"},
       false},
      {"left to right",
       {kWhole, kWhole, 80, 60, {{-1, 0, 79}, {0, 1, 0}}},
       {"54 8 12 6, 72 59.5 10.5, - -, 4 -1 2"},
       {"0 50 10 10, 100 4.5 54.5, - -, 8 -2 8"},
       false},
      {"upside down",
       {kWhole, kWhole, 80, 60, {{1, 0, 0}, {0, -1, 59}}},
       {"14 46 12 6, 72 19.5 48.5, - -, 4 -1 2"},
       {"70 0 10 10, 100 74.5 4.5, - -, 8 -2 8"},
       false},
      {"half around",
       {kWhole, kWhole, 80, 60, {{-1, 0, 79}, {0, -1, 59}}},
       {"54 46 12 6, 72 59.5 48.5, - -, 4 1 2"},
       {"0 0 10 10, 100 4.5 4.5, - -, 8 2 8"},
       false},
      {"transposed",
       {kWhole, {0, 0, 60, 80}, 60, 80, {{0, 1, 0}, {1, 0, 0}}},
       {"8 14 6 12, 72 10.5 19.5, - -, 2 1 4"},
       {"50 70 10 10, 100 54.5 74.5, - -, 8 2 8"},
       false},
      {"cut, turned and framed",
       {{10, 0, 70, 60}, {5, 7, 60, 70}, 90, 90, {{0, -1, 59}, {1, 0, 0}}},
       {"51 11 6 12, 72 53.5 16.5, - -, 2 -1 4"},
       {"5 67 10 10, 100 9.5 71.5, - -, 8 -2 8"},
       false},
  };
  for (const Case& c : cases) {
    for (const bool inside : {true, false}) {
      SCOPED_TRACE(std::string(c.name) + (inside ? ", inside" : ", at the edge"));
      const BufferPtr from = picture({inside ? kInside : kAtTheEdge});
      const BufferPtr to = moved(from.get(), c.move);
      const Texts& expected = inside ? c.inside : c.at_the_edge;
      Texts found = regions_on(to.get());
      if (std::string(c.name) == "a tenth") {  // which no float is
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

// Regions count another picture's pixels than this one has.
TEST(MatrixTransform, CoordinatesMayCountAnotherSize) {
  const BufferPtr half = picture({kInside}, kWidth / 2, kHeight / 2);
  EXPECT_EQ(
      regions_on(moved(half.get(), {kWhole, {0, 0, 60, 80}, 60, 80, {{0, 1, 0}, {1, 0, 0}}}).get()),
      Texts{"16 28 12 24, 288 21.5 39.5, - -, 8 4 16"});
  const BufferPtr to = scaled(half.get(), kWidth, kHeight);
  EXPECT_EQ(regions_on(to.get()), Texts{"28 16 24 12, 288 39.5 21.5, 28 18, 16 4 8"});
  EXPECT_EQ(fields_of(regions_of(to.get()), {"labels-width", "labels-height"}), "40 30");
}

// Before 1.28 sizes tell all, unless shapes differ: then there may be borders of any width.
TEST(MatrixTransform, SizesTellOfShapes) {
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
    const BufferPtr from = picture({kInside});
    const BufferPtr to = scaled(from.get(), width, height, n, d);
    EXPECT_EQ(regions_of(to.get()) != nullptr, known)
        << width << "x" << height << " of pixels " << n << "/" << d;
  }
}

// Pictures of layers, one below another: each has its own, and all are scaled alike or not at all.
TEST(MatrixTransform, LayersStayApart) {
  const BufferPtr from = picture({kInside}, kWidth, kHeight, 3);
  const auto after = [&](int width, int height, const Move& move) {
    return moved(from.get(), move, width, height);
  };
  const GstVideoRectangle stack = {0, 0, 80, 180};
  const BufferPtr twice =
      after(80, 180, {stack, {0, 0, 160, 360}, 160, 360, {{2, 0, 0}, {0, 2, 0}}});
  EXPECT_EQ(regions_on(twice.get()), Texts{"28 16 24 12, 288 39.5 21.5, 28 18, 16 4 8"});
  EXPECT_EQ(fields_of(regions_of(twice.get()), {"width", "height", "layers"}), "160 120 3");
  // Of no whole number of rows each.
  EXPECT_FALSE(regions_of(
      after(80, 180, {stack, {0, 0, 80, 91}, 80, 91, {{1, 0, 0}, {0, 91.0f / 180, 0}}}).get()));
  EXPECT_FALSE(regions_of(
      after(80, 180, {{0, 60, 80, 120}, {0, 0, 80, 120}, 80, 120, {{1, 0, 0}, {0, 1, 0}}}).get()));
  // The picture itself, which has one.
  const BufferPtr cut =
      after(80, 60, {{10, 5, 70, 55}, {0, 0, 70, 55}, 70, 55, {{1, 0, 0}, {0, 1, 0}}});
  EXPECT_EQ(regions_on(cut.get()), Texts{"4 3 12 6, 72 9.5 5.5, 4 4, 4 1 2"});
}

// Where nothing moves all stays, runs and neighbours too.
TEST(MatrixTransform, WhatStaysIsCopied) {
  const BufferPtr from = picture({kInside, kAtTheEdge});
  auto* roi = gst_buffer_add_video_region_of_interest_meta(from.get(), "region", 9, 8, 7, 6);
  roi->id = 5;
  for (const bool by_matrix : {true, false}) {
    const BufferPtr to = by_matrix
                             ? moved(from.get(), {kWhole, kWhole, 80, 60, {{1, 0, 0}, {0, 1, 0}}})
                             : scaled(from.get(), kWidth, kHeight);
    EXPECT_TRUE(gst_structure_is_equal(regions_of(to.get()), regions_of(from.get())));
    EXPECT_EQ(rois_on(to.get(), "region"), Texts{"5 9 8 7 6"}) << "as they were";
  }
}

// Which tracks they are, objects say as before: of those that tell when they were first seen.
TEST(MatrixTransform, TracksStay) {
  for (const bool tracked : {true, false}) {
    const BufferPtr from = picture({kInside, kAtTheEdge});
    const GValue* array = gst_structure_get_value(regions_of(from.get()), "regions");
    for (guint i = 0; i < 2; ++i) {
      auto* region =
          const_cast<GstStructure*>(gst_value_get_structure(gst_value_array_get_value(array, i)));
      gst_structure_set(region, "track", G_TYPE_UINT, 70 + i, nullptr);
      if (tracked && i == 1) {
        gst_structure_set(region, "first-seen", G_TYPE_UINT64, guint64{40}, nullptr);
      }
    }
    const BufferPtr to = scaled(from.get(), 160, 120);
    for (gint id : {1, 2}) {
      auto* roi = gst_buffer_get_video_region_of_interest_meta_id(to.get(), id);
      ASSERT_TRUE(roi);
      const GstStructure* object = gst_video_region_of_interest_meta_get_param(roi, "object_id");
      EXPECT_EQ(object ? fields_of(object, {"id"}) : "none",
                tracked ? std::to_string(69 + id) : "none");
    }
  }
}

}  // namespace
}  // namespace regions::test

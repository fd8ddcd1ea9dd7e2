// Regions where what an element tells metadata, or metadata itself, is unclear or untrue.
#include <climits>
#include <cmath>

#include "tests/plugin/moved_picture.hpp"

namespace regions::test {
namespace {

// What is not told is not guessed: the regions are gone, and their boxes with them.
TEST(MatrixTransform, WhatIsUnknownDropsThem) {
  const BufferPtr from = picture({kInside});
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

// Rectangles that reach beyond the picture show what lies in it; one outside of it shows nothing.
TEST(MatrixTransform, RectanglesEndAtThePicture) {
  const BufferPtr from = picture({kInside});
  const BufferPtr as_it_was = moved(from.get(), {kWhole, kWhole, 80, 60, {{1, 0, 0}, {0, 1, 0}}});
  ASSERT_EQ(regions_on(as_it_was.get()).size(), 1u);
  const Move beyond{kWhole, {-5, -3, INT_MAX, INT_MAX}, 80, 60, {{1, 0, 5}, {0, 1, 3}}};
  EXPECT_EQ(regions_on(moved(from.get(), beyond).get()), regions_on(as_it_was.get()));
  for (const GstVideoRectangle& outside :
       {GstVideoRectangle{80, 0, 80, 60}, {0, INT_MAX, 80, INT_MAX}, {INT_MIN, 0, 1, 60}}) {
    const Move move{kWhole, outside, 80, 60, {{1, 0, 0}, {0, 1, 0}}};
    EXPECT_EQ(regions_on(moved(from.get(), move).get()), Texts()) << outside.x << " " << outside.y;
  }
}

// Malformed metadata is lost, not moved.
TEST(MatrixTransform, MalformedMetadataGoes) {
  for (const char* field : {"width", "regions"}) {
    const BufferPtr from = picture({kInside});
    gst_structure_remove_field(
        gst_custom_meta_get_structure(gst_buffer_get_custom_meta(from.get(), "regions")), field);
    const BufferPtr to = scaled(from.get(), 160, 120);
    EXPECT_FALSE(regions_of(to.get())) << field;
    EXPECT_EQ(rois_on(to.get(), "region"), Texts()) << field;
  }
}

// A picture that tells of nothing but this region.
BufferPtr told_of(GstStructure* region) {
  BufferPtr picture_of_one = picture({kInside});
  GValue array = G_VALUE_INIT, item = G_VALUE_INIT;
  g_value_init(&array, GST_TYPE_ARRAY);
  g_value_init(&item, GST_TYPE_STRUCTURE);
  g_value_take_boxed(&item, region);
  gst_value_array_append_and_take_value(&array, &item);
  GstCustomMeta* meta = gst_buffer_get_custom_meta(picture_of_one.get(), "regions");
  gst_structure_take_value(gst_custom_meta_get_structure(meta), "regions", &array);
  return picture_of_one;
}

// Points lie where they lay with fields that are not there, and nothing is made up.
TEST(MatrixTransform, RegionsMaySayLess) {
  const BufferPtr from = told_of(gst_structure_new(
      "region", "id", G_TYPE_UINT, 1u, "x", G_TYPE_INT, 4, "y", G_TYPE_INT, 2, "width", G_TYPE_INT,
      3, "height", G_TYPE_INT, 5, "cx", G_TYPE_DOUBLE, 1.0, nullptr));
  EXPECT_EQ(regions_on(scaled(from.get(), 160, 120).get()), Texts{"8 4 6 10, - 1 -, - -, - - -"});
}

// From strangers, whose boxes reach beyond all numbers when they are scaled.
TEST(MatrixTransform, RegionsMayBeLargerThanThePicture) {
  const auto moved = [](int x, int y) {
    const BufferPtr from = told_of(
        gst_structure_new("region", "id", G_TYPE_UINT, 1u, "x", G_TYPE_INT, x, "y", G_TYPE_INT, y,
                          "width", G_TYPE_INT, G_MAXINT, "height", G_TYPE_INT, G_MAXINT, nullptr));
    return regions_on(scaled(from.get(), 320, 240).get());
  };
  EXPECT_EQ(moved(40, 15), Texts{"160 60 160 180, - - -, - -, - - -"});
  EXPECT_EQ(moved(-5, 0), Texts{"0 0 320 240, - - -, - -, - - -"});
  EXPECT_EQ(moved(0, G_MININT), Texts());
}

}  // namespace
}  // namespace regions::test

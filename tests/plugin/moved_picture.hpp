// Pictures with regions, and what their metadata says behind a transform as GStreamer's elements
// tell of theirs: given here without the element.
#pragma once

#include <algorithm>

#include "tests/plugin/region_structures.hpp"

namespace regions::test {

inline constexpr int kWidth = 80, kHeight = 60;
inline constexpr GstVideoRectangle kWhole = {0, 0, kWidth, kHeight};
using Texts = std::vector<std::string>;

// GstVideoMetaTransformMatrix of GStreamer 1.28.
struct MatrixTransform {
  const GstVideoInfo* in_info;
  GstVideoRectangle in;
  const GstVideoInfo* out_info;
  GstVideoRectangle out;
  gfloat matrix[3][3];
};

struct MovedRegion {
  int x, y, width, height;
  guint64 area;
  double cx, cy;
  int first_x, first_y;
  double cov_xx, cov_xy, cov_yy;
};
inline constexpr MovedRegion kInside = {14, 8, 12, 6, 72, 19.5, 10.5, 14, 9, 4, 1, 2};
inline constexpr MovedRegion kAtTheEdge = {70, 50, 10, 10, 100, 74.5, 54.5, 72, 50, 8, 2, 8};

inline GstStructure* structure_of(const MovedRegion& r, guint id) {
  return gst_structure_new("region", "id", G_TYPE_UINT, id, "x", G_TYPE_INT, r.x, "y", G_TYPE_INT,
                           r.y, "width", G_TYPE_INT, r.width, "height", G_TYPE_INT, r.height,
                           "area", G_TYPE_UINT64, r.area, "cx", G_TYPE_DOUBLE, r.cx, "cy",
                           G_TYPE_DOUBLE, r.cy, "first-x", G_TYPE_INT, r.first_x, "first-y",
                           G_TYPE_INT, r.first_y, "cov-xx", G_TYPE_DOUBLE, r.cov_xx, "cov-xy",
                           G_TYPE_DOUBLE, r.cov_xy, "cov-yy", G_TYPE_DOUBLE, r.cov_yy, nullptr);
}

inline void set_buffer(GstStructure* s, const char* name) {
  GstBuffer* buffer = gst_buffer_new_allocate(nullptr, kWidth * kHeight * 4, nullptr);
  gst_structure_set(s, name, GST_TYPE_BUFFER, buffer, nullptr);
  gst_buffer_unref(buffer);
}

// A picture with these regions, whose coordinates count a picture of that size.
inline BufferPtr picture(const std::vector<MovedRegion>& regions, int width = kWidth,
                         int height = kHeight, int layers = 1) {
  start_gstreamer();
  gst_object_unref(gst_element_factory_make("cclabel", nullptr));  // registers the metadata
  BufferPtr buffer(gst_buffer_new_allocate(nullptr, kWidth * kHeight, nullptr));
  GstStructure* s =
      gst_custom_meta_get_structure(gst_buffer_add_custom_meta(buffer.get(), "regions"));
  gst_structure_set(s, "algorithm", G_TYPE_STRING, "test", "width", G_TYPE_INT, width, "height",
                    G_TYPE_INT, height, "regions-total", G_TYPE_UINT, 17u, "labels-format",
                    G_TYPE_STRING, "U32_LE", "runs-truncated", G_TYPE_BOOLEAN, TRUE, nullptr);
  for (const char* name : {"labels", "runs", "adjacency"}) set_buffer(s, name);
  if (layers > 1) gst_structure_set(s, "layers", G_TYPE_INT, layers, nullptr);
  std::vector<GstStructure*> structures;
  for (const MovedRegion& region : regions) {
    structures.push_back(structure_of(region, static_cast<guint>(structures.size() + 1)));
  }
  set_regions(s, structures);
  return buffer;
}

// What a buffer has that this is done to, of whose picture another element made a box before.
inline BufferPtr transformed(GstBuffer* from, const char* kind, gpointer transform) {
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
  int width, height;  // of the new picture
  float m[2][3];
};

inline BufferPtr moved(GstBuffer* from, const Move& move, int width = kWidth,
                       int height = kHeight) {
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

inline BufferPtr scaled(GstBuffer* from, int width, int height, int par_n = 1, int par_d = 1) {
  GstVideoInfo in, out;
  gst_video_info_set_format(&in, GST_VIDEO_FORMAT_GRAY8, kWidth, kHeight);
  gst_video_info_set_format(&out, GST_VIDEO_FORMAT_GRAY8, static_cast<guint>(width),
                            static_cast<guint>(height));
  out.par_n = par_n;
  out.par_d = par_d;
  GstVideoMetaTransform t = {&in, &out};
  return transformed(from, "gst-video-scale", &t);
}

inline std::string fields_of(const GstStructure* s, std::initializer_list<const char*> names) {
  std::string text;
  for (const char* name : names) {
    const GValue* value = gst_structure_get_value(s, name);
    text += (text.empty() ? "" : " ") + (value ? taken(gst_value_serialize(value)) : "-");
  }
  return text;
}

// "x y w h, area cx cy, first, covariance" of each region.
inline std::vector<std::string> regions_on(GstBuffer* buffer) {
  std::vector<std::string> all;
  const GstStructure* s = regions_of(buffer);
  for (guint i = 0; s && i < region_count(s); ++i) {
    const GstStructure* region = gst_value_get_structure(
        gst_value_array_get_value(gst_structure_get_value(s, "regions"), i));
    all.push_back(fields_of(region, {"x", "y", "width", "height"}) + ", " +
                  fields_of(region, {"area", "cx", "cy"}) + ", " +
                  fields_of(region, {"first-x", "first-y"}) + ", " +
                  fields_of(region, {"cov-xx", "cov-xy", "cov-yy"}));
  }
  return all;
}

// Regions of interest of that type: "id x y w h".
inline std::vector<std::string> rois_on(GstBuffer* buffer, const std::string& type) {
  std::vector<std::string> all;
  gpointer state = nullptr;
  while (GstMeta* meta = gst_buffer_iterate_meta_filtered(
             buffer, &state, GST_VIDEO_REGION_OF_INTEREST_META_API_TYPE)) {
    auto* roi = reinterpret_cast<GstVideoRegionOfInterestMeta*>(meta);
    if (g_quark_to_string(roi->roi_type) != type) continue;
    all.push_back(std::to_string(roi->id) + " " + std::to_string(roi->x) + " " +
                  std::to_string(roi->y) + " " + std::to_string(roi->w) + " " +
                  std::to_string(roi->h));
  }
  return all;
}

}  // namespace regions::test

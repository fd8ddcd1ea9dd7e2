// Pictures that are a rectangle of a larger picture in memory, as GstVideoCropMeta describes it.
#pragma once

#include <algorithm>

#include "tests/plugin/harness.hpp"

namespace regions::test {

struct Rectangle {
  guint x, y, width, height;
};

inline GstVideoInfo info_of(const char* format, guint width, guint height) {
  start_gstreamer();
  GstVideoInfo info;
  gst_video_info_set_format(&info, gst_video_format_from_string(format), width, height);
  return info;
}

// The whole picture: noise, different for each index.
inline std::vector<uint8_t> noise(const GstVideoInfo& info, int index) {
  auto state = static_cast<uint32_t>(index) + 1;  // a linear congruential generator
  std::vector<uint8_t> bytes(GST_VIDEO_INFO_SIZE(&info));
  for (uint8_t& byte : bytes) {
    state = state * 1664525 + 1013904223;
    byte = static_cast<uint8_t>(state >> 24);
  }
  return bytes;
}

// The part of a plane that belongs to a rectangle, in bytes and rows.
struct PlanePart {
  size_t x, y, width, height;
};
inline PlanePart part_of_plane(const GstVideoInfo& info, guint plane, const Rectangle& r) {
  gint components[GST_VIDEO_MAX_COMPONENTS];
  gst_video_format_info_component(info.finfo, plane, components);
  const auto c = static_cast<guint>(components[0]);
  const auto step = static_cast<size_t>(GST_VIDEO_FORMAT_INFO_PSTRIDE(info.finfo, c));
  const guint pairs = GST_VIDEO_INFO_FORMAT(&info) == GST_VIDEO_FORMAT_YUY2 ? 1 : 0;
  const size_t columns = GST_VIDEO_SUB_SCALE(GST_VIDEO_FORMAT_INFO_W_SUB(info.finfo, c), r.width);
  return {(r.x >> GST_VIDEO_FORMAT_INFO_W_SUB(info.finfo, c)) * step,
          r.y >> GST_VIDEO_FORMAT_INFO_H_SUB(info.finfo, c),
          (columns + pairs) / (1 + pairs) * (1 + pairs) * step,
          static_cast<size_t>(
              GST_VIDEO_SUB_SCALE(GST_VIDEO_FORMAT_INFO_H_SUB(info.finfo, c), r.height))};
}

// Copies a rectangle of `whole` to the picture `part`, or from there if `back`.
inline void copy_part(std::vector<uint8_t>& whole, const GstVideoInfo& info, const Rectangle& r,
                      std::vector<uint8_t>& part, const GstVideoInfo& part_info,
                      bool back = false) {
  for (guint p = 0; p < GST_VIDEO_INFO_N_PLANES(&info); ++p) {
    const PlanePart at = part_of_plane(info, p, r);
    for (size_t row = 0; row < at.height; ++row) {
      uint8_t* inside =
          &whole[GST_VIDEO_INFO_PLANE_OFFSET(&info, p) + at.x +
                 (at.y + row) * static_cast<size_t>(GST_VIDEO_INFO_PLANE_STRIDE(&info, p))];
      uint8_t* alone = &part[GST_VIDEO_INFO_PLANE_OFFSET(&part_info, p) +
                             row * static_cast<size_t>(GST_VIDEO_INFO_PLANE_STRIDE(&part_info, p))];
      if (back) {
        std::copy_n(alone, at.width, inside);
      } else {
        std::copy_n(inside, at.width, alone);
      }
    }
  }
}

// Copies the rectangle to a picture in GStreamer's default layout.
inline std::vector<uint8_t> cut_out(std::vector<uint8_t> whole, const GstVideoInfo& info,
                                    const Rectangle& r) {
  const GstVideoInfo part_info = info_of(GST_VIDEO_INFO_NAME(&info), r.width, r.height);
  std::vector<uint8_t> part(GST_VIDEO_INFO_SIZE(&part_info));
  copy_part(whole, info, r, part, part_info);
  return part;
}

inline void add_crop(GstBuffer* buffer, const Rectangle& r) {
  GstVideoCropMeta* crop = gst_buffer_add_video_crop_meta(buffer);
  crop->x = r.x;
  crop->y = r.y;
  crop->width = r.width;
  crop->height = r.height;
}

// Adds the metas that select the rectangle to a buffer with the whole picture.
inline void show_only(GstBuffer* buffer, GstVideoInfo info, const Rectangle& r) {
  gst_buffer_add_video_meta_full(buffer, GST_VIDEO_FRAME_FLAG_NONE, GST_VIDEO_INFO_FORMAT(&info),
                                 static_cast<guint>(GST_VIDEO_INFO_WIDTH(&info)),
                                 static_cast<guint>(GST_VIDEO_INFO_HEIGHT(&info)),
                                 GST_VIDEO_INFO_N_PLANES(&info), info.offset, info.stride);
  add_crop(buffer, r);
}

// The visible picture of an output frame, inside its crop rectangle if it has one. Padding is 0.
inline std::vector<uint8_t> visible(const Harness& h, GstBuffer* buffer) {
  const CapsPtr caps(gst_pad_get_current_caps(h.get()->sinkpad));
  GstVideoInfo info;
  EXPECT_TRUE(gst_video_info_from_caps(&info, caps.get()));
  Rectangle shown = {0, 0, static_cast<guint>(info.width), static_cast<guint>(info.height)};
  if (const GstVideoCropMeta* crop = gst_buffer_get_video_crop_meta(buffer)) {
    const GstVideoMeta* meta = gst_buffer_get_video_meta(buffer);
    info = info_of(GST_VIDEO_INFO_NAME(&info), meta->width, meta->height);
    std::copy_n(meta->offset, meta->n_planes, info.offset);
    std::copy_n(meta->stride, meta->n_planes, info.stride);
    shown = {crop->x, crop->y, crop->width, crop->height};
  }
  return cut_out(bytes_of(buffer), info, shown);
}

// The metadata as text, with the bytes of the label map and the table.
inline std::string text_of_regions(GstBuffer* buffer) {
  const GstStructure* regions = regions_of(buffer);
  if (!regions) return "none";
  GstStructure* copy = gst_structure_copy(regions);
  std::string labels;
  for (const char* field : {"labels", "table"}) {
    if (const GValue* value = gst_structure_get_value(copy, field)) {
      for (const uint8_t byte : bytes_of(gst_value_get_buffer(value))) {
        labels += std::to_string(byte) + " ";
      }
    }
    gst_structure_remove_field(copy, field);
  }
  const std::string text = taken(gst_structure_to_string(copy));
  gst_structure_free(copy);
  return text + "; " + labels;
}

// Compares the regions and visible pixels of the frames that leave two harnesses.
inline void expect_same_frames(Harness& out, Harness& expected, int frames,
                               const std::string& where) {
  for (int i = 0; i < frames; ++i) {
    const BufferPtr a = out.pull(), b = expected.pull();
    ASSERT_TRUE(a && b) << where;
    EXPECT_EQ(text_of_regions(a.get()), text_of_regions(b.get())) << where;
    EXPECT_EQ(visible(out, a.get()), visible(expected, b.get())) << where;
  }
}

}  // namespace regions::test

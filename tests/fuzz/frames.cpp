// Buffers in memory of exactly their size.
#include "tests/fuzz/frames.hpp"

#include "tests/fuzz/values.hpp"

namespace regions::fuzz {
namespace {

constexpr const char* kFormats[] = {"NV12", "I420",  "P010_10LE", "YUY2", "UYVY",
                                    "RGBA", "BGRA",  "RGBx",      "BGRx", "RGB",
                                    "BGR",  "GRAY8", "GRAY16_LE"};

// One or two memories that together have so many bytes.
GstBuffer* buffer_of(gsize bytes, gsize row, Input& in) {
  GstBuffer* buffer = gst_buffer_new();
  const gsize first = bytes > 1 && in.one_in(16) ? bytes / 2 : bytes;
  for (gsize done = 0, part = first; done < bytes; done += part, part = bytes - first) {
    auto* data = static_cast<uint8_t*>(g_malloc(part));
    fill({data, part}, row, in);
    const auto flags = in.one_in(32) ? GST_MEMORY_FLAG_READONLY : GstMemoryFlags{};
    gst_buffer_append_memory(buffer,
                             gst_memory_new_wrapped(flags, data, part, 0, part, data, g_free));
  }
  return buffer;
}

// Planes wherever the meta says, which need not be in the buffer.
void add_video_meta(GstBuffer* buffer, const GstVideoInfo& info, Input& in) {
  gsize offset[GST_VIDEO_MAX_PLANES] = {};
  gint stride[GST_VIDEO_MAX_PLANES] = {};
  const guint planes = GST_VIDEO_INFO_N_PLANES(&info);
  for (guint p = 0; p < planes; ++p) {
    offset[p] = info.offset[p];
    stride[p] = info.stride[p];
    if (in.one_in(8)) offset[p] += static_cast<gsize>(in.integer());
    if (in.one_in(8)) stride[p] = in.integer();
    if (in.one_in(16) && stride[p] > 0 && info.height > 0) {  // upside down
      offset[p] += static_cast<gsize>(stride[p]) *
                   static_cast<gsize>(GST_VIDEO_INFO_COMP_HEIGHT(&info, p) - 1);
      stride[p] = -stride[p];
    }
  }
  const auto side = [&](gint length) {
    return static_cast<guint>(in.one_in(16) ? in.integer() : length);
  };
  const GstVideoFormat format = in.one_in(16) ? gst_video_format_from_string(kFormats[in.below(13)])
                                              : GST_VIDEO_INFO_FORMAT(&info);
  gst_buffer_add_video_meta_full(buffer, GST_VIDEO_FRAME_FLAG_NONE, format, side(info.width),
                                 side(info.height), planes, offset, stride);
}

}  // namespace

GstCaps* caps_in(Input& in, GstVideoInfo& info) {
  const Size size = in.one_in(64) ? Size{in.integer(), in.integer()} : picture_size(in);
  const char* format = in.one_in(48) ? "Y444" : kFormats[in.below(13)];
  GstCaps* caps = gst_caps_new_simple("video/x-raw", "format", G_TYPE_STRING, format, "width",
                                      G_TYPE_INT, size.width, "height", G_TYPE_INT, size.height,
                                      "framerate", GST_TYPE_FRACTION, in.below(31), 1, nullptr);
  constexpr const char* kColors[] = {"bt601", "bt709", "bt2020", "sRGB", "1:4:0:0", "0:0:0:0"};
  if (in.one_in(3)) {
    gst_caps_set_simple(caps, "colorimetry", G_TYPE_STRING, kColors[in.below(6)], nullptr);
  }
  constexpr const char* kModes[] = {"progressive", "interleaved", "mixed", "fields", "alternate"};
  if (in.one_in(16)) {
    gst_caps_set_simple(caps, "interlace-mode", G_TYPE_STRING, kModes[in.below(5)], nullptr);
  }
  if (!gst_video_info_from_caps(&info, caps)) {
    gst_video_info_set_format(&info, GST_VIDEO_FORMAT_GRAY8, 16, 16);
  }
  // A frame of huge caps is a small buffer.
  if (GST_VIDEO_INFO_SIZE(&info) > 1 << 22) info.size = 4096;
  return caps;
}

GstBuffer* frame_in(Input& in, const GstVideoInfo& info) {
  gsize bytes = GST_VIDEO_INFO_SIZE(&info);
  const bool odd = in.one_in(24);
  if (odd) bytes = in.one_in(2) ? bytes + in.byte() : bytes - std::min<gsize>(in.byte(), bytes);
  const auto row = static_cast<gsize>(GST_VIDEO_INFO_PLANE_STRIDE(&info, 0));
  GstBuffer* buffer = buffer_of(bytes, row, in);
  if (in.one_in(4)) add_video_meta(buffer, info, in);
  if (in.one_in(8)) {
    auto* roi = gst_buffer_add_video_region_of_interest_meta(
        buffer, in.one_in(2) ? "region" : "face", static_cast<guint>(in.integer()),
        static_cast<guint>(in.integer()), static_cast<guint>(in.integer()),
        static_cast<guint>(in.integer()));
    if (in.one_in(2)) {
      gst_video_region_of_interest_meta_add_param(
          roi, gst_structure_new("detection", "confidence", G_TYPE_DOUBLE, in.fraction(), nullptr));
    }
  }
  if (in.one_in(8)) {
    auto* crop = gst_buffer_add_video_crop_meta(buffer);
    crop->x = static_cast<guint>(in.integer());
    crop->width = static_cast<guint>(in.integer());
  }
  if (in.one_in(2)) add_regions(buffer, info, in);
  if (in.one_in(8)) GST_BUFFER_FLAG_SET(buffer, GST_BUFFER_FLAG_DISCONT);
  if (in.one_in(8)) GST_BUFFER_FLAG_SET(buffer, GST_BUFFER_FLAG_GAP);
  if (in.one_in(16)) GST_BUFFER_FLAG_SET(buffer, GST_BUFFER_FLAG_CORRUPTED);
  return buffer;
}

}  // namespace regions::fuzz

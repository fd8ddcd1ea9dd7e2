// Reading GStreamer's video transforms.
#include "plugin/metadata/picture_mapping.hpp"

#include <gst/video/video.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace regions {
namespace {

// GstVideoMetaTransformMatrix of GStreamer 1.28, which older headers lack: `matrix` takes pixels of
// `in`, counted from its corner, to pixels of `out`, counted from its corner.
struct MatrixTransform {
  const GstVideoInfo* in_info;
  GstVideoRectangle in;
  const GstVideoInfo* out_info;
  GstVideoRectangle out;
  gfloat matrix[3][3];
};

Size size_of(const GstVideoInfo* info) {
  return {GST_VIDEO_INFO_WIDTH(info), GST_VIDEO_INFO_HEIGHT(info)};
}

// The mapping in a matrix's row. A matrix maps whole pixels, so one that mirrors shifts edges by
// one pixel more. What it shows lies in the picture, whatever the rectangle says.
AxisMapping axis_of(double scale, double translation, int in_offset, int out_offset, int out_size,
                    int picture) {
  const double shift = translation + (scale < 0 ? 1 : 0);
  const auto inside = [&](int64_t edge) {
    return static_cast<int>(std::clamp<int64_t>(edge, 0, picture));
  };
  return {scale, out_offset + shift - scale * in_offset, inside(out_offset),
          inside(int64_t{out_offset} + out_size)};
}

std::optional<PictureMapping> mapping_of(const MatrixTransform& t) {
  const auto& m = t.matrix;
  const bool affine = m[2][0] == 0 && m[2][1] == 0 && m[2][2] == 1;
  const bool upright = m[0][1] == 0 && m[1][0] == 0 && m[0][0] != 0 && m[1][1] != 0;
  const bool transposed = m[0][0] == 0 && m[1][1] == 0 && m[0][1] != 0 && m[1][0] != 0;
  const bool finite = std::all_of(&m[0][0], &m[2][0], [](float v) { return std::isfinite(v); });
  if (!affine || (!upright && !transposed) || !finite) return {};
  const int other = transposed ? 1 : 0;
  const int in[] = {t.in.x, t.in.y};
  PictureMapping mapping;
  mapping.transposed = transposed;
  mapping.from = size_of(t.in_info);
  mapping.to = size_of(t.out_info);
  mapping.x = axis_of(m[0][other], m[0][2], in[other], t.out.x, t.out.w, mapping.to.width);
  mapping.y = axis_of(m[1][1 - other], m[1][2], in[1 - other], t.out.y, t.out.h, mapping.to.height);
  return mapping;
}

// Before 1.28 scaling elements do not tell whether they add borders where the shape changes, as
// videoscale does unless told otherwise. These are the borders it would add.
int likely_borders(const GstVideoInfo* in, const GstVideoInfo* out) {
  gint n = 0, d = 0;
  if (!gst_util_fraction_multiply(GST_VIDEO_INFO_WIDTH(in), GST_VIDEO_INFO_HEIGHT(in),
                                  GST_VIDEO_INFO_PAR_N(in), GST_VIDEO_INFO_PAR_D(in), &n, &d) ||
      !gst_util_fraction_multiply(n, d, GST_VIDEO_INFO_PAR_D(out), GST_VIDEO_INFO_PAR_N(out), &n,
                                  &d) ||
      n <= 0 || d <= 0) {
    return G_MAXINT;
  }
  const Size size = size_of(out);
  const auto height =
      static_cast<int>(gst_util_uint64_scale_int(static_cast<guint64>(size.width), d, n));
  if (height <= size.height) return size.height - height;
  return size.width -
         static_cast<int>(gst_util_uint64_scale_int(static_cast<guint64>(size.height), n, d));
}

std::optional<PictureMapping> mapping_of(const GstVideoMetaTransform& t) {
  const Size in = size_of(t.in_info), out = size_of(t.out_info);
  constexpr int kRounding = 1;  // pixels
  if (!(in == out) && likely_borders(t.in_info, t.out_info) > kRounding) return {};
  PictureMapping mapping;
  mapping.x = {static_cast<double>(out.width) / in.width, 0, 0, out.width};
  mapping.y = {static_cast<double>(out.height) / in.height, 0, 0, out.height};
  mapping.from = in;
  mapping.to = out;
  return mapping;
}

std::optional<PictureMapping> told(GQuark type, gpointer data) {
  if (type == g_quark_from_static_string("gst-video-matrix")) {
    return mapping_of(*static_cast<const MatrixTransform*>(data));
  }
  if (GST_VIDEO_META_TRANSFORM_IS_SCALE(type)) {
    return mapping_of(*static_cast<const GstVideoMetaTransform*>(data));
  }
  return {};
}

}  // namespace

bool PictureMapping::only_scales() const {
  constexpr double kRounding = 0.01;  // pixels
  const auto whole = [](const AxisMapping& axis, int before, int after) {
    return axis.shift == 0 && axis.low == 0 && axis.high == after &&
           std::abs(axis.scale * before - after) < kRounding;
  };
  return !transposed && whole(x, from.width, to.width) && whole(y, from.height, to.height);
}

std::optional<PictureMapping> mapping_of(GQuark type, gpointer data, Size from, int layers) {
  std::optional<PictureMapping> mapping = told(type, data);
  if (!mapping || mapping->from.width <= 0 || mapping->from.height <= 0) return {};
  Size in = mapping->from;
  if (layers > 1 && int64_t{from.height} * layers == in.height) {
    if (!mapping->only_scales() || mapping->to.height % layers != 0) return {};
    mapping->to.height /= layers;
    mapping->y.high /= layers;
    in.height /= layers;
  }
  // The coordinates may count another size than the picture's.
  AxisMapping& along_x = mapping->transposed ? mapping->y : mapping->x;
  AxisMapping& along_y = mapping->transposed ? mapping->x : mapping->y;
  along_x.scale *= static_cast<double>(in.width) / from.width;
  along_y.scale *= static_cast<double>(in.height) / from.height;
  mapping->from = from;
  return mapping;
}

}  // namespace regions

// Transforms the `regions` metadata when an element copies, scales, crops, rotates or encodes a
// frame.
#include <gst/video/video.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>

#include "core/drawing/marks.hpp"
#include "core/error.hpp"
#include "plugin/memory/gst_object.hpp"
#include "plugin/metadata/region_meta.hpp"
#include "plugin/metadata/standard_metas.hpp"

namespace regions {
namespace {

// How an element transforms the coordinates along one axis of its output picture. An edge between
// two pixels that is at position e of the input gets the position scale * e + shift of the output.
// A negative scale mirrors. The input is visible between the positions `low` and `high` of the
// output. The remaining pixels of the output are borders.
struct AxisMapping {
  double scale = 1;
  double shift = 0;  // pixels of the output
  int low = 0;       // pixels of the output
  int high = 0;      // pixels of the output
};

// How an element scales, crops, pads, mirrors or transposes pictures, as far as GStreamer reports
// it to the transform functions of metas.
struct PictureMapping {
  bool is_transposed = false;  // x of the output comes from y of the input
  AxisMapping x, y;
  Size from, to;

  bool mirrors() const { return x.scale < 0 || y.scale < 0; }
  // Whether the whole input fills the whole output, without mirroring or transposition.
  bool only_scales() const;
};

// GstVideoMetaTransformMatrix of GStreamer 1.28, which older headers lack. `matrix` transforms the
// coordinates of pixels in the rectangle `in` to coordinates in the rectangle `out`. The
// coordinates are relative to the top left corner of the respective rectangle.
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

// Returns the mapping of one row of the matrix. The matrix maps pixels, not edges between pixels.
// Therefore a mirrored edge is shifted by one more pixel. `low` and `high` are clamped to the
// picture, because the rectangle may exceed it.
AxisMapping axis_of(double scale, double translation, int in_offset, int out_offset, int out_size,
                    int picture_size) {
  const double shift = translation + (scale < 0 ? 1 : 0);
  const auto clamp_to_picture = [&](int64_t edge) {
    return static_cast<int>(std::clamp<int64_t>(edge, 0, picture_size));
  };
  return {scale, out_offset + shift - scale * in_offset, clamp_to_picture(out_offset),
          clamp_to_picture(int64_t{out_offset} + out_size)};
}

// Returns the mapping of a matrix. Returns nothing if the matrix rotates by another angle than a
// multiple of 90°, shears or projects.
std::optional<PictureMapping> mapping_of(const MatrixTransform& matrix_transform) {
  const auto& matrix = matrix_transform.matrix;
  const bool is_affine = matrix[2][0] == 0 && matrix[2][1] == 0 && matrix[2][2] == 1;
  const bool is_upright =
      matrix[0][1] == 0 && matrix[1][0] == 0 && matrix[0][0] != 0 && matrix[1][1] != 0;
  const bool is_transposed =
      matrix[0][0] == 0 && matrix[1][1] == 0 && matrix[0][1] != 0 && matrix[1][0] != 0;
  const bool is_finite =
      std::all_of(&matrix[0][0], &matrix[2][0], [](float v) { return std::isfinite(v); });
  if (!is_affine || (!is_upright && !is_transposed) || !is_finite) return {};
  const int x_source = is_transposed ? 1 : 0;  // index of the input axis that becomes x
  const int in[] = {matrix_transform.in.x, matrix_transform.in.y};
  PictureMapping mapping;
  mapping.is_transposed = is_transposed;
  mapping.from = size_of(matrix_transform.in_info);
  mapping.to = size_of(matrix_transform.out_info);
  mapping.x = axis_of(matrix[0][x_source], matrix[0][2], in[x_source], matrix_transform.out.x,
                      matrix_transform.out.w, mapping.to.width);
  mapping.y = axis_of(matrix[1][1 - x_source], matrix[1][2], in[1 - x_source],
                      matrix_transform.out.y, matrix_transform.out.h, mapping.to.height);
  return mapping;
}

// Returns the size of the borders (pixels) that videoscale adds with its default settings if the
// aspect ratio changes. Before GStreamer 1.28, elements do not report whether they add borders.
int likely_borders(const GstVideoInfo* in, const GstVideoInfo* out) {
  gint ratio_n = 0, ratio_d = 0;  // aspect ratio of the input, in pixels of the output
  if (!gst_util_fraction_multiply(GST_VIDEO_INFO_WIDTH(in), GST_VIDEO_INFO_HEIGHT(in),
                                  GST_VIDEO_INFO_PAR_N(in), GST_VIDEO_INFO_PAR_D(in), &ratio_n,
                                  &ratio_d) ||
      !gst_util_fraction_multiply(ratio_n, ratio_d, GST_VIDEO_INFO_PAR_D(out),
                                  GST_VIDEO_INFO_PAR_N(out), &ratio_n, &ratio_d) ||
      ratio_n <= 0 || ratio_d <= 0) {
    return G_MAXINT;
  }
  const Size size = size_of(out);
  const auto height = static_cast<int>(
      gst_util_uint64_scale_int(static_cast<guint64>(size.width), ratio_d, ratio_n));
  if (height <= size.height) return size.height - height;
  return size.width - static_cast<int>(gst_util_uint64_scale_int(static_cast<guint64>(size.height),
                                                                 ratio_n, ratio_d));
}

// Returns the mapping of an element that scales. Returns nothing if the element probably adds
// borders, because their position is unknown.
std::optional<PictureMapping> mapping_of(const GstVideoMetaTransform& scale_transform) {
  const Size in = size_of(scale_transform.in_info), out = size_of(scale_transform.out_info);
  constexpr int kMaxRoundingError = 1;  // pixels
  if (!(in == out) &&
      likely_borders(scale_transform.in_info, scale_transform.out_info) > kMaxRoundingError)
    return {};
  PictureMapping mapping;
  mapping.x = {static_cast<double>(out.width) / in.width, 0, 0, out.width};
  mapping.y = {static_cast<double>(out.height) / in.height, 0, 0, out.height};
  mapping.from = in;
  mapping.to = out;
  return mapping;
}

// Returns the mapping that GStreamer reports, for coordinates of the whole input picture.
std::optional<PictureMapping> reported_mapping(GQuark type, gpointer data) {
  if (type == g_quark_from_static_string("gst-video-matrix")) {
    return mapping_of(*static_cast<const MatrixTransform*>(data));
  }
  if (GST_VIDEO_META_TRANSFORM_IS_SCALE(type)) {
    return mapping_of(*static_cast<const GstVideoMetaTransform*>(data));
  }
  return {};
}

bool PictureMapping::only_scales() const {
  constexpr double kMaxRoundingError = 0.01;  // pixels
  const auto fills_output = [](const AxisMapping& axis, int input_size, int output_size) {
    return axis.shift == 0 && axis.low == 0 && axis.high == output_size &&
           std::abs(axis.scale * input_size - output_size) < kMaxRoundingError;
  };
  return !is_transposed && fills_output(x, from.width, to.width) &&
         fills_output(y, from.height, to.height);
}

// Returns the mapping of a GstMeta transform for coordinates of a picture of size `from`. A frame
// can consist of `layers` pictures of this size, one below another. Returns nothing if the mapping
// is unknown.
std::optional<PictureMapping> mapping_of(GQuark type, gpointer data, Size from, int layers) {
  std::optional<PictureMapping> mapping = reported_mapping(type, data);
  if (!mapping || mapping->from.width <= 0 || mapping->from.height <= 0) return {};
  Size in = mapping->from;
  if (layers > 1 && int64_t{from.height} * layers == in.height) {
    if (!mapping->only_scales() || mapping->to.height % layers != 0) return {};
    mapping->to.height /= layers;
    mapping->y.high /= layers;
    in.height /= layers;
  }
  // The metadata's coordinates can refer to another picture size than the size of the input
  // picture.
  AxisMapping& along_x = mapping->is_transposed ? mapping->y : mapping->x;
  AxisMapping& along_y = mapping->is_transposed ? mapping->x : mapping->y;
  along_x.scale *= static_cast<double>(in.width) / from.width;
  along_y.scale *= static_cast<double>(in.height) / from.height;
  mapping->from = from;
  return mapping;
}

// Whether the buffer `copy` contains the uncompressed picture of the buffer `picture`. It does not
// if an encoder copied the metadata to its output, which has fewer bytes. A copy without any bytes
// may get the bytes of the picture later.
bool has_picture(GstBuffer* copy, GstBuffer* picture) {
  const gsize bytes = gst_buffer_get_size(copy);
  return bytes == 0 || bytes >= gst_buffer_get_size(picture) || gst_buffer_get_video_meta(copy);
}

// Returns an int field, or the default value if the field is missing.
int int_or(const GstStructure* structure, const char* name, int default_value) {
  gint value = default_value;
  gst_structure_get_int(structure, name, &value);
  return value;
}

// An interval between two edges, in pixels.
struct Interval {
  double low, high;
};

// Maps an interval of the input to the output.
Interval map_interval(const AxisMapping& axis, double low, double high) {
  const double a = axis.scale * low + axis.shift, b = axis.scale * high + axis.shift;
  return {std::min(a, b), std::max(a, b)};
}

// Consecutive pixels along one axis.
struct PixelRange {
  int first = 0, count = 0;
};
// Returns the pixels of the interval that are visible in the output. Returns no pixels if the
// interval is outside of the visible part.
PixelRange visible_pixels(const AxisMapping& axis, Interval interval) {
  // GStreamer's matrices have float precision, so an edge slightly below an integer counts as that
  // integer.
  constexpr double kRounding = 1e-3;
  const auto edge = [](double e) { return static_cast<int>(std::floor(e + kRounding)); };
  if (!(axis.low < axis.high && interval.high > axis.low && interval.low < axis.high)) return {};
  const double low = std::max<double>(interval.low, axis.low);
  const double high = std::min<double>(interval.high, axis.high);
  const int first = std::min(edge(low), axis.high - 1);
  return {first, std::max(edge(high) - first, 1)};
}

void set_int(GstStructure* structure, const char* name, int value) {
  gst_structure_set(structure, name, G_TYPE_INT, value, nullptr);
}

// Maps a point whose coordinates are the fields `x_name` and `y_name`. The origin of the
// coordinates is the centre of the first pixel.
void map_point(GstStructure* structure, const char* x_name, const char* y_name,
               const PictureMapping& mapping) {
  double x = 0, y = 0;
  if (!gst_structure_get_double(structure, x_name, &x) ||
      !gst_structure_get_double(structure, y_name, &y))
    return;
  if (mapping.is_transposed) std::swap(x, y);
  constexpr double kPixelCentre = 0.5;
  gst_structure_set(structure, x_name, G_TYPE_DOUBLE,
                    mapping.x.scale * (x + kPixelCentre) + mapping.x.shift - kPixelCentre, y_name,
                    G_TYPE_DOUBLE,
                    mapping.y.scale * (y + kPixelCentre) + mapping.y.shift - kPixelCentre, nullptr);
}

void map_covariance(GstStructure* structure, const PictureMapping& mapping) {
  double xx = 0, xy = 0, yy = 0;
  if (!gst_structure_get_double(structure, "cov-xx", &xx) ||
      !gst_structure_get_double(structure, "cov-xy", &xy) ||
      !gst_structure_get_double(structure, "cov-yy", &yy)) {
    return;
  }
  if (mapping.is_transposed) std::swap(xx, yy);
  gst_structure_set(structure, "cov-xx", G_TYPE_DOUBLE, xx * mapping.x.scale * mapping.x.scale,
                    "cov-xy", G_TYPE_DOUBLE, xy * mapping.x.scale * mapping.y.scale, "cov-yy",
                    G_TYPE_DOUBLE, yy * mapping.y.scale * mapping.y.scale, nullptr);
}

// Maps the first pixel in raster order. If the picture is mirrored or transposed, another pixel
// becomes the first, so the fields are removed.
void map_first_pixel(GstStructure* structure, const PictureMapping& mapping) {
  const int x = int_or(structure, "first-x", -1), y = int_or(structure, "first-y", -1);
  if (x < 0 || y < 0) return;
  const bool keeps_order = !mapping.is_transposed && !mapping.mirrors();
  const PixelRange column =
      keeps_order ? visible_pixels(mapping.x, map_interval(mapping.x, x, x + 1)) : PixelRange{};
  const PixelRange row =
      keeps_order ? visible_pixels(mapping.y, map_interval(mapping.y, y, y + 1)) : PixelRange{};
  if (column.count == 0 || row.count == 0) {
    gst_structure_remove_fields(structure, "first-x", "first-y", nullptr);
    return;
  }
  set_int(structure, "first-x", column.first);
  set_int(structure, "first-y", row.first);
}

// Maps all fields of a region. Returns false if the region is outside of the picture.
bool map_region(GstStructure* structure, const PictureMapping& mapping) {
  Interval horizontal = {static_cast<double>(int_or(structure, "x", 0)), 0};
  Interval vertical = {static_cast<double>(int_or(structure, "y", 0)), 0};
  horizontal.high = horizontal.low + int_or(structure, "width", 0);
  vertical.high = vertical.low + int_or(structure, "height", 0);
  if (mapping.is_transposed) std::swap(horizontal, vertical);
  const PixelRange x =
      visible_pixels(mapping.x, map_interval(mapping.x, horizontal.low, horizontal.high));
  const PixelRange y =
      visible_pixels(mapping.y, map_interval(mapping.y, vertical.low, vertical.high));
  if (x.count == 0 || y.count == 0) return false;
  set_int(structure, "x", x.first);
  set_int(structure, "y", y.first);
  set_int(structure, "width", x.count);
  set_int(structure, "height", y.count);
  guint64 area = 0;
  if (gst_structure_get_uint64(structure, "area", &area)) {
    constexpr double kMaxArea = 1e18;
    const double pixels = static_cast<double>(area) * std::abs(mapping.x.scale * mapping.y.scale);
    const auto rounded = static_cast<guint64>(std::llround(std::min(pixels, kMaxArea)));
    gst_structure_set(structure, "area", G_TYPE_UINT64, std::max<guint64>(rounded, 1), nullptr);
  }
  map_point(structure, "cx", "cy", mapping);
  map_covariance(structure, mapping);
  map_first_pixel(structure, mapping);
  return true;
}

// Returns copies of the regions in coordinates of the output, without the regions outside of it.
GValue mapped_regions(const GValue* array, const PictureMapping& mapping) {
  GValue result = G_VALUE_INIT;
  const guint count = gst_value_array_get_size(array);
  gst_value_array_init(&result, count);
  for (guint i = 0; i < count; ++i) {
    const GValue* item = gst_value_array_get_value(array, i);
    expects(GST_VALUE_HOLDS_STRUCTURE(item), "regions metadata holds a value that is not a region");
    GstStructure* region = gst_structure_copy(gst_value_get_structure(item));
    if (!map_region(region, mapping)) {
      gst_structure_free(region);
      continue;
    }
    GValue mapped = G_VALUE_INIT;
    g_value_init(&mapped, GST_TYPE_STRUCTURE);
    g_value_take_boxed(&mapped, region);
    gst_value_array_append_and_take_value(&result, &mapped);
  }
  return result;
}

// Maps the positions of the events. Events stay even if they happened outside of the picture.
void map_events(GstStructure* result, const PictureMapping& mapping) {
  const GValue* array = gst_structure_get_value(result, "events");
  if (!array || !GST_VALUE_HOLDS_ARRAY(array)) return;
  GValue mapped_events = G_VALUE_INIT;
  const guint count = gst_value_array_get_size(array);
  gst_value_array_init(&mapped_events, count);
  for (guint i = 0; i < count; ++i) {
    GValue item = G_VALUE_INIT;
    g_value_init(&item, GST_TYPE_STRUCTURE);
    const GValue* source = gst_value_array_get_value(array, i);
    expects(GST_VALUE_HOLDS_STRUCTURE(source), "the metadata holds a value that is not an event");
    GstStructure* event = gst_structure_copy(gst_value_get_structure(source));
    double x = 0, y = 0;
    if (gst_structure_get_double(event, "x", &x) && gst_structure_get_double(event, "y", &y)) {
      if (mapping.is_transposed) std::swap(x, y);
      gst_structure_set(event, "x", G_TYPE_DOUBLE, mapping.x.scale * x + mapping.x.shift, "y",
                        G_TYPE_DOUBLE, mapping.y.scale * y + mapping.y.shift, nullptr);
    }
    g_value_take_boxed(&item, event);
    gst_value_array_append_and_take_value(&mapped_events, &item);
  }
  gst_structure_take_value(result, "events", &mapped_events);
}

// Maps the points of each row of a table of marks (see shape_marks.hpp): calls map(row) for the
// rows.
template <class Row, class Map>
void map_rows(GstStructure* result, const char* name, const Map& map) {
  const GValue* value = gst_structure_get_value(result, name);
  if (!value || !G_VALUE_HOLDS(value, GST_TYPE_BUFFER) || !gst_value_get_buffer(value)) return;
  GstBuffer* table = gst_value_get_buffer(value);
  std::vector<Row> rows(gst_buffer_get_size(table) / sizeof(Row));
  const gsize bytes = rows.size() * sizeof(Row);
  gst_buffer_extract(table, 0, rows.data(), bytes);
  for (Row& row : rows) map(row);
  const BufferPtr mapped(gst_buffer_new_allocate(nullptr, bytes, nullptr));
  gst_buffer_fill(mapped.get(), 0, rows.data(), bytes);
  gst_structure_set(result, name, GST_TYPE_BUFFER, mapped.get(), nullptr);
}

void map_marks(GstStructure* result, const PictureMapping& mapping) {
  const auto map_edge = [&](double& x, double& y) {
    if (mapping.is_transposed) std::swap(x, y);
    x = mapping.x.scale * x + mapping.x.shift;
    y = mapping.y.scale * y + mapping.y.shift;
  };
  map_rows<LineMark>(result, "shapes", [&](LineMark& line) {
    map_edge(line.x1, line.y1);
    map_edge(line.x2, line.y2);
  });
  map_rows<NumberMark>(result, "numbers",
                       [&](NumberMark& number) { map_edge(number.x, number.y); });
}

// Attaches the metadata to `to` and copies the fields, except the label map unless `with_labels` is
// set.
GstStructure* copy_fields(GstBuffer* to, const GstStructure* from, bool with_labels) {
  GstStructure* result = gst_custom_meta_get_structure(gst_buffer_add_custom_meta(to, kRegionMeta));
  for (gint i = 0; i < gst_structure_n_fields(from); ++i) {
    const char* name = gst_structure_nth_field_name(from, static_cast<guint>(i));
    if (!with_labels && g_str_has_prefix(name, "labels")) continue;
    gst_structure_set_value(result, name, gst_structure_get_value(from, name));
  }
  return result;
}

// Attaches the metadata to `to`, with the regions in coordinates of the output picture. `size` is
// the picture size that the input metadata refers to.
void add_mapped_regions(GstBuffer* to, const GstStructure* from, const PictureMapping& mapping,
                        Size size) {
  GValue regions = mapped_regions(RegionArray(from).get(), mapping);
  GstStructure* result = copy_fields(to, from, mapping.only_scales());
  gst_structure_take_value(result, "regions", &regions);
  set_int(result, "width", mapping.to.width);
  set_int(result, "height", mapping.to.height);
  map_events(result, mapping);
  map_marks(result, mapping);
  // Removes fields that refer to single pixels, and the table, which has the old coordinates.
  gst_structure_remove_fields(result, "runs", "runs-truncated", "adjacency", "table",
                              "table-columns", nullptr);
  if (gst_structure_has_field(result, "labels") &&
      !gst_structure_has_field(result, "labels-width")) {
    set_int(result, "labels-width", size.width);
    set_int(result, "labels-height", size.height);
  }
}

// Implements transform_region_meta(). Throws InputError if the metadata is malformed.
void transform(GstBuffer* to, const GstStructure* structure, GstBuffer* from, GQuark type,
               gpointer data) {
  if (GST_META_TRANSFORM_IS_COPY(type)) {
    const bool with_labels = has_picture(to, from);
    copy_fields(to, structure, with_labels);
    if (!with_labels) remove_segmentation(to);
    return;
  }
  const Size size = {int_or(structure, "width", 0), int_or(structure, "height", 0)};
  expects(size.width > 0 && size.height > 0, "regions metadata has no size");
  const auto mapping = mapping_of(type, data, size, int_or(structure, "layers", 1));
  if (!mapping) {
    // The transform functions of the standard metas may have assumed a wrong mapping.
    remove_standard_metas(to);
    return;
  }
  if (mapping->to == size && mapping->only_scales()) {
    copy_fields(to, structure, true);
    copy_rois(to, from);
    return;
  }
  add_mapped_regions(to, structure, *mapping, size);
  replace_standard_metas(to, standard_metas_of(from));
}

}  // namespace

gboolean transform_region_meta(GstBuffer* to, GstCustomMeta* meta, GstBuffer* from, GQuark type,
                               gpointer data, gpointer) {
  try {
    transform(to, gst_custom_meta_get_structure(meta), from, type, data);
  } catch (const std::exception& error) {
    GST_WARNING("the regions of a frame are lost: %s", error.what());
    remove_standard_metas(to);
  }
  return TRUE;
}

}  // namespace regions

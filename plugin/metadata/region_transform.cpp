// Moving regions with their picture.
#include "plugin/metadata/region_transform.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "core/error.hpp"
#include "plugin/memory/debug.hpp"
#include "plugin/metadata/analytics_meta.hpp"
#include "plugin/metadata/picture_mapping.hpp"
#include "plugin/metadata/region_meta.hpp"
#include "plugin/metadata/roi_metas.hpp"
#include "plugin/metadata/standard_metas.hpp"

namespace regions {
namespace {

// Whether the picture is copied, too: an encoder copies metadata to its output, which is smaller.
// A buffer without bytes may get the picture's bytes later.
bool holds_picture(GstBuffer* copy, GstBuffer* picture) {
  const gsize bytes = gst_buffer_get_size(copy);
  return bytes == 0 || bytes >= gst_buffer_get_size(picture) || gst_buffer_get_video_meta(copy);
}

int int_in(const GstStructure* s, const char* name, int otherwise) {
  gint value = otherwise;
  gst_structure_get_int(s, name, &value);
  return value;
}

// The position of an interval of edges after the mapping.
struct Interval {
  double low, high;
};
Interval moved(const AxisMapping& axis, double low, double high) {
  const double a = axis.scale * low + axis.shift, b = axis.scale * high + axis.shift;
  return {std::min(a, b), std::max(a, b)};
}

// The whole pixels of an interval inside of the picture; none if it is outside.
struct Pixels {
  int first = 0, count = 0;
};
Pixels seen(const AxisMapping& axis, Interval interval) {
  // An edge just below a whole number counts as that number: GStreamer's matrices hold floats.
  constexpr double kRounding = 1e-3;
  const auto edge = [](double e) { return static_cast<int>(std::floor(e + kRounding)); };
  if (!(axis.low < axis.high && interval.high > axis.low && interval.low < axis.high)) return {};
  const double low = std::max<double>(interval.low, axis.low);
  const double high = std::min<double>(interval.high, axis.high);
  const int first = std::min(edge(low), axis.high - 1);
  return {first, std::max(edge(high) - first, 1)};
}

void set_int(GstStructure* s, const char* name, int value) {
  gst_structure_set(s, name, G_TYPE_INT, value, nullptr);
}

// Moves a pair of numbers, one along each axis, that count from pixel centres.
void move_point(GstStructure* s, const char* x_name, const char* y_name, const PictureMapping& m) {
  double x = 0, y = 0;
  if (!gst_structure_get_double(s, x_name, &x) || !gst_structure_get_double(s, y_name, &y)) return;
  if (m.transposed) std::swap(x, y);
  constexpr double kCentre = 0.5;
  gst_structure_set(s, x_name, G_TYPE_DOUBLE, m.x.scale * (x + kCentre) + m.x.shift - kCentre,
                    y_name, G_TYPE_DOUBLE, m.y.scale * (y + kCentre) + m.y.shift - kCentre,
                    nullptr);
}

void move_covariance(GstStructure* s, const PictureMapping& m) {
  double xx = 0, xy = 0, yy = 0;
  if (!gst_structure_get_double(s, "cov-xx", &xx) || !gst_structure_get_double(s, "cov-xy", &xy) ||
      !gst_structure_get_double(s, "cov-yy", &yy)) {
    return;
  }
  if (m.transposed) std::swap(xx, yy);
  gst_structure_set(s, "cov-xx", G_TYPE_DOUBLE, xx * m.x.scale * m.x.scale, "cov-xy", G_TYPE_DOUBLE,
                    xy * m.x.scale * m.y.scale, "cov-yy", G_TYPE_DOUBLE, yy * m.y.scale * m.y.scale,
                    nullptr);
}

// The first pixel in raster order remains the first one if the picture is not turned.
void move_first_pixel(GstStructure* s, const PictureMapping& m) {
  const int x = int_in(s, "first-x", -1), y = int_in(s, "first-y", -1);
  if (x < 0 || y < 0) return;
  const bool keeps_order = !m.transposed && !m.mirrors();
  const Pixels column = keeps_order ? seen(m.x, moved(m.x, x, x + 1)) : Pixels{};
  const Pixels row = keeps_order ? seen(m.y, moved(m.y, y, y + 1)) : Pixels{};
  if (column.count == 0 || row.count == 0) {
    gst_structure_remove_fields(s, "first-x", "first-y", nullptr);
    return;
  }
  set_int(s, "first-x", column.first);
  set_int(s, "first-y", row.first);
}

// Returns false if the region is outside of the picture.
bool move_region(GstStructure* s, const PictureMapping& m) {
  Interval across = {static_cast<double>(int_in(s, "x", 0)), 0};
  Interval down = {static_cast<double>(int_in(s, "y", 0)), 0};
  across.high = across.low + int_in(s, "width", 0);
  down.high = down.low + int_in(s, "height", 0);
  if (m.transposed) std::swap(across, down);
  const Pixels x = seen(m.x, moved(m.x, across.low, across.high));
  const Pixels y = seen(m.y, moved(m.y, down.low, down.high));
  if (x.count == 0 || y.count == 0) return false;
  set_int(s, "x", x.first);
  set_int(s, "y", y.first);
  set_int(s, "width", x.count);
  set_int(s, "height", y.count);
  guint64 area = 0;
  if (gst_structure_get_uint64(s, "area", &area)) {
    constexpr double kMax = 1e18;
    const double pixels = static_cast<double>(area) * std::abs(m.x.scale * m.y.scale);
    const auto whole = static_cast<guint64>(std::llround(std::min(pixels, kMax)));
    gst_structure_set(s, "area", G_TYPE_UINT64, std::max<guint64>(whole, 1), nullptr);
  }
  move_point(s, "cx", "cy", m);
  move_covariance(s, m);
  move_first_pixel(s, m);
  return true;
}

GValue moved_regions(const GValue* array, const PictureMapping& m) {
  GValue result = G_VALUE_INIT;
  const guint count = gst_value_array_get_size(array);
  gst_value_array_init(&result, count);
  for (guint i = 0; i < count; ++i) {
    const GValue* item = gst_value_array_get_value(array, i);
    expects(GST_VALUE_HOLDS_STRUCTURE(item), "regions metadata holds a value that is not a region");
    GstStructure* region = gst_structure_copy(gst_value_get_structure(item));
    if (!move_region(region, m)) {
      gst_structure_free(region);
      continue;
    }
    GValue kept = G_VALUE_INIT;
    g_value_init(&kept, GST_TYPE_STRUCTURE);
    g_value_take_boxed(&kept, region);
    gst_value_array_append_and_take_value(&result, &kept);
  }
  return result;
}

GstStructure* copy_fields(GstBuffer* to, const GstStructure* from, bool with_labels) {
  GstStructure* result = gst_custom_meta_get_structure(gst_buffer_add_custom_meta(to, kRegionMeta));
  for (gint i = 0; i < gst_structure_n_fields(from); ++i) {
    const char* name = gst_structure_nth_field_name(from, static_cast<guint>(i));
    if (!with_labels && g_str_has_prefix(name, "labels")) continue;
    gst_structure_set_value(result, name, gst_structure_get_value(from, name));
  }
  return result;
}

// Writes the regions in the coordinates of another picture.
void move_regions(GstBuffer* to, const GstStructure* from, const PictureMapping& m, Size size) {
  GValue regions = moved_regions(region_array(from), m);
  GstStructure* result = copy_fields(to, from, m.only_scales());
  gst_structure_take_value(result, "regions", &regions);
  set_int(result, "width", m.to.width);
  set_int(result, "height", m.to.height);
  // Remove fields that name or count single pixels, and the copy of the structures as a table.
  gst_structure_remove_fields(result, "runs", "runs-truncated", "adjacency", "table",
                              "table-columns", nullptr);
  if (gst_structure_has_field(result, "labels") &&
      !gst_structure_has_field(result, "labels-width")) {
    set_int(result, "labels-width", size.width);
    set_int(result, "labels-height", size.height);
  }
}

void transform(GstBuffer* to, const GstStructure* structure, GstBuffer* from, GQuark type,
               gpointer data) {
  if (GST_META_TRANSFORM_IS_COPY(type)) {
    const bool with_labels = holds_picture(to, from);
    copy_fields(to, structure, with_labels);
    if (!with_labels) remove_segmentation(to);
    return;
  }
  const Size size = {int_in(structure, "width", 0), int_in(structure, "height", 0)};
  expects(size.width > 0 && size.height > 0, "regions metadata has no size");
  const auto mapping = mapping_of(type, data, size, int_in(structure, "layers", 1));
  if (!mapping) {
    remove_standard_metas(to);  // their own transform may have guessed
    return;
  }
  if (mapping->to == size && mapping->only_scales()) {
    copy_fields(to, structure, true);
    copy_rois(to, from);
    return;
  }
  move_regions(to, structure, *mapping, size);
  renew_standard_metas(to);
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

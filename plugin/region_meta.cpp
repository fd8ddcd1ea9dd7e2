// Writing and reading the `regions` metadata.
#include "plugin/region_meta.hpp"

#include <algorithm>

#include "core/error.hpp"

namespace regions {
namespace {

constexpr const char* kMeta = "regions";
constexpr const char* kRoiType = "region";
constexpr size_t kMostRois = 256;

// Interned field names: building thousands of structures a frame must not hash their names anew.
struct Names {
  GQuark region = g_quark_from_static_string("region");
  GQuark id = g_quark_from_static_string("id");
  GQuark track = g_quark_from_static_string("track");
  GQuark x = g_quark_from_static_string("x");
  GQuark y = g_quark_from_static_string("y");
  GQuark width = g_quark_from_static_string("width");
  GQuark height = g_quark_from_static_string("height");
  GQuark area = g_quark_from_static_string("area");
  GQuark cx = g_quark_from_static_string("cx");
  GQuark cy = g_quark_from_static_string("cy");
  GQuark first_x = g_quark_from_static_string("first-x");
  GQuark first_y = g_quark_from_static_string("first-y");
  GQuark red = g_quark_from_static_string("red");
  GQuark green = g_quark_from_static_string("green");
  GQuark blue = g_quark_from_static_string("blue");
};
const Names& names() {
  static const Names names;
  return names;
}

void put_uint(GstStructure* s, GQuark name, guint value) {
  GValue v = G_VALUE_INIT;
  g_value_init(&v, G_TYPE_UINT);
  g_value_set_uint(&v, value);
  gst_structure_id_take_value(s, name, &v);
}
void put_int(GstStructure* s, GQuark name, int value) {
  GValue v = G_VALUE_INIT;
  g_value_init(&v, G_TYPE_INT);
  g_value_set_int(&v, value);
  gst_structure_id_take_value(s, name, &v);
}
void put_double(GstStructure* s, GQuark name, double value) {
  GValue v = G_VALUE_INIT;
  g_value_init(&v, G_TYPE_DOUBLE);
  g_value_set_double(&v, value);
  gst_structure_id_take_value(s, name, &v);
}

GstStructure* region_structure(const Region& region, const Findings& findings) {
  const Names& n = names();
  GstStructure* s = gst_structure_new_id_empty(n.region);
  put_uint(s, n.id, region.id);
  put_uint(s, n.track, region.track);
  put_int(s, n.x, region.left);
  put_int(s, n.y, region.top);
  put_int(s, n.width, region.width());
  put_int(s, n.height, region.height());
  GValue area = G_VALUE_INIT;
  g_value_init(&area, G_TYPE_UINT64);
  g_value_set_uint64(&area, region.area);
  gst_structure_id_take_value(s, n.area, &area);
  put_double(s, n.cx, region.centroid_x());
  put_double(s, n.cy, region.centroid_y());
  put_int(s, n.first_x, region.first_x);
  put_int(s, n.first_y, region.first_y);
  const MeanColor mean = mean_color(region, findings.layout, findings.color);
  put_double(s, n.red, mean.red);
  put_double(s, n.green, mean.green);
  put_double(s, n.blue, mean.blue);
  return s;
}

int int_of(const GstStructure* s, const char* name) {
  gint value = 0;
  expects(gst_structure_get_int(s, name, &value),
          std::string("regions metadata lacks the number '") + name + "'");
  return value;
}

// Coordinate of `from` pixels as one of `to` pixels.
int scaled(int value, int from, int to) {
  return static_cast<int>(static_cast<int64_t>(value) * to / from);
}

Region region_of(const GstStructure* s, Size from, Size to) {
  Region region;
  guint id = 0, track = 0;
  expects(gst_structure_get_uint(s, "id", &id), "a region in the metadata lacks 'id'");
  region.id = id;
  region.track = gst_structure_get_uint(s, "track", &track) ? track : id;
  const int x = int_of(s, "x"), y = int_of(s, "y");
  region.left = scaled(x, from.width, to.width);
  region.top = scaled(y, from.height, to.height);
  region.right = scaled(x + int_of(s, "width"), from.width, to.width) - 1;
  region.bottom = scaled(y + int_of(s, "height"), from.height, to.height) - 1;
  region.right = std::max(region.right, region.left);
  region.bottom = std::max(region.bottom, region.top);
  guint64 area = 0;
  if (gst_structure_get_uint64(s, "area", &area)) region.area = area;
  return region;
}

// The largest regions first, as many as other elements can be expected to bear.
std::vector<Region> largest(std::span<const Region> regions) {
  std::vector<Region> sorted(regions.begin(), regions.end());
  const size_t count = std::min(sorted.size(), kMostRois);
  std::partial_sort(sorted.begin(), sorted.begin() + static_cast<ptrdiff_t>(count), sorted.end(),
                    [](const Region& a, const Region& b) {
                      return a.area != b.area ? a.area > b.area : a.id < b.id;
                    });
  sorted.resize(count);
  return sorted;
}

void attach_rois(GstBuffer* buffer, std::span<const Region> regions) {
  gint id = 0;
  for (const Region& r : regions) {
    auto* roi = gst_buffer_add_video_region_of_interest_meta(
        buffer, kRoiType, static_cast<guint>(r.left), static_cast<guint>(r.top),
        static_cast<guint>(r.width()), static_cast<guint>(r.height()));
    roi->id = ++id;
    roi->parent_id = 0;
    gst_video_region_of_interest_meta_add_param(
        roi,
        gst_structure_new(kRoiType, "id", G_TYPE_UINT, r.id, "track", G_TYPE_UINT, r.track, "area",
                          G_TYPE_UINT64, static_cast<guint64>(r.area), "cx", G_TYPE_DOUBLE,
                          r.centroid_x(), "cy", G_TYPE_DOUBLE, r.centroid_y(), nullptr));
  }
}

// Takes off what another element of ours left.
void detach(GstBuffer* buffer) {
  if (GstCustomMeta* meta = gst_buffer_get_custom_meta(buffer, kMeta)) {
    gst_buffer_remove_meta(buffer, &meta->meta);
  }
  const GQuark ours = g_quark_from_static_string(kRoiType);
  gst_buffer_foreach_meta(
      buffer,
      [](GstBuffer*, GstMeta** meta, gpointer type) -> gboolean {
        if ((*meta)->info->api != GST_VIDEO_REGION_OF_INTEREST_META_API_TYPE) return TRUE;
        auto* roi = reinterpret_cast<GstVideoRegionOfInterestMeta*>(*meta);
        if (roi->roi_type == GPOINTER_TO_UINT(type)) *meta = nullptr;
        return TRUE;
      },
      GUINT_TO_POINTER(ours));
}

}  // namespace

void register_region_meta() {
  static const gchar* no_tags[] = {nullptr};
  if (!gst_meta_get_info(kMeta)) {
    gst_meta_register_custom(kMeta, no_tags, nullptr, nullptr, nullptr);
  }
}

const GstStructure* attach(GstBuffer* buffer, const Findings& findings) {
  detach(buffer);
  GstStructure* s = gst_custom_meta_get_structure(gst_buffer_add_custom_meta(buffer, kMeta));
  gst_structure_set(s, "algorithm", G_TYPE_STRING, findings.algorithm, "width", G_TYPE_INT,
                    findings.size.width, "height", G_TYPE_INT, findings.size.height,
                    "regions-total", G_TYPE_UINT, findings.total, nullptr);
  GValue array = G_VALUE_INIT;
  gst_value_array_init(&array, static_cast<guint>(findings.regions.size()));
  for (const Region& region : findings.regions) {
    GValue item = G_VALUE_INIT;
    g_value_init(&item, GST_TYPE_STRUCTURE);
    g_value_take_boxed(&item, region_structure(region, findings));
    gst_value_array_append_and_take_value(&array, &item);
  }
  gst_structure_take_value(s, "regions", &array);
  if (findings.labels) {
    gst_structure_set(s, "labels", GST_TYPE_BUFFER, findings.labels, "labels-format", G_TYPE_STRING,
                      name_of(findings.labels_format).data(), nullptr);
  }
  const std::vector<Region> for_others = largest(findings.regions);
  attach_rois(buffer, for_others);
#if REGIONS_ANALYTICS
  attach_analytics(buffer, for_others);
#endif
  return s;
}

bool read(GstBuffer* buffer, Size size, Attached& attached) {
  attached = {};
  GstCustomMeta* meta = gst_buffer_get_custom_meta(buffer, kMeta);
  if (!meta) return false;
  const GstStructure* structure = gst_custom_meta_get_structure(meta);
  const Size from = {int_of(structure, "width"), int_of(structure, "height")};
  expects(from.width > 0 && from.height > 0, "regions metadata has no size");

  const GValue* array = gst_structure_get_value(structure, "regions");
  expects(array && GST_VALUE_HOLDS_ARRAY(array), "regions metadata lacks the array 'regions'");
  const guint count = gst_value_array_get_size(array);
  attached.regions.reserve(count);
  for (guint i = 0; i < count; ++i) {
    const GValue* item = gst_value_array_get_value(array, i);
    expects(GST_VALUE_HOLDS_STRUCTURE(item), "regions metadata holds something that is no region");
    attached.regions.push_back(region_of(gst_value_get_structure(item), from, size));
  }
  const GValue* labels = gst_structure_get_value(structure, "labels");
  if (labels && G_VALUE_HOLDS(labels, GST_TYPE_BUFFER)) {
    attached.labels = gst_value_get_buffer(labels);
    const gchar* format = gst_structure_get_string(structure, "labels-format");
    attached.labels_format = format_named(format ? format : "U32_LE");
    attached.labels_size = from;
  }
  return true;
}

}  // namespace regions

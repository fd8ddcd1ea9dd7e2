// Writing and reading the `regions` metadata.
#include "plugin/region_meta.hpp"

#include <algorithm>

#include "core/error.hpp"
#include "plugin/region_structure.hpp"

namespace regions {
namespace {

constexpr const char* kMeta = "regions";
constexpr size_t kMostRois = 256;

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
  std::vector<std::pair<uint64_t, uint32_t>> order(regions.size());  // ~area, index
  for (uint32_t i = 0; i < order.size(); ++i) order[i] = {~regions[i].area, i};
  const size_t count = std::min(order.size(), kMostRois);
  std::partial_sort(order.begin(), order.begin() + static_cast<ptrdiff_t>(count), order.end());
  std::vector<Region> sorted(count);
  for (size_t i = 0; i < count; ++i) sorted[i] = regions[order[i].second];
  return sorted;
}

// Boxes alone, no parameters: what more there is to say stands in the `regions` metadata, and
// saying it twice would cost a third of it again.
void attach_rois(GstBuffer* buffer, std::span<const Region> regions) {
  const GQuark type = g_quark_from_static_string(kRegionName);
  gint id = 0;
  for (const Region& r : regions) {
    auto* roi = gst_buffer_add_video_region_of_interest_meta_id(
        buffer, type, static_cast<guint>(r.left), static_cast<guint>(r.top),
        static_cast<guint>(r.width()), static_cast<guint>(r.height()));
    roi->id = ++id;
    roi->parent_id = 0;
  }
}

// Takes off what another element of ours left.
void detach(GstBuffer* buffer) {
  if (GstCustomMeta* meta = gst_buffer_get_custom_meta(buffer, kMeta)) {
    gst_buffer_remove_meta(buffer, &meta->meta);
  }
  const GQuark ours = g_quark_from_static_string(kRegionName);
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

// Refers to the structures, which must outlive it; who copies it copies them.
GValue array_of(std::span<const StructurePtr> structures) {
  GValue array = G_VALUE_INIT, empty = G_VALUE_INIT;
  gst_value_array_init(&array, static_cast<guint>(structures.size()));
  g_value_init(&empty, GST_TYPE_STRUCTURE);
  for (const StructurePtr& structure : structures) {
    GValue item = empty;
    g_value_set_static_boxed(&item, structure.get());
    gst_value_array_append_and_take_value(&array, &item);
  }
  return array;
}

}  // namespace

void register_region_meta() {
  static const gchar* no_tags[] = {nullptr};
  if (!gst_meta_get_info(kMeta)) {
    gst_meta_register_custom(kMeta, no_tags, nullptr, nullptr, nullptr);
  }
}

const GstStructure* attach(GstBuffer* buffer, const Findings& findings, const Workers& workers,
                           StructurePool& pool) {
  detach(buffer);
  GstStructure* s = gst_custom_meta_get_structure(gst_buffer_add_custom_meta(buffer, kMeta));
  gst_structure_set(s, "algorithm", G_TYPE_STRING, findings.algorithm, "width", G_TYPE_INT,
                    findings.size.width, "height", G_TYPE_INT, findings.size.height,
                    "regions-total", G_TYPE_UINT, findings.total, nullptr);
  const std::span<StructurePtr> structures = pool.lend(buffer, findings.regions.size());
  write_structures(findings, workers, structures, [&] {
    const std::vector<Region> for_others = largest(findings.regions);
    attach_rois(buffer, for_others);
#if REGIONS_ANALYTICS
    attach_analytics(buffer, for_others);
#endif
  });
  GValue array = array_of(structures);
  gst_structure_take_value(s, "regions", &array);
  if (findings.slices > 0) {
    gst_structure_set(s, "slice", G_TYPE_INT, findings.slice, "slices", G_TYPE_INT, findings.slices,
                      nullptr);
  }
  if (findings.layers > 1) gst_structure_set(s, "layers", G_TYPE_INT, findings.layers, nullptr);
  if (findings.details.borders) add_numbers(s, "adjacency", findings.borders);
  if (findings.details.runs > 0) {
    add_numbers(s, "runs", findings.runs);
    gst_structure_set(s, "runs-truncated", G_TYPE_BOOLEAN, findings.runs_truncated, nullptr);
  }
  for (const Fact& fact : findings.facts) add_fact(s, fact);
  if (findings.labels) {
    gst_structure_set(s, "labels", GST_TYPE_BUFFER, findings.labels, "labels-format", G_TYPE_STRING,
                      name_of(findings.labels_format).data(), nullptr);
  }
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

// Region-of-interest metas.
#include "plugin/standard_metas.hpp"

#include <gst/video/video.h>

#include <algorithm>

#include "plugin/analytics_meta.hpp"
#include "plugin/region_structure.hpp"

namespace regions {
namespace {

constexpr size_t kMost = 256;  // as many as other elements can be expected to bear

GQuark roi_type() { return g_quark_from_static_string(kRegionName); }

// Copied and filled: names are looked up once, and no text is copied.
GstStructure* example_detection() {
  GstStructure* s = gst_structure_new("detection", "confidence", G_TYPE_DOUBLE, 1.0, "x_min",
                                      G_TYPE_DOUBLE, 0.0, "y_min", G_TYPE_DOUBLE, 0.0, "x_max",
                                      G_TYPE_DOUBLE, 0.0, "y_max", G_TYPE_DOUBLE, 0.0, nullptr);
  GValue label = G_VALUE_INIT;
  g_value_init(&label, G_TYPE_STRING);
  g_value_set_interned_string(&label, g_intern_static_string(kRegionName));
  gst_structure_take_value(s, "label", &label);
  return s;
}

GstStructure* detection_of(const Region& r, Size size) {
  static const GstStructure* const kExample = example_detection();
  const double box[] = {static_cast<double>(r.left) / size.width,
                        static_cast<double>(r.top) / size.height,
                        static_cast<double>(r.right + 1) / size.width,
                        static_cast<double>(r.bottom + 1) / size.height};
  struct Pass {
    const double* edge;  // the example's order
    int field;
  } pass = {box, 0};
  GstStructure* s = gst_structure_copy(kExample);
  gst_structure_map_in_place(
      s,
      [](GQuark, GValue* value, gpointer data) -> gboolean {
        auto& p = *static_cast<Pass*>(data);
        if (const int edge = p.field++ - 1; edge >= 0 && edge < 4) {
          g_value_set_double(value, p.edge[edge]);
        }
        return TRUE;
      },
      &pass);
  return s;
}

void attach_rois(GstBuffer* buffer, const Summary& summary) {
  const GQuark type = roi_type();
  for (const Region& r : summary.regions) {
    auto* roi = gst_buffer_add_video_region_of_interest_meta_id(
        buffer, type, static_cast<guint>(r.left), static_cast<guint>(r.top),
        static_cast<guint>(r.width()), static_cast<guint>(r.height()));
    roi->id = static_cast<gint>(r.id);
    roi->parent_id = 0;
    gst_video_region_of_interest_meta_add_param(roi, detection_of(r, summary.size));
    if (summary.first_seen.empty()) continue;
    gst_video_region_of_interest_meta_add_param(
        roi, gst_structure_new("object_id", "id", G_TYPE_INT, static_cast<gint>(r.track), nullptr));
  }
}

}  // namespace

Summary summary_of(Size size, std::span<const Region> regions,
                   std::span<const GstClockTime> first_seen) {
  std::vector<std::pair<uint64_t, uint32_t>> order(regions.size());  // ~area, index
  for (uint32_t i = 0; i < order.size(); ++i) order[i] = {~regions[i].area, i};
  const size_t count = std::min(order.size(), kMost);
  std::partial_sort(order.begin(), order.begin() + static_cast<ptrdiff_t>(count), order.end());
  Summary summary;
  summary.size = size;
  summary.regions.reserve(count);
  for (size_t i = 0; i < count; ++i) {
    const uint32_t index = order[i].second;
    summary.regions.push_back(regions[index]);
    if (!first_seen.empty()) summary.first_seen.push_back(first_seen[index]);
  }
  return summary;
}

void attach_standard_metas(GstBuffer* buffer, const Summary& summary) {
  attach_rois(buffer, summary);
  attach_analytics(buffer, summary);
}

namespace {

bool is_our_roi(const GstMeta* meta) {
  return meta->info->api == GST_VIDEO_REGION_OF_INTEREST_META_API_TYPE &&
         reinterpret_cast<const GstVideoRegionOfInterestMeta*>(meta)->roi_type == roi_type();
}

void remove_rois(GstBuffer* buffer) {
  gst_buffer_foreach_meta(
      buffer,
      [](GstBuffer*, GstMeta** meta, gpointer) -> gboolean {
        if (is_our_roi(*meta)) *meta = nullptr;
        return TRUE;
      },
      nullptr);
}

}  // namespace

void copy_rois(GstBuffer* to, GstBuffer* from) {
  remove_rois(to);
  gst_buffer_foreach_meta(
      from,
      [](GstBuffer* source, GstMeta** meta, gpointer target) -> gboolean {
        GstMetaTransformCopy whole = {FALSE, 0, static_cast<gsize>(-1)};
        if (is_our_roi(*meta)) {
          (*meta)->info->transform_func(static_cast<GstBuffer*>(target), *meta, source,
                                        _gst_meta_transform_copy, &whole);
        }
        return TRUE;
      },
      to);
}

void remove_standard_metas(GstBuffer* buffer) {
  remove_rois(buffer);
  remove_analytics(buffer);
}

}  // namespace regions

// Selects the largest regions and attaches them to buffers as regions of interest.
#include "plugin/metadata/standard_metas.hpp"

#include <gst/video/video.h>

#include <algorithm>
#include <numeric>
#include <utility>

namespace regions {
namespace {

GQuark roi_type() {
  static const GQuark kType = g_quark_from_static_string(kRegionName);
  return kType;
}

// The input of detection_writer() and object_writer(), which write the parameters (GstStructures)
// of the region-of-interest meta of one region.
struct RoiSource {
  const Region& region;
  Size size;
};
using RoiWriter = StructureWriter<RoiSource>;

double fraction(int edge, int length) { return static_cast<double>(edge) / length; }

// Writes the parameter "detection": the box of a region.
const RoiWriter& detection_writer() {
  using S = const RoiSource&;
  static const char* const kLabel = g_intern_static_string(kRegionName);
  static const RoiWriter writer(
      "detection",
      {field_group<RoiSource>(
          StructureField("label", [](S) { return kLabel; }),
          StructureField("confidence", [](S) { return 1.0; }),
          StructureField("x_min", [](S s) { return fraction(s.region.left, s.size.width); }),
          StructureField("y_min", [](S s) { return fraction(s.region.top, s.size.height); }),
          StructureField("x_max", [](S s) { return fraction(s.region.right + 1, s.size.width); }),
          StructureField("y_max",
                         [](S s) { return fraction(s.region.bottom + 1, s.size.height); }))});
  return writer;
}

// Writes the parameter "object_id": the track of a region.
const RoiWriter& object_writer() {
  static const RoiWriter writer(
      "object_id", {field_group<RoiSource>(StructureField("id", [](const RoiSource& s) {
        return static_cast<int32_t>(s.region.track);
      }))});
  return writer;
}

// Overwrites the structure at `position` of the list, or appends a structure if the list is
// shorter. Returns the list.
GList* write(GList* list, guint position, const RoiWriter& writer, const RoiSource& source) {
  GList* node = g_list_nth(list, position);
  StructurePtr structure(node ? static_cast<GstStructure*>(node->data) : nullptr);
  writer.write(structure, source);
  if (!node) return g_list_append(list, structure.release());
  node->data = structure.release();
  return list;
}

// Returns the parameters of one region. Reuses an element of `spare_parameters` if there is one.
GList* parameters_of(const RoiSource& source, bool is_tracked,
                     std::vector<ParametersPtr>& spare_parameters) {
  ParametersPtr list;
  if (!spare_parameters.empty()) {
    list = std::move(spare_parameters.back());
    spare_parameters.pop_back();
  }
  const guint count = is_tracked ? 2 : 1;
  if (g_list_length(list.get()) > count) list.reset();  // another element has added parameters
  GList* written = write(list.release(), 0, detection_writer(), source);
  return is_tracked ? write(written, 1, object_writer(), source) : written;
}

// Returns the meta as a region of interest if it is one and this plugin attached it. Else returns
// null.
GstVideoRegionOfInterestMeta* as_plugin_roi(GstMeta* meta) {
  if (meta->info->api != GST_VIDEO_REGION_OF_INTEREST_META_API_TYPE) return nullptr;
  auto* roi = reinterpret_cast<GstVideoRegionOfInterestMeta*>(meta);
  return roi->roi_type == roi_type() ? roi : nullptr;
}

void attach_rois(GstBuffer* buffer, const LargestRegions& largest,
                 std::vector<ParametersPtr>& spare_parameters) {
  const GQuark type = roi_type();
  for (const Region& r : largest.regions) {
    auto* roi = gst_buffer_add_video_region_of_interest_meta_id(
        buffer, type, static_cast<guint>(r.left), static_cast<guint>(r.top),
        static_cast<guint>(r.width()), static_cast<guint>(r.height()));
    roi->id = static_cast<gint>(r.id);
    roi->parent_id = 0;
    roi->params = parameters_of({r, largest.size}, !largest.first_seen.empty() && r.track != 0,
                                spare_parameters);
  }
}

bool has_rois(GstBuffer* buffer) {
  gpointer state = nullptr;
  while (GstMeta* meta = gst_buffer_iterate_meta_filtered(
             buffer, &state, GST_VIDEO_REGION_OF_INTEREST_META_API_TYPE)) {
    if (as_plugin_roi(meta)) return true;
  }
  return false;
}

void remove_rois(GstBuffer* buffer) {
  gst_buffer_foreach_meta(
      buffer,
      [](GstBuffer*, GstMeta** meta, gpointer) -> gboolean {
        if (as_plugin_roi(*meta)) *meta = nullptr;
        return TRUE;
      },
      nullptr);
}

}  // namespace

LargestRegions largest_regions(Size size, std::span<const Region> regions,
                               std::span<const GstClockTime> first_seen) {
  const size_t count = std::min(regions.size(), kMaxRois);
  std::vector<uint32_t> order(regions.size());
  std::iota(order.begin(), order.end(), 0u);
  const auto is_larger = [&](uint32_t a, uint32_t b) {
    return regions[a].area != regions[b].area ? regions[a].area > regions[b].area : a < b;
  };
  std::partial_sort(order.begin(), order.begin() + static_cast<ptrdiff_t>(count), order.end(),
                    is_larger);
  order.resize(count);
  LargestRegions largest;
  largest.size = size;
  largest.regions.reserve(count);
  for (const uint32_t index : order) {
    largest.regions.push_back(regions[index]);
    if (!first_seen.empty()) largest.first_seen.push_back(first_seen[index]);
  }
  return largest;
}

void attach_standard_metas(GstBuffer* buffer, const LargestRegions& largest, StandardMetas kinds,
                           std::vector<ParametersPtr>& spare_parameters) {
  if (kinds.rois) attach_rois(buffer, largest, spare_parameters);
  if (kinds.analytics) attach_analytics(buffer, largest);
}

StandardMetas standard_metas_of(GstBuffer* buffer) {
  return {has_rois(buffer), has_analytics(buffer)};
}

void remove_standard_metas(GstBuffer* buffer) {
  remove_rois(buffer);
  remove_analytics(buffer);
}

void copy_rois(GstBuffer* to, GstBuffer* from) {
  remove_rois(to);
  gst_buffer_foreach_meta(
      from,
      [](GstBuffer* source, GstMeta** meta, gpointer target) -> gboolean {
        GstMetaTransformCopy whole = {FALSE, 0, static_cast<gsize>(-1)};
        if (as_plugin_roi(*meta)) {
          (*meta)->info->transform_func(static_cast<GstBuffer*>(target), *meta, source,
                                        _gst_meta_transform_copy, &whole);
        }
        return TRUE;
      },
      to);
}

void take_parameters(GstBuffer* buffer, std::vector<ParametersPtr>& parameters) {
  gpointer state = nullptr;
  while (GstMeta* meta = gst_buffer_iterate_meta_filtered(
             buffer, &state, GST_VIDEO_REGION_OF_INTEREST_META_API_TYPE)) {
    GstVideoRegionOfInterestMeta* roi = as_plugin_roi(meta);
    if (!roi || !roi->params || parameters.size() == parameters.capacity()) continue;
    parameters.emplace_back(std::exchange(roi->params, nullptr));
  }
}

}  // namespace regions

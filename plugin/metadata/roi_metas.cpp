// Region-of-interest metas and their parameters.
#include "plugin/metadata/roi_metas.hpp"

#include <gst/video/video.h>

#include "plugin/metadata/region_structure.hpp"
#include "plugin/metadata/structure_maker.hpp"

namespace regions {
namespace {

GQuark roi_type() {
  static const GQuark kType = g_quark_from_static_string(kRegionName);
  return kType;
}

struct Known {
  const Region& region;
  Size size;
};
using Maker = StructureMaker<Known>;

double fraction(int edge, int length) { return static_cast<double>(edge) / length; }

const Maker& detection_maker() {
  using K = const Known&;
  static const char* const kLabel = g_intern_static_string(kRegionName);
  static const Maker maker(
      "detection",
      {fields_of<Known>(
          StructureField("label", [](K) { return kLabel; }),
          StructureField("confidence", [](K) { return 1.0; }),
          StructureField("x_min", [](K k) { return fraction(k.region.left, k.size.width); }),
          StructureField("y_min", [](K k) { return fraction(k.region.top, k.size.height); }),
          StructureField("x_max", [](K k) { return fraction(k.region.right + 1, k.size.width); }),
          StructureField("y_max",
                         [](K k) { return fraction(k.region.bottom + 1, k.size.height); }))});
  return maker;
}

const Maker& object_maker() {
  static const Maker maker("object_id", {fields_of<Known>(StructureField("id", [](const Known& k) {
                             return static_cast<int32_t>(k.region.track);
                           }))});
  return maker;
}

// Writes a node of a list, or appends one. Returns the list.
GList* write(GList* list, guint position, const Maker& maker, const Known& known) {
  GList* node = g_list_nth(list, position);
  StructurePtr structure(node ? static_cast<GstStructure*>(node->data) : nullptr);
  maker.write(structure, known);
  if (!node) return g_list_append(list, structure.release());
  node->data = structure.release();
  return list;
}

GList* parameters_of(const Known& known, bool tracked, std::vector<ParametersPtr>& spare) {
  ParametersPtr list;
  if (!spare.empty()) {
    list = std::move(spare.back());
    spare.pop_back();
  }
  const guint count = tracked ? 2 : 1;
  if (g_list_length(list.get()) > count) list.reset();  // another element added its own
  GList* written = write(list.release(), 0, detection_maker(), known);
  return tracked ? write(written, 1, object_maker(), known) : written;
}

GstVideoRegionOfInterestMeta* our_roi(GstMeta* meta) {
  if (meta->info->api != GST_VIDEO_REGION_OF_INTEREST_META_API_TYPE) return nullptr;
  auto* roi = reinterpret_cast<GstVideoRegionOfInterestMeta*>(meta);
  return roi->roi_type == roi_type() ? roi : nullptr;
}

}  // namespace

void attach_rois(GstBuffer* buffer, const Summary& summary, std::vector<ParametersPtr>& spare) {
  const GQuark type = roi_type();
  for (const Region& r : summary.regions) {
    auto* roi = gst_buffer_add_video_region_of_interest_meta_id(
        buffer, type, static_cast<guint>(r.left), static_cast<guint>(r.top),
        static_cast<guint>(r.width()), static_cast<guint>(r.height()));
    roi->id = static_cast<gint>(r.id);
    roi->parent_id = 0;
    roi->params =
        parameters_of({r, summary.size}, !summary.first_seen.empty() && r.track != 0, spare);
  }
}

void copy_rois(GstBuffer* to, GstBuffer* from) {
  remove_rois(to);
  gst_buffer_foreach_meta(
      from,
      [](GstBuffer* source, GstMeta** meta, gpointer target) -> gboolean {
        GstMetaTransformCopy whole = {FALSE, 0, static_cast<gsize>(-1)};
        if (our_roi(*meta)) {
          (*meta)->info->transform_func(static_cast<GstBuffer*>(target), *meta, source,
                                        _gst_meta_transform_copy, &whole);
        }
        return TRUE;
      },
      to);
}

void remove_rois(GstBuffer* buffer) {
  gst_buffer_foreach_meta(
      buffer,
      [](GstBuffer*, GstMeta** meta, gpointer) -> gboolean {
        if (our_roi(*meta)) *meta = nullptr;
        return TRUE;
      },
      nullptr);
}

void take_parameters(GstBuffer* buffer, std::vector<ParametersPtr>& parameters) {
  gpointer state = nullptr;
  while (GstMeta* meta = gst_buffer_iterate_meta_filtered(
             buffer, &state, GST_VIDEO_REGION_OF_INTEREST_META_API_TYPE)) {
    GstVideoRegionOfInterestMeta* roi = our_roi(meta);
    if (!roi || !roi->params || parameters.size() == parameters.capacity()) continue;
    parameters.emplace_back(std::exchange(roi->params, nullptr));
  }
}

}  // namespace regions

// GStreamer's own analytics metadata beside ours, where it exists (1.24 and newer): an object
// detection and a tracking entry for each of the regions, related to each other. Not part of builds
// on GStreamer 1.22.
#include <gst/analytics/analytics.h>

#include "plugin/region_meta.hpp"

namespace regions {

void attach_analytics(GstBuffer* buffer, std::span<const Region> regions) {
  GstAnalyticsRelationMeta* relations = gst_buffer_get_analytics_relation_meta(buffer);
  if (!relations) relations = gst_buffer_add_analytics_relation_meta(buffer);
  const GQuark type = g_quark_from_static_string("region");
  for (const Region& r : regions) {
    GstAnalyticsODMtd detection;
    GstAnalyticsTrackingMtd track;
    if (!gst_analytics_relation_meta_add_od_mtd(relations, type, r.left, r.top, r.width(),
                                                r.height(), 1.0f, &detection) ||
        !gst_analytics_relation_meta_add_tracking_mtd(relations, r.track, GST_BUFFER_PTS(buffer),
                                                      &track)) {
      return;
    }
    gst_analytics_relation_meta_set_relation(relations, GST_ANALYTICS_REL_TYPE_RELATE_TO,
                                             detection.id, track.id);
  }
}

}  // namespace regions

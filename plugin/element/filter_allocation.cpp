// Answers to allocation queries: which buffers and metas this plugin's elements offer upstream.
#include "plugin/element/filter_allocation.hpp"

#include <algorithm>
#include <string_view>

#include "plugin/element/region_filter.hpp"
#include "plugin/memory/debug.hpp"
#include "plugin/stream/allocation.hpp"
#include "plugin/stream/filter_stream.hpp"

namespace regions {
namespace {

GstBaseTransformClass* base_class() {
  return GST_BASE_TRANSFORM_CLASS(g_type_class_peek(GST_TYPE_BASE_TRANSFORM));
}

bool has_pool(GstQuery* query) {
  GstBufferPool* pool = nullptr;
  if (gst_query_get_n_allocation_pools(query) > 0) {
    gst_query_parse_nth_allocation_pool(query, 0, &pool, nullptr, nullptr, nullptr);
  }
  const bool has = pool != nullptr;
  gst_clear_object(&pool);
  return has;
}

void log_decision(GstBaseTransform* base, GstQuery* query) {
  if (gst_query_get_n_allocation_pools(query) == 0) {
    GST_DEBUG_OBJECT(base, "pool of the output: none");
    return;
  }
  GstBufferPool* pool = nullptr;
  guint bytes = 0, min = 0, max = 0;
  gst_query_parse_nth_allocation_pool(query, 0, &pool, &bytes, &min, &max);
  GST_DEBUG_OBJECT(base, "pool of the output: %" GST_PTR_FORMAT " of %u bytes, %u to %u buffers",
                   static_cast<gconstpointer>(pool), bytes, min, max);
  gst_clear_object(&pool);
}

// Metas that say something of a frame and change neither its pixels nor where they are shown.
// docs/metadata.md lists all metas of GStreamer with the reasons.
constexpr std::string_view kNotes[] = {
    "GstVideoCaptionMetaAPI",       "GstVideoRegionOfInterestMetaAPI",
    "GstVideoTimeCodeMetaAPI",      "GstVideoAFDMetaAPI",
    "GstVideoBarMetaAPI",           "GstVideoSEIUserDataUnregisteredMetaAPI",
    "GstReferenceTimestampMetaAPI", "GstAncillaryMetaAPI",
    "GstAnalyticsRelationMetaAPI",
};

bool may_be_offered(GType api) {
  return api == GST_VIDEO_META_API_TYPE ||
         std::ranges::find(kNotes, g_type_name(api)) != std::end(kNotes);
}

// If downstream offers a meta that crops, rotates or overlays a picture, an upstream element
// attaches that meta and leaves the pixels as they are. Results would then depend on the sink, so
// this element does not forward the offer. Neither does it forward the offer of an unknown meta.
void withdraw_metas_of_pixels(GstBaseTransform* base, GstQuery* query) {
  for (guint i = gst_query_get_n_allocation_metas(query); i-- > 0;) {
    const GType api = gst_query_parse_nth_allocation_meta(query, i, nullptr);
    if (may_be_offered(api)) continue;
    GST_DEBUG_OBJECT(base, "does not offer %s upstream", g_type_name(api));
    gst_query_remove_nth_allocation_meta(query, i);
  }
}

// Answers upstream. `decide` is downstream's answer to this element. It is null if frames pass
// untouched: upstream's query then continues downstream.
gboolean propose_allocation(GstBaseTransform* base, GstQuery* decide, GstQuery* query) {
  base_class()->propose_allocation(base, decide, query);
  withdraw_metas_of_pixels(base, query);
  GstCaps* caps = nullptr;
  gst_query_parse_allocation(query, &caps, nullptr);
  if (!caps) return FALSE;
  FilterStream& stream = stream_of(base);
  // This element takes rows of any pitch. If it passes the buffer on, downstream must take them
  // too.
  const bool goes_on = stream.picture() <= Output::drawn_on;
  const bool rows_free = !goes_on || (decide && gst_query_find_allocation_meta(
                                                    decide, GST_VIDEO_META_API_TYPE, nullptr));
  if (rows_free && !gst_query_find_allocation_meta(query, GST_VIDEO_META_API_TYPE, nullptr)) {
    gst_query_add_allocation_meta(query, GST_VIDEO_META_API_TYPE, nullptr);
  }
  const unsigned downstream = goes_on ? most_buffers(decide ? decide : query) : 0;
  stream.set_downstream_needs(downstream);
  const unsigned held = stream.most_held();
  add_held(query, held, stream.shortage());
  if (has_pool(query)) {
    GST_DEBUG_OBJECT(base, "passes on the pool of downstream, with %u buffers more", held);
    return TRUE;
  }
  try {
    const size_t bytes = parse(caps).bytes;
    GstBufferPool* pool = stream.propose_pool(caps, bytes, held + downstream);
    GST_DEBUG_OBJECT(base,
                     "proposes pool %" GST_PTR_FORMAT
                     " of %zu bytes a buffer, at least %u held here and %u downstream",
                     static_cast<gconstpointer>(pool), bytes, held, downstream);
    offer_pool(query, pool, bytes, held + downstream);
    return TRUE;
  } catch (const std::exception& error) {
    GST_WARNING_OBJECT(base, "%s", error.what());
    return FALSE;
  }
}

// Chooses from downstream's answer. Only replaced pictures need buffers.
gboolean decide_allocation(GstBaseTransform* base, GstQuery* query) {
  FilterStream& stream = stream_of(base);
  if (stream.picture() > Output::drawn_on) {
    add_held(query, stream.most_held(), stream.shortage());
    GstCaps* caps = nullptr;
    gst_query_parse_allocation(query, &caps, nullptr);
    size_t bytes = 0;
    // The GPU writes to the host at full speed only if the memory is pinned.
    if (GstBufferPool* pool = stream.output_pool(caps, &bytes)) {
      offer_pool(query, pool, bytes, 2);
    }
  }
  const gboolean decided = base_class()->decide_allocation(base, query);
  if (decided) log_decision(base, query);
  return decided;
}

}  // namespace

void install_allocation(GstBaseTransformClass* klass) {
  klass->propose_allocation = propose_allocation;
  klass->decide_allocation = decide_allocation;
}

}  // namespace regions

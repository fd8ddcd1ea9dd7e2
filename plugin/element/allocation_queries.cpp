// Handles allocation queries: which buffers and metas an element offers to the upstream element,
// and which buffers it chooses from the downstream element's answer.
#include <algorithm>
#include <string_view>

#include "plugin/element/region_filter.hpp"
#include "plugin/memory/gst_object.hpp"
#include "plugin/stream/filter_stream.hpp"
#include "plugin/stream/negotiation.hpp"

namespace regions {
namespace {

// The first pool of an answer. `pool` is null if there is none.
struct FirstPool {
  ObjectPtr<GstBufferPool> pool;
  guint bytes = 0, min = 0, max = 0;
};

FirstPool first_pool(GstQuery* query) {
  FirstPool first;
  if (gst_query_get_n_allocation_pools(query) == 0) return first;
  GstBufferPool* pool = nullptr;
  gst_query_parse_nth_allocation_pool(query, 0, &pool, &first.bytes, &first.min, &first.max);
  first.pool.reset(pool);
  return first;
}

// Metas that describe a frame and affect neither its pixels nor their position on the screen.
// docs/metadata.md lists all metas of GStreamer with the reasons.
constexpr std::string_view kDescriptiveMetas[] = {
    "GstVideoCaptionMetaAPI",       "GstVideoRegionOfInterestMetaAPI",
    "GstVideoTimeCodeMetaAPI",      "GstVideoAFDMetaAPI",
    "GstVideoBarMetaAPI",           "GstVideoSEIUserDataUnregisteredMetaAPI",
    "GstReferenceTimestampMetaAPI", "GstAncillaryMetaAPI",
    "GstAnalyticsRelationMetaAPI",
};

bool may_be_offered(GType meta_api) {
  return meta_api == GST_VIDEO_META_API_TYPE ||
         std::ranges::find(kDescriptiveMetas, g_type_name(meta_api)) != std::end(kDescriptiveMetas);
}

// If the downstream element offers a meta that crops, rotates or overlays a picture, an upstream
// element attaches that meta and leaves the pixels as they are. The results would then depend on
// the sink. Therefore this element removes the offers of such metas and of unknown metas.
void remove_offered_metas(GstBaseTransform* base, GstQuery* query) {
  for (guint i = gst_query_get_n_allocation_metas(query); i-- > 0;) {
    const GType meta_api = gst_query_parse_nth_allocation_meta(query, i, nullptr);
    if (may_be_offered(meta_api)) continue;
    GST_DEBUG_OBJECT(base, "does not offer %s upstream", g_type_name(meta_api));
    gst_query_remove_nth_allocation_meta(query, i);
  }
}

// Answers the upstream element's allocation query `query`. `decide_query` is this element's own
// query with the downstream element's answer. It is null if frames pass unchanged, because
// GstBaseTransform then forwards `query` itself to the downstream element.
gboolean propose_allocation(GstBaseTransform* base, GstQuery* decide_query, GstQuery* query) {
  base_transform_class()->propose_allocation(base, decide_query, query);
  remove_offered_metas(base, query);
  GstCaps* caps = nullptr;
  gst_query_parse_allocation(query, &caps, nullptr);
  if (!caps) return FALSE;
  FilterStream& stream = stream_of(base);
  // This element accepts any row pitch (GstVideoMeta). If it passes the buffer on, the downstream
  // element must accept any pitch too.
  const bool passes_on = stream.output() <= Output::drawn_on;
  const bool accepts_any_pitch =
      !passes_on || (decide_query && gst_query_find_allocation_meta(
                                         decide_query, GST_VIDEO_META_API_TYPE, nullptr));
  if (accepts_any_pitch &&
      !gst_query_find_allocation_meta(query, GST_VIDEO_META_API_TYPE, nullptr)) {
    gst_query_add_allocation_meta(query, GST_VIDEO_META_API_TYPE, nullptr);
  }
  const unsigned downstream_buffers =
      passes_on ? max_of_min_buffers(decide_query ? decide_query : query) : 0;
  stream.set_downstream_needs(downstream_buffers);
  const unsigned held_frames = stream.max_held_frames();
  add_held_buffers(query, held_frames, stream.pool_shortage());
  if (first_pool(query).pool) {
    GST_DEBUG_OBJECT(base, "passes on the pool of downstream, with %u buffers more", held_frames);
    return TRUE;
  }
  try {
    const size_t bytes = parse_caps(caps).bytes;
    GstBufferPool* pool = stream.propose_pool(caps, bytes, held_frames + downstream_buffers);
    GST_DEBUG_OBJECT(base,
                     "proposes pool %" GST_PTR_FORMAT
                     " of %zu bytes a buffer, at least %u held here and %u downstream",
                     static_cast<gconstpointer>(pool), bytes, held_frames, downstream_buffers);
    offer_pool(query, pool, bytes, held_frames + downstream_buffers);
    return TRUE;
  } catch (const std::exception& error) {
    GST_WARNING_OBJECT(base, "%s", error.what());
    return FALSE;
  }
}

// Chooses the output pool from the downstream element's answer. Only an element that replaces the
// picture needs output buffers.
gboolean decide_allocation(GstBaseTransform* base, GstQuery* query) {
  FilterStream& stream = stream_of(base);
  if (stream.output() > Output::drawn_on) {
    add_held_buffers(query, stream.max_held_frames(), stream.pool_shortage());
    GstCaps* caps = nullptr;
    gst_query_parse_allocation(query, &caps, nullptr);
    size_t bytes = 0;
    // The GPU copies to host memory at full speed only if that memory is pinned. Therefore
    // output_pool() returns a pool of pinned memory.
    if (GstBufferPool* pool = stream.output_pool(caps, &bytes)) {
      offer_pool(query, pool, bytes, 2);
    }
  }
  const gboolean decided = base_transform_class()->decide_allocation(base, query);
  if (!decided) return FALSE;
  const FirstPool chosen = first_pool(query);
  GST_DEBUG_OBJECT(base, "pool of the output: %" GST_PTR_FORMAT " of %u bytes, %u to %u buffers",
                   static_cast<gconstpointer>(chosen.pool.get()), chosen.bytes, chosen.min,
                   chosen.max);
  return decided;
}

}  // namespace

void install_allocation_functions(GstBaseTransformClass* klass) {
  klass->propose_allocation = propose_allocation;
  klass->decide_allocation = decide_allocation;
}

}  // namespace regions

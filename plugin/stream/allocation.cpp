// Answering allocation queries.
#include "plugin/stream/allocation.hpp"

#include <algorithm>

namespace regions {

void offer_pool(GstQuery* query, GstBufferPool* pool, size_t bytes, unsigned min_buffers) {
  const auto size = static_cast<guint>(bytes);
  // In GStreamer 1.22 the query may hold no pool.
  if (gst_query_get_n_allocation_pools(query) > 0) {
    gst_query_set_nth_allocation_pool(query, 0, pool, size, min_buffers, 0);
  } else {
    gst_query_add_allocation_pool(query, pool, size, min_buffers, 0);
  }
  if (!pool) return;
  GstAllocator* allocator = nullptr;
  GstAllocationParams params;
  GstStructure* config = gst_buffer_pool_get_config(pool);
  gst_buffer_pool_config_get_allocator(config, &allocator, &params);
  if (allocator && gst_query_get_n_allocation_params(query) > 0) {
    gst_query_set_nth_allocation_param(query, 0, allocator, &params);
  } else if (allocator) {
    gst_query_add_allocation_param(query, allocator, &params);
  }
  gst_structure_free(config);
  gst_object_unref(pool);
}

void add_held(GstQuery* query, unsigned held, Shortage shortage) {
  for (guint i = 0; i < gst_query_get_n_allocation_pools(query); ++i) {
    GstBufferPool* pool = nullptr;
    guint bytes = 0, min = 0, max = 0;
    gst_query_parse_nth_allocation_pool(query, i, &pool, &bytes, &min, &max);
    min += held;
    if (max > 0 && max < min) {
      if (shortage == Shortage::stalls) gst_clear_object(&pool);
      if (pool) {
        min = max;
      } else {
        max = 0;
      }
    }
    gst_query_set_nth_allocation_pool(query, i, pool, bytes, min, max);
    gst_clear_object(&pool);
  }
}

unsigned most_buffers(GstQuery* query) {
  guint most = 0;
  for (guint i = 0; i < gst_query_get_n_allocation_pools(query); ++i) {
    guint min = 0;
    gst_query_parse_nth_allocation_pool(query, i, nullptr, nullptr, &min, nullptr);
    most = std::max(most, min);
  }
  return most;
}

bool comes_of_short_pool(GstBuffer* buffer, size_t wanted) {
  const GstParentBufferMeta* parent = gst_buffer_get_parent_buffer_meta(buffer);
  GstBufferPool* pool = parent && !buffer->pool ? parent->buffer->pool : buffer->pool;
  if (!pool) return false;
  GstStructure* config = gst_buffer_pool_get_config(pool);
  guint max = 0;
  gst_buffer_pool_config_get_params(config, nullptr, nullptr, nullptr, &max);
  gst_structure_free(config);
  return max > 0 && max <= wanted;
}

}  // namespace regions

// Answering allocation queries.
#include "plugin/allocation.hpp"

namespace regions {

void offer_pool(GstQuery* query, GstBufferPool* pool, size_t bytes, unsigned min_buffers) {
  GstAllocator* allocator = nullptr;
  GstAllocationParams params;
  GstStructure* config = gst_buffer_pool_get_config(pool);
  gst_buffer_pool_config_get_allocator(config, &allocator, &params);
  const auto size = static_cast<guint>(bytes);
  // In GStreamer 1.22 the query may hold no pool.
  if (gst_query_get_n_allocation_pools(query) > 0) {
    gst_query_set_nth_allocation_pool(query, 0, pool, size, min_buffers, 0);
  } else {
    gst_query_add_allocation_pool(query, pool, size, min_buffers, 0);
  }
  if (allocator && gst_query_get_n_allocation_params(query) > 0) {
    gst_query_set_nth_allocation_param(query, 0, allocator, &params);
  } else if (allocator) {
    gst_query_add_allocation_param(query, allocator, &params);
  }
  gst_structure_free(config);
  gst_object_unref(pool);
}

}  // namespace regions

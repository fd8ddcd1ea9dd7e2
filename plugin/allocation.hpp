// Answering allocation queries.
#pragma once

#include <gst/gst.h>

namespace regions {

// Puts the pool (consumed) first in the answer, with its allocator: whoever takes the pool sets the
// allocator of the answer on it, and without one would lose the pool's own.
void offer_pool(GstQuery* query, GstBufferPool* pool, size_t bytes, unsigned min_buffers);

}  // namespace regions

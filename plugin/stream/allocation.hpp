// Answering allocation queries.
#pragma once

#include <gst/gst.h>

#include <cstdint>

namespace regions {

// Puts the pool (consumed; null for a count alone) first in the answer, with its allocator: an
// element that takes the pool sets the answer's allocator on it: without, the pool's own is lost.
void offer_pool(GstQuery* query, GstBufferPool* pool, size_t bytes, unsigned min_buffers);

// What becomes of a stream whose pool has too few buffers.
enum class Shortage : uint8_t {
  slows,  // as many as it has: frames leave without later ones
  stalls  // none: frames wait for later ones, which would never come
};

// Adds to each pool of the answer the buffers that an element holds.
void add_held(GstQuery* query, unsigned held, Shortage shortage);
// The most buffers that a pool of the answer begins with; 0 without pools.
unsigned most_buffers(GstQuery* query);

// Whether the buffer's pool has no more buffers than `wanted`. Pools without a bound always have.
bool comes_of_short_pool(GstBuffer* buffer, size_t wanted);

}  // namespace regions

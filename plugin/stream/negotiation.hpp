// Negotiation with the neighbouring elements: caps and allocation queries.
#pragma once

#include <gst/gst.h>

#include <cstdint>

#include "core/algorithm.hpp"

namespace regions {

// ---- caps

// Caps of the pad templates: all pictures at the sink; all pictures and outputs at the source.
GstCaps* sink_template_caps();
GstCaps* source_template_caps();

// For direction GST_PAD_SINK: the possible output caps for the input caps `caps`. For GST_PAD_SRC:
// the possible input caps for the output caps `caps`. Excludes CUDA memory if `cuda` is false. A
// replaced picture is `layers` times as high; if `layers` is above 1, the caps field `layers`
// states it. The caller owns the result.
GstCaps* transform_caps(GstPadDirection direction, const GstCaps* caps, Output output, bool cuda,
                        int layers);

// ---- allocation queries

// Puts the pool first in the answer, together with its allocator. An element that uses the pool
// sets the answer's allocator on it; without this the pool's own allocator would be lost. `pool` is
// consumed; if it is null, only the sizes are set.
void offer_pool(GstQuery* query, GstBufferPool* pool, size_t bytes, unsigned min_buffers);

// The effect on a stream if a pool has too few buffers.
enum class PoolShortage : uint8_t {
  slows,  // frames leave without waiting for later ones: any number of buffers is enough
  stalls  // frames wait for later ones, which would never arrive
};

// Adds the `held` buffers that this element holds to the minimum of each pool of the answer. If the
// pool's maximum is too small, its minimum becomes the maximum (slows), or the answer no longer
// contains the pool (stalls).
void add_held_buffers(GstQuery* query, unsigned held, PoolShortage shortage);
// The largest minimum among the pools of the answer; 0 without pools.
unsigned max_of_min_buffers(GstQuery* query);

// Whether the pool of the buffer has at most `count` buffers. False for pools without a maximum.
bool is_from_short_pool(GstBuffer* buffer, size_t count);

}  // namespace regions

// Negotiation with the neighbouring elements: caps and allocation queries.
#pragma once

#include <gst/gst.h>

#include <cstdint>

#include "core/algorithm.hpp"

namespace regions {

// ---- caps

// Return the caps of the pad templates: all input pictures at the sink, all output pictures at the
// source.
GstCaps* sink_template_caps();
GstCaps* source_template_caps();

// For the direction GST_PAD_SINK, returns the possible output caps for the input caps `caps`. For
// GST_PAD_SRC, returns the possible input caps for the output caps `caps`. If `with_cuda` is false,
// the result excludes CUDA memory. A replaced picture is `layers` times as high as the input. If
// `layers` is above 1, the output caps have a field `layers` with this number. The caller owns the
// result.
GstCaps* transform_caps(GstPadDirection direction, const GstCaps* caps, Output output,
                        bool with_cuda, int layers);

// ---- allocation queries

// Puts the pool first in the answer, together with its allocator. The allocator is necessary
// because an element that uses the pool replaces the pool's allocator by the allocator in the
// answer. Takes ownership of `pool`. If `pool` is null, sets only the sizes.
void offer_pool(GstQuery* query, GstBufferPool* pool, size_t bytes, unsigned min_buffers);

// The effect on a stream if a pool has too few buffers.
enum class PoolShortage : uint8_t {
  slows,  // the stream is slower: frames leave without waiting for later frames
  stalls  // the stream stops: frames wait for later frames, which never get a buffer
};

// Adds `held_frames`, the number of buffers that this element holds, to the minimum of each pool in
// the answer. If the maximum of a pool is too small, `shortage` determines the effect: the minimum
// becomes the maximum (slows), or the pool is removed from the answer (stalls).
void add_held_buffers(GstQuery* query, unsigned held_frames, PoolShortage shortage);
// Returns the largest minimum of the pools in the answer, or 0 without pools.
unsigned max_of_min_buffers(GstQuery* query);

// Whether the pool of the buffer is limited to `count` buffers or fewer. False for pools without a
// maximum.
bool is_from_short_pool(GstBuffer* buffer, size_t count);

}  // namespace regions

// Buffers as strangers send them: of any size, laid out as a GstVideoMeta pretends, with any
// `regions` metadata.
#pragma once

#include <gst/video/video.h>

#include "tests/fuzz/input.hpp"

namespace regions::fuzz {

// Caps of a picture, mostly of a format that our elements know; and what buffers of them hold.
GstCaps* caps_in(Input& in, GstVideoInfo& info);
// In memory of exactly its size. Timestamps are the caller's.
GstBuffer* frame_in(Input& in, const GstVideoInfo& info);

// The metadata of an element like ours, or something that only looks like it.
void add_regions(GstBuffer* buffer, const GstVideoInfo& info, Input& in);
// What elements that scale, crop or copy do with a buffer's metadata.
void carry_metadata(GstBuffer* from, GstBuffer* to, const GstVideoInfo& info, Input& in);

}  // namespace regions::fuzz

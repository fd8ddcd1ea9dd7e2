// The pools that a stream offers or wants, and frames whose pool is too small for volumes.
#include <algorithm>

#include "core/error.hpp"
#include "plugin/memory/block_memory.hpp"
#include "plugin/memory/debug.hpp"
#include "plugin/stream/filter_stream.hpp"

namespace regions {

unsigned FilterStream::most_held() const {
  const auto frames = ring();
  return frames ? static_cast<unsigned>(frames->most_held()) : 0;
}

// The frames of a volume wait for later ones: a pool that could run out meanwhile gets its buffers
// back.
GstBuffer* FilterStream::out_of_short_pool(GstBuffer* input, FrameRing& frames) const {
  if (setup_.slices == 1) return input;
  // One for upstream to fill, and at least one that a sink shows.
  const size_t elsewhere = 1 + std::max(1U, downstream_needs_.load());
  if (!comes_of_short_pool(input, frames.held() + elsewhere)) return input;
  GST_DEBUG_OBJECT(element_, "frame at %" GST_TIME_FORMAT " is copied: its pool is short",
                   GST_TIME_ARGS(GST_BUFFER_PTS(input)));
  GstBuffer* copy = gst_buffer_copy_deep(input);
  gst_buffer_unref(input);
  if (!copy) throw MemoryError("out of memory for the copy of a frame from an exhausted pool");
  return copy;
}

GstBufferPool* FilterStream::propose_pool(GstCaps* caps, size_t bytes, unsigned min_buffers) {
  const auto device = backend();
  if (!device || device->kind() != BackendKind::cuda) return nullptr;
  return parse(caps).cuda ? cuda_.make_pool(caps, bytes, min_buffers, setup_.replaces())
                          : make_pinned_pool(device, caps, bytes, min_buffers);
}

GstBufferPool* FilterStream::output_pool(GstCaps* caps, size_t* bytes) {
  const auto device = backend();
  if (!device || device->memory() != Memory::device || !setup_.replaces()) return nullptr;
  *bytes = setup_.out.bytes;
  try {
    return make_pinned_pool(device, caps, *bytes, 2);
  } catch (const std::exception& error) {  // other pools are slower, not wrong
    GST_WARNING_OBJECT(element_, "%s", error.what());
    return nullptr;
  }
}

}  // namespace regions

// Implements fences and the GstMeta that attaches a fence to a buffer.
#include "plugin/memory/fence.hpp"

#include <new>
#include <utility>

namespace regions {

void Fence::set_pending() {
  const std::lock_guard lock(mutex_);
  is_pending_ = true;
}

void Fence::wait() {
  const std::lock_guard lock(mutex_);
  is_pending_ = false;
  queue_.wait();
}

void Fence::wait_without_errors() {
  const std::lock_guard lock(mutex_);
  if (!std::exchange(is_pending_, false)) return;
  const Backend::Entry entry(*backend_);
  try {
    queue_.wait();
  } catch (const std::exception&) {
    // The element that enqueued the work also waits for it and reports the error.
  }
}

void Fence::enqueue_wait_on(Queue& other) {
  const std::lock_guard lock(mutex_);
  if (is_pending_) queue_.lead(other.native());
}

namespace {

struct FenceMeta {
  GstMeta meta;
  std::shared_ptr<Fence> fence;  // null after detach_fence()
};

// Registers the meta. It has no transform function, so a copy of a buffer has no fence. This is
// safe: the fence waits when the original buffer is freed, which happens before the copy is passed
// on.
const GstMetaInfo* fence_info() {
  static const GstMetaInfo* const kInfo = [] {
    static const gchar* tags[] = {nullptr};
    return gst_meta_register(
        gst_meta_api_type_register("RegionsFenceMetaAPI", tags), "RegionsFenceMeta",
        sizeof(FenceMeta),
        [](GstMeta* meta, gpointer fence, GstBuffer*) -> gboolean {
          new (&reinterpret_cast<FenceMeta*>(meta)->fence)
              std::shared_ptr<Fence>(*static_cast<const std::shared_ptr<Fence>*>(fence));
          return TRUE;
        },
        [](GstMeta* meta, GstBuffer*) {
          std::shared_ptr<Fence>& fence = reinterpret_cast<FenceMeta*>(meta)->fence;
          if (fence) fence->wait_without_errors();
          std::destroy_at(&fence);
        },
        nullptr);
  }();
  return kInfo;
}

std::shared_ptr<Fence> detach_fence(GstBuffer* buffer) {
  GstMeta* meta = gst_buffer_get_meta(buffer, fence_info()->api);
  if (!meta) return nullptr;
  const std::shared_ptr<Fence> fence = std::move(reinterpret_cast<FenceMeta*>(meta)->fence);
  gst_buffer_remove_meta(buffer, meta);
  return fence;
}

}  // namespace

void attach_fence(GstBuffer* buffer, const std::shared_ptr<Fence>& fence) {
  auto* params = const_cast<std::shared_ptr<Fence>*>(&fence);
  gst_buffer_add_meta(buffer, fence_info(), params);
}

void enqueue_fence_wait(GstBuffer* buffer, Queue& queue) {
  if (const std::shared_ptr<Fence> fence = detach_fence(buffer)) fence->enqueue_wait_on(queue);
}

void wait_for_fence(GstBuffer* buffer) {
  if (const std::shared_ptr<Fence> fence = detach_fence(buffer)) fence->wait_without_errors();
}

}  // namespace regions

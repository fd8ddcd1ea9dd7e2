// Fences on buffers.
#include "plugin/memory/fence.hpp"

#include <new>
#include <utility>

namespace regions {

void Fence::raise() {
  const std::lock_guard lock(mutex_);
  is_up_ = true;
}

void Fence::wait() {
  const std::lock_guard lock(mutex_);
  is_up_ = false;
  queue_.wait();
}

void Fence::await() {
  const std::lock_guard lock(mutex_);
  if (!std::exchange(is_up_, false)) return;
  const Backend::Entry entry(*backend_);
  try {
    queue_.wait();
  } catch (const std::exception&) {
    // The frame's own element waits, too, and says what went wrong.
  }
}

void Fence::lead(Queue& other) {
  const std::lock_guard lock(mutex_);
  if (is_up_) queue_.lead(other.native());
}

namespace {

struct FenceMeta {
  GstMeta meta;
  std::shared_ptr<Fence> fence;  // null once it is taken off
};

// Copies of a buffer have none: the fence waits where the buffer ends, before its copy goes on.
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
          if (fence) fence->await();
          std::destroy_at(&fence);
        },
        nullptr);
  }();
  return kInfo;
}

std::shared_ptr<Fence> take_off(GstBuffer* buffer) {
  GstMeta* meta = gst_buffer_get_meta(buffer, fence_info()->api);
  if (!meta) return nullptr;
  const std::shared_ptr<Fence> fence = std::move(reinterpret_cast<FenceMeta*>(meta)->fence);
  gst_buffer_remove_meta(buffer, meta);
  return fence;
}

}  // namespace

void put_fence(GstBuffer* buffer, const std::shared_ptr<Fence>& fence) {
  auto* params = const_cast<std::shared_ptr<Fence>*>(&fence);
  gst_buffer_add_meta(buffer, fence_info(), params);
}

void follow_fence(GstBuffer* buffer, Queue& queue) {
  if (const std::shared_ptr<Fence> fence = take_off(buffer)) fence->lead(queue);
}

void await_fence(GstBuffer* buffer) {
  if (const std::shared_ptr<Fence> fence = take_off(buffer)) fence->await();
}

}  // namespace regions

// Implements fences and the GstMeta that attaches a fence to a buffer.
#include "plugin/memory/fence.hpp"

#include <new>
#include <utility>

namespace regions {

void LateText::begin(std::function<std::string()> read) {
  const std::lock_guard lock(mutex_);
  read_ = std::move(read);
  text_.clear();
}

std::string LateText::get() {
  const std::lock_guard lock(mutex_);
  if (read_) text_ = std::exchange(read_, nullptr)();
  return text_;
}

void LateText::end() {
  const std::lock_guard lock(mutex_);
  read_ = nullptr;
}

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

struct AttachedFence {
  std::shared_ptr<Fence> fence;  // null after detach_fence()
  std::shared_ptr<LateText> text;
};

struct FenceMeta {
  GstMeta meta;
  AttachedFence attached;
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
        [](GstMeta* meta, gpointer attached, GstBuffer*) -> gboolean {
          new (&reinterpret_cast<FenceMeta*>(meta)->attached)
              AttachedFence(*static_cast<const AttachedFence*>(attached));
          return TRUE;
        },
        [](GstMeta* meta, GstBuffer*) {
          AttachedFence& attached = reinterpret_cast<FenceMeta*>(meta)->attached;
          if (attached.fence) attached.fence->wait_without_errors();
          std::destroy_at(&attached);
        },
        nullptr);
  }();
  return kInfo;
}

AttachedFence detach_fence(GstBuffer* buffer) {
  GstMeta* meta = gst_buffer_get_meta(buffer, fence_info()->api);
  if (!meta) return {};
  AttachedFence attached = std::move(reinterpret_cast<FenceMeta*>(meta)->attached);
  gst_buffer_remove_meta(buffer, meta);
  return attached;
}

}  // namespace

void attach_fence(GstBuffer* buffer, const std::shared_ptr<Fence>& fence,
                  const std::shared_ptr<LateText>& text) {
  AttachedFence attached{fence, text};
  gst_buffer_add_meta(buffer, fence_info(), &attached);
}

std::shared_ptr<LateText> enqueue_fence_wait(GstBuffer* buffer, Queue& queue) {
  const AttachedFence attached = detach_fence(buffer);
  if (attached.fence) attached.fence->enqueue_wait_on(queue);
  return attached.text;
}

void wait_for_fence(GstBuffer* buffer) {
  if (const AttachedFence attached = detach_fence(buffer); attached.fence)
    attached.fence->wait_without_errors();
}

}  // namespace regions

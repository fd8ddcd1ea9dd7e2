// Fences: a buffer with a fence is pushed downstream while the device still works on its frame.
// Only an element of this plugin that uses the same device receives such buffers. It enqueues its
// own work after the unfinished work, so the host waits only once for the work of all elements.
#pragma once

#include <gst/gst.h>

#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "core/backend.hpp"

namespace regions {

// A text about a frame with a fence, which is known when the frame's work is done. Any thread may
// call any member.
class LateText {
 public:
  // `read` returns the text of the next frame, once its work is done.
  void begin(std::function<std::string()> read);
  // Returns the text. Call this when the frame's work is done.
  std::string get();
  // Afterwards `read` is not called again. Called before the results of the frame are overwritten.
  void end();

 private:
  std::mutex mutex_;  // guards the other members
  std::function<std::string()> read_;
  std::string text_;
};

// A fence that the consecutive frames of one queue share. Any thread may call any member.
class Fence {
 public:
  // `queue` must exist until wait() returns for the last frame.
  Fence(std::shared_ptr<Backend> backend, Queue& queue)
      : backend_(std::move(backend)), queue_(queue) {}

  // Call this when the frame's work is on the queue and Queue::record() was called.
  void set_pending();
  // Waits for the work and throws its errors. Called by the element that enqueued the work.
  void wait();
  // Waits for the work and ignores its errors. Called by other elements.
  void wait_without_errors();
  // Makes later work on `other` wait for the frame's work.
  void enqueue_wait_on(Queue& other);

 private:
  const std::shared_ptr<Backend> backend_;
  Queue& queue_;
  std::mutex mutex_;         // guards is_pending_, and is held during waits
  bool is_pending_ = false;  // the work of the newest frame may be unfinished
};

// Attaches the fence and the text to the buffer. If the buffer is freed or returns to its pool
// while it still has the fence, the fence waits for the work first, because the memory can be
// reused afterwards.
void attach_fence(GstBuffer* buffer, const std::shared_ptr<Fence>& fence,
                  const std::shared_ptr<LateText>& text);

// Removes the fence, if the buffer has one, and makes later work on the queue wait for the frame's
// work. Returns the text that was attached with the fence, or null.
std::shared_ptr<LateText> enqueue_fence_wait(GstBuffer* buffer, Queue& queue);

// Removes the fence, if the buffer has one, and waits for the frame's work.
void wait_for_fence(GstBuffer* buffer);

}  // namespace regions

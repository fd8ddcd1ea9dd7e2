// Fences, as graphics interfaces call them: a frame that has one is pushed while its work is still
// under way on a device. Only an element of ours on the same device gets such frames: its work
// comes behind, and the host waits for both at once.
#pragma once

#include <gst/gst.h>

#include <memory>
#include <mutex>

#include "core/backend.hpp"

namespace regions {

// Of a slot's frames, one after the other. Any thread may call any member.
class Fence {
 public:
  // Of work on that queue, which lives until the last frame's wait().
  Fence(std::shared_ptr<Backend> backend, Queue& queue)
      : backend_(std::move(backend)), queue_(queue) {}

  // The frame's work is on the queue, up to its record().
  void raise();
  // Waits for the work, and throws what it threw: for the frame's own element.
  void wait();
  // Likewise for others, which are not told.
  void await();
  // Later work on the other queue begins behind the frame's.
  void lead(Queue& other);

 private:
  const std::shared_ptr<Backend> backend_;
  Queue& queue_;
  std::mutex mutex_;
  bool is_up_ = false;
};

// Puts the fence on the buffer. Where the buffer ends, or goes back to its pool, before an element
// took the fence off, it waits for the work first: the memory is free again then.
void put_fence(GstBuffer* buffer, const std::shared_ptr<Fence>& fence);

// Takes the fence off, if there is one: later work on the queue comes behind the frame's.
void follow_fence(GstBuffer* buffer, Queue& queue);

// Takes the fence off, if there is one, and waits for the frame's work.
void await_fence(GstBuffer* buffer);

}  // namespace regions

// How frames leave the ring: by its two threads, or by the streaming thread.
#include <algorithm>
#include <utility>

#include "plugin/stream/frame_ring.hpp"

namespace regions {

// The ring's own thread.
void FrameRing::finish_all() {
  std::unique_lock lock(mutex_);
  for (;;) {
    begun_.wait(lock, [&] { return ending_ || (finished_ < in_flight_ && !interrupted_); });
    if (ending_) return;
    RingEntry& next = at(finished_);
    const bool dropping = flow_ != GST_FLOW_OK;
    finishing_ = true;
    lock.unlock();
    finish(next, dropping);
    lock.lock();
    finishing_ = false;
    ++finished_;
    const bool flushes = interrupted_;
    lock.unlock();  // the woken thread takes this mutex
    ready_.notify_one();
    if (flushes) left_.notify_all();
    lock.lock();
  }
}

void FrameRing::finish(RingEntry& entry, bool dropping) {
  const Backend::Entry use(*setup_.backend);
  entry.frames = entry.slot->frames();
  try {
    if (dropping) return entry.slot->discard();
    entry.slot->finish();
    entry.worked = true;
    for (Finished next; (next = entry.slot->take()).buffer;) entry.finished.push_back(next);
    tell_stay(entry);
  } catch (...) {
    entry.error = std::current_exception();
  }
}

// False if it failed, and its work is not under way any more.
bool FrameRing::hand_over(RingEntry& entry) {
  const Backend::Entry use(*setup_.backend);
  entry.frames = entry.slot->frames();
  try {
    entry.finished.push_back(entry.slot->hand_over());
    tell_stay(entry);
    return true;
  } catch (...) {
    entry.error = std::current_exception();
    return false;
  }
}

// How long those stayed that leave now.
void FrameRing::tell_stay(RingEntry& entry) {
  entry.done = g_get_monotonic_time();
  const FrameSlot& slot = *entry.slot;
  const Latency::Stay stay = {slot.filled() - slot.started(),
                              entry.done - slot.filled() + entry.waited};
  for (Finished& frame : entry.finished) frame.stay = stay;
}

void FrameRing::run(gpointer self) { static_cast<FrameRing*>(self)->push_oldest(); }

// One turn of the source pad's task.
void FrameRing::push_oldest() {
  std::unique_lock lock(mutex_);
  ready_.wait(lock, [&] { return finished_ > 0 || interrupted_; });
  if (interrupted_) {
    gst_pad_pause_task(pad_);
    return;
  }
  push(at(0), lock);
  oldest_ = (oldest_ + 1) % entries_.size();
  --in_flight_;
  --finished_;
  lock.unlock();
  left_.notify_all();
}

// Pushes what became of the entry's frames unless the flow has ended. The lock is held before and
// after, and not meanwhile.
void FrameRing::push(RingEntry& entry, std::unique_lock<std::mutex>& lock) {
  std::swap(leaving_, entry.finished);
  const std::exception_ptr failure = std::exchange(entry.error, nullptr);
  GstFlowReturn flow = interrupted_ ? GST_FLOW_FLUSHING : flow_;
  lock.unlock();

  if (std::exchange(entry.worked, false) && flow == GST_FLOW_OK) callbacks_.worked(*entry.slot);
  size_t left = 0;
  for (const Finished& next : leaving_) {
    if (flow == GST_FLOW_OK) {
      flow = callbacks_.finished(next);
      ++left;
    } else {
      gst_buffer_unref(next.buffer);
    }
  }
  leaving_.clear();
  callbacks_.dropped(std::exchange(entry.frames, 0) - left);
  if (failure && flow == GST_FLOW_OK) {
    try {
      std::rethrow_exception(failure);
    } catch (const std::exception& error) {
      callbacks_.failed(error);
      flow = GST_FLOW_ERROR;
    }
  }

  lock.lock();
  if (flow_ == GST_FLOW_OK) flow_ = flow;
  last_left_ = g_get_monotonic_time();
  way_ = last_left_ - entry.begun;
}

// Whether the streaming thread can do all for a frame, and frames still come in as fast as they
// did: the last one took a quarter of the time from one to the next at most.
bool FrameRing::comes_after_pause(gint64 now) const {
  constexpr gint64 kMin = 2000;  // µs; for a shorter one there are threads awake
  return setup_.slices == 1 && in_flight_ == 0 && now - last_left_ >= std::max(kMin, 3 * way_);
}

void FrameRing::see_off(RingEntry& only) {
  std::unique_lock lock(mutex_);
  seeing_off_ = true;
  lock.unlock();
  bool is_under_way = true;
  if (only.slot->may_hand_over() && callbacks_.hands_over()) {
    is_under_way = hand_over(only);
    lock.lock();
    push(only, lock);
    lock.unlock();
  }
  if (is_under_way) finish(only, false);
  lock.lock();
  push(only, lock);
  seeing_off_ = false;
  lock.unlock();
  left_.notify_all();
}

}  // namespace regions

// The frames in flight of one stream.
#include "plugin/frame_ring.hpp"

#include <utility>

namespace regions {

FrameRing::FrameRing(GstPad* source_pad, const SlotSetup& setup, int slots, Callbacks callbacks)
    : pad_(source_pad), setup_(setup), callbacks_(std::move(callbacks)) {
  {
    const Backend::Entry entry(*setup_.backend);
    places_.resize(static_cast<size_t>(slots));
    for (int i = 0; i < slots; ++i) {
      places_[static_cast<size_t>(i)].slot = std::make_unique<FrameSlot>(setup_, i);
    }
  }
  finisher_ = std::thread([this] { finish_all(); });
}

FrameRing::~FrameRing() {
  flush();
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  finisher_.join();
  const Backend::Entry entry(*setup_.backend);
  places_.clear();
}

GstFlowReturn FrameRing::submit(GstBuffer* input, GstBuffer* output) {
  std::unique_lock lock(mutex_);
  changed_.wait(
      lock, [&] { return in_flight_ < places_.size() || interrupted_ || flow_ != GST_FLOW_OK; });
  if (interrupted_ || flow_ != GST_FLOW_OK) {
    gst_buffer_unref(input);
    if (output) gst_buffer_unref(output);
    return interrupted_ ? GST_FLOW_FLUSHING : flow_;
  }
  FrameSlot& free = *place(in_flight_).slot;
  lock.unlock();

  try {
    const Backend::Entry entry(*setup_.backend);
    free.begin(input, output);
  } catch (const std::exception& error) {
    callbacks_.failed(error);
    return GST_FLOW_ERROR;
  }

  lock.lock();
  ++in_flight_;
  const bool first = !std::exchange(running_, true);
  lock.unlock();
  changed_.notify_all();
  if (first) gst_pad_start_task(pad_, run, this, nullptr);
  return GST_FLOW_OK;
}

// The ring's own thread.
void FrameRing::finish_all() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return ending_ || (finished_ < in_flight_ && !interrupted_); });
    if (ending_) return;
    Place& next = place(finished_);
    const bool dropping = flow_ != GST_FLOW_OK;
    finishing_ = true;
    lock.unlock();
    finish(next, dropping);
    lock.lock();
    finishing_ = false;
    ++finished_;
    changed_.notify_all();
  }
}

void FrameRing::finish(Place& place, bool dropping) {
  const Backend::Entry entry(*setup_.backend);
  try {
    if (dropping) {
      place.slot->discard();
    } else {
      place.buffer = place.slot->finish();
    }
  } catch (...) {
    place.error = std::current_exception();
  }
}

void FrameRing::run(gpointer self) { static_cast<FrameRing*>(self)->push_oldest(); }

// One turn of the source pad's task.
void FrameRing::push_oldest() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return finished_ > 0 || interrupted_; });
  if (interrupted_) {
    gst_pad_pause_task(pad_);
    return;
  }
  Place& oldest = place(0);
  GstBuffer* buffer = std::exchange(oldest.buffer, nullptr);
  std::exception_ptr failure = std::exchange(oldest.error, nullptr);
  if (flow_ != GST_FLOW_OK) {
    gst_clear_buffer(&buffer);
    failure = nullptr;
  }
  lock.unlock();

  GstFlowReturn flow = GST_FLOW_OK;
  if (!buffer) callbacks_.dropped(1);
  if (failure) {
    try {
      std::rethrow_exception(failure);
    } catch (const std::exception& error) {
      callbacks_.failed(error);
      flow = GST_FLOW_ERROR;
    }
  } else if (buffer) {
    flow = callbacks_.finished(*oldest.slot, buffer);
  }

  lock.lock();
  oldest_ = (oldest_ + 1) % places_.size();
  --in_flight_;
  --finished_;
  if (flow_ == GST_FLOW_OK) flow_ = flow;
  changed_.notify_all();
}

GstFlowReturn FrameRing::drain() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return in_flight_ == 0 || interrupted_; });
  return interrupted_ ? GST_FLOW_FLUSHING : flow_;
}

void FrameRing::interrupt() {
  const std::lock_guard lock(mutex_);
  interrupted_ = true;
  changed_.notify_all();
}

void FrameRing::flush() {
  interrupt();
  if (running_) gst_pad_stop_task(pad_);
  const Backend::Entry entry(*setup_.backend);
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return !finishing_; });
  for (size_t i = 0; i < in_flight_; ++i) {
    Place& dropped = place(i);
    if (i >= finished_) dropped.slot->discard();
    gst_clear_buffer(&dropped.buffer);
    dropped.error = nullptr;
  }
  callbacks_.dropped(in_flight_);
  oldest_ = in_flight_ = finished_ = 0;
  running_ = interrupted_ = false;
  flow_ = GST_FLOW_OK;
}

}  // namespace regions

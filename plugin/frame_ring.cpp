// The frames in flight of one stream.
#include "plugin/frame_ring.hpp"

namespace regions {

FrameRing::FrameRing(GstPad* source_pad, const SlotSetup& setup, int slots, Callbacks callbacks)
    : pad_(source_pad), setup_(setup), callbacks_(std::move(callbacks)) {
  const Backend::Entry entry(*setup_.backend);
  for (int i = 0; i < slots; ++i) slots_.push_back(std::make_unique<FrameSlot>(setup_, i));
}

FrameRing::~FrameRing() {
  flush();
  const Backend::Entry entry(*setup_.backend);
  slots_.clear();
}

GstFlowReturn FrameRing::submit(GstBuffer* input, GstBuffer* output) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock,
                [&] { return in_flight_ < slots_.size() || interrupted_ || flow_ != GST_FLOW_OK; });
  if (interrupted_ || flow_ != GST_FLOW_OK) {
    gst_buffer_unref(input);
    if (output) gst_buffer_unref(output);
    return interrupted_ ? GST_FLOW_FLUSHING : flow_;
  }
  FrameSlot& free = slot(in_flight_);
  lock.unlock();

  bool is_full = false;
  try {
    const Backend::Entry entry(*setup_.backend);
    is_full = free.add(input, output);
  } catch (const std::exception& error) {
    callbacks_.failed(error);
    lock.lock();
    filling_ = false;
    return GST_FLOW_ERROR;
  }
  lock.lock();
  filling_ = true;
  return is_full ? begin(free, lock) : GST_FLOW_OK;
}

GstFlowReturn FrameRing::begin(FrameSlot& filled, std::unique_lock<std::mutex>& lock) {
  filling_ = false;
  lock.unlock();
  try {
    const Backend::Entry entry(*setup_.backend);
    filled.begin();
  } catch (const std::exception& error) {
    callbacks_.failed(error);
    return GST_FLOW_ERROR;
  }

  lock.lock();
  ++in_flight_;
  changed_.notify_all();
  if (!running_) {
    running_ = true;
    lock.unlock();
    gst_pad_start_task(pad_, run, this, nullptr);
  }
  return GST_FLOW_OK;
}

void FrameRing::run(gpointer self) { static_cast<FrameRing*>(self)->step(); }

void FrameRing::step() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return in_flight_ > 0 || interrupted_; });
  if (interrupted_) {
    gst_pad_pause_task(pad_);
    return;
  }
  FrameSlot& oldest = slot(0);
  const bool dropping = flow_ != GST_FLOW_OK;
  lock.unlock();

  GstFlowReturn flow = GST_FLOW_OK;
  try {
    const auto next = [&](bool is_first) -> GstBuffer* {
      const Backend::Entry entry(*setup_.backend);
      if (dropping || flow != GST_FLOW_OK) {
        oldest.discard();
        return nullptr;
      }
      if (is_first) oldest.finish();
      return oldest.take();
    };
    GstBuffer* buffer = next(true);
    while (buffer) {
      flow = callbacks_.finished(oldest, buffer);
      buffer = next(false);
    }
  } catch (const std::exception& error) {
    callbacks_.failed(error);
    flow = GST_FLOW_ERROR;
  }

  lock.lock();
  oldest_ = (oldest_ + 1) % slots_.size();
  --in_flight_;
  if (flow_ == GST_FLOW_OK) flow_ = flow;
  changed_.notify_all();
}

GstFlowReturn FrameRing::drain() {
  std::unique_lock lock(mutex_);
  if (filling_ && !interrupted_ && flow_ == GST_FLOW_OK) {
    const GstFlowReturn begun = begin(slot(in_flight_), lock);
    if (begun != GST_FLOW_OK) return begun;
    if (!lock.owns_lock()) lock.lock();
  }
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
  for (size_t i = 0; i < in_flight_ + (filling_ ? 1 : 0); ++i) slot(i).discard();
  const std::lock_guard lock(mutex_);
  oldest_ = in_flight_ = 0;
  running_ = interrupted_ = filling_ = false;
  flow_ = GST_FLOW_OK;
}

}  // namespace regions

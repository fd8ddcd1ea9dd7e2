// The frames in flight of one stream.
#include "plugin/stream/frame_ring.hpp"

#include <algorithm>
#include <utility>

#include "core/error.hpp"
#include "core/thread.hpp"

namespace regions {
namespace {

// If GStreamer gets no thread for a task, it keeps the task until a thread is free. This may happen
// never, or after the ring's end, so the task is stopped and taken from the pad.
bool starts_task(GstPad* pad, GstTaskFunction run, gpointer ring) {
  if (gst_pad_start_task(pad, run, ring, nullptr)) return true;
  GST_OBJECT_LOCK(pad);
  GstTask* task = std::exchange(GST_PAD_TASK(pad), nullptr);
  GST_OBJECT_UNLOCK(pad);
  if (!task) return false;
  gst_task_stop(task);
  gst_task_set_enter_callback(task, nullptr, nullptr, nullptr);
  gst_task_set_leave_callback(task, nullptr, nullptr, nullptr);
  gst_object_unref(task);
  return false;
}

}  // namespace

FrameRing::FrameRing(GstPad* source_pad, const SlotSetup& setup, int slots, Callbacks callbacks)
    : pad_(source_pad), setup_(setup), callbacks_(std::move(callbacks)) {
  {
    const Backend::Entry use(*setup_.backend);
    try {
      make_slots(slots);
      finisher_ = start_thread([this] { finish_all(); });
    } catch (...) {
      entries_.clear();  // needs the entry
      throw;
    }
  }
}

void FrameRing::make_slots(int slots) {
  entries_.resize(static_cast<size_t>(slots));
  leaving_.reserve(static_cast<size_t>(setup_.slices));
  for (int i = 0; i < slots; ++i) {
    RingEntry& entry = entries_[static_cast<size_t>(i)];
    entry.slot = std::make_unique<FrameSlot>(setup_, i);
    entry.finished.reserve(static_cast<size_t>(setup_.slices));
  }
}

FrameRing::~FrameRing() {
  flush();
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  begun_.notify_one();
  finisher_.join();
  const Backend::Entry entry(*setup_.backend);
  entries_.clear();
}

GstFlowReturn FrameRing::submit(GstBuffer* input, GstBuffer* output) {
  std::unique_lock lock(mutex_);
  return take_in(input, output, &FrameSlot::add, lock);
}

GstFlowReturn FrameRing::pass(GstBuffer* input, GstBuffer* output) {
  std::unique_lock lock(mutex_);
  const GstFlowReturn begun = begin_filled(lock);
  if (begun == GST_FLOW_OK) return take_in(input, output, &FrameSlot::pass, lock);
  gst_buffer_unref(input);
  if (output) gst_buffer_unref(output);
  return begun;
}

GstFlowReturn FrameRing::take_in(GstBuffer* input, GstBuffer* output, Way way,
                                 std::unique_lock<std::mutex>& lock) {
  const gint64 asked = g_get_monotonic_time();
  left_.wait(lock,
             [&] { return in_flight_ < entries_.size() || interrupted_ || flow_ != GST_FLOW_OK; });
  if (interrupted_ || flow_ != GST_FLOW_OK) {
    gst_buffer_unref(input);
    if (output) gst_buffer_unref(output);
    return interrupted_ ? GST_FLOW_FLUSHING : flow_;
  }
  RingEntry& next = at(in_flight_);
  if (!filling_) next.waited = std::max<gint64>(next.done - asked, 0);
  FrameSlot& free = *next.slot;
  lock.unlock();

  bool is_full = false;
  try {
    const Backend::Entry entry(*setup_.backend);
    is_full = (free.*way)(input, output);
  } catch (const std::exception& error) {
    callbacks_.failed(error);
    lock.lock();
    filling_ = false;
    return GST_FLOW_ERROR;
  }
  lock.lock();
  filling_ = true;
  return is_full ? begin(next, lock) : GST_FLOW_OK;
}

GstFlowReturn FrameRing::begin(RingEntry& filled, std::unique_lock<std::mutex>& lock) {
  filling_ = false;
  filled.begun = g_get_monotonic_time();
  const bool alone = comes_after_pause(filled.begun);
  const bool first = !alone && !std::exchange(running_, true);
  lock.unlock();
  if (first && !starts_task(pad_, run, this)) {
    {
      const Backend::Entry entry(*setup_.backend);
      filled.slot->discard();
    }
    lock.lock();
    running_ = false;
    lock.unlock();
    callbacks_.failed(DeviceError("the system cannot create the thread that pushes frames"));
    return GST_FLOW_ERROR;
  }
  try {
    const Backend::Entry entry(*setup_.backend);
    filled.slot->begin();
  } catch (const std::exception& error) {
    callbacks_.failed(error);
    return GST_FLOW_ERROR;
  }

  if (alone) {
    see_off(filled);
    return GST_FLOW_OK;
  }
  lock.lock();
  ++in_flight_;
  lock.unlock();
  begun_.notify_one();
  return GST_FLOW_OK;
}

// Begins the work for a part-filled volume, if there is one. On success the lock is held again.
GstFlowReturn FrameRing::begin_filled(std::unique_lock<std::mutex>& lock) {
  if (!filling_ || interrupted_ || flow_ != GST_FLOW_OK) return GST_FLOW_OK;
  const GstFlowReturn begun = begin(at(in_flight_), lock);
  if (!lock.owns_lock()) lock.lock();
  return begun;
}

GstFlowReturn FrameRing::drain() {
  std::unique_lock lock(mutex_);
  const GstFlowReturn begun = begin_filled(lock);
  if (begun != GST_FLOW_OK) return begun;
  left_.wait(lock, [&] { return in_flight_ == 0 || interrupted_; });
  return interrupted_ ? GST_FLOW_FLUSHING : flow_;
}

void FrameRing::move(const WorkArea& area) {
  const std::lock_guard lock(mutex_);
  setup_.work_area = area;
}

bool FrameRing::is_filling() {
  const std::lock_guard lock(mutex_);
  return filling_;
}

size_t FrameRing::held() {
  const std::lock_guard lock(mutex_);
  return in_flight_ * static_cast<size_t>(setup_.slices) +
         (filling_ ? at(in_flight_).slot->frames() : 0);
}

void FrameRing::interrupt() {
  const std::lock_guard lock(mutex_);
  interrupted_ = true;
  left_.notify_all();
  begun_.notify_all();
  ready_.notify_all();
}

void FrameRing::flush() {
  interrupt();
  if (running_) gst_pad_stop_task(pad_);
  const Backend::Entry entry(*setup_.backend);
  std::unique_lock lock(mutex_);
  left_.wait(lock, [&] { return !finishing_ && !seeing_off_; });
  size_t frames = 0;
  for (size_t i = 0; i < in_flight_ + (filling_ ? 1 : 0); ++i) {
    RingEntry& dropped = at(i);
    if (i >= finished_) {
      dropped.frames = dropped.slot->frames();
      dropped.slot->discard();
    }
    frames += dropped.frames;
    for (const Finished& next : dropped.finished) gst_buffer_unref(next.buffer);
    dropped.finished.clear();
    dropped.error = nullptr;
  }
  callbacks_.dropped(frames);
  oldest_ = in_flight_ = finished_ = 0;
  running_ = interrupted_ = filling_ = false;
  flow_ = GST_FLOW_OK;
  last_left_ = G_MAXINT64;
}

}  // namespace regions

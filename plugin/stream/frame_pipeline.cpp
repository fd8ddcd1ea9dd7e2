// Implements FramePipeline: submits, finishes and pushes the in-flight frames of one stream.
#include "plugin/stream/frame_pipeline.hpp"

#include <algorithm>
#include <utility>

#include "core/error.hpp"
#include "core/workers.hpp"

namespace regions {
namespace {

// Starts the pad's task. If the system cannot create its thread, stops the task, removes it from
// the pad, and returns false. Otherwise GStreamer would keep the task and start it when a thread is
// free, perhaps after the pipeline has been destroyed.
bool start_task(GstPad* pad, GstTaskFunction run, gpointer pipeline) {
  if (gst_pad_start_task(pad, run, pipeline, nullptr)) return true;
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

FramePipeline::FramePipeline(GstPad* source_pad, const StreamSetup& setup, int slots,
                             Callbacks callbacks)
    : pad_(source_pad), setup_(setup), callbacks_(std::move(callbacks)) {
  {
    const Backend::Entry entry(*setup_.backend);
    try {
      make_slots(slots);
      finisher_ = start_thread([this] { run_finisher(); });
    } catch (...) {
      slots_.clear();  // here, because destroying the slots requires the Backend::Entry
      throw;
    }
  }
}

void FramePipeline::make_slots(int slots) {
  slots_.resize(static_cast<size_t>(slots));
  pushing_.reserve(static_cast<size_t>(setup_.slices));
  for (int i = 0; i < slots; ++i) {
    Slot& slot = slots_[static_cast<size_t>(i)];
    slot.frame = std::make_unique<InFlightFrame>(setup_, i);
    slot.finished.reserve(static_cast<size_t>(setup_.slices));
  }
}

FramePipeline::~FramePipeline() {
  flush();
  {
    const std::lock_guard lock(mutex_);
    is_ending_ = true;
  }
  work_started_.notify_one();
  finisher_.join();
  const Backend::Entry entry(*setup_.backend);
  slots_.clear();
}

GstFlowReturn FramePipeline::submit(GstBuffer* input, GstBuffer* output) {
  std::unique_lock lock(mutex_);
  return accept(input, output, &InFlightFrame::add, lock);
}

GstFlowReturn FramePipeline::submit_without_picture(GstBuffer* input, GstBuffer* output) {
  std::unique_lock lock(mutex_);
  const GstFlowReturn start_flow = start_incomplete_volume(lock);
  if (start_flow == GST_FLOW_OK)
    return accept(input, output, &InFlightFrame::add_without_picture, lock);
  gst_buffer_unref(input);
  if (output) gst_buffer_unref(output);
  return start_flow;
}

// Adds a frame to the next slot by the method `add`, after waiting for a free slot if necessary.
// Starts the work when the slot is full. The lock may be released when it returns.
GstFlowReturn FramePipeline::accept(GstBuffer* input, GstBuffer* output, AddMethod add,
                                    std::unique_lock<std::mutex>& lock) {
  const gint64 arrival_time = g_get_monotonic_time();
  slot_freed_.wait(
      lock, [&] { return in_flight_ < slots_.size() || is_interrupted_ || flow_ != GST_FLOW_OK; });
  if (is_interrupted_ || flow_ != GST_FLOW_OK) {
    gst_buffer_unref(input);
    if (output) gst_buffer_unref(output);
    return is_interrupted_ ? GST_FLOW_FLUSHING : flow_;
  }
  Slot& next = slot_at(in_flight_);
  if (!is_filling_) next.slot_wait = std::max<gint64>(next.done_time - arrival_time, 0);
  InFlightFrame& free_frame = *next.frame;
  lock.unlock();

  bool is_full = false;
  try {
    const Backend::Entry entry(*setup_.backend);
    is_full = (free_frame.*add)(input, output);
  } catch (const std::exception& error) {
    callbacks_.on_error(error);
    lock.lock();
    is_filling_ = false;
    return GST_FLOW_ERROR;
  }
  lock.lock();
  is_filling_ = true;
  return is_full ? start(next, lock) : GST_FLOW_OK;
}

// Starts the work of a filled slot. The streaming thread finishes and pushes the frames itself if
// the pipeline is idle. The lock may be released when it returns.
GstFlowReturn FramePipeline::start(Slot& filled, std::unique_lock<std::mutex>& lock) {
  is_filling_ = false;
  filled.start_time = g_get_monotonic_time();
  const bool is_inline = is_idle(filled.start_time);
  const bool needs_task = !is_inline && !std::exchange(is_task_started_, true);
  lock.unlock();
  if (needs_task && !start_task(pad_, run_task, this)) {
    {
      const Backend::Entry entry(*setup_.backend);
      filled.frame->discard();
    }
    lock.lock();
    is_task_started_ = false;
    lock.unlock();
    callbacks_.on_error(DeviceError("the system cannot create the thread that pushes frames"));
    return GST_FLOW_ERROR;
  }
  try {
    const Backend::Entry entry(*setup_.backend);
    filled.frame->start();
  } catch (const std::exception& error) {
    callbacks_.on_error(error);
    return GST_FLOW_ERROR;
  }

  if (is_inline) {
    finish_inline(filled);
    return GST_FLOW_OK;
  }
  lock.lock();
  ++in_flight_;
  lock.unlock();
  work_started_.notify_one();
  return GST_FLOW_OK;
}

// Starts the work for an incomplete volume, if there is one. The lock is held again when it
// returns.
GstFlowReturn FramePipeline::start_incomplete_volume(std::unique_lock<std::mutex>& lock) {
  if (!is_filling_ || is_interrupted_ || flow_ != GST_FLOW_OK) return GST_FLOW_OK;
  const GstFlowReturn start_flow = start(slot_at(in_flight_), lock);
  if (!lock.owns_lock()) lock.lock();
  return start_flow;
}

GstFlowReturn FramePipeline::drain() {
  std::unique_lock lock(mutex_);
  const GstFlowReturn start_flow = start_incomplete_volume(lock);
  if (start_flow != GST_FLOW_OK) return start_flow;
  slot_freed_.wait(lock, [&] { return in_flight_ == 0 || is_interrupted_; });
  return is_interrupted_ ? GST_FLOW_FLUSHING : flow_;
}

void FramePipeline::move_work_area(const WorkArea& area) {
  const std::lock_guard lock(mutex_);
  setup_.work_area = area;
}

bool FramePipeline::has_incomplete_volume() {
  const std::lock_guard lock(mutex_);
  return is_filling_;
}

size_t FramePipeline::held_frames() {
  const std::lock_guard lock(mutex_);
  return in_flight_ * static_cast<size_t>(setup_.slices) +
         (is_filling_ ? slot_at(in_flight_).frame->frame_count() : 0);
}

void FramePipeline::interrupt() {
  const std::lock_guard lock(mutex_);
  is_interrupted_ = true;
  slot_freed_.notify_all();
  work_started_.notify_all();
  push_ready_.notify_all();
}

void FramePipeline::flush() {
  interrupt();
  if (is_task_started_) gst_pad_stop_task(pad_);
  const Backend::Entry entry(*setup_.backend);
  std::unique_lock lock(mutex_);
  slot_freed_.wait(lock, [&] { return !is_finishing_ && !is_finishing_inline_; });
  size_t frames = 0;
  for (size_t i = 0; i < in_flight_ + (is_filling_ ? 1 : 0); ++i) {
    Slot& dropped = slot_at(i);
    if (i >= finished_) {
      dropped.frame_count = dropped.frame->frame_count();
      dropped.frame->discard();
    }
    frames += dropped.frame_count;
    for (const PendingPush& next : dropped.finished) gst_buffer_unref(next.buffer);
    dropped.finished.clear();
    dropped.error = nullptr;
  }
  callbacks_.on_dropped(frames);
  oldest_ = in_flight_ = finished_ = 0;
  is_task_started_ = is_interrupted_ = is_filling_ = false;
  flow_ = GST_FLOW_OK;
  last_pushed_ = G_MAXINT64;
}

// ---- finishing and pushing

// The function of the finisher thread.
void FramePipeline::run_finisher() {
  std::unique_lock lock(mutex_);
  for (;;) {
    work_started_.wait(lock,
                       [&] { return is_ending_ || (finished_ < in_flight_ && !is_interrupted_); });
    if (is_ending_) return;
    Slot& next = slot_at(finished_);
    const bool is_dropping = flow_ != GST_FLOW_OK;
    is_finishing_ = true;
    lock.unlock();
    finish(next, is_dropping);
    lock.lock();
    is_finishing_ = false;
    ++finished_;
    const bool is_flush_waiting = is_interrupted_;
    lock.unlock();  // before notify_one(), because the woken thread locks the same mutex
    push_ready_.notify_one();
    if (is_flush_waiting) slot_freed_.notify_all();
    lock.lock();
  }
}

// Waits for the work of the slot and stores its finished frames or its error. If `is_dropping` is
// set, discards the frames instead.
void FramePipeline::finish(Slot& slot, bool is_dropping) {
  const Backend::Entry entry(*setup_.backend);
  slot.frame_count = slot.frame->frame_count();
  try {
    if (is_dropping) return slot.frame->discard();
    slot.frame->finish();
    slot.is_processed = true;
    for (PendingPush next; (next = slot.frame->take_next()).buffer;) slot.finished.push_back(next);
    record_latency(slot);
  } catch (...) {
    slot.error = std::current_exception();
  }
}

// Takes the frame with a fence while its work is still running. Returns false on failure; the work
// has then ended.
bool FramePipeline::finish_early(Slot& slot) {
  const Backend::Entry entry(*setup_.backend);
  slot.frame_count = slot.frame->frame_count();
  try {
    slot.finished.push_back(slot.frame->take_early());
    record_latency(slot);
    return true;
  } catch (...) {
    slot.error = std::current_exception();
    return false;
  }
}

// Measures the latency of the finished frames and stores it in them.
void FramePipeline::record_latency(Slot& slot) {
  slot.done_time = g_get_monotonic_time();
  const InFlightFrame& frame = *slot.frame;
  const FrameLatency latency = {frame.filled() - frame.started(),
                                slot.done_time - frame.filled() + slot.slot_wait};
  for (PendingPush& next : slot.finished) next.latency = latency;
}

void FramePipeline::run_task(gpointer self) { static_cast<FramePipeline*>(self)->push_oldest(); }

// One iteration of the source pad's task: waits for the oldest frame to finish and pushes it.
void FramePipeline::push_oldest() {
  std::unique_lock lock(mutex_);
  push_ready_.wait(lock, [&] { return finished_ > 0 || is_interrupted_; });
  if (is_interrupted_) {
    gst_pad_pause_task(pad_);
    return;
  }
  push(slot_at(0), lock);
  oldest_ = (oldest_ + 1) % slots_.size();
  --in_flight_;
  --finished_;
  lock.unlock();
  slot_freed_.notify_all();
}

// Pushes the slot's finished frames, or posts its error. Drops the frames if the flow is not OK.
// The lock is held at the start and at the end, but not during the pushes.
void FramePipeline::push(Slot& slot, std::unique_lock<std::mutex>& lock) {
  std::swap(pushing_, slot.finished);
  const std::exception_ptr error_of_work = std::exchange(slot.error, nullptr);
  GstFlowReturn flow = is_interrupted_ ? GST_FLOW_FLUSHING : flow_;
  lock.unlock();

  if (std::exchange(slot.is_processed, false) && flow == GST_FLOW_OK)
    callbacks_.on_processed(*slot.frame);
  size_t pushed = 0;
  for (const PendingPush& next : pushing_) {
    if (flow == GST_FLOW_OK) {
      flow = callbacks_.push(next);
      ++pushed;
    } else {
      gst_buffer_unref(next.buffer);
    }
  }
  pushing_.clear();
  callbacks_.on_dropped(std::exchange(slot.frame_count, 0) - pushed);
  if (error_of_work && flow == GST_FLOW_OK) {
    try {
      std::rethrow_exception(error_of_work);
    } catch (const std::exception& error) {
      callbacks_.on_error(error);
      flow = GST_FLOW_ERROR;
    }
  }

  lock.lock();
  if (flow_ == GST_FLOW_OK) flow_ = flow;
  last_pushed_ = g_get_monotonic_time();
  last_duration_ = last_pushed_ - slot.start_time;
}

// Whether the streaming thread should finish and push the frame itself. This does not slow down the
// stream if the previous frame took at most a quarter of the time between two frames.
bool FramePipeline::is_idle(gint64 now) const {
  constexpr gint64 kMinPause = 2000;  // µs; after a shorter pause the other threads are still awake
  return setup_.slices == 1 && in_flight_ == 0 &&
         now - last_pushed_ >= std::max(kMinPause, 3 * last_duration_);
}

// Finishes and pushes the frame in the streaming thread. No other frame is in flight.
void FramePipeline::finish_inline(Slot& slot) {
  std::unique_lock lock(mutex_);
  is_finishing_inline_ = true;
  lock.unlock();
  bool is_working = true;
  if (slot.frame->can_push_early() && callbacks_.accepts_early_frames()) {
    is_working = finish_early(slot);
    lock.lock();
    push(slot, lock);
    lock.unlock();
  }
  if (is_working) finish(slot, false);
  lock.lock();
  push(slot, lock);
  is_finishing_inline_ = false;
  lock.unlock();
  slot_freed_.notify_all();
}

}  // namespace regions

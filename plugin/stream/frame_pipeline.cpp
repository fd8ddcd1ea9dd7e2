// Implements FramePipeline: submits, finishes and pushes the in-flight frames of one stream.
#include "plugin/stream/frame_pipeline.hpp"

#include <algorithm>
#include <utility>

#include "core/error.hpp"

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

FramePipeline::FramePipeline(GstPad* source_pad, std::vector<std::unique_ptr<InFlightFrame>> frames,
                             Callbacks callbacks)
    : pad_(source_pad), callbacks_(std::move(callbacks)), frames_(std::move(frames)) {}

// ---- the streaming thread

GstFlowReturn FramePipeline::submit(const Add& add) {
  const gint64 arrival_time = g_get_monotonic_time();
  std::unique_lock lock(mutex_);
  slot_freed_.wait(
      lock, [&] { return in_flight_ < frames_.size() || is_interrupted_ || flow_ != GST_FLOW_OK; });
  if (is_interrupted_) return GST_FLOW_FLUSHING;
  if (flow_ != GST_FLOW_OK) return flow_;
  InFlightFrame& next = frame_at(in_flight_);
  lock.unlock();
  if (next.state() == InFlightFrame::State::pushed) next.begin(arrival_time);
  const size_t earlier_frames = next.frame_count();
  try {
    return add(next) ? start(next) : GST_FLOW_OK;
  } catch (const std::exception& error) {
    return on_discarded(earlier_frames, error);
  }
}

GstFlowReturn FramePipeline::on_discarded(size_t frames, const std::exception& error) {
  callbacks_.on_dropped(frames);
  callbacks_.on_error(error);
  return GST_FLOW_ERROR;
}

// Starts the work of a filled frame. The streaming thread finishes and pushes it itself if the
// pipeline is idle.
GstFlowReturn FramePipeline::start(InFlightFrame& filled) {
  std::unique_lock lock(mutex_);
  const bool is_inline = filled.is_inline() || is_idle();
  const bool needs_task = !is_inline && !std::exchange(is_task_started_, true);
  lock.unlock();
  if (needs_task && !start_task(pad_, run_task, this)) {
    filled.discard();
    lock.lock();
    is_task_started_ = false;
    lock.unlock();
    throw DeviceError("the system cannot create the thread that pushes frames");
  }
  filled.start();
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

GstFlowReturn FramePipeline::end_volume() {
  std::unique_lock lock(mutex_);
  InFlightFrame& next = frame_at(in_flight_);
  const bool may_start = in_flight_ < frames_.size() && !is_interrupted_ && flow_ == GST_FLOW_OK;
  lock.unlock();
  if (!may_start || next.state() != InFlightFrame::State::filling) return GST_FLOW_OK;
  const size_t frames = next.frame_count();
  try {
    return start(next);
  } catch (const std::exception& error) {
    return on_discarded(frames, error);
  }
}

GstFlowReturn FramePipeline::drain() {
  const GstFlowReturn start_flow = end_volume();
  if (start_flow != GST_FLOW_OK) return start_flow;
  std::unique_lock lock(mutex_);
  slot_freed_.wait(lock, [&] { return in_flight_ == 0 || is_interrupted_; });
  return is_interrupted_ ? GST_FLOW_FLUSHING : flow_;
}

bool FramePipeline::has_incomplete_volume() {
  const std::lock_guard lock(mutex_);
  return in_flight_ < frames_.size() &&
         frame_at(in_flight_).state() == InFlightFrame::State::filling;
}

size_t FramePipeline::held_frames() {
  const std::lock_guard lock(mutex_);
  const size_t filling = in_flight_ < frames_.size() ? frame_at(in_flight_).frame_count() : 0;
  return in_flight_ * static_cast<size_t>(frames_.front()->capacity()) + filling;
}

void FramePipeline::interrupt() {
  const std::lock_guard lock(mutex_);
  is_interrupted_ = true;
  slot_freed_.notify_all();
  work_started_.notify_all();
}

void FramePipeline::flush() {
  interrupt();
  if (is_task_started_) gst_pad_stop_task(pad_);
  const std::lock_guard lock(mutex_);
  size_t dropped = 0;
  for (const auto& frame : frames_) {
    dropped += frame->frame_count();
    frame->discard();
  }
  callbacks_.on_dropped(dropped);
  oldest_ = in_flight_ = 0;
  is_task_started_ = is_interrupted_ = false;
  flow_ = GST_FLOW_OK;
  last_pushed_ = G_MAXINT64;
}

// Whether the streaming thread should finish and push the frame itself. This does not slow down the
// stream if the previous frame took at most a quarter of the time between two frames.
bool FramePipeline::is_idle() const {
  constexpr gint64 kMinPause = 2000;  // µs; after a shorter pause the other threads are still awake
  return frames_.front()->capacity() == 1 && in_flight_ == 0 &&
         g_get_monotonic_time() - last_pushed_ >= std::max(kMinPause, 3 * last_duration_);
}

// Finishes and pushes the frame in the streaming thread. No other frame is in flight.
void FramePipeline::finish_inline(InFlightFrame& frame) {
  if (frame.can_push_early() && callbacks_.accepts_early_frames()) {
    frame.finish_early();
    push(frame);
  }
  if (frame.state() == InFlightFrame::State::queued) frame.finish();
  if (frame.state() == InFlightFrame::State::done) push(frame);
}

// ---- the task of the source pad

void FramePipeline::run_task(gpointer self) { static_cast<FramePipeline*>(self)->push_oldest(); }

// One iteration of the source pad's task: finishes and pushes the oldest frame.
void FramePipeline::push_oldest() {
  std::unique_lock lock(mutex_);
  work_started_.wait(lock, [&] { return in_flight_ > 0 || is_interrupted_; });
  if (is_interrupted_) {
    gst_pad_pause_task(pad_);
    return;
  }
  InFlightFrame& oldest = frame_at(0);
  const bool is_dropping = flow_ != GST_FLOW_OK;
  lock.unlock();
  if (!is_dropping) oldest.finish();
  push(oldest);
  lock.lock();
  oldest_ = (oldest_ + 1) % frames_.size();
  --in_flight_;
  lock.unlock();
  slot_freed_.notify_all();
}

// Pushes the ready frames, or posts the error of their work. Drops the frames if the flow is not
// OK.
void FramePipeline::push(InFlightFrame& frame) {
  std::unique_lock lock(mutex_);
  GstFlowReturn flow = is_interrupted_ ? GST_FLOW_FLUSHING : flow_;
  lock.unlock();
  if (flow == GST_FLOW_OK && frame.is_processed()) callbacks_.on_processed(frame);
  size_t pushed = 0;
  for (FrameBuffers& next : frame.ready()) {
    if (flow != GST_FLOW_OK) break;
    flow = callbacks_.push(frame, next);
    ++pushed;
  }
  callbacks_.on_dropped(frame.frame_count() - pushed);
  if (frame.error() && flow == GST_FLOW_OK) {
    try {
      std::rethrow_exception(frame.error());
    } catch (const std::exception& error) {
      callbacks_.on_error(error);
      flow = GST_FLOW_ERROR;
    }
  }
  if (frame.state() == InFlightFrame::State::queued && flow != GST_FLOW_OK) {
    frame.discard();
  } else {
    frame.set_pushed();
  }
  lock.lock();
  if (flow_ == GST_FLOW_OK) flow_ = flow;
  last_pushed_ = g_get_monotonic_time();
  last_duration_ = last_pushed_ - frame.start_time();
}

}  // namespace regions

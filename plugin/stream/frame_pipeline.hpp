// FramePipeline: the in-flight frames of one stream, in order, and the threads that work on them:
//
// - The streaming thread submits frames: it adds them to a free slot and enqueues their work.
// - A task on the source pad waits for the work of the oldest frame, attaches the results, and
//   pushes the frame. It never waits for later input.
//
// If a frame arrives long after the previous frame was pushed, for example from a camera, there is
// never more than one frame in flight. The streaming thread then finishes and pushes the frame
// itself, because waking another thread would take longer. It always does so if the element works
// on the CPU with one thread.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <vector>

#include "plugin/stream/in_flight_frame.hpp"

namespace regions {

class FramePipeline {
 public:
  // Functions of the owner that the pipeline calls.
  struct Callbacks {
    // Whether the next element accepts frames whose work is still running.
    std::function<bool()> accepts_early_frames;
    // Called when the work of a frame or volume is done, before its frames are pushed. If a frame
    // was pushed early, it is called after the push.
    std::function<void(const InFlightFrame&)> on_processed;
    // Pushes one of the ready frames: takes the output buffer out of its FrameBuffers.
    std::function<GstFlowReturn(const InFlightFrame&, FrameBuffers&)> push;
    // Posts the exception's text as an element error.
    std::function<void(const std::exception&)> on_error;
    // Counts frames that were submitted but will not be pushed.
    std::function<void(size_t frames)> on_dropped;
  };
  FramePipeline(GstPad* source_pad, std::vector<std::unique_ptr<InFlightFrame>> frames,
                Callbacks callbacks);
  ~FramePipeline() { flush(); }

  // Only the streaming thread calls submit(), end_volume() and drain().

  // Waits for a free slot, then calls `add` with the frame in the state `filling`. `add` returns
  // whether the frame is full. If it is, its work starts. If an earlier push failed, this function
  // does not call `add` and returns the flow of that push. If `add` or the start of the work
  // throws, it posts the error and returns GST_FLOW_ERROR.
  using Add = std::function<bool(InFlightFrame&)>;
  GstFlowReturn submit(const Add& add);
  // Starts the work of an incomplete volume, if there is one.
  GstFlowReturn end_volume();
  // Starts the work of an incomplete volume and waits until no frame is in flight. Returns the flow
  // of the pushes, or GST_FLOW_FLUSHING after interrupt().
  GstFlowReturn drain();
  // Whether a volume has been begun and is not full yet.
  bool has_incomplete_volume();
  // The number of frames in the pipeline, including frames of an incomplete volume.
  size_t held_frames();

  // Makes waiting calls return GST_FLOW_FLUSHING. Called at FLUSH_START and at shutdown.
  void interrupt();
  // Stops the task and drops all frames. submit() works again afterwards. Requires that the
  // streaming thread is not in a call of this pipeline.
  void flush();

 private:
  static void run_task(gpointer self);
  GstFlowReturn start(InFlightFrame& filled);
  // Counts the submitted frames of a discarded slot and posts the error.
  GstFlowReturn on_discarded(size_t frames, const std::exception& error);
  bool is_idle() const;
  void finish_inline(InFlightFrame& frame);
  void push_oldest();
  void push(InFlightFrame& frame);
  // The frame in the slot i positions after the oldest in-flight frame. After the in-flight frames
  // comes the frame that is filled next.
  InFlightFrame& frame_at(size_t i) { return *frames_[(oldest_ + i) % frames_.size()]; }

  GstPad* const pad_;
  const Callbacks callbacks_;
  const std::vector<std::unique_ptr<InFlightFrame>> frames_;  // circular buffer, see frame_at()

  // Guards the members below. Except in flush(), it is not held while a frame is added, finished or
  // pushed, nor during callbacks. Instead, in_flight_ determines which thread may use a frame: the
  // task uses the oldest in-flight frame, the streaming thread uses the frame that is filled next.
  std::mutex mutex_;
  // Two conditions, so that each wakes only one thread: waking threads is a large part of the cost
  // of a small frame.
  std::condition_variable work_started_;  // wakes the task
  std::condition_variable slot_freed_;    // wakes submit() and drain()
  size_t oldest_ = 0;                     // index of the oldest in-flight frame
  // Number of elements of frames_ whose work has started and that are not pushed yet.
  size_t in_flight_ = 0;
  // Monotonic time at the end of the last push (µs). G_MAXINT64 if no frame was pushed yet.
  gint64 last_pushed_ = G_MAXINT64;
  gint64 last_duration_ = 0;  // duration of the last frame's work and push, µs
  bool is_interrupted_ = false;
  bool is_task_started_ = false;
  GstFlowReturn flow_ = GST_FLOW_OK;
};

}  // namespace regions

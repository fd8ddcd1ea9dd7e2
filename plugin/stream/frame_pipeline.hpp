// FramePipeline: the in-flight frames of one stream, in order. Three threads work on them:
//
// - The streaming thread submits frames: it adds them to a free slot and enqueues their work.
// - The finisher thread of the pipeline waits for the work of the oldest frame and attaches the
//   results. It is a separate thread because describing many regions takes as long as pushing the
//   frame.
// - A task on the source pad pushes finished frames. It never waits for later input.
//
// If a frame arrives long after the previous frame was pushed, for example from a camera, there is
// never more than one frame in flight. The streaming thread then finishes and pushes the frame
// itself, because waking two threads would take longer.
#pragma once

#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
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
    // Pushes one frame and takes ownership of its buffer.
    std::function<GstFlowReturn(const PendingPush&)> push;
    // Posts the exception's text as an element error.
    std::function<void(const std::exception&)> on_error;
    // Counts frames that were submitted but will not be pushed.
    std::function<void(size_t frames)> on_dropped;
  };
  FramePipeline(GstPad* source_pad, const StreamSetup& setup, int slots, Callbacks callbacks);
  ~FramePipeline();

  // Adds a frame, see InFlightFrame::add. Takes ownership of both buffers. Waits for a free slot if
  // necessary. Returns the flow of earlier pushes if it is not OK.
  GstFlowReturn submit(GstBuffer* input, GstBuffer* output);
  // Adds a frame without a picture. If a volume is incomplete, it ends before this frame.
  GstFlowReturn submit_without_picture(GstBuffer* input, GstBuffer* output);
  // Ends an incomplete volume and waits until all frames have been pushed or the flow is no longer
  // OK. Returns the flow.
  GstFlowReturn drain();
  // Makes waiting calls return GST_FLOW_FLUSHING. Called at FLUSH_START and at shutdown.
  void interrupt();
  // Stops the task and drops all frames. submit() works again afterwards. Only one thread may call
  // flush() at a time.
  void flush();

  // Sets another work area with the same sizes for later frames. No frame may be in flight.
  void move_work_area(const WorkArea& area);
  // Whether frames whose work runs on that backend may arrive with a fence.
  bool accepts_fences_from(const std::shared_ptr<Backend>& backend) const {
    return setup_.accepts_fences_from(backend);
  }
  // Whether a volume has been begun and is not full yet.
  bool has_incomplete_volume();
  int slots() const { return static_cast<int>(slots_.size()); }
  // The number of frames in the pipeline, including frames of an incomplete volume.
  size_t held_frames();
  // The maximum number of frames in the pipeline, including the frame that waits for a free slot.
  size_t max_held_frames() const { return slots_.size() * static_cast<size_t>(setup_.slices) + 1; }

 private:
  // An in-flight frame or volume, and its results once it is finished.
  struct Slot {
    std::unique_ptr<InFlightFrame> frame;
    size_t frame_count = 0;             // number of frames of the volume, or 1
    std::vector<PendingPush> finished;  // frames to push
    std::exception_ptr error;           // set if the work failed; its frames are not pushed
    bool is_processed = false;          // the work succeeded
    gint64 slot_wait = 0;               // time that the first frame waited for the slot, µs
    gint64 start_time = 0;              // monotonic time when the work started, µs
    gint64 done_time = 0;               // monotonic time when the work was done, µs
  };
  void make_slots(int slots);
  static void run_task(gpointer self);
  using AddMethod = bool (InFlightFrame::*)(GstBuffer* input, GstBuffer* output);
  GstFlowReturn accept(GstBuffer* input, GstBuffer* output, AddMethod add,
                       std::unique_lock<std::mutex>& lock);
  GstFlowReturn start_incomplete_volume(std::unique_lock<std::mutex>& lock);
  GstFlowReturn start(Slot& filled, std::unique_lock<std::mutex>& lock);
  bool is_idle(gint64 now) const;
  void finish_inline(Slot& slot);
  void push_oldest();
  void push(Slot& slot, std::unique_lock<std::mutex>& lock);
  void run_finisher();
  void finish(Slot& slot, bool is_dropping);
  bool finish_early(Slot& slot);
  static void record_latency(Slot& slot);
  // The slot i positions after the oldest in-flight frame.
  Slot& slot_at(size_t i) { return slots_[(oldest_ + i) % slots_.size()]; }

  GstPad* const pad_;
  StreamSetup setup_;
  const Callbacks callbacks_;
  std::vector<Slot> slots_;           // circular buffer, see slot_at()
  std::vector<PendingPush> pushing_;  // the frames being pushed

  // Guards all members below except finisher_. It is not held while a frame is added, finished or
  // pushed, nor during callbacks, except in flush(). Meanwhile the counters below determine which
  // thread may use a slot.
  std::mutex mutex_;
  // Three conditions, so that each wakes only one thread: waking threads is a large part of the
  // cost of a small frame.
  std::condition_variable work_started_;  // wakes the finisher
  std::condition_variable push_ready_;    // wakes the task
  std::condition_variable slot_freed_;    // wakes submit(), drain() and flush()
  size_t oldest_ = 0;                     // index of the oldest in-flight slot
  size_t in_flight_ = 0;       // number of slots whose work has started and that are not pushed yet
  size_t finished_ = 0;        // number of in-flight slots whose work has finished; the oldest ones
  bool is_finishing_ = false;  // the finisher is working on slot `finished_`
  bool is_finishing_inline_ = false;  // the streaming thread is finishing the only frame
  gint64 last_pushed_ = G_MAXINT64;   // monotonic time at the end of the last push, µs
  gint64 last_duration_ = 0;          // duration of the last frame's work and push, µs
  bool is_interrupted_ = false;
  bool is_task_started_ = false;
  // Whether the slot after the in-flight slots has frames of an incomplete volume.
  bool is_filling_ = false;
  bool is_ending_ = false;  // the finisher must return
  GstFlowReturn flow_ = GST_FLOW_OK;
  std::thread finisher_;
};

}  // namespace regions

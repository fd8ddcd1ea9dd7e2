// The frames in flight of one stream, in order. The streaming thread puts frames in. The ring's own
// thread finishes each frame when its work is done: describing many regions takes as long as
// pushing the frame. A task on the source pad pushes it and never waits for later input. If a frame
// arrives long after the previous frame has left, like a camera's frames, the streaming thread
// finishes and pushes it. Nothing could overlap then, and waking two threads would cost more than
// the rest.
#pragma once

#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "plugin/stream/frame_slot.hpp"

namespace regions {

class FrameRing {
 public:
  // `hands_over` returns whether frames leave before their work is done. `worked` is called when
  // the work of leaving frames is done, before they leave unless they were handed over. `finished`
  // is called for each leaving frame and pushes the buffer (consumed). `failed` reports an
  // exception's text as an element error. `dropped` counts frames that entered and do not leave.
  struct Callbacks {
    std::function<bool()> hands_over;
    std::function<void(const FrameSlot&)> worked;
    std::function<GstFlowReturn(const Finished&)> finished;
    std::function<void(const std::exception&)> failed;
    std::function<void(size_t frames)> dropped;
  };
  FrameRing(GstPad* source_pad, const SlotSetup& setup, int slots, Callbacks callbacks);
  ~FrameRing();

  // Puts a frame in (buffers consumed; see FrameSlot::add), waiting for a free slot. Returns the
  // flow of earlier pushes if it is not OK.
  GstFlowReturn submit(GstBuffer* input, GstBuffer* output);
  // Puts in a frame without a picture, which ends a part-filled volume.
  GstFlowReturn pass(GstBuffer* input, GstBuffer* output);
  // Waits until every frame has left, also of a part-filled volume, or the flow has ended. Returns
  // the flow.
  GstFlowReturn drain();
  // Makes waiting calls return GST_FLOW_FLUSHING; for FLUSH_START and shutting down.
  void interrupt();
  // Stops the task and drops all frames. submit() works again afterwards. One thread at a time.
  void flush();

  // Sets another work area of the same sizes for future frames. No frame may be in flight.
  void move(const WorkArea& area);
  // Whether frames of that backend may arrive with a fence.
  bool takes_over_from(const std::shared_ptr<Backend>& backend) const {
    return setup_.takes_over_from(backend);
  }
  // Whether a volume has some of its frames, and waits for more.
  bool is_filling();
  int slots() const { return static_cast<int>(entries_.size()); }
  // The number of frames in the ring, also of part-filled volumes; and its maximum, including the
  // frame that waits for a free slot.
  size_t held();
  size_t most_held() const { return entries_.size() * static_cast<size_t>(setup_.slices) + 1; }

 private:
  // A slot and the results of its frames.
  struct RingEntry {
    std::unique_ptr<FrameSlot> slot;
    size_t frames = 0;               // of the volume, or 1
    std::vector<Finished> finished;  // the frames that leave
    std::exception_ptr error;        // why other frames do not leave
    bool worked = false;             // all went well
    gint64 waited = 0;               // time that its first frame waited for the slot, µs
    gint64 begun = 0, done = 0;      // monotonic times of its work's start and end, µs
  };
  void make_slots(int slots);
  static void run(gpointer self);
  using Way = bool (FrameSlot::*)(GstBuffer* input, GstBuffer* output);
  GstFlowReturn take_in(GstBuffer* input, GstBuffer* output, Way way,
                        std::unique_lock<std::mutex>& lock);
  GstFlowReturn begin_filled(std::unique_lock<std::mutex>& lock);
  GstFlowReturn begin(RingEntry& filled, std::unique_lock<std::mutex>& lock);
  bool comes_after_pause(gint64 now) const;
  void see_off(RingEntry& only);
  void push_oldest();
  void push(RingEntry& entry, std::unique_lock<std::mutex>& lock);
  void finish_all();
  void finish(RingEntry& entry, bool dropping);
  bool hand_over(RingEntry& entry);
  static void tell_stay(RingEntry& entry);
  // Entry i after the oldest frame in flight.
  RingEntry& at(size_t i) { return entries_[(oldest_ + i) % entries_.size()]; }

  GstPad* const pad_;
  SlotSetup setup_;
  const Callbacks callbacks_;
  std::vector<RingEntry> entries_;
  std::vector<Finished> leaving_;  // the frames being pushed

  std::mutex mutex_;  // guards all members below
  // Three conditions, so that each wakes only the waiting thread: waking threads is a large part of
  // the cost of a small frame.
  std::condition_variable begun_;  // the finisher has something to do
  std::condition_variable ready_;  // the task has something to push
  std::condition_variable left_;   // there is a free slot, or none is in use
  size_t oldest_ = 0;
  size_t in_flight_ = 0;  // the oldest stays counted until it has been pushed
  size_t finished_ = 0;   // among the frames in flight
  bool finishing_ = false;
  bool seeing_off_ = false;        // by the streaming thread, with nothing else in flight
  gint64 last_left_ = G_MAXINT64;  // monotonic time when the last frame had been pushed, µs
  gint64 way_ = 0;                 // duration of its work and push, µs
  bool interrupted_ = false;
  bool running_ = false;  // the task has been started
  bool filling_ = false;  // the slot after the frames in flight has frames of a volume
  bool ending_ = false;
  GstFlowReturn flow_ = GST_FLOW_OK;
  std::thread finisher_;
};

}  // namespace regions

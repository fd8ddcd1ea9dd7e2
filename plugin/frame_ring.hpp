// The frames in flight of one stream, in order. The streaming thread puts frames in; a task on the
// source pad takes each out when its work is done and pushes it, never waiting for later input.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <vector>

#include "plugin/frame_slot.hpp"

namespace regions {

class FrameRing {
 public:
  // `finished` is called by the task for each frame that leaves; it pushes the buffer (consumed).
  // `failed` reports an exception's text as an element error.
  struct Callbacks {
    std::function<GstFlowReturn(FrameSlot&, GstBuffer*)> finished;
    std::function<void(const std::exception&)> failed;
  };
  FrameRing(GstPad* source_pad, const SlotSetup& setup, int slots, Callbacks callbacks);
  // The task must have stopped, or stop() been called.
  ~FrameRing();

  // Puts a frame in (buffers consumed; see FrameSlot::add), waiting for a free slot. Returns the
  // flow of earlier pushes where that is not OK.
  GstFlowReturn submit(GstBuffer* input, GstBuffer* output);
  // Waits until every frame has left, those of a part-filled volume too, or the flow has ended.
  // Returns the flow.
  GstFlowReturn drain();
  // Makes waiting calls return GST_FLOW_FLUSHING; for FLUSH_START and shutting down.
  void interrupt();
  // Stops the task and drops all frames. submit() works again afterwards.
  void flush();

  int slots() const { return static_cast<int>(slots_.size()); }

 private:
  static void run(gpointer self);
  void step();
  GstFlowReturn begin(FrameSlot& filled, std::unique_lock<std::mutex>& lock);
  FrameSlot& slot(size_t i) { return *slots_[(oldest_ + i) % slots_.size()]; }

  GstPad* const pad_;
  const SlotSetup setup_;
  const Callbacks callbacks_;
  std::vector<std::unique_ptr<FrameSlot>> slots_;

  std::mutex mutex_;
  std::condition_variable changed_;
  size_t oldest_ = 0;
  size_t in_flight_ = 0;  // the oldest stays counted until it has been pushed
  bool interrupted_ = false;
  bool running_ = false;  // the task has been started
  bool filling_ = false;  // the slot behind those in flight has frames of a volume
  GstFlowReturn flow_ = GST_FLOW_OK;
};

}  // namespace regions

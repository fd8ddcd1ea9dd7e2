// FrameTransfer copies the pictures of an in-flight frame to the backend's memory, and copies the
// results back. WorkAreaPictures crops and scales pictures on the backend.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "plugin/memory/fence.hpp"
#include "plugin/metadata/region_meta.hpp"
#include "plugin/stream/stream_plan.hpp"
#include "plugin/stream/stream_resources.hpp"

namespace regions {

// The buffers of one picture of an in-flight frame, and their mappings. Members are destroyed in
// reverse order, so each mapping ends before its buffer is released.
struct FrameBuffers {
  BufferPtr input;      // input buffer, held while it is read; null if this buffer itself is pushed
  BufferPtr output;     // the buffer that is pushed; null after the push
  BufferPtr label_map;  // the label map or mask to attach
  AttachedMask mask;    // the mask that upstream attached
  FrameNotes notes;
  // The `scene-change` of a frame that an upstream element pushed early, or null.
  std::shared_ptr<LateText> scene_change;
  MappedPicture in, out;                    // mappings of the input and output picture
  const GstStructure* structure = nullptr;  // the `regions` metadata of `output`, or null

  // `new_output` is the buffer for a replaced picture. It is null if `from` itself is pushed.
  void hold(BufferPtr from, BufferPtr new_output);
  // The buffer that contains the input picture.
  GstBuffer* source() const { return (input ? input : output).get(); }
  // Ends the mappings and releases the input. Called when the work is done.
  void end_reading();
  // Releases everything.
  void release();
};

// Transfers the pictures of one slot between GstBuffers and the backend's memory. `frames` are the
// buffers of the added frames: one, or up to the depth of the volume. The caller of a member or of
// the destructor must hold a Backend::Entry.
class FrameTransfer {
 public:
  virtual ~FrameTransfer() = default;
  // Sets the plan of the next frame. Only its rectangle may differ from the former plan.
  void set_plan(const SharedPlan& plan) { plan_ = plan; }

  // Called for each added frame. At that time it is the last element of `frames`.
  virtual void add(std::span<FrameBuffers> /*frames*/) {}
  // Enqueues the copies of the pictures to the backend, and sets the members of the task except its
  // region table.
  virtual void enqueue_inputs(std::span<FrameBuffers> frames, FrameTask& task) = 0;
  // Enqueues the copies of the results to the host.
  virtual void enqueue_outputs(std::span<FrameBuffers> frames, const FrameTask& task) = 0;
  // Completes the output buffers on the host. Called when the queue's work is done.
  virtual void complete_buffers(std::span<FrameBuffers> frames) = 0;

 protected:
  FrameTransfer(StreamResources& resources, SharedPlan plan, Queue& queue)
      : resources_(resources), plan_(std::move(plan)), queue_(queue) {}

  StreamResources& resources_;
  SharedPlan plan_;
  Queue& queue_;
};

// Makes the transfer for single pictures or for volumes. Allocates all memory that the frames need.
std::unique_ptr<FrameTransfer> make_transfer(StreamResources& resources, const SharedPlan& plan,
                                             Queue& queue);

// The working pictures of a frame, if only a work area or a smaller picture is processed. To the
// algorithm, they are ordinary, smaller pictures. The caller of a member or of the destructor must
// hold a Backend::Entry.
class WorkAreaPictures {
 public:
  // Allocates the memory of the working pictures.
  WorkAreaPictures(const StreamPlan& plan, Queue& queue);

  // Enqueues the cropping and scaling of the inputs of `whole`. Returns the same task with the
  // working pictures instead of the whole pictures.
  FrameTask enqueue_shrinking(const StreamPlan& plan, const FrameTask& whole);
  // Enqueues the enlargement of the results in `small` to the pictures of `whole`. `is_tint` is
  // explained at changed_sample() in core/resampling.hpp.
  void enqueue_enlarging(const StreamPlan& plan, const FrameTask& small, const FrameTask& whole,
                         bool is_tint);

 private:
  ConstFrame small_mask(const StreamPlan& plan, const ConstFrame& mask);

  Queue& queue_;
  // The working pictures and their label map and mask, without padding between rows.
  // `in_before_drawing_` is a copy of `in_` for Queue::transfer_changes().
  Block in_, in_before_drawing_, out_, label_map_, mask_;
};

}  // namespace regions

// FrameTransfer copies an in-flight frame, or the frames of a volume, to the backend's memory, and
// copies the results back. WorkAreaPictures crops and scales pictures on the backend.
#pragma once

#include <memory>

#include "plugin/metadata/region_meta.hpp"
#include "plugin/metadata/region_structure.hpp"
#include "plugin/stream/stream_setup.hpp"

namespace regions {

// The buffers of one frame and their mappings while it is processed. Members are destroyed in
// reverse order, so each mapping ends before its buffer is released.
struct FrameBuffers {
  BufferPtr input;      // held while its memory is read; null if the input buffer itself is pushed
  BufferPtr output;     // the buffer that is pushed
  BufferPtr label_map;  // the label map or mask to attach
  AttachedMask mask;    // the mask that upstream attached
  MappedPicture in, out;

  // `new_output` is the buffer for a replaced picture. It is null if `from` itself is pushed.
  FrameBuffers(GstBuffer* from, GstBuffer* new_output)
      : input(new_output ? from : nullptr), output(new_output ? new_output : from) {}
  // The buffer that contains the input picture.
  GstBuffer* source() const { return (input ? input : output).get(); }
};

// A frame whose results are complete. `buffer` is null after the last frame.
struct CompletedFrame {
  BufferPtr buffer;
  BufferPtr label_map;  // null if none is attached
  int slice = 0;        // index of the frame in its volume
};

// Transfers the pictures of one slot between GstBuffers and the backend's memory. All members and
// the destructor require a live Backend::Entry.
class FrameTransfer {
 public:
  virtual ~FrameTransfer() = default;

  // Adds the next frame and takes ownership of both buffers. InFlightFrame::add explains `output`.
  virtual void add(GstBuffer* input, GstBuffer* output) = 0;
  virtual int frame_count() const = 0;  // number of frames that were added since release()

  // Enqueues the copies of the pictures to the backend, and sets the members of the task except its
  // region table.
  virtual void enqueue_inputs(FrameTask& task) = 0;
  // Enqueues the copies of the results to the host.
  virtual void enqueue_outputs(const FrameTask& task) = 0;
  // Completes the output buffers on the host. Called when the queue's work is done.
  virtual void complete_buffers() = 0;
  // Returns the only frame before its work is done. Its picture is untouched. The caller calls
  // release() later.
  virtual CompletedFrame take_early() { return {}; }
  // Returns the next complete frame, in order.
  virtual CompletedFrame take_next() = 0;
  // Releases all frames. None of their work may be running.
  virtual void release() = 0;
};

// make_picture_transfer() and make_volume_transfer() allocate all memory that the frames need.
std::unique_ptr<FrameTransfer> make_picture_transfer(const StreamSetup& setup, Queue& queue);
std::unique_ptr<FrameTransfer> make_volume_transfer(const StreamSetup& setup, Queue& queue);

// The working pictures of a frame, if only a work area or a smaller picture is processed. To the
// algorithm, they are ordinary, smaller pictures. All members and the destructor require a live
// Backend::Entry.
class WorkAreaPictures {
 public:
  // Allocates the memory of the working pictures.
  WorkAreaPictures(const StreamSetup& setup, Queue& queue);

  // Enqueues the cropping and scaling of the inputs of `whole`. Returns the same task with the
  // working pictures instead of the whole pictures.
  FrameTask enqueue_shrinking(const FrameTask& whole);
  // Enqueues the enlargement of the results in `small` to the pictures of `whole`.
  void enqueue_enlarging(const FrameTask& small, const FrameTask& whole);

 private:
  Frame small_frame(const Layout& layout, const Block& block) const;
  ConstFrame small_mask(const ConstFrame& mask);

  const StreamSetup& setup_;
  const WorkArea& work_area_;  // a reference into setup_, because the area may move between frames
  Queue& queue_;
  Block in_, in_before_drawing_, out_, label_map_, mask_;
};

}  // namespace regions

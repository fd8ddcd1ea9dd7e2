// FrameTransfer: the way of a slot's frames into the backend's memory and back, be it one picture
// or the slices of a volume.
#pragma once

#include <memory>

#include "plugin/metadata/attached_mask.hpp"
#include "plugin/metadata/structure_pool.hpp"
#include "plugin/stream/slot_setup.hpp"

namespace regions {

// A frame that a slot holds. Members go in reverse order: what is mapped before its buffer.
struct HeldFrame {
  BufferPtr input;    // held while its memory is read; null where it is the output
  BufferPtr output;   // the buffer that leaves
  BufferPtr map;      // the label map or mask to attach
  AttachedMask mask;  // the mask that came attached
  MappedPicture in, out;

  // `to_fill` is null where `from` itself leaves.
  HeldFrame(GstBuffer* from, GstBuffer* to_fill)
      : input(to_fill ? from : nullptr), output(to_fill ? to_fill : from) {}
  GstBuffer* source() const { return (input ? input : output).get(); }
};

// A frame whose results are back; `buffer` is null behind the last frame.
struct ReturnedFrame {
  BufferPtr buffer;
  BufferPtr map;  // null if none is to be attached
  int slice = 0;  // of its volume
};

class FrameTransfer {
 public:
  // All members and the destructor need a Backend::Entry.
  virtual ~FrameTransfer() = default;

  // Takes the next frame; `output` as in FrameSlot::add (both consumed).
  virtual void add(GstBuffer* input, GstBuffer* output) = 0;
  virtual int frames() const = 0;  // added since release()

  // Puts the pictures' way to the backend on the queue, and fills in what the job reads and writes
  // but for its table.
  virtual void bring_in(Job& job) = 0;
  // Puts the results' way back on the queue.
  virtual void take_back(const Job& job) = 0;
  // The queue's work is done: completes the buffers that leave.
  virtual void complete() = 0;
  // Lets the only frame go before that, a picture that stays as it is; release() comes later.
  virtual ReturnedFrame hand_over() { return {}; }
  // The next complete frame, in order.
  virtual ReturnedFrame take() = 0;
  // Lets go of all frames; no work of theirs may be under way.
  virtual void release() = 0;
};

// Both allocate all that frames need.
std::unique_ptr<FrameTransfer> make_picture_transfer(const SlotSetup& setup, Queue& queue);
std::unique_ptr<FrameTransfer> make_volume_transfer(const SlotSetup& setup, Queue& queue);

}  // namespace regions

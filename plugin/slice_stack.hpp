// The frames that make one volume, on their way through an element: their pictures are stacked as
// they come, and each leaves with its own slice of the results.
#pragma once

#include <deque>

#include "core/stack.hpp"
#include "plugin/attached_mask.hpp"
#include "plugin/slot_setup.hpp"

namespace regions {

class SliceStack {
 public:
  // Allocates. Needs a Backend::Entry, as do all members and the destructor.
  SliceStack(const SlotSetup& setup, Queue& queue);
  ~SliceStack() { release(); }
  SliceStack(const SliceStack&) = delete;
  SliceStack& operator=(const SliceStack&) = delete;

  // Puts the next slice on its place; `output` as in FrameSlot::add (both consumed).
  void add(GstBuffer* input, GstBuffer* output);
  int slices() const { return static_cast<int>(frames_.size()); }

  // Fills slices, in, out, mask and labels.
  void fill(Job& job);
  // Puts the results' way back on the queue.
  void take_back(const Job& job);
  // Once they are back: brings each frame its slice.
  void spread();
  // The next frame in order and its label map, both now the caller's; buffer null after the last.
  struct Slice {
    GstBuffer* buffer = nullptr;
    GstBuffer* map = nullptr;
    int z = 0;
  };
  Slice take();
  void release();

 private:
  struct Held {
    GstBuffer* input = nullptr;   // held while its memory is read
    GstBuffer* output = nullptr;  // what leaves
    GstBuffer* map = nullptr;
    MappedPicture mapped;  // while a device copies from it
    AttachedMask mask;     // likewise
  };
  // Puts the mask that came with the newest frame beside those before.
  void add_mask(GstBuffer* source);
  Frame masks(Memory memory, const Block& block) const;
  Stack stack() const { return {setup_.in.size, slices(), setup_.layers}; }
  Frame outcome(Memory memory, const Block& block) const;

  const SlotSetup& setup_;
  Queue& queue_;
  Size in_size_, out_size_;  // of full stacks
  Block in_, staged_in_, out_, staged_out_, labels_;
  Block masks_, staged_masks_;
  Layout mask_layout_;  // of all of the volume's
  int masked_ = 0;      // frames whose mask is there
  std::deque<Held> frames_;
  size_t taken_ = 0;
};

}  // namespace regions

// One frame, or the frames of one volume, on their way through an element: brought to the backend,
// worked on, brought back and described.
#pragma once

#include "core/cclabel/slice_runs.hpp"
#include "core/region_records.hpp"
#include "plugin/memory/fence.hpp"
#include "plugin/stream/frame_transfer.hpp"
#include "plugin/stream/latency.hpp"
#include "plugin/stream/work_pictures.hpp"

namespace regions {

// A frame that is ready to leave.
struct Finished {
  GstBuffer* buffer = nullptr;              // the receiver's
  const GstStructure* structure = nullptr;  // its `regions` metadata, if it has any
  Latency::Stay stay;
};

class FrameSlot {
 public:
  // Allocates. Needs a Backend::Entry, as do all members and the destructor.
  FrameSlot(const SlotSetup& setup, int index);
  ~FrameSlot();
  FrameSlot(const FrameSlot&) = delete;
  FrameSlot& operator=(const FrameSlot&) = delete;

  // Takes `input` (consumed); `output` (consumed) is the buffer to fill where the picture is
  // replaced, else null. Returns whether the slot is full. If it throws, the slot is free again.
  bool add(GstBuffer* input, GstBuffer* output);
  // Likewise, of a frame that holds no picture, alone in its slot: it leaves as it came, or as a
  // blank picture that is marked as a gap.
  bool pass(GstBuffer* input, GstBuffer* output);
  // Puts the work for what was added on the queue. If it throws, the slot is free again.
  void begin();
  bool may_hand_over() const { return !passed_ && setup_.may_hand_over(); }
  // The frame, with a fence, while its work is under way; finish() and take() still come, and give
  // no frame. If it throws, the slot is free again.
  Finished hand_over();
  // Waits for the work. Throws what went wrong.
  void finish();
  // The finished frames in order; a null buffer after the last.
  Finished take();
  // Waits for the work and drops it.
  void discard();

  // Added or passed, and not handed over: 1, or a volume's.
  size_t frames() const {
    return passed_ ? 1 : handed_over_ ? 0 : static_cast<size_t>(transfer_->frames());
  }

  // Known between finish() and the next add().
  uint32_t total_regions() const { return total_; }
  const std::string& warning() const { return warning_; }  // empty if all is well
  int64_t work_time() const { return work_time_; }         // ns the backend took for all frames
  GstClockTime time() const { return time_; }              // the first frame's timestamp
  // Monotonic times in µs: of the first add(), and of the last or, if more were to come, begin().
  gint64 started() const { return started_; }
  gint64 filled() const { return filled_; }

 private:
  template <class Work>
  void guarded(Work work);
  void work(const Job& job);
  void judge();
  Finished describe(ReturnedFrame frame, int frames);
  void release();

  const SlotSetup& setup_;
  const int index_;
  const std::unique_ptr<Queue> queue_;
  const std::unique_ptr<FrameTransfer> transfer_;
  std::unique_ptr<WorkPictures> work_pictures_;  // null where the whole picture is worked on
  RegionRecords records_;
  const std::shared_ptr<Fence> fence_;
  BufferPtr passed_;  // a frame without a picture
  bool handed_over_ = false;

  // Of the frames that have finished:
  std::span<const PixelRun> runs_;
  std::vector<PixelRun> enlarged_runs_;
  SliceRuns slice_runs_;          // in a volume
  std::vector<Region> crossing_;  // regions whose boxes cross the slice that is described
  uint32_t kept_ = 0;             // regions that have a label
  uint32_t total_ = 0;
  std::string warning_;
  gint64 started_ = 0, filled_ = 0;
  GstClockTime time_ = 0;
  int64_t work_time_ = 0;
};

}  // namespace regions

// One frame, or the frames of one volume, on their way through an element: mapped, brought to the
// backend, worked on, brought back.
#pragma once

#include "core/cclabel/slice_runs.hpp"
#include "core/region_records.hpp"
#include "plugin/attached_mask.hpp"
#include "plugin/block_memory.hpp"
#include "plugin/cuda_memory.hpp"
#include "plugin/latency.hpp"
#include "plugin/region_meta.hpp"
#include "plugin/slice_stack.hpp"
#include "plugin/work_pictures.hpp"

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
  // Waits for the work. Throws what went wrong.
  void finish();
  // The finished frames in order; a null buffer after the last.
  Finished take();
  // Waits for the work and drops it.
  void discard();

  // Of what was added: 1, or a volume's.
  size_t frames() const { return stack_ && !passes_ ? static_cast<size_t>(stack_->slices()) : 1; }

  // Known between finish() and the next add().
  uint32_t total_regions() const { return total_; }
  const std::string& warning() const { return warning_; }  // empty if all is well
  int64_t work_time() const { return work_time_; }         // ns the backend took, a frame
  // Monotonic times in µs: of the first add(), and of the last or, if more were to come, begin().
  gint64 started() const { return started_; }
  gint64 filled() const { return filled_; }

 private:
  void bring_in(Job& job);
  void bring_attached(Job& job);
  void take_map(Job& job);
  void take_back(const Job& job);
  template <class Work>
  void guarded(Work work);
  void judge();
  Finished describe(GstBuffer* buffer, GstBuffer* map, std::span<const Region> regions, int slice,
                    int slices);
  void release();

  const SlotSetup& setup_;
  const int index_;
  std::unique_ptr<Queue> queue_;
  RegionRecords records_;
  Block pinned_in_, device_in_, pinned_out_, device_out_;
  Block pinned_mask_, device_mask_;

  GstBuffer* input_ = nullptr;   // held while its memory is read; null when it is the output
  GstBuffer* output_ = nullptr;  // what leaves
  GstBuffer* map_ = nullptr;     // the label map or mask to attach
  AttachedMask mask_;            // what came attached
  MappedPicture in_map_, out_map_;
  bool passes_ = false;          // there is nothing to work on
  bool copy_rows_back_ = false;  // the result waits in pinned_out_ for finish()
  Attached attached_;
  std::unique_ptr<SliceStack> stack_;   // of volumes, in place of all that
  std::unique_ptr<WorkPictures> work_;  // null where the whole picture is worked on
  std::span<const PixelRun> runs_;      // of what has finished
  std::vector<PixelRun> enlarged_runs_;
  SliceRuns slice_runs_;          // of a volume
  std::vector<Region> crossing_;  // the slice that is described
  uint32_t kept_ = 0;             // regions that have a label
  uint32_t total_ = 0;
  std::string warning_;
  gint64 started_ = 0, filled_ = 0;
  int64_t work_time_ = 0;
};

}  // namespace regions

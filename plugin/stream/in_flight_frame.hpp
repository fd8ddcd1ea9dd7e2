// InFlightFrame: the memory and the results of one frame, or of the frames of one volume, while the
// element processes it.
#pragma once

#include "core/region_records.hpp"
#include "plugin/memory/fence.hpp"
#include "plugin/stream/frame_transfer.hpp"
#include "plugin/stream/stream_setup.hpp"
#include "plugin/stream/stream_times.hpp"

namespace regions {

// A frame that is ready to be pushed downstream.
struct PendingPush {
  GstBuffer* buffer = nullptr;              // the receiver of this struct owns it
  const GstStructure* structure = nullptr;  // the buffer's `regions` metadata, or null
  FrameLatency latency;
};

// An InFlightFrame is reused for later frames of the stream. The order of calls is: add() until it
// returns true or the volume ends, start(), optionally take_early(), finish(), take_next() until it
// returns no buffer.
class InFlightFrame {
 public:
  // Allocates all memory. `slot` is the index among the stream's in-flight frames. All members and
  // the destructor require a live Backend::Entry.
  InFlightFrame(const StreamSetup& setup, int slot);
  ~InFlightFrame();
  InFlightFrame(const InFlightFrame&) = delete;
  InFlightFrame& operator=(const InFlightFrame&) = delete;

  // Adds a frame and takes ownership of both buffers. `output` is the buffer to fill if the picture
  // is replaced, else null. Returns whether the volume is full; a single frame is always full. If
  // it throws, all frames are released.
  bool add(GstBuffer* input, GstBuffer* output);
  // Adds a frame without a picture, which must be the only frame. It is pushed unchanged, or as a
  // blank picture with the flag GAP.
  bool add_without_picture(GstBuffer* input, GstBuffer* output);
  // Enqueues the work for the added frames. If it throws, all frames are released.
  void start();
  // Whether take_early() may be called.
  bool can_push_early() const { return !passthrough_buffer_ && setup_.can_push_early(); }
  // Returns the frame with a fence while its work is running. finish() and take_next() are still
  // called, and return no frame. If it throws, all frames are released.
  PendingPush take_early();
  // Waits for the work. Throws the error of the work.
  void finish();
  // Returns the next finished frame in order. After the last frame, the buffer is null.
  PendingPush take_next();
  // Waits for the work and releases all frames.
  void discard();

  // The number of frames that were added and not taken early.
  size_t frame_count() const {
    return passthrough_buffer_ ? 1
           : is_taken_early_   ? 0
                               : static_cast<size_t>(transfer_->frame_count());
  }

  // The results of the frames. They are valid between finish() and the next add().
  uint32_t total_regions() const { return total_; }
  const std::string& warning() const { return warning_; }  // usually empty
  int64_t work_time() const {
    return work_time_;
  }                                            // time that the backend worked on all frames, ns
  GstClockTime time() const { return time_; }  // timestamp of the first frame, ns
  // Monotonic times in µs of the first and the last add(). For a volume that ends early, filled()
  // is the time of start().
  gint64 started() const { return started_; }
  gint64 filled() const { return filled_; }

 private:
  template <class Work>
  void discard_on_error(Work work);
  void enqueue_work(const FrameTask& task);
  void collect_results();
  PendingPush attach_results(CompletedFrame frame, int frame_count);
  void release();

  const StreamSetup& setup_;
  const int slot_;
  const std::unique_ptr<Queue> queue_;
  const std::unique_ptr<FrameTransfer> transfer_;
  std::unique_ptr<WorkAreaPictures> work_pictures_;  // null if the whole picture is processed
  RegionRecords records_;
  const std::shared_ptr<Fence> fence_;
  BufferPtr passthrough_buffer_;  // the buffer of a frame without a picture; else null
  bool is_taken_early_ = false;

  // Results of the finished frames.
  std::span<const PixelRun> runs_;
  std::vector<PixelRun> enlarged_runs_;
  SliceRuns slice_runs_;               // runs of a volume, sorted by slices
  std::vector<Region> slice_regions_;  // regions whose boxes include the slice of the current frame
  uint32_t record_count_ = 0;          // number of records to attach: regions, then occluded tracks
  uint32_t total_ = 0;                 // number of regions found
  std::string warning_;
  gint64 started_ = 0, filled_ = 0;  // monotonic times, µs
  GstClockTime time_ = 0;            // ns
  int64_t work_time_ = 0;            // ns
};

}  // namespace regions

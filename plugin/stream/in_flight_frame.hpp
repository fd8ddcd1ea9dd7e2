// InFlightFrame: one frame, or the frames of one volume, while the element processes it. It owns
// the queue, the buffers, the memory on the backend and the results.
#pragma once

#include <exception>
#include <vector>

#include "core/region_records.hpp"
#include "plugin/memory/fence.hpp"
#include "plugin/stream/frame_transfer.hpp"
#include "plugin/stream/stream_times.hpp"

namespace regions {

// An InFlightFrame is reused for later frames of the stream. One thread at a time may use it. Its
// state determines which members may be called:
//
//   pushed ──begin()──► filling ──start()──► queued ──finish()──► done ──set_pushed()──► pushed
//
// discard() leads from every state to `pushed`. A frame that is pushed early stays `queued` until
// finish().
class InFlightFrame {
 public:
  enum class State : uint8_t {
    pushed,   // the frame has no buffers; the first state
    filling,  // the frame gets its buffer, or waits for further frames of its volume
    queued,   // the frame's work is on the queue
    done      // the frame has its results, or an error
  };

  // Allocates all memory. `slot` is the index among the stream's in-flight frames. The caller must
  // hold a Backend::Entry.
  InFlightFrame(StreamResources& resources, SharedPlan plan, int slot);
  ~InFlightFrame();
  InFlightFrame(const InFlightFrame&) = delete;
  InFlightFrame& operator=(const InFlightFrame&) = delete;

  State state() const { return state_; }
  int capacity() const { return static_cast<int>(buffers_.size()); }  // frames per volume, or 1
  // Whether all work is done when start() returns.
  bool is_inline() const { return plan_->is_inline(); }
  // Number of frames that were added and not pushed. Stays the same if the work fails.
  size_t frame_count() const { return frame_count_; }

  // ---- pushed or filling

  // Begins a frame whose first buffer arrived at this monotonic time (µs).
  void begin(gint64 arrival_time);
  // Adds a frame. `output` is the buffer to fill if the picture is replaced, else null. Returns
  // whether the volume is full; a single frame is always full. If it throws, all frames are
  // released. `plan` is the stream's plan. Its rectangle may differ from the rectangle of earlier
  // frames.
  bool add(const SharedPlan& plan, BufferPtr input, BufferPtr output);
  // Adds a frame without a picture, which must be the only frame. It is pushed unchanged, or as a
  // blank picture with the flag GAP.
  bool add_without_picture(BufferPtr input, BufferPtr output);
  // Enqueues the work for the added frames. If it throws, all frames are released.
  void start();

  // ---- queued

  // Whether finish_early() may be called.
  bool can_push_early() const { return has_picture_ && plan_->can_push_early(); }
  // Attaches a fence and makes the frame ready to be pushed while its work is running. Returns
  // false if this failed; the state is then `done`.
  bool finish_early();
  // Waits for the work. Then makes the frames ready to be pushed, or sets error().
  void finish();
  // Waits for the work and releases all frames.
  void discard();

  // ---- done

  // The frames to push, in order. The caller takes `output`.
  std::span<FrameBuffers> ready() { return {buffers_.data(), ready_count_}; }
  // The error of the work, or null. ready() does not include the frames that it concerns.
  const std::exception_ptr& error() const { return error_; }
  // Called after the push. Releases the frames that were not pushed.
  void set_pushed();

  // ---- results, between finish() and the next begin()

  bool is_processed() const { return is_processed_; }  // whether the work succeeded
  uint32_t total_regions() const { return total_regions_; }
  // A warning about the results for the user, or empty.
  const std::string& warning() const { return warning_; }
  int64_t work_time() const { return work_time_; }  // time that the backend worked on the frame, ns
  GstClockTime time() const { return time_; }       // timestamp of the first frame, ns
  gint64 start_time() const { return start_time_; }  // monotonic time of start(), µs
  const FrameLatency& latency() const { return latency_; }

 private:
  template <class Work>
  void discard_on_error(Work work);
  void change_state(State from, State to);
  std::span<FrameBuffers> added() { return {buffers_.data(), frame_count_}; }
  FrameBuffers& hold(BufferPtr input, BufferPtr output);
  void enqueue_work(const FrameTask& task);
  void collect_results();
  void attach_results(size_t index);
  void begin_scene_change();
  void record_latency(gint64 wait_time);
  void release();

  StreamResources& resources_;
  SharedPlan plan_;
  const int slot_;
  State state_ = State::pushed;
  std::unique_ptr<Queue> queue_;
  std::unique_ptr<FrameTransfer> transfer_;
  std::unique_ptr<WorkAreaPictures> work_pictures_;  // null if the whole picture is processed
  RegionRecords records_;
  const std::shared_ptr<Fence> fence_;
  std::shared_ptr<LateText> scene_change_;  // of a frame that is pushed early

  std::vector<FrameBuffers> buffers_;  // [capacity]
  size_t frame_count_ = 0;             // see frame_count()
  size_t ready_count_ = 0;             // number of frames to push, at most frame_count_
  bool has_picture_ = true;
  bool is_pushed_early_ = false;  // pushed with a fence, before its work was finished

  // Results.
  bool is_processed_ = false;
  std::exception_ptr error_;
  std::span<const PixelRun> runs_;
  std::vector<PixelRun> enlarged_runs_;
  SliceRuns slice_runs_;              // runs of a volume, sorted by slices
  std::vector<Region> kept_regions_;  // the regions that the current frame gets, if not all
  uint32_t record_count_ = 0;         // number of records to attach: regions, then occluded tracks
  uint32_t total_regions_ = 0;        // number of regions found
  std::string warning_;
  GstClockTime time_ = 0;  // ns
  int64_t work_time_ = 0;  // ns

  // Monotonic times, µs.
  gint64 slot_wait_ = 0;   // duration for which the first frame waited for this slot
  gint64 begin_time_ = 0;  // time of the first add()
  gint64 full_time_ = 0;   // time of the last add(), or of start() if a volume ends early
  gint64 start_time_ = 0;  // time of start()
  gint64 done_time_ = 0;   // time at which the frame was ready, without its wait for earlier frames
  FrameLatency latency_;
};

}  // namespace regions

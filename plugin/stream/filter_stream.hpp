// The state of an element from READY to READY: its device, and for the current caps its slots,
// pools and latency.
#pragma once

#include <gst/base/gstbasetransform.h>

#include <atomic>

#include "plugin/memory/cuda_memory.hpp"
#include "plugin/stream/allocation.hpp"
#include "plugin/stream/frame_ring.hpp"
#include "plugin/stream/frame_times.hpp"
#include "plugin/stream/latency.hpp"
#include "plugin/stream/settings.hpp"

namespace regions {

class FilterStream {
 public:
  FilterStream(GstBaseTransform* element, const ElementSpec& spec);

  Engine& engine() { return *engine_; }
  FilterSettings settings() const;
  void set_setting(const Field& field, const Value& value);
  Value get_setting(const Field& field) const;
  std::string active_device() const;
  CudaContext& cuda() { return cuda_; }
  bool uses_cuda() const;

  // NULL to READY and back. open() throws what choose_backend throws.
  void open();
  void close();

  // For new caps; throws InputError, MemoryError, DeviceError.
  void configure(const GstCaps* in, const GstCaps* out);
  // To be called before each frame: applies an output or a number of layers that was set since the
  // previous frame. If downstream refuses it, or no stream can run with it, the former value stays
  // and the element posts a warning. Returns false if an error was posted.
  bool follow_output();
  // To be called for each frame before submit(): whether the frame is left out because it is too
  // late. Posts a QoS message then. All frames of a volume are left out, or none. A frame whose
  // time jumps begins a new scene.
  bool leaves_out(const GstBuffer* frame);
  void listen_to_qos(GstEvent* event) { late_.listen(event); }  // any thread
  // Takes one frame (both consumed; see FrameSlot::add). A frame without a picture passes.
  GstFlowReturn submit(GstBuffer* input, GstBuffer* output);
  GstFlowReturn drain();
  // Whether the event may overtake frames that are held until their volume is full, because the
  // event does not concern them.
  bool passes_frames(const GstEvent* event);
  void interrupt();  // safe from any thread
  // From PAUSED to READY: ends waits for a buffer that downstream keeps. Until reopen() no thread
  // waits for a free slot, also not in a ring that is made later.
  void shut();
  void reopen();
  void flush();
  void stop();

  Output picture() const { return setup_.picture; }
  // The maximum number of frames held at once, and the effect of a pool with fewer buffers.
  unsigned most_held() const;
  Shortage shortage() const { return setup_.slices > 1 ? Shortage::stalls : Shortage::slows; }
  // The number of buffers that downstream needs from a pool whose frames reach it.
  void set_downstream_needs(unsigned buffers) { downstream_needs_ = buffers; }
  // A pool for the upstream element's frames, or null when any memory will do. The caller owns it.
  GstBufferPool* propose_pool(GstCaps* caps, size_t bytes, unsigned min_buffers);
  // A pool for replaced pictures, or null when any memory will do.
  GstBufferPool* output_pool(GstCaps* caps, size_t* bytes);
  const Latency& latency() const { return latency_; }

  // Counts since READY: frames that entered, left, were left out as late (QoS), or were dropped
  // after entering (flush, stop, error). Also the reported latency, and the device's working time
  // for the frames that left. The caller owns the result.
  GstStructure* stats() const;

  // Whether frames of that backend may arrive with a fence.
  bool takes_over_from(const std::shared_ptr<Backend>& other) const;

  // Whether configure() has succeeded for the current stream.
  bool is_configured() const { return ring() != nullptr; }
  bool runs() const { return GST_STATE(element_) >= GST_STATE_PAUSED; }
  // Posts an exception as an element error.
  void report(const std::exception& error);
  // Posts why configure() failed. Upstream elements try refused caps several times, so the same
  // error is posted once until configure() succeeds, or until a flush or stop.
  void report_refused_caps(const std::exception& error);
  // Reports why a property did not change: by an element warning while the stream runs.
  void refuse(const char* property, const std::exception& error);

 private:
  std::shared_ptr<FrameRing> ring() const;
  std::shared_ptr<Backend> backend() const;
  void run_on(std::shared_ptr<Backend> fresh);
  bool may_fall_back(const Backend& failed) const;
  void move_to(const CudaContextRef& context);
  SlotSetup slot_setup(const PictureCaps& in, const PictureCaps& out);
  void make_map_pool(SlotSetup& setup, int slots);
  void start(const PictureCaps& in, const PictureCaps& out);
  void start_on_backend(const PictureCaps& in, const PictureCaps& out);
  void begin_with(const GstCaps* in, const GstCaps* out);
  bool has_other_settings() const;
  bool follow(GstBuffer* input);  // false: an error was posted
  void keep_area(const std::exception& error);
  void end();  // ends the stream that start() began
  void let_wait(bool may);
  void begin_scene();
  void drop(size_t frames);  // counts and logs them
  void forget();
  GstClockTime frame_duration() const;  // from the caps; 0 if they lack it
  bool hands_over() const;
  void tell_work(const FrameSlot& slot);
  GstFlowReturn push(const Finished& finished);
  void post_regions(const Finished& finished);
  GstBuffer* out_of_short_pool(GstBuffer* input, FrameRing& frames) const;
  void post_latency();
  void warn_of_empty(GstBuffer* frame);
  int slots_wanted() const;
  bool is_live() const;
  void begin_pace(int slots, bool another_latency);

  GstBaseTransform* const element_;
  const std::unique_ptr<Engine> engine_;
  CudaContext cuda_;
  const std::shared_ptr<ReadyQueues> queues_ = std::make_shared<ReadyQueues>();
  std::shared_ptr<void> room_;  // pinned, for records of regions

  mutable std::mutex mutex_;  // guards the members below that other threads use
  FilterSettings settings_;
  std::shared_ptr<Backend> backend_;
  std::shared_ptr<FrameRing> ring_;
  bool shut_ = false;
  std::string active_device_ = "none";
  std::string refusal_;  // the text that report_refused_caps() has posted

  SlotSetup setup_;
  FilterSettings started_with_;
  WorkAreaParams area_;  // in use
  std::shared_ptr<GstBufferPool> map_pool_;
  std::atomic<unsigned> downstream_needs_{0};
  Latency latency_;
  bool warned_ = false, warned_of_empty_ = false;
  TimeJumps jumps_;
  LateFrames late_;
  int left_out_ = 0;  // frames of the volume that are still to be left out
  struct Counts {
    std::atomic<guint64> in{0}, out{0}, late{0}, dropped{0}, work_time{0};
  } counts_;
};

}  // namespace regions

// FilterStream: does the work of an element in the states READY, PAUSED and PLAYING. It owns the
// backend and the resources of the frames. For the current caps, it makes the plan and the pipeline
// of in-flight frames.
#pragma once

#include <gst/base/gstbasetransform.h>

#include <atomic>

#include "plugin/stream/frame_pipeline.hpp"
#include "plugin/stream/negotiation.hpp"
#include "plugin/stream/stream_plan.hpp"
#include "plugin/stream/stream_resources.hpp"
#include "plugin/stream/stream_times.hpp"

namespace regions {

class FilterStream {
 public:
  // Returns the stream of an element of this plugin, or null for other elements.
  using FindStream = FilterStream* (*)(GstElement* element);

  FilterStream(GstBaseTransform* element, const ElementSpec& spec, FindStream find_stream);

  ElementAlgorithm& algorithm() { return *resources_.algorithm; }
  FilterSettings settings() const;
  void set_setting(const Field& field, const Value& value);
  Value get_setting(const Field& field) const;
  std::string active_device() const;
  CudaContext& cuda() { return resources_.cuda; }
  bool accepts_cuda_memory() const;

  // ---- states

  // open() is called from NULL to READY, close() from READY to NULL. open() throws DeviceError or
  // MemoryError if device=cuda and no device works. With device=auto it falls back to the CPU.
  void open();
  void close();
  // From READY to PAUSED: resets the counts of stats(), and undoes prepare_stop().
  void allow_waiting();
  // From PAUSED to READY: ends all waits, including waits for buffers that downstream elements
  // hold. Until allow_waiting(), no thread waits for a free slot, not even in a pipeline that is
  // created later.
  void prepare_stop();
  // Ends the stream.
  void stop();
  bool is_running() const { return GST_STATE(element_) >= GST_STATE_PAUSED; }

  // ---- caps

  // Sets new caps: starts a stream, or continues the current stream if the pictures, the settings
  // and the device are the same. Throws InputError, MemoryError or DeviceError.
  void configure(const GstCaps* in, const GstCaps* out);
  // Whether configure() has succeeded for the current stream.
  bool is_configured() const { return pipeline() != nullptr; }
  // Renegotiates the caps if a property of the output or the number of layers has changed. Called
  // before each frame. If downstream refuses the new caps or no stream can run with them, the
  // properties keep their former values and the element posts a warning. Returns false if an error
  // was posted.
  bool apply_pending_output();
  Output output() const { return plan()->output; }

  // ---- frames and events

  // Called for each frame before submit(). Begins a new scene if the time jumps. Returns true if
  // the frame is too late; it is then counted as skipped and a QoS message is posted. Either all
  // frames of a volume are skipped or none.
  bool skip_if_late(const GstBuffer* frame);
  void handle_qos(GstEvent* event) { late_frames_.handle_qos(event); }  // any thread
  // Submits one frame; see InFlightFrame::add. A frame without a picture is passed on without being
  // processed.
  GstFlowReturn submit(BufferPtr input, BufferPtr output);
  // Processes and pushes all frames that were submitted. Returns the flow of the pushes.
  GstFlowReturn drain();
  // Whether the event may overtake frames that are held until their volume is full. This is true
  // for events that do not concern the held frames.
  bool may_overtake_frames(const GstEvent* event);
  void interrupt();  // for FLUSH_START; any thread
  void flush();      // for FLUSH_STOP

  // ---- pools

  // The maximum number of frames that the element holds at once, and the effect of an upstream pool
  // with fewer buffers.
  unsigned max_held_frames() const;
  PoolShortage pool_shortage() const {
    return plan()->slices() > 1 ? PoolShortage::stalls : PoolShortage::slows;
  }
  // Sets how many buffers of the upstream element's pool the downstream elements need. They use
  // this pool if the element passes its input buffers on. 0: they do not use it.
  void set_downstream_needs(unsigned buffers) { downstream_needs_ = buffers; }
  // Returns a pool for the frames of the upstream element, or null if any memory is suitable. The
  // caller owns the pool.
  GstBufferPool* propose_pool(GstCaps* caps, size_t bytes, unsigned min_buffers);
  // Returns a pool for replaced pictures, or null if any memory is suitable. The caller owns the
  // pool. `bytes` receives the size of one buffer.
  GstBufferPool* output_pool(GstCaps* caps, size_t* bytes);

  // ---- reports

  const Latency& latency() const { return latency_; }
  // Returns statistics since READY: the numbers of frames that were submitted, pushed, skipped as
  // late (QoS), or dropped after submit() (flush, stop, error); the reported latency; and the total
  // time that the device worked on the pushed frames. The caller owns the result.
  GstStructure* stats() const;
  // Posts the exception as an element error.
  void post_error(const std::exception& error);
  // Posts why configure() failed. Upstream elements try refused caps several times, so the same
  // error is posted only once until configure() succeeds or the stream is flushed or stopped.
  void post_caps_error(const std::exception& error);
  // Reports why a property keeps its former value: by an element warning while the stream runs,
  // else by g_warning().
  void warn_of_refused_value(const char* property, const std::exception& error);

  // Whether this element accepts frames with a fence if their work runs on the backend `other`.
  bool accepts_fences_from(const std::shared_ptr<Backend>& other) const;

 private:
  std::shared_ptr<FramePipeline> pipeline() const;
  std::shared_ptr<Backend> backend() const;
  SharedPlan plan() const;
  void set_plan(SharedPlan new_plan);

  // Device.
  void use_backend(std::shared_ptr<Backend> new_backend);
  void move_to_context(const CudaContextRef& context);
  bool may_fall_back_from(const Backend& failed) const;
  void fall_back_to_cpu(const std::exception& error);

  // Start and end of a stream.
  void start(const PictureCaps& in, const PictureCaps& out);
  void start_on_backend(const PictureCaps& in, const PictureCaps& out);
  void prepare_resources(const StreamPlan& plan);
  std::shared_ptr<FramePipeline> make_pipeline(const SharedPlan& plan);
  int slot_count(const FilterSettings& settings) const;
  bool has_changed_settings() const;
  void update_timing(bool is_latency_changed);
  void end();

  // Changes while the stream runs.
  bool adapt_to_frame(GstBuffer* input);  // returns false if an error was posted
  void restore_rectangle(const std::exception& error);
  void set_pool_flushing(bool is_flushing);
  void begin_scene();
  void reset_history();

  // Frames.
  BufferPtr copy_from_short_pool(BufferPtr input, FramePipeline& current_pipeline) const;
  bool next_element_accepts_fences() const;
  void record_work(const InFlightFrame& frame);
  GstFlowReturn push(const InFlightFrame& frame, FrameBuffers& buffers);
  void count_dropped(size_t frames);

  // Messages.
  void post_regions(const FrameBuffers& buffers);
  void post_latency();
  void warn_of_missing_picture(GstBuffer* frame);
  GstClockTime frame_duration() const;  // duration according to the caps (ns); 0 if unknown
  bool is_live() const;

  GstBaseTransform* const element_;
  const FindStream find_stream_;
  StreamResources resources_;

  // Guards the members from settings_ to caps_error_, which several threads use. A thread that
  // holds it may lock the mutex of FramePipeline, but not the other way round.
  mutable std::mutex mutex_;
  FilterSettings settings_;  // as the user set them
  std::shared_ptr<Backend> backend_;
  // The plan of the newest frames, made by start() or a later change of the stream; never null.
  SharedPlan plan_ = std::make_shared<StreamPlan>();
  std::shared_ptr<FramePipeline> pipeline_;  // null if no stream is configured
  bool is_stopping_ = false;                 // true from prepare_stop() to allow_waiting()
  std::string caps_error_;                   // the text that post_caps_error() posted last

  std::atomic<unsigned> downstream_needs_{0};
  Latency latency_;
  bool has_warned_ = false;  // a warning about a result was posted for this stream
  bool has_warned_of_missing_picture_ = false;
  TimeJumps time_jumps_;
  LateFrames late_frames_;
  int frames_to_skip_ = 0;  // number of further frames to skip, because their volume is late
  // See stats(). `work_time` is in ns, the other members are numbers of frames.
  struct Counts {
    std::atomic<guint64> in{0}, out{0}, late{0}, dropped{0}, work_time{0};
  } counts_;
};

}  // namespace regions

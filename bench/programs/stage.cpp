// Builds and plays the pipelines of the benchmark, and records when frames arrive at the sinks.
#include "bench/programs/stage.hpp"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <vector>

#include "bench/programs/clock.hpp"
#include "core/error.hpp"

namespace regions {
namespace {

constexpr int kSingleFrames = 50;             // number of frames that are pushed one at a time
constexpr int kArrivalTimeoutUs = 5'000'000;  // maximum time until a frame arrives, microseconds
constexpr int kReadyMadeFrames = 16;          // number of uploaded frames; 48 MB at 1080p NV12
constexpr const char* kCudaContext = "gst.cuda.context";

struct Arrival {
  int64_t time;  // arrival at the sink, microseconds of the monotonic clock
  double cpu;    // CPU time of all threads until the arrival, microseconds
};

// Arrival times of frames at the sinks. Thread-safe.
class Arrivals {
 public:
  void add() {
    const std::lock_guard lock(mutex_);
    all_.push_back({g_get_monotonic_time(), cpu_time_us()});
    changed_.notify_all();
  }
  // Waits for frame `index` and returns its arrival time; -1 if it does not arrive within
  // kArrivalTimeoutUs.
  int64_t wait_for(size_t index) {
    std::unique_lock lock(mutex_);
    const bool arrived = changed_.wait_for(lock, std::chrono::microseconds(kArrivalTimeoutUs),
                                           [&] { return all_.size() > index; });
    return arrived ? all_[index].time : -1;
  }
  std::vector<Arrival> all() {
    const std::lock_guard lock(mutex_);
    return all_;
  }

 private:
  std::mutex mutex_;  // guards all_
  std::condition_variable changed_;
  std::vector<Arrival> all_;  // all arrivals since the pipeline started
};

// A GStreamer pipeline with one or several independent streams.
class BenchPipeline {
 public:
  BenchPipeline() : pipeline_(gst_pipeline_new(nullptr)) {}
  // Adds a stream: links `source` to the elements that `text` describes in gst-launch syntax. Takes
  // ownership of `source`, which may be null. The sink must be named "sink".
  BenchPipeline(GstElement* source, const std::string& text) : BenchPipeline() {
    add(source, text);
  }
  void add(GstElement* source, const std::string& text) {
    GError* error = nullptr;
    GstElement* elements = gst_parse_bin_from_description(text.c_str(), source != nullptr, &error);
    if (error || !elements) {
      const std::string reason = error ? error->message : "?";
      g_clear_error(&error);
      if (source) gst_object_unref(gst_object_ref_sink(source));
      throw InputError("cannot build the pipeline '" + text + "': " + reason);
    }
    gst_bin_add(GST_BIN(pipeline_), elements);
    if (source) {
      gst_bin_add(GST_BIN(pipeline_), source);
      gst_element_link(source, elements);
    }
    watch_sink(elements);
  }
  ~BenchPipeline() {
    gst_element_set_state(pipeline_, GST_STATE_NULL);
    gst_object_unref(pipeline_);
  }
  BenchPipeline(const BenchPipeline&) = delete;
  BenchPipeline& operator=(const BenchPipeline&) = delete;

  GstElement* pipeline() const { return pipeline_; }
  Arrivals& arrivals() { return arrivals_; }  // arrivals at all sinks
  void start() { gst_element_set_state(pipeline_, GST_STATE_PLAYING); }

  // Waits for EOS. Throws if the pipeline posts an error.
  void play_to_end() {
    start();
    GstBus* bus = gst_element_get_bus(pipeline_);
    GstMessage* message = gst_bus_timed_pop_filtered(
        bus, GST_CLOCK_TIME_NONE, static_cast<GstMessageType>(GST_MESSAGE_EOS | GST_MESSAGE_ERROR));
    gst_object_unref(bus);
    std::string problem;
    if (GST_MESSAGE_TYPE(message) == GST_MESSAGE_ERROR) {
      GError* error = nullptr;
      gchar* detail = nullptr;
      gst_message_parse_error(message, &error, &detail);
      problem = std::string(error->message) + " (" + (detail ? detail : "") + ")";
      g_error_free(error);
      g_free(detail);
    }
    gst_message_unref(message);
    if (!problem.empty()) throw DeviceError(problem);
  }

  // Returns the property `active-device` of the first element that has this property.
  std::string active_device() const {
    std::string device;
    for_each_plugin_element([&](GObject* element) {
      if (!device.empty()) return;
      gchar* text = nullptr;
      g_object_get(element, "active-device", &text, nullptr);
      device = text ? text : "";
      g_free(text);
    });
    return device;
  }
  // Returns the sum of the device times of all elements so far, in nanoseconds.
  double work_time() const {
    double sum = 0;
    for_each_plugin_element([&](GObject* element) {
      GstStructure* stats = nullptr;
      guint64 time = 0;
      g_object_get(element, "stats", &stats, nullptr);
      if (gst_structure_get_uint64(stats, "work-time", &time)) sum += static_cast<double>(time);
      gst_structure_free(stats);
    });
    return sum;
  }

 private:
  template <class Visit>
  void for_each_plugin_element(Visit visit) const {
    GstIterator* elements = gst_bin_iterate_recurse(GST_BIN(pipeline_));
    gst_iterator_foreach(
        elements,
        [](const GValue* item, gpointer data) {
          GObject* element = static_cast<GObject*>(g_value_get_object(item));
          if (!g_object_class_find_property(G_OBJECT_GET_CLASS(element), "active-device")) return;
          (*static_cast<Visit*>(data))(element);
        },
        &visit);
    gst_iterator_free(elements);
  }
  void watch_sink(GstElement* stream) {
    GstElement* sink = gst_bin_get_by_name(GST_BIN(stream), "sink");
    GstPad* pad = gst_element_get_static_pad(sink, "sink");
    gst_pad_add_probe(
        pad, GST_PAD_PROBE_TYPE_BUFFER,
        [](GstPad*, GstPadProbeInfo*, gpointer data) {
          static_cast<Arrivals*>(data)->add();
          return GST_PAD_PROBE_OK;
        },
        &arrivals_, nullptr);
    gst_object_unref(pad);
    gst_object_unref(sink);
  }

  Arrivals arrivals_;
  GstElement* pipeline_ = nullptr;
};

const std::string kSink = " ! fakesink name=sink sync=false",
                  kSeparateSink = kSink + " async=false";

// Frames that were uploaded to the GPU in advance, and their GstContext with the CUDA context.
class ReadyMadeFrames {
 public:
  ReadyMadeFrames(FrameSupply supply, const std::string& system_caps) {
    const Caps caps(system_caps);
    supply.origin = FrameOrigin::own_pool;
    supply.caps = caps.get();
    supply.frames = kReadyMadeFrames;
    BenchPipeline bench_pipeline(
        make_frame_source(supply),
        "cudaupload ! video/x-raw(memory:CUDAMemory) ! fakesink name=sink sync=false "
        "signal-handoffs=true");
    GstElement* sink = gst_bin_get_by_name(GST_BIN(bench_pipeline.pipeline()), "sink");
    g_signal_connect(sink, "handoff",
                     G_CALLBACK(+[](GstElement*, GstBuffer* buffer, GstPad*, gpointer data) {
                       auto* buffers = static_cast<std::vector<GstBuffer*>*>(data);
                       buffers->push_back(gst_buffer_ref(buffer));
                     }),
                     &buffers_);
    gst_object_unref(sink);
    bench_pipeline.play_to_end();
    keep_context(bench_pipeline.pipeline());
  }
  ~ReadyMadeFrames() {
    for (GstBuffer* buffer : buffers_) gst_buffer_unref(buffer);
    if (context_) gst_context_unref(context_);
  }
  ReadyMadeFrames(const ReadyMadeFrames&) = delete;
  ReadyMadeFrames& operator=(const ReadyMadeFrames&) = delete;

  const std::vector<GstBuffer*>& buffers() const { return buffers_; }
  GstContext* context() const { return context_; }

 private:
  // Stores the CUDA context of the uploading element. One of its bins or the element itself has it.
  void keep_context(GstElement* pipeline) {
    context_ = gst_element_get_context(pipeline, kCudaContext);
    GstIterator* elements = gst_bin_iterate_recurse(GST_BIN(pipeline));
    gst_iterator_foreach(
        elements,
        [](const GValue* item, gpointer data) {
          auto* element = static_cast<GstElement*>(g_value_get_object(item));
          auto** kept = static_cast<GstContext**>(data);
          if (!*kept) *kept = gst_element_get_context(element, kCudaContext);
        },
        &context_);
    gst_iterator_free(elements);
  }

  std::vector<GstBuffer*> buffers_;
  GstContext* context_ = nullptr;
};

// Computes the rate and the CPU time per frame from the arrivals. Ignores the first tenth of the
// frames, because it includes the start of the pipeline.
void measure(const std::vector<Arrival>& arrivals, Outcome& outcome) {
  outcome.frames = static_cast<int>(arrivals.size());
  const size_t first = arrivals.size() / 10;
  if (arrivals.size() < first + 2) return;
  const Arrival &begin = arrivals[first], &end = arrivals.back();
  const auto frames = static_cast<double>(arrivals.size() - 1 - first);
  outcome.cpu_us = (end.cpu - begin.cpu) / frames;
  const auto elapsed = static_cast<double>(end.time - begin.time);
  if (elapsed > 0) outcome.frames_per_second = frames * 1e6 / elapsed;
}

// Measures a pipeline that has reached EOS.
Outcome outcome_of(BenchPipeline& bench_pipeline) {
  Outcome outcome;
  measure(bench_pipeline.arrivals().all(), outcome);
  if (outcome.frames > 0) outcome.work_us = bench_pipeline.work_time() / 1e3 / outcome.frames;
  outcome.device = bench_pipeline.active_device();
  return outcome;
}

// Returns the median latency of single frames, in microseconds; -1 if a frame does not arrive. Each
// frame is pushed after the previous frame has arrived, so elements must not hold a frame until the
// next frame comes.
double single_frame_latency(FrameSupply supply, const std::string& chain, GstContext* context) {
  constexpr int kWarmUp = 5;
  supply.frames = kSingleFrames + kWarmUp;
  GstElement* source = make_frame_source(supply);
  hold_frames(source);
  BenchPipeline bench_pipeline(source, chain + kSink);
  if (context) gst_element_set_context(bench_pipeline.pipeline(), context);
  bench_pipeline.start();
  std::vector<double> samples;
  for (int i = 0; i < supply.frames; ++i) {
    const int64_t pushed_at = push_one_frame(source);
    const int64_t arrived_at = bench_pipeline.arrivals().wait_for(static_cast<size_t>(i));
    if (pushed_at < 0 || arrived_at < 0) return -1;
    if (i >= kWarmUp) samples.push_back(static_cast<double>(arrived_at - pushed_at));
  }
  return summarise(samples).median;
}

}  // namespace

Caps::Caps(const std::string& text) : caps_(gst_caps_from_string(text.c_str())) {
  expects(caps_ != nullptr, "invalid caps: " + text);
}
Caps::~Caps() { gst_caps_unref(caps_); }

Outcome play(FrameSupply supply, const std::string& chain, const std::string& system_caps,
             int streams) {
  std::unique_ptr<ReadyMadeFrames> ready;
  if (supply.origin == FrameOrigin::ready_made) {
    ready = std::make_unique<ReadyMadeFrames>(supply, system_caps);
    supply.ready = ready->buffers().data();
    supply.ready_count = static_cast<int>(ready->buffers().size());
    expects(supply.ready_count > 0, "cudaupload produced no frames");
  }
  GstContext* context = ready ? ready->context() : nullptr;
  Outcome outcome;
  {
    GstElement* source = make_frame_source(supply);
    BenchPipeline bench_pipeline(source, chain + kSink);
    for (int i = 1; i < streams; ++i) bench_pipeline.add(make_frame_source(supply), chain + kSink);
    if (context) gst_element_set_context(bench_pipeline.pipeline(), context);
    bench_pipeline.play_to_end();
    outcome = outcome_of(bench_pipeline);
    outcome.offered_pool = was_offered_pool(source);
    const int sent = streams * supply.frames;
    if (outcome.frames != sent) {
      throw DeviceError(std::to_string(outcome.frames) + " of " + std::to_string(sent) +
                        " frames arrived");
    }
  }
  if (streams > 1) return outcome;
  outcome.latency_us = single_frame_latency(supply, chain, context);
  return outcome;
}

Outcome play_descriptions(const std::vector<std::string>& descriptions, int streams,
                          bool start_sinks_separately) {
  BenchPipeline bench_pipeline;
  const std::string& sink = start_sinks_separately ? kSeparateSink : kSink;
  for (int i = 0; i < streams; ++i)
    bench_pipeline.add(nullptr, descriptions[size_t(i) % descriptions.size()] + sink);
  bench_pipeline.play_to_end();
  return outcome_of(bench_pipeline);
}

}  // namespace regions

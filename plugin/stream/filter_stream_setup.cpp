// Implements FilterStream, part 2: the choice of the device, the start and end of a stream, and
// restarts when the device, the work area or the output changes.
#include <algorithm>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

#include "core/faults.hpp"
#include "plugin/memory/block_memory.hpp"
#include "plugin/memory/gst_object.hpp"
#include "plugin/stream/filter_stream.hpp"
#if REGIONS_CUDA
#include "gpu/runtime/cuda_backend.hpp"
#endif

namespace regions {
namespace {

// ---- choice of the backend

// Returns the backend with this key, which is a CUDA context or a number of CPU threads. All
// elements of the process share the backend. It exists as long as an element uses it.
template <class Key, class Make>
std::shared_ptr<Backend> shared_backend(Key key, Make make) {
  static std::mutex mutex;  // guards `backends`
  static std::map<Key, std::weak_ptr<Backend>> backends;
  const std::lock_guard lock(mutex);
  std::shared_ptr<Backend> backend = backends[key].lock();
  if (!backend) backends[key] = backend = make();
  return backend;
}

std::shared_ptr<Backend> cuda_backend([[maybe_unused]] int device, [[maybe_unused]] void* context) {
#if REGIONS_CUDA
  return shared_backend(context, [&] { return make_cuda_backend(device, context); });
#else
  return nullptr;  // never reached, because CudaContext::acquire() throws in builds without CUDA
#endif
}

std::shared_ptr<Backend> cpu_backend(int threads) {
  return shared_backend(threads, [&] { return make_cpu_backend(threads); });
}

// Returns the CPU backend. Called for device=auto after a CUDA device has failed with `error`.
// Posts an element warning with the error's text, unless the machine has no CUDA device.
std::shared_ptr<Backend> fall_back(GstElement* element, const FilterSettings& settings,
                                   CudaContext& context, const std::exception& error) {
  context.release();
  if (dynamic_cast<const NoDeviceError*>(&error)) {
    GST_INFO_OBJECT(element, "running on the CPU: %s", error.what());
  } else {
    const bool lacks_memory = dynamic_cast<const MemoryError*>(&error) != nullptr;
    const int code = lacks_memory ? GST_RESOURCE_ERROR_NO_SPACE_LEFT : GST_RESOURCE_ERROR_FAILED;
    gst_element_message_full(
        element, GST_MESSAGE_WARNING, GST_RESOURCE_ERROR, code,
        g_strdup_printf("device=auto runs on the CPU: %s", error.what()),
        g_strdup("The element tries the GPU again when it next leaves the state NULL. device=cpu "
                 "avoids this warning, device=cuda makes it an error."),
        __FILE__, GST_FUNCTION, __LINE__);
  }
  return cpu_backend(settings.cpu_threads);
}

// Returns the backend that the settings select. With device=cuda, throws DeviceError or MemoryError
// if no device works. With device=auto, falls back to the CPU.
std::shared_ptr<Backend> choose_backend(GstElement* element, const FilterSettings& settings,
                                        CudaContext& context) {
  if (settings.device == Device::cpu) return cpu_backend(settings.cpu_threads);
  try {
    void* handle = context.acquire(element, settings.cuda_device_id);
    return cuda_backend(context.device(), handle);
  } catch (const std::exception& error) {
    if (settings.device != Device::cuda) return fall_back(element, settings, context, error);
    context.release();
    if (dynamic_cast<const MemoryError*>(&error)) throw;
    throw DeviceError(error.what());
  }
}

std::shared_ptr<Backend> backend_on(const CudaContextRef& context) {
  return cuda_backend(device_of(context.get()), handle_of(context.get()));
}

// ---- caps

// Throws InputError if the caps do not fit the output. The parameters may have changed since the
// caps were negotiated.
void expect_fitting_caps(const GstCaps* in, const GstCaps* out, Output output, int layers) {
  GstCaps* possible = transform_caps(GST_PAD_SINK, in, output, true, layers);
  const bool fits = gst_caps_can_intersect(possible, out);
  gst_caps_unref(possible);
  expects(fits, "`output` changed during caps negotiation; the negotiated caps do not fit it");
}

using CapsOwner = std::unique_ptr<GstCaps, decltype(&gst_caps_unref)>;

// Returns the caps that GstBaseTransform will choose. Throws InputError if downstream accepts none
// of the possible caps.
CapsOwner caps_that_downstream_accepts(GstPad* source, GstCaps* possible) {
  GstCaps* accepted = gst_pad_peer_query_caps(source, possible);
  if (accepted) accepted = gst_caps_fixate(gst_caps_truncate(accepted));
  CapsOwner caps(accepted ? accepted : gst_caps_new_empty(), gst_caps_unref);
  expects(gst_caps_is_fixed(caps.get()) && gst_pad_peer_query_accept_caps(source, caps.get()),
          "downstream does not accept the new pictures");
  return caps;
}

// Pinned memory that is reserved for the records of the regions of one frame (bytes).
constexpr size_t kRecordBytesPerFrame = size_t{1} << 20;

}  // namespace

// ---- device

void FilterStream::open() {
  inject_faults_from_environment();
  auto chosen = choose_backend(GST_ELEMENT(element_), settings(), resources_.cuda);
  try {
    use_backend(chosen);
  } catch (const MemoryError& error) {
    {
      const Backend::Entry entry(*chosen);
      resources_.queues.prepare(nullptr, 0, 0);
      resources_.algorithm->create_algorithm(nullptr).reset();
    }
    if (!may_fall_back_from(*chosen)) throw;
    fall_back_to_cpu(error);
  }
}

bool FilterStream::may_fall_back_from(const Backend& failed) const {
  return failed.kind() == BackendKind::cuda && settings().device == Device::any;
}

void FilterStream::fall_back_to_cpu(const std::exception& error) {
  use_backend(fall_back(GST_ELEMENT(element_), settings(), resources_.cuda, error));
}

// Moves the algorithm and the prepared queues to this backend. A null backend releases them.
void FilterStream::use_backend(std::shared_ptr<Backend> new_backend) {
  const auto old = backend();
  ElementAlgorithm& algorithm = *resources_.algorithm;
  std::shared_ptr<void> old_algorithm;
  resources_.queues.prepare(nullptr, 0, 0);
  resources_.reserved_pinned.reset();
  if (new_backend) {
    const Backend::Entry entry(*new_backend);
    old_algorithm = algorithm.create_algorithm(new_backend);
    const FilterSettings current_settings = settings();
    const int frames = std::max(current_settings.frames_in_flight, 1);
    resources_.queues.prepare(new_backend, frames, current_settings.priority);
    if (algorithm.makes_regions() || algorithm.reads_mask()) {
      resources_.reserved_pinned =
          new_backend->reserve_pinned(static_cast<size_t>(frames) * kRecordBytesPerFrame);
    }
  } else {
    old_algorithm = algorithm.create_algorithm(nullptr);
  }
  if (old) {
    const Backend::Entry entry(*old);
    old_algorithm.reset();
  }
  {
    const std::lock_guard lock(mutex_);
    backend_ = std::move(new_backend);
  }
  GST_INFO_OBJECT(element_, "runs on %s", active_device().c_str());
  g_object_notify(G_OBJECT(element_), "active-device");
}

// Moves to the device of this context. The stream must have ended, so that no frame is in flight.
void FilterStream::move_to_context(const CudaContextRef& context) {
  GST_DEBUG_OBJECT(element_, "moves to the device of the frames");
  use_backend(backend_on(context));
  resources_.cuda.move_to(context);
}

void FilterStream::close() {
  stop();
  set_plan(std::make_shared<StreamPlan>());
  use_backend(nullptr);
  resources_.cuda.release();
}

// ---- start and end

void FilterStream::stop() {
  end();
  reset_history();
}

// Ends the stream that start() began.
void FilterStream::end() {
  std::shared_ptr<FramePipeline> old;
  {
    const std::lock_guard lock(mutex_);
    old = std::exchange(pipeline_, nullptr);
  }
  if (old) {
    // flush() is called here because the destructor, which also flushes, may run later: another
    // thread may still hold the pipeline.
    old->flush();
    old.reset();
    const auto current_backend = backend();
    const Backend::Entry entry(*current_backend);
    try {
      resources_.algorithm->end_stream();
    } catch (const std::exception& error) {
      GST_ELEMENT_WARNING(element_, RESOURCE, WRITE, ("%s", error.what()), (nullptr));
    }
  }
  resources_.label_map_pool.reset();
}

int FilterStream::slot_count(const FilterSettings& settings) const {
  if (settings.frames_in_flight > 0) return settings.frames_in_flight;
  if (is_live() || (backend()->kind() == BackendKind::cpu && settings.works_in_streaming_thread()))
    return 1;
  return resources_.algorithm->slices() > 1 ? 2 : 4;  // fewer for volumes, which need much memory
}

bool FilterStream::is_live() const {
  gboolean live = FALSE;
  GstQuery* query = gst_query_new_latency();
  if (gst_pad_peer_query(GST_BASE_TRANSFORM_SINK_PAD(element_), query)) {
    gst_query_parse_latency(query, &live, nullptr, nullptr);
  }
  gst_query_unref(query);
  return live;
}

// Updates the times that follow from the plan: the reported latency, and the frame duration of the
// algorithm. Posts a latency message if the latency changes or `is_latency_changed` is set.
void FilterStream::update_timing(bool is_latency_changed) {
  const SharedPlan current_plan = plan();
  is_latency_changed |=
      latency_.configure(frame_duration(), current_plan->slices(), current_plan->setup.slots);
  if (is_latency_changed) post_latency();
  resources_.algorithm->set_frame_duration(
      is_live() ? static_cast<int64_t>(frame_duration() / GST_USECOND) : -1);
}

// ---- caps

void FilterStream::configure(const GstCaps* in, const GstCaps* out) {
  GST_DEBUG_OBJECT(element_, "caps in %" GST_PTR_FORMAT ", caps out %" GST_PTR_FORMAT,
                   static_cast<gconstpointer>(in), static_cast<gconstpointer>(out));
  const PictureCaps pictures_in = parse_caps(in), pictures_out = parse_caps(out);
  const bool follows_input = pictures_in.cuda && settings().cuda_device_id < 0;
  const CudaContextRef other_context =
      follows_input ? resources_.cuda.context_on_other_device(GST_BASE_TRANSFORM_SINK_PAD(element_))
                    : nullptr;
  ElementAlgorithm& algorithm = *resources_.algorithm;
  const SharedPlan old_plan = plan();
  if (is_configured() && !other_context && old_plan->backend == backend() &&
      have_same_pictures(pictures_in, old_plan->in) &&
      have_same_pictures(pictures_out, old_plan->out) && !has_changed_settings() &&
      !algorithm.has_pending_changes()) {
    GST_DEBUG_OBJECT(element_, "same pictures, settings and device: all goes on with these caps");
    set_plan(with_caps(*old_plan, pictures_in, pictures_out));
    update_timing(false);
  } else {
    end();
    algorithm.commit();
    expect_fitting_caps(in, out, algorithm.output_in_use(), algorithm.layers_in_use());
    if (other_context) move_to_context(other_context);
    start(pictures_in, pictures_out);
  }
  const std::lock_guard lock(mutex_);
  caps_error_.clear();
}

// Whether any setting differs from its value in the current plan. Settings whose changes take
// effect at once (Field::live()) do not count.
bool FilterStream::has_changed_settings() const {
  const FilterSettings current_settings = settings();
  const SharedPlan current_plan = plan();
  return std::ranges::any_of(fields_of(current_settings), [&](const Field& field) {
    return !field.live() && field.get(&current_settings) != field.get(&current_plan->settings);
  });
}

// Starts a stream. With device=auto, it falls back to the CPU if the GPU has too little memory and
// the frames are not in GPU memory.
void FilterStream::start(const PictureCaps& in, const PictureCaps& out) {
  const auto first_backend = backend();
  try {
    return start_on_backend(in, out);
  } catch (const MemoryError& error) {
    resources_.label_map_pool.reset();
    if (!may_fall_back_from(*first_backend)) throw;
    if (in.cuda) {
      throw MemoryError(std::string(error.what()) +
                        "; the CPU cannot read frames in CUDA memory: free GPU memory, or put "
                        "cudadownload upstream of this element");
    }
    fall_back_to_cpu(error);
  }
  start_on_backend(in, out);
}

void FilterStream::start_on_backend(const PictureCaps& in, const PictureCaps& out) {
  ElementAlgorithm& algorithm = *resources_.algorithm;
  const FilterSettings current_settings = settings();
  const SharedPlan new_plan = make_stream_plan(algorithm, backend(), current_settings, in, out,
                                               slot_count(current_settings));
  {
    const Backend::Entry entry(*new_plan->backend);
    algorithm.set_work_area(new_plan->work_area);
    algorithm.configure(new_plan->setup);
  }
  prepare_resources(*new_plan);
  GST_DEBUG_OBJECT(element_, "starts with %d frames in flight, %d at once, pictures of %dx%d",
                   new_plan->setup.slots, new_plan->slices(), new_plan->setup.size.width,
                   new_plan->setup.size.height);
  set_plan(new_plan);
  gst_base_transform_set_passthrough(element_, new_plan->output == Output::untouched);
  gst_base_transform_set_in_place(element_, !new_plan->replaces_picture());
  has_warned_ = has_warned_of_missing_picture_ = false;
  update_timing(latency_.reset());
  auto new_pipeline = make_pipeline(new_plan);
  const std::lock_guard lock(mutex_);
  pipeline_ = std::move(new_pipeline);
  if (is_stopping_) pipeline_->interrupt();
}

// Makes the resources of one stream. They include a pool of label map buffers if label maps or
// masks are attached to frames.
void FilterStream::prepare_resources(const StreamPlan& plan) {
  // More than two threads gain little (H200 host, 1080p).
  const unsigned cores = std::thread::hardware_concurrency();
  resources_.workers =
      Workers(plan.settings.cpu_threads == 1 ? 1 : static_cast<int>(std::clamp(cores, 1U, 2U)));
  resources_.structure_pool = std::make_shared<StructurePool>();
  if (!plan.attaches_label_map()) return;
  const auto maps = static_cast<unsigned>(plan.setup.slots * plan.slices());
  GST_DEBUG_OBJECT(element_, "pool for label maps: %u of %zu bytes", maps, plan.label_map_bytes());
  resources_.label_map_pool =
      activate(plan.keeps_small_label_maps()
                   ? make_small_map_pool(plan.backend, layout_of(plan.label_map_format()),
                                         plan.work_area, maps)
                   : make_device_pool(plan.backend, plan.label_map_bytes(), maps),
               "label maps");
}

std::shared_ptr<FramePipeline> FilterStream::make_pipeline(const SharedPlan& plan) {
  std::vector<std::unique_ptr<InFlightFrame>> frames;
  const Backend::Entry entry(*plan->backend);
  for (int i = 0; i < plan->setup.slots; ++i)
    frames.push_back(std::make_unique<InFlightFrame>(resources_, plan, i));
  return std::make_shared<FramePipeline>(
      GST_BASE_TRANSFORM_SRC_PAD(element_), std::move(frames),
      FramePipeline::Callbacks{[this] { return next_element_accepts_fences(); },
                               [this](const InFlightFrame& frame) { record_work(frame); },
                               [this](const InFlightFrame& frame, FrameBuffers& buffers) {
                                 return push(frame, buffers);
                               },
                               [this](const std::exception& error) { post_error(error); },
                               [this](size_t dropped) { count_dropped(dropped); }});
}

// ---- changes while the stream runs

// Applies a new rectangle, and moves to the device of the frame. If the rectangle has moved without
// a change of its sizes, a new scene begins. A rectangle of another size or a frame on another
// device starts a new stream with the same caps, which reallocates the memory.
bool FilterStream::adapt_to_frame(GstBuffer* input) {
  const FilterSettings requested = settings();
  const SharedPlan old_plan = plan();
  const bool follows_input = old_plan->in.cuda && requested.cuda_device_id < 0;
  const CudaContextRef other_context =
      follows_input ? resources_.cuda.context_on_other_device(input) : nullptr;
  SharedPlan new_plan = old_plan;
  if (requested.rectangle() != old_plan->settings.rectangle()) {
    try {
      new_plan = with_rectangle(*old_plan, requested.rectangle());
    } catch (const std::exception& error) {
      restore_rectangle(error);
    }
  }
  if (!other_context && new_plan == old_plan) return true;
  const GstFlowReturn flow = drain();
  if (flow != GST_FLOW_OK) return true;  // the following submit() returns this flow
  try {
    if (!other_context && new_plan->work_area.area == old_plan->work_area.area &&
        new_plan->work_area.work == old_plan->work_area.work) {
      GST_DEBUG_OBJECT(element_, "a new scene begins: the rectangle moved");
      const Backend::Entry entry(*new_plan->backend);
      resources_.algorithm->move_work_area(new_plan->work_area);
      set_plan(new_plan);
    } else {
      GST_DEBUG_OBJECT(
          element_, "restarts: %s",
          other_context ? "frames are on another device" : "another size of the rectangle");
      end();
      if (other_context) move_to_context(other_context);
      start(old_plan->in, old_plan->out);
    }
    return true;
  } catch (const std::exception& error) {
    post_error(error);
    return false;
  }
}

// Resets the properties of the rectangle to the values in use, and posts the error as a warning.
void FilterStream::restore_rectangle(const std::exception& error) {
  {
    const std::lock_guard lock(mutex_);
    settings_.rectangle() = plan_->settings.rectangle();
  }
  for (const Field& field : work_area_fields<WorkAreaParams>()) {
    g_object_notify(G_OBJECT(element_), field.name);
  }
  warn_of_refused_value("the rectangle", error);
}

bool FilterStream::apply_pending_output() {
  ElementAlgorithm& algorithm = *resources_.algorithm;
  if (!is_configured() || !algorithm.needs_renegotiation() || drain() != GST_FLOW_OK) return true;
  const SharedPlan old_plan = plan();
  std::vector<std::byte> model;
  const auto restore_model = [&] {
    const SharedPlan new_plan = plan();
    if (new_plan->settings.rectangle() != old_plan->settings.rectangle())
      return;  // the model belongs to another scene
    const Backend::Entry entry(*new_plan->backend);
    algorithm.restore_model(model);
  };
  const CapsOwner in(gst_pad_get_current_caps(GST_BASE_TRANSFORM_SINK_PAD(element_)),
                     gst_caps_unref);
  algorithm.commit();
  try {
    const CapsOwner possible(transform_caps(GST_PAD_SINK, in.get(), algorithm.output_in_use(),
                                            accepts_cuda_memory(), algorithm.layers_in_use()),
                             gst_caps_unref);
    const CapsOwner out =
        caps_that_downstream_accepts(GST_BASE_TRANSFORM_SRC_PAD(element_), possible.get());
    const PictureCaps pictures = parse_caps(out.get());
    GST_DEBUG_OBJECT(element_, "goes on with caps out %" GST_PTR_FORMAT,
                     static_cast<gconstpointer>(out.get()));
    {
      const Backend::Entry entry(*old_plan->backend);
      model = algorithm.save_model();
    }
    end();
    start(old_plan->in, pictures);
    restore_model();
    gst_base_transform_reconfigure_src(element_);
  } catch (const std::exception& error) {
    algorithm.rollback();
    try {
      if (!is_configured()) {
        start(old_plan->in, old_plan->out);
        restore_model();
      }
    } catch (const std::exception& restart_error) {
      post_error(restart_error);
      return false;
    }
    for (const Field& field : algorithm.fields()) {
      if (field.change == Change::renegotiated) g_object_notify(G_OBJECT(element_), field.name);
    }
    warn_of_refused_value("the output", error);
  }
  return true;
}

}  // namespace regions

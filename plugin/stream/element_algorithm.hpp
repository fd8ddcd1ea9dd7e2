// ElementAlgorithm: the algorithm of one element together with its parameters. Its interface does
// not depend on the type of the parameters, so RegionFilter can run any ElementAlgorithm. Each file
// in plugin/elements derives one class.
#pragma once

#include <algorithm>
#include <atomic>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "core/algorithm.hpp"
#include "core/field.hpp"
#include "core/frame.hpp"
#include "core/work_area.hpp"
#include "plugin/metadata/region_meta.hpp"
#include "plugin/stream/stream_times.hpp"

namespace regions {

// The parameters exist in two versions. The user can set the pending parameters at any time. The
// running stream uses the active parameters. commit() copies the pending parameters to the active
// ones.
class ElementAlgorithm {
 public:
  virtual ~ElementAlgorithm() = default;

  // The name of the element, such as "cclabel".
  virtual const char* name() const = 0;
  // The fields of the parameters. get() returns the pending value of a field.
  virtual std::span<const Field> fields() const = 0;
  virtual Value get(const Field& field) = 0;
  // Sets a pending value. A live field takes effect at once, any other field at the next commit()
  // and configure().
  virtual void set(const Field& field, const Value& value) = 0;
  // Sets a parameter while a stream runs. If the stream cannot run with the value, throws and
  // changes nothing. A renegotiated field takes effect at the next commit().
  virtual void set_while_running(const Field& field, const Value& value) = 0;
  // Returns the values that `field`, if it is a preset, gives to other properties of the element.
  virtual std::span<const PresetValue> preset_values(const Field& /*field*/) { return {}; }
  // Throws SettingsError, MissingFile or UnreadableFile if no stream can run with the pending
  // parameters.
  virtual void check_parameters() = 0;

  // The effect of the pending parameters on the output picture, and the number of layers (pictures
  // one below another) of an output frame. Any thread may call these two functions.
  virtual Output pending_output() = 0;
  virtual int pending_layers() = 0;

  // Makes the pending parameters active. The members below use the active parameters.
  virtual void commit() = 0;
  // Undoes the last commit(): renegotiated fields have their former values again.
  virtual void rollback() = 0;
  // Whether commit() would change a field, and whether it would change a renegotiated field.
  virtual bool has_pending_changes() = 0;
  virtual bool needs_renegotiation() = 0;

  virtual Output output_in_use() = 0;
  virtual int layers_in_use() = 0;
  virtual bool makes_regions() const = 0;             // fills FrameTask.table and FrameTask.labels
  virtual bool makes_mask() const { return false; }   // fills FrameTask.foreground
  virtual bool reads_mask() = 0;                      // reads FrameTask.mask and FrameTask.attached
  virtual bool needs_mask() = 0;                      // cannot work without FrameTask.mask
  virtual bool reads_small_masks() { return false; }  // accepts FrameTask::mask_is_small
  // Whether the last frame came without a mask. Parameters that need a mask are then refused.
  void set_mask_missing(bool is_missing) { is_mask_missing_ = is_missing; }
  virtual bool tracks() { return false; }  // Region.track identifies a region across frames
  virtual uint32_t max_regions() = 0;
  virtual RegionDetails details() { return {}; }
  // Whether the drawing is translucent everywhere, so that details of the picture show through.
  virtual bool draws_tints() { return false; }
  virtual int slices() = 0;  // number of frames per volume; 1 for a sliding window
  // Whether each frame is processed together with earlier frames. Late frames are then not skipped.
  virtual bool has_sliding_window() = 0;

  // Handles a click of the user at a pixel of the output, with the button 1 (left), 2 (middle) or 3
  // (right). Returns the name of the parameter that changed, or null.
  virtual const char* handle_click(int /*button*/, double /*x*/, double /*y*/) { return nullptr; }

  // The members below require a live Backend::Entry of the algorithm's backend.

  // Creates the algorithm for this backend. A null backend only removes the former algorithm.
  // Returns the former algorithm; the caller must hold an Entry of its backend when it destroys it.
  virtual std::shared_ptr<void> create_algorithm(const std::shared_ptr<Backend>& backend) = 0;
  // Sets the work area. Called before configure(), whose setup has the size `area.work`.
  virtual void set_work_area(const WorkArea& /*area*/) {}
  virtual void configure(const Setup& setup) = 0;
  // Sets another work area with the same sizes. No frame may be in flight.
  virtual void move_work_area(const WorkArea& area) {
    set_work_area(area);
    begin_scene();
  }
  virtual void enqueue(const FrameTask& task, Queue& queue) = 0;
  virtual void reset() = 0;
  virtual void begin_scene() = 0;
  TrackTimes& track_times() { return track_times_; }
  // While flushing, configure() does not wait for a picture file, and a call that waits gives up.
  // Any thread may pass true. Pass false only while no configure() is running.
  virtual void set_flushing(bool /*flushing*/) {}
  // Saves and restores the background model, so that it survives a configure() for pictures of the
  // same size. No frame may be in flight.
  virtual std::vector<std::byte> save_model() { return {}; }
  virtual void restore_model(std::span<const std::byte> /*model*/) {}
  // Sets the duration of a frame of a live source, according to the caps (µs). 0: unknown.
  // Negative: the source is not live.
  virtual void set_frame_duration(int64_t /*microseconds*/) {}
  // Called at the end of the stream that configure() began, when no frame is in flight.
  virtual void end_stream() {}

  // check_result() and facts() refer to the frame that has just finished in the slot.
  // check_result() compares the number of regions with the capacity of the output's layout. Throws
  // InputError if the parameters forbid such a frame.
  virtual LabelCapacity check_result(int /*slot*/, uint32_t total, const Layout& /*out*/) {
    return {total, {}};
  }
  // Additional fields for the `regions` metadata of the frame.
  virtual std::vector<Fact> facts(int /*slot*/) { return {}; }

 protected:
  bool is_mask_missing() const { return is_mask_missing_; }

 private:
  TrackTimes track_times_;
  std::atomic<bool> is_mask_missing_{false};
};

// Implements the parameters of an ElementAlgorithm for the parameter struct P of an algorithm.
template <class P>
class ElementAlgorithmOf : public ElementAlgorithm {
 public:
  std::span<const Field> fields() const override { return fields_of(P{}); }
  Value get(const Field& field) override {
    const std::lock_guard lock(mutex_);
    return field.get(&pending_);
  }
  void set(const Field& field, const Value& value) override {
    const std::lock_guard lock(mutex_);
    assign(field, &pending_, value);
    if (field.live() || !algorithm_) field.set(&active_, value);
  }
  void set_while_running(const Field& field, const Value& value) override {
    const std::lock_guard lock(mutex_);
    P changed_params = field.live() && setup_ ? active_ : pending_;
    assign(field, &changed_params, value);
    if (field.change != Change::stopped) {
      expects_runnable(changed_params, field.live() && setup_ ? &*setup_ : nullptr);
      expects_setting(
          !is_mask_missing() || needs_mask_with(active_) || !needs_mask_with(changed_params),
          "source=mask requires a mask, but no upstream element attaches one");
    }
    field.set(&pending_, value);
    if (field.live()) active_ = changed_params;
  }
  void check_parameters() override {
    const std::lock_guard lock(mutex_);
    expects_runnable(pending_, nullptr);
  }
  std::shared_ptr<void> create_algorithm(const std::shared_ptr<Backend>& backend) override {
    std::unique_ptr<Algorithm<P>> created;
    if (backend && backend->kind() == BackendKind::cpu) {
      created = make_algorithm<P, BackendKind::cpu>(backend);
    }
#if REGIONS_CUDA
    if (backend && backend->kind() == BackendKind::cuda) {
      created = make_algorithm<P, BackendKind::cuda>(backend);
    }
#endif
    const std::lock_guard lock(mutex_);
    if (backend) backend_ = backend->kind();
    setup_.reset();
    return std::exchange(algorithm_, std::move(created));
  }
  Output pending_output() override {
    const std::lock_guard lock(mutex_);
    return output_of(pending_);
  }
  int pending_layers() override {
    const std::lock_guard lock(mutex_);
    return planned_setup(pending_).layers;
  }
  void commit() override {
    const std::lock_guard lock(mutex_);
    previous_ = std::exchange(active_, pending_);
  }
  void rollback() override {
    const std::lock_guard lock(mutex_);
    active_ = previous_;
    for (const Field& field : fields()) {
      if (field.change == Change::renegotiated) field.set(&pending_, field.get(&previous_));
    }
  }
  bool has_pending_changes() override {
    const std::lock_guard lock(mutex_);
    return std::ranges::any_of(
        fields(), [&](const Field& field) { return field.get(&pending_) != field.get(&active_); });
  }
  bool needs_renegotiation() override {
    const std::lock_guard lock(mutex_);
    return std::ranges::any_of(fields(), [&](const Field& field) {
      return field.change == Change::renegotiated && field.get(&pending_) != field.get(&active_);
    });
  }
  Output output_in_use() override { return output_of(params_in_use()); }
  int layers_in_use() override { return planned_setup(params_in_use()).layers; }
  bool needs_mask() override { return needs_mask_with(params_in_use()); }
  uint32_t max_regions() override { return planned_setup(params_in_use()).max_regions; }
  int slices() override {
    const Setup setup = planned_setup(params_in_use());
    return setup.slides ? 1 : setup.depth;
  }
  bool has_sliding_window() override { return planned_setup(params_in_use()).slides; }
  void configure(const Setup& frame_setup) override {
    const P params = params_in_use();
    const Setup setup = planned_setup(params, frame_setup);
    expects_runnable(params, &setup);
    algorithm_->prepare(params);
    algorithm_->configure(setup);
    params_of_slot_.resize(static_cast<size_t>(setup.slots));
    track_times().clear();
    const std::lock_guard lock(mutex_);
    setup_ = setup;
  }
  void enqueue(const FrameTask& task, Queue& queue) override {
    P& params = params_of_slot_.at(static_cast<size_t>(task.slot));
    params = params_in_use();
    prepare_frame_params(params);
    algorithm_->enqueue(task, params, queue);
  }
  void reset() override {
    if (algorithm_) algorithm_->reset();
    track_times().clear();
  }
  void begin_scene() override {
    if (algorithm_) algorithm_->begin_scene();
    track_times().clear();
  }

 protected:
  // Completes a setup with the values that the parameters determine.
  static Setup planned_setup(const P& params, Setup setup = {}) {
    plan(params, setup);
    return setup;
  }
  virtual bool needs_mask_with(const P& /*params*/) const { return false; }
  // Throws if parameters contradict each other or name files that cannot be read. If
  // `running_setup` is not null, throws if the parameters do not suit this setup of the running
  // stream.
  virtual void expects_runnable(const P& /*params*/, const Setup* /*running_setup*/) const {}
  BackendKind backend() const { return backend_; }
  // Adjusts a frame's copy of the parameters.
  virtual void prepare_frame_params(P& /*params*/) const {}
  // The parameters with which the slot's frame was enqueued. The active parameters may have changed
  // since.
  const P& params_of(int slot) const { return params_of_slot_.at(static_cast<size_t>(slot)); }
  P params_in_use() {
    const std::lock_guard lock(mutex_);
    return active_;
  }
  Algorithm<P>* algorithm() { return algorithm_.get(); }

 private:
  std::mutex mutex_;  // guards pending_, active_, previous_, setup_, and whether algorithm_ is null
  P pending_;         // set by the user
  P active_;          // used by the running stream
  P previous_;        // active before the last commit()
  std::optional<Setup> setup_;  // setup of the running stream; empty before configure()
  BackendKind backend_ = BackendKind::cpu;
  std::unique_ptr<Algorithm<P>> algorithm_;
  std::vector<P> params_of_slot_;  // [slot] parameters of the slot's frame
};

// The description of an element, with which the plugin registers it.
struct ElementSpec {
  const char* name;         // "cclabel"
  const char* long_name;    // "Connected-component labeller"
  const char* klass;        // "Filter/Analyzer/Video"
  const char* description;  // one sentence
  std::unique_ptr<ElementAlgorithm> (*make_element_algorithm)();
};

}  // namespace regions

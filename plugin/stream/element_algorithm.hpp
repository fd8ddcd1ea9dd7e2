// ElementAlgorithm: the algorithm of one element together with its parameters. Its interface does
// not depend on the type of the parameters, so RegionFilter can run any ElementAlgorithm. Each file
// in plugin/elements derives one class.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "core/session.hpp"
#include "core/work_area.hpp"
#include "plugin/metadata/region_meta.hpp"
#include "plugin/metadata/standard_metas.hpp"
#include "plugin/stream/element_settings.hpp"
#include "plugin/stream/stream_times.hpp"

namespace regions {

// The properties of an element that follow from its parameters.
struct ElementTraits {
  Output output = Output::untouched;
  Setup setup;                     // contains only the values that the parameters determine
  bool makes_regions = false;      // fills FrameTask.table and FrameTask.labels
  bool makes_mask = false;         // fills FrameTask.foreground
  bool reads_mask = false;         // reads FrameTask.mask and FrameTask.attached
  bool needs_mask = false;         // cannot work without FrameTask.mask
  bool reads_small_masks = false;  // accepts FrameTask::mask_is_small
  bool tracks = false;             // Region.track identifies a region across frames
  bool skips_empty = false;        // records with the area 0 are not attached
  bool draws_tints = false;  // draws translucently everywhere, so that the picture shows through
  RegionDetails details;
};

// Information about a frame that is known before its work starts.
struct FrameNotes {
  std::string warning;      // for the user, or empty
  std::vector<Fact> facts;  // additional fields for the `regions` metadata of the frame
};

class ElementAlgorithm {
 public:
  virtual ~ElementAlgorithm() = default;

  // The name of the element, such as "cclabel".
  virtual const char* name() const = 0;

  // The pending and the active parameters, see Session.
  virtual std::span<const Field> fields() const = 0;
  virtual Value get(const Field& field) = 0;
  virtual void set(const Field& field, const Value& value) = 0;
  virtual void commit() = 0;
  virtual void rollback() = 0;
  bool has_pending_changes() { return has_changes(false); }
  bool needs_renegotiation() { return has_changes(true); }
  // Sets a parameter while a stream runs. If the stream cannot run with the value, throws and
  // changes nothing. A renegotiated field takes effect at the next commit().
  virtual void set_while_running(const Field& field, const Value& value) = 0;
  // If `field` is a preset, returns the values that it gives to other properties of the element.
  virtual std::span<const PresetValue> preset_values(const Field& /*field*/) { return {}; }
  // Throws SettingsError, MissingFile or UnreadableFile if no stream can run with the pending
  // parameters.
  virtual void check_parameters() = 0;

  // The effect of the pending and of the active parameters. Any thread may call these functions.
  Output pending_output() { return read_traits(true).output; }
  int pending_layers() { return read_traits(true).setup.layers; }
  ElementTraits traits() { return read_traits(false); }
  Output output_in_use() { return traits().output; }
  // Number of layers, which are stored one below another in each output picture.
  int layers_in_use() { return traits().setup.layers; }
  bool makes_regions() { return traits().makes_regions; }
  bool makes_mask() { return traits().makes_mask; }
  bool reads_mask() { return traits().reads_mask; }
  bool needs_mask() { return traits().needs_mask; }
  bool reads_small_masks() { return traits().reads_small_masks; }
  bool tracks() { return traits().tracks; }
  bool skips_empty() { return traits().skips_empty; }
  bool has_track_states() { return traits().setup.tracks; }
  bool draws_tints() { return traits().draws_tints; }
  uint32_t max_regions() { return traits().setup.max_regions; }
  RegionDetails details() { return traits().details; }
  // Whether each frame is processed together with earlier frames. Late frames are then not skipped.
  bool has_sliding_window() { return traits().setup.slides; }
  // Number of frames per volume; 1 for a sliding window.
  int slices() {
    const Setup setup = traits().setup;
    return setup.slides ? 1 : setup.depth;
  }
  // Sets whether the last frame came without a mask. Parameters that need a mask are then refused.
  void set_mask_missing(bool is_missing) { is_mask_missing_ = is_missing; }

  // Handles a click of the user at a pixel of the output, with the button 1 (left), 2 (middle) or 3
  // (right). Returns the name of the parameter that changed, or null.
  virtual const char* handle_click(int /*button*/, double /*x*/, double /*y*/) { return nullptr; }

  // The caller of a member below must hold a Backend::Entry of the algorithm's backend.

  // See Session::move_to().
  virtual std::shared_ptr<void> create_algorithm(const std::shared_ptr<Backend>& backend) = 0;
  // Sets the work area. Called before configure(), whose setup has the size `area.work`.
  void set_work_area(const WorkArea& area) { work_area_ = area; }
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
  // While flushing, configure() does not wait for a picture file. A configure() call that is
  // already waiting for one gives up. Any thread may pass true. Pass false only while no
  // configure() is running.
  virtual void set_flushing(bool /*flushing*/) {}
  // Completes the regions and the mask of this plugin's metadata by the metadata of other elements,
  // and removes parts that the algorithm does not read. `picture` is the size that the coordinates
  // refer to.
  virtual FrameNotes read_foreign(GstBuffer* /*frame*/, Size /*picture*/,
                                  AttachedRegions& /*attached*/) {
    return {};
  }
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
  // check_result() returns how many of the `total` regions get a label in the output layout `out`,
  // and a warning if the result is incomplete or not exact. Throws InputError if the parameters do
  // not allow such a frame.
  virtual LabelCapacity check_result(int slot, uint32_t total, const Layout& out) = 0;
  // Additional fields for the `regions` metadata of the frame.
  virtual std::vector<Fact> facts(int /*slot*/) { return {}; }

 protected:
  virtual bool has_changes(bool only_renegotiated) = 0;
  virtual ElementTraits read_traits(bool of_pending) = 0;
  bool is_mask_missing() const { return is_mask_missing_; }
  const WorkArea& work_area() const { return work_area_; }

 private:
  WorkArea work_area_;
  TrackTimes track_times_;
  std::atomic<bool> is_mask_missing_{false};
};

// Implements an ElementAlgorithm with a session of the algorithm with parameters P.
template <class P>
class ElementAlgorithmOf : public ElementAlgorithm {
 public:
  std::span<const Field> fields() const override { return session_.fields(); }
  Value get(const Field& field) override { return session_.get(field); }
  void set(const Field& field, const Value& value) override { session_.set(field, value); }
  void set_while_running(const Field& field, const Value& value) override {
    const auto check = [&](const P& changed, const P& active, const Setup* running_setup) {
      expects_runnable(changed, running_setup);
      expects_setting(
          !is_mask_missing() || traits_of(active).needs_mask || !traits_of(changed).needs_mask,
          "source=mask requires a mask, but no upstream element attaches one");
    };
    session_.set_while_running(field, value, check);
  }
  void check_parameters() override {
    session_.read([&](const P& pending, const P&) { expects_runnable(pending, nullptr); });
  }
  void commit() override { session_.commit(); }
  void rollback() override { session_.rollback(); }
  std::shared_ptr<void> create_algorithm(const std::shared_ptr<Backend>& backend) override {
    return session_.move_to(backend);
  }
  void configure(const Setup& frame_setup) override {
    const P params = session_.active();
    Setup setup = frame_setup;
    plan(params, setup);
    expects_runnable(params, &setup);
    session_.configure(setup, params);
    track_times().clear();
  }
  void enqueue(const FrameTask& task, Queue& queue) override {
    session_.enqueue(task, queue, [&](P& params) { prepare_frame_params(params); });
  }
  void reset() override {
    session_.reset();
    track_times().clear();
  }
  void begin_scene() override {
    session_.begin_scene();
    track_times().clear();
  }
  LabelCapacity check_result(int slot, uint32_t total, const Layout& out) override {
    return session_.check_capacity(slot, total, out);
  }

 protected:
  Session<P>& session() { return session_; }
  bool has_changes(bool only_renegotiated) override {
    return session_.has_pending_changes(only_renegotiated);
  }
  ElementTraits read_traits(bool of_pending) override {
    return session_.read([&](const P& pending, const P& active) {
      return traits_of(of_pending ? pending : active);
    });
  }
  // Sets the traits, except `output` and `setup`.
  virtual void describe(const P& /*params*/, ElementTraits& /*traits*/) const {}
  // Throws if parameters contradict each other or name files that cannot be read. If
  // `running_setup` is not null, throws if the parameters do not suit this setup of the running
  // stream.
  virtual void expects_runnable(const P& /*params*/, const Setup* /*running_setup*/) const {}
  // Adjusts a frame's copy of the parameters.
  virtual void prepare_frame_params(P& /*params*/) const {}
  BackendKind backend() const { return session_.backend_kind(); }

 private:
  ElementTraits traits_of(const P& params) const {
    ElementTraits traits;
    traits.output = output_of(params);
    plan(params, traits.setup);
    describe(params, traits);
    return traits;
  }

  Session<P> session_;
};

// The description of an element, with which the plugin registers it.
struct ElementSpec {
  const char* name;         // "cclabel"
  const char* long_name;    // "Connected-component labeller"
  const char* klass;        // "Filter/Analyzer/Video"
  const char* description;  // one sentence
  FilterSettings settings;  // the default values
  std::unique_ptr<ElementAlgorithm> (*make_element_algorithm)();
};

template <class Element>
ElementSpec element_spec(const char* name, const char* long_name, const char* klass,
                         const char* description, FilterSettings settings = {}) {
  return {
      name,     long_name,
      klass,    description,
      settings, []() -> std::unique_ptr<ElementAlgorithm> { return std::make_unique<Element>(); }};
}

}  // namespace regions

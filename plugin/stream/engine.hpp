// Engine: an algorithm, its parameters and what its element does with pictures, seen without their
// types. RegionFilter runs any engine; an element's file derives one.
#pragma once

#include <algorithm>
#include <atomic>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "core/algorithm.hpp"
#include "core/field.hpp"
#include "core/implied.hpp"
#include "core/output.hpp"
#include "core/verdict.hpp"
#include "core/work_area.hpp"
#include "plugin/stream/track_times.hpp"

namespace regions {

// Something an algorithm says of a finished frame; goes into its metadata under that name.
struct Fact {
  const char* name;
  Value value;
};

// What an algorithm can say of regions beside their records, see RegionTable.
struct Details {
  bool lab = false;         // mean colours in CIELAB
  bool covariance = false;  // of pixel positions
  bool borders = false;     // which regions touch
  uint32_t runs = 0;        // most runs of regions' pixels; 0: none are wanted
};

class Engine {
 public:
  virtual ~Engine() = default;

  // Parameters. `set` takes effect at once for live fields, at the next configure() for others.
  virtual const char* name() const = 0;  // of the element
  virtual std::span<const Field> fields() const = 0;
  virtual Value get(const Field& field) = 0;
  virtual void set(const Field& field, const Value& value) = 0;
  // Sets a parameter while a stream runs: throws where the stream cannot run with the value, and
  // then changes nothing. A renegotiated field takes effect at the next adopt().
  virtual void change(const Field& field, const Value& value) = 0;
  // Properties of the element that the field's value sets, too.
  virtual std::span<const Implied> implied(const Field& /*field*/) { return {}; }
  // Throws SettingsError, MissingFile, UnreadableFile where no stream can run with what was set.
  virtual void check() = 0;

  // What the next stream would do with pictures, by the parameters of now, and how many would come
  // out of each frame, one below another. Any thread may ask.
  virtual Output picture() = 0;
  virtual int layers() = 0;
  // Takes what the user set into use. Members below speak of the parameters in use.
  virtual void adopt() = 0;
  // Whether a renegotiated field waits for adopt().
  virtual bool waits() = 0;
  // Undoes the last adopt(): renegotiated fields have their former values again.
  virtual void go_back() = 0;
  // Whether adopt() would change any field.
  virtual bool has_others() = 0;
  virtual Output picture_in_use() = 0;
  virtual int layers_in_use() = 0;
  virtual bool makes_regions() const = 0;             // fills Job.table and Job.labels
  virtual bool makes_mask() const { return false; }   // fills Job.foreground
  virtual bool reads_mask() = 0;                      // reads Job.mask and Job.attached
  virtual bool needs_mask() = 0;                      // and cannot do without
  virtual bool reads_small_masks() { return false; }  // see Job::mask_is_small
  // Says whether the last frame came without a mask: parameters that need one are then refused.
  void tell_mask(bool lacks) { lacks_mask_ = lacks; }
  virtual bool tracks() { return false; }  // Region.track stays from frame to frame
  virtual uint32_t max_regions() = 0;
  virtual Details details() { return {}; }
  // Whether what is drawn is translucent everywhere, so that the picture's detail shows through.
  virtual bool draws_tints() { return false; }
  virtual int slices() = 0;  // frames of a volume; 1 where a window slides
  // Whether each frame is worked on together with earlier ones; late frames are then not left out.
  virtual bool has_window() = 0;

  // The user clicked with the button (1: left, 2: middle, 3: right) at a pixel of the output.
  // Returns the name of the parameter that changed, or null.
  virtual const char* click(int /*button*/, double /*x*/, double /*y*/) { return nullptr; }

  // Members below are called with a Backend::Entry alive.
  // Makes the algorithm for this backend; none without a backend. Returns the former algorithm,
  // which is destroyed while an Entry of its own backend is alive.
  virtual std::shared_ptr<void> make(const std::shared_ptr<Backend>& backend) = 0;
  virtual void take_work_area(const WorkArea&) {}  // before configure(), whose size is its `work`
  virtual void configure(const Setup& setup) = 0;
  // Another area of the same sizes. No frame is under way.
  virtual void move(const WorkArea& area) {
    take_work_area(area);
    begin_scene();
  }
  virtual void enqueue(const Job& job, Queue& queue) = 0;
  virtual void reset() = 0;
  virtual void begin_scene() = 0;
  TrackTimes& track_times() { return track_times_; }
  // Whether configure() may wait, for a picture file. False while the element shuts down: a call
  // under way then gives up. Any thread may say so; true only where no configure() is under way.
  virtual void may_wait(bool /*may*/) {}
  // What the algorithm learnt of the scene; recall() gives it back after another configure() for
  // pictures of the same size. No frame is under way.
  virtual std::vector<std::byte> learnt() { return {}; }
  virtual void recall(std::span<const std::byte> /*learnt*/) {}
  // How often live frames come, by the caps: 0 if they do not tell; negative where nothing is live.
  virtual void tell_pace(int64_t /*us*/) {}
  // The stream that configure() began ends; no frame is under way.
  virtual void finish() {}

  // judge() and facts() tell of the slot's frame that has just finished. judge() looks at its count
  // of regions and its picture's layout, and throws InputError where parameters forbid such a
  // frame.
  virtual Verdict judge(int /*slot*/, uint32_t total, const Layout& /*out*/) { return {total, {}}; }
  virtual std::vector<Fact> facts(int /*slot*/) { return {}; }

 protected:
  bool lacks_mask() const { return lacks_mask_; }

 private:
  TrackTimes track_times_;
  std::atomic<bool> lacks_mask_{false};
};

template <class P>
class EngineOf : public Engine {
 public:
  std::span<const Field> fields() const override { return fields_of(P{}); }
  Value get(const Field& field) override {
    const std::lock_guard lock(mutex_);
    return field.get(&wanted_);
  }
  void set(const Field& field, const Value& value) override {
    const std::lock_guard lock(mutex_);
    assign(field, &wanted_, value);
    if (field.live() || !algorithm_) field.set(&used_, value);
  }
  void change(const Field& field, const Value& value) override {
    const std::lock_guard lock(mutex_);
    P tried = field.live() && setup_ ? used_ : wanted_;
    assign(field, &tried, value);
    if (field.change != Change::stopped) {
      expects_runnable(tried, field.live() && setup_ ? &*setup_ : nullptr);
      expects_setting(!lacks_mask() || needs_mask_with(used_) || !needs_mask_with(tried),
                      "source=mask requires a mask, but no upstream element attaches one");
    }
    field.set(&wanted_, value);
    if (field.live()) used_ = tried;
  }
  void check() override {
    const std::lock_guard lock(mutex_);
    expects_runnable(wanted_, nullptr);
  }
  std::shared_ptr<void> make(const std::shared_ptr<Backend>& backend) override {
    std::unique_ptr<Algorithm<P>> made;
    if (backend && backend->kind() == BackendKind::cpu) {
      made = make_algorithm<P, BackendKind::cpu>(backend);
    }
#if REGIONS_CUDA
    if (backend && backend->kind() == BackendKind::cuda) {
      made = make_algorithm<P, BackendKind::cuda>(backend);
    }
#endif
    const std::lock_guard lock(mutex_);
    if (backend) backend_ = backend->kind();
    setup_.reset();
    return std::exchange(algorithm_, std::move(made));
  }
  Output picture() override {
    const std::lock_guard lock(mutex_);
    return output_of(wanted_);
  }
  void adopt() override {
    const std::lock_guard lock(mutex_);
    before_ = std::exchange(used_, wanted_);
  }
  bool waits() override {
    const std::lock_guard lock(mutex_);
    return std::ranges::any_of(fields(), [&](const Field& field) {
      return field.change == Change::renegotiated && field.get(&wanted_) != field.get(&used_);
    });
  }
  void go_back() override {
    const std::lock_guard lock(mutex_);
    used_ = before_;
    for (const Field& field : fields()) {
      if (field.change == Change::renegotiated) field.set(&wanted_, field.get(&before_));
    }
  }
  bool has_others() override {
    const std::lock_guard lock(mutex_);
    return std::ranges::any_of(
        fields(), [&](const Field& field) { return field.get(&wanted_) != field.get(&used_); });
  }
  int layers() override {
    const std::lock_guard lock(mutex_);
    return planned(wanted_).layers;
  }
  Output picture_in_use() override { return output_of(params_in_use()); }
  bool needs_mask() override { return needs_mask_with(params_in_use()); }
  int layers_in_use() override { return planned(params_in_use()).layers; }
  uint32_t max_regions() override { return planned(params_in_use()).max_regions; }
  int slices() override {
    const Setup setup = planned(params_in_use());
    return setup.slides ? 1 : setup.depth;
  }
  bool has_window() override { return planned(params_in_use()).slides; }
  void configure(const Setup& frames) override {
    const P params = params_in_use();
    const Setup setup = planned(params, frames);
    expects_runnable(params, &setup);
    algorithm_->prepare(params);
    algorithm_->configure(setup);
    of_slot_.resize(static_cast<size_t>(setup.slots));
    track_times().clear();
    const std::lock_guard lock(mutex_);
    setup_ = setup;
  }
  void enqueue(const Job& job, Queue& queue) override {
    P& params = of_slot_.at(static_cast<size_t>(job.slot));
    params = params_in_use();
    prepare_frame(params);
    algorithm_->enqueue(job, params, queue);
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
  static Setup planned(const P& params, Setup setup = {}) {
    plan(params, setup);
    return setup;
  }
  virtual bool needs_mask_with(const P& /*params*/) const { return false; }
  // Throws where parameters contradict each other or name files that cannot be read; with a setup,
  // where they do not suit it.
  virtual void expects_runnable(const P& /*params*/, const Setup* /*setup*/) const {}
  BackendKind backend() const { return backend_; }
  // Completes a frame's own copy of the parameters.
  virtual void prepare_frame(P& /*params*/) const {}
  // The parameters that the slot's frame was enqueued with; the user may have set others since.
  const P& params_of(int slot) const { return of_slot_.at(static_cast<size_t>(slot)); }
  P params_in_use() {
    const std::lock_guard lock(mutex_);
    return used_;
  }
  Algorithm<P>* algorithm() { return algorithm_.get(); }

 private:
  std::mutex mutex_;            // guards the four below, and whether there is an algorithm
  P wanted_;                    // what the user set
  P used_;                      // what the running stream uses
  P before_;                    // what it used before the last adopt()
  std::optional<Setup> setup_;  // of the stream, once it is known
  BackendKind backend_ = BackendKind::cpu;
  std::unique_ptr<Algorithm<P>> algorithm_;
  std::vector<P> of_slot_;
};

// One element as the plugin registers it.
struct ElementSpec {
  const char* name;         // "cclabel"
  const char* long_name;    // "Connected-component labeller"
  const char* klass;        // "Filter/Analyzer/Video"
  const char* description;  // one sentence
  std::unique_ptr<Engine> (*make_engine)();
};

}  // namespace regions

// Base of the Python classes whose algorithms keep state from picture to picture.
#pragma once

#include <algorithm>
#include <mutex>
#include <optional>
#include <span>

#include "core/algorithm.hpp"
#include "python/engines.hpp"
#include "python/interpreter.hpp"
#include "python/settings.hpp"

namespace regions::python {

namespace nb = nanobind;

template <class P>
class Stream {
 public:
  using Names = std::span<const char* const>;

  // `names` are the fields of P that the Python class offers.
  explicit Stream(Names names) : names_(names) {}
  ~Stream() {
    if (lane_) lane_->end(algorithm_, pinned_);
  }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  void set(const std::string& name, const std::string& value) {
    const Field& field = field_of(name);
    const Unlocked unlocked;
    const std::lock_guard lock(mutex_);
    assign_text(field, &params_, value);
    if (!field.live()) shape_.reset();
  }

  std::string get(const std::string& name) {
    const Field& field = field_of(name);
    const Unlocked unlocked;
    const std::lock_guard lock(mutex_);
    return to_text(field, field.get(&params_));
  }

  void reset() {
    const Unlocked unlocked;
    const std::lock_guard lock(mutex_);
    if (algorithm_) algorithm_->reset();
  }

 protected:
  // Properties of a picture that must not change without a new configure().
  struct Shape {
    PixelFormat format;
    Size size;
    std::optional<PixelFormat> mask;
    int device;
    bool operator==(const Shape&) const = default;
  };

  // Starts the work of `job`. The caller holds the lock and an Engines::Use. Calls begin(is_new)
  // first; is_new is true if the algorithm has just been configured again.
  template <class Begin>
  void run(const Place& place, Job& job, Begin begin) {
    wait();  // the algorithm has memory for only one picture at a time
    const Shape shape = shape_of(job, place);
    const bool is_new = shape_ != shape;
    if (is_new) configure(job, place);
    begin(is_new);
    shape_ = shape;
    lane_->run(place, [&](Queue& queue) { algorithm_->enqueue(job, params_, queue); });
  }

  void wait() {
    if (lane_) lane_->wait();
  }
  bool has_run() const { return shape_.has_value(); }
  Algorithm<P>& algorithm() { return *algorithm_; }
  // Pinned memory that the algorithm writes numbers to. Call it in begin(is_new).
  std::byte* pinned(size_t bytes) {
    if (!pinned_ || pinned_->bytes() < bytes) {
      pinned_.reset();
      pinned_ = std::make_unique<Block>(lane_->backend()->allocate_pinned(bytes));
    }
    return pinned_->template as<std::byte>();
  }

  P params_;
  std::mutex mutex_;

 private:
  const Field& field_of(const std::string& name) const {
    expects(std::ranges::find(names_, name) != names_.end(),
            "unknown parameter '" + name + "' (see the class's documentation)");
    return find(fields_of(P{}), name);
  }

  static Shape shape_of(const Job& job, const Place& place) {
    Shape shape{job.in.layout.format, job.in.size(), {}, place.device};
    if (!job.mask.empty()) shape.mask = job.mask.layout.format;
    return shape;
  }

  void configure(const Job& job, const Place& place) {
    shape_.reset();
    if (!lane_ || lane_device_ != place.device) {
      if (lane_) lane_->end(algorithm_, pinned_);
      lane_.emplace(place);
      lane_device_ = place.device;
      algorithm_ = algorithm_on<P>(lane_->backend());
    }
    Setup setup{.in = job.in.layout, .size = job.in.size()};
    setup.has_mask = !job.mask.empty();
    if (setup.has_mask) setup.mask = job.mask.layout;
    plan(params_, setup);
    const Backend::Entry entry(*lane_->backend());
    algorithm_->prepare(params_);
    algorithm_->configure(setup);
  }

  const Names names_;
  std::optional<Lane> lane_;
  int lane_device_ = Place::kCpu;
  std::unique_ptr<Algorithm<P>> algorithm_;
  std::unique_ptr<Block> pinned_;
  std::optional<Shape> shape_;
};

// The description of each field for Python: name, blurb, kind, default, minimum, maximum and the
// names of the choices.
template <class P>
std::vector<nb::tuple> words_of(std::span<const char* const> names) {
  const P defaults;
  std::vector<nb::tuple> words;
  for (const char* name : names) {
    const Field& field = find(fields_of(defaults), name);
    std::vector<std::string> choices;
    for (const Choice& choice : field.choices) choices.emplace_back(choice.name);
    words.push_back(nb::make_tuple(field.name, field.blurb, static_cast<int>(field.kind),
                                   to_text(field, field.get(&defaults)), field.min, field.max,
                                   choices));
  }
  return words;
}

}  // namespace regions::python

// Algorithms that remember earlier pictures, as objects of Python.
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

  // `names` are the fields of P that have a meaning here.
  Stream(int threads, Names names)
      : backend_(make_cpu_backend(threads)),
        queue_(make_immediate_queue(*backend_)),
        algorithm_(make_algorithm<P, BackendKind::cpu>(backend_)),
        names_(names) {}

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
    algorithm_->reset();
  }

 protected:
  // What pictures have in common between two configure() calls.
  struct Shape {
    PixelFormat format;
    Size size;
    std::optional<PixelFormat> mask;
    bool operator==(const Shape&) const = default;
  };

  // Does the work of `job`, and returns then(); no other call comes between. begin(is_new) is
  // called before: is_new where the algorithm was set up for other pictures or parameters just now.
  template <class Begin, class Then>
  auto run(Job& job, Begin begin, Then then) {
    const Engines::Use use;
    const std::lock_guard lock(mutex_);
    const Shape shape = shape_of(job);
    const bool is_new = shape_ != shape;
    if (is_new) configure(job);
    begin(is_new);
    shape_ = shape;
    try {
      algorithm_->enqueue(job, params_, *queue_);
    } catch (...) {
      queue_->record();
      queue_->wait();
      throw;
    }
    queue_->record();
    queue_->wait();
    return then();
  }

  Algorithm<P>& algorithm() { return *algorithm_; }

  P params_;

 private:
  const Field& field_of(const std::string& name) const {
    expects(std::ranges::find(names_, name) != names_.end(),
            "no parameter is called '" + name + "'");
    return find(fields_of(P{}), name);
  }

  static Shape shape_of(const Job& job) {
    Shape shape{job.in.layout.format, job.in.size(), {}};
    if (!job.mask.empty()) shape.mask = job.mask.layout.format;
    return shape;
  }

  void configure(const Job& job) {
    shape_.reset();
    Setup setup{.in = job.in.layout, .size = job.in.size()};
    setup.has_mask = !job.mask.empty();
    if (setup.has_mask) setup.mask = job.mask.layout;
    plan(params_, setup);
    algorithm_->prepare(params_);
    algorithm_->configure(setup);
  }

  const std::shared_ptr<Backend> backend_;
  const std::unique_ptr<Queue> queue_;
  const std::unique_ptr<Algorithm<P>> algorithm_;
  const Names names_;
  std::mutex mutex_;
  std::optional<Shape> shape_;
};

// What Python says of a field: name, blurb, kind, default, least, most, names of choices.
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

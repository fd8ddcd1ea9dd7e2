// Runner: an algorithm and its parameters behind one interface, whatever the parameters' type.
#pragma once

#include <utility>

#include "core/algorithm.hpp"
#include "core/field.hpp"
#include "core/output.hpp"

namespace regions {

// The results that an algorithm produces in addition to the output picture.
struct Gives {
  bool regions = false;     // Job.table and Job.labels
  bool foreground = false;  // Job.foreground
  bool moments = false;     // RegionTable.moments and borders
  bool runs = false;        // RegionTable.runs
};

class Runner {
 public:
  virtual ~Runner() = default;
  virtual Gives gives() const = 0;
  virtual std::span<const Field> fields() const = 0;
  virtual Value get(const Field& field) const = 0;
  // A live field takes effect at the next enqueue(). Any other field needs configure() first.
  virtual void set(const Field& field, std::string_view text) = 0;
  // Adds the values that follow from the parameters to `setup`, then configures the algorithm.
  virtual void configure(Setup& setup) = 0;
  virtual void enqueue(const Job& job, Queue& queue) = 0;
  // Throws InputError if the parameters do not allow a frame with `total` regions.
  virtual void judge(uint32_t total) const = 0;
  virtual void reset() = 0;
};

// A parameter name that several algorithms share has the same meaning in all of them.
template <class P>
class RunnerOf final : public Runner {
 public:
  RunnerOf(std::unique_ptr<Algorithm<P>> algorithm, Gives gives)
      : algorithm_(std::move(algorithm)), gives_(gives) {}
  Gives gives() const override { return gives_; }
  std::span<const Field> fields() const override { return fields_of(P{}); }
  Value get(const Field& field) const override { return field.get(&params_); }
  void set(const Field& field, std::string_view text) override {
    expects(field.kind != Kind::text,
            [&] { return unavailable(field) + "; it names a file that only the element reads"; });
    if constexpr (requires { params_.preset; }) {
      expects(field.name != std::string_view("preset"), [&] { return unavailable(field); });
    }
    assign_text(field, &params_, text);
  }
  void configure(Setup& setup) override {
    plan(params_, setup);
    expects(setup.depth == 1 || setup.slides,
            "depth is " + std::to_string(setup.depth) +
                ", but the library processes single pictures; set sliding=true, or use the "
                "GStreamer element for volumes");
    expects(setup.layers == 1, "thresholds has " + std::to_string(setup.layers) +
                                   " values, but the library accepts at most one; the GStreamer "
                                   "element accepts more");
    expects_output(setup, output_of(params_));
    out_ = setup.out;
    algorithm_->prepare(params_);
    algorithm_->configure(setup);
  }
  void enqueue(const Job& job, Queue& queue) override { algorithm_->enqueue(job, params_, queue); }
  void judge(uint32_t total) const override {
    if constexpr (requires { verdict_of(params_, total, out_); }) verdict_of(params_, total, out_);
  }
  void reset() override { algorithm_->reset(); }

 private:
  static std::string unavailable(const Field& field) {
    return "the library does not have the property " + std::string(field.name) +
           " of the GStreamer element";
  }

  const std::unique_ptr<Algorithm<P>> algorithm_;
  const Gives gives_;
  P params_;
  Layout out_;  // of the output picture, if there is one
};

template <class P>
std::unique_ptr<Runner> make_runner_of(const std::shared_ptr<Backend>& backend, Gives gives) {
#if REGIONS_CUDA
  if (backend->kind() == BackendKind::cuda) {
    return std::make_unique<RunnerOf<P>>(make_algorithm<P, BackendKind::cuda>(backend), gives);
  }
#endif
  return std::make_unique<RunnerOf<P>>(make_algorithm<P, BackendKind::cpu>(backend), gives);
}

}  // namespace regions

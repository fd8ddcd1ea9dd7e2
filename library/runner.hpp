// Runner: an algorithm with its parameters, seen without their types.
#pragma once

#include <utility>

#include "core/algorithm.hpp"
#include "core/field.hpp"
#include "core/output.hpp"

namespace regions {

// What an algorithm makes beside the output picture.
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
  // Live fields take effect at the next enqueue(); others need a configure() before it.
  virtual void set(const Field& field, std::string_view text) = 0;
  // Fills in what the parameters say of `setup`, then configures.
  virtual void configure(Setup& setup) = 0;
  virtual void enqueue(const Job& job, Queue& queue) = 0;
  // Throws InputError where the parameters forbid a frame with so many regions.
  virtual void judge(uint32_t total) const = 0;
  virtual void reset() = 0;
};

// A member that several algorithms' parameters have is taken to mean the same.
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
            std::string(field.name) + " names a file, which the elements read, not the library");
    if constexpr (requires { params_.preset; }) {
      expects(field.name != std::string_view("preset"), "preset is for the elements");
    }
    assign_text(field, &params_, text);
  }
  void configure(Setup& setup) override {
    plan(params_, setup);
    expects(setup.depth == 1 || setup.slides,
            "the library takes single pictures: depth needs sliding=true, volumes that leave when "
            "they are full are for the element");
    expects(setup.layers == 1, "lists of thresholds are for the element");
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
  const std::unique_ptr<Algorithm<P>> algorithm_;
  const Gives gives_;
  P params_;
  Layout out_;  // unless the output is none
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

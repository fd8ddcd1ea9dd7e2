// Implements the interface Runner for each algorithm.
#include <utility>

#include "core/algorithm.hpp"
#include "library/algorithm_headers.hpp"
#include "library/filter.hpp"

namespace regions {
namespace {

// The additional results of the algorithm with parameters P.
template <class P>
constexpr AlgorithmOutputs kAdditionalOutputs = {};
template <>
constexpr AlgorithmOutputs kAdditionalOutputs<CcLabelParams> = {.regions = true, .runs = true};
template <>
constexpr AlgorithmOutputs kAdditionalOutputs<GraphCutBgParams> = {.foreground = true};
template <>
constexpr AlgorithmOutputs kAdditionalOutputs<SlicParams> = {.regions = true, .moments = true};

// Runs one algorithm whose parameters have the type P. If several algorithms have a parameter of
// the same name, it has the same meaning in all of them.
template <class P>
class AlgorithmRunner final : public Runner {
 public:
  explicit AlgorithmRunner(std::unique_ptr<Algorithm<P>> algorithm)
      : algorithm_(std::move(algorithm)) {}
  AlgorithmOutputs outputs() const override { return kAdditionalOutputs<P>; }
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
    output_layout_ = setup.out;
    algorithm_->prepare(params_);
    algorithm_->configure(setup);
  }
  void enqueue(const FrameTask& task, Queue& queue) override {
    algorithm_->enqueue(task, params_, queue);
  }
  void check_capacity(uint32_t total) const override {
    if constexpr (requires { label_capacity(params_, total, output_layout_); })
      label_capacity(params_, total, output_layout_);
  }
  void reset() override { algorithm_->reset(); }

 private:
  static std::string unavailable(const Field& field) {
    return "the library does not have the property " + std::string(field.name) +
           " of the GStreamer element";
  }

  const std::unique_ptr<Algorithm<P>> algorithm_;
  P params_;
  Layout output_layout_;  // layout of the output picture, if there is one
};

template <class P>
std::unique_ptr<Runner> make_algorithm_runner(const std::shared_ptr<Backend>& backend) {
#if REGIONS_CUDA
  if (backend->kind() == BackendKind::cuda) {
    return std::make_unique<AlgorithmRunner<P>>(make_algorithm<P, BackendKind::cuda>(backend));
  }
#endif
  return std::make_unique<AlgorithmRunner<P>>(make_algorithm<P, BackendKind::cpu>(backend));
}

}  // namespace

// meson.build defines REGIONS_ALGORITHMS as a list of macro calls: X(cclabel) X(regionoverlay) …
// Each algorithm has a namespace of the same name, which contains its parameters: cclabel::Params.
std::unique_ptr<Runner> make_runner(const std::string& algorithm,
                                    const std::shared_ptr<Backend>& backend) {
  const Backend::Entry entry(*backend);
  std::string known_names;
#define X(name)                                                                \
  if (algorithm == #name) return make_algorithm_runner<name::Params>(backend); \
  known_names += std::string(known_names.empty() ? "" : ", ") + #name;
  REGIONS_ALGORITHMS
#undef X
  throw InputError("unknown algorithm '" + algorithm + "'; expected one of " + known_names);
}

}  // namespace regions

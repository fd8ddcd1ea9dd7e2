// Implements the interface Runner for each algorithm.
#include "core/session.hpp"
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
  explicit AlgorithmRunner(const std::shared_ptr<Backend>& backend) { session_.move_to(backend); }
  AlgorithmOutputs outputs() const override { return kAdditionalOutputs<P>; }
  std::span<const Field> fields() const override { return session_.fields(); }
  Value get(const Field& field) const override { return session_.get(field); }
  void set(const Field& field, std::string_view text) override {
    const bool is_file = field.kind == Kind::text;
    expects(!is_file && field.name != std::string_view("preset"), [&] {
      return "the library does not have the property " + std::string(field.name) +
             " of the GStreamer element" +
             (is_file ? "; it names a file that only the element reads" : "");
    });
    session_.set_text(field, text);
  }
  void configure(Setup& setup) override {
    session_.commit();
    const P params = session_.active();
    plan(params, setup);
    expects(setup.depth == 1 || setup.slides,
            "depth is " + std::to_string(setup.depth) +
                ", but the library processes single pictures; set sliding=true, or use the "
                "GStreamer element for volumes");
    expects(setup.layers == 1, "thresholds has " + std::to_string(setup.layers) +
                                   " values, but the library accepts at most one; the GStreamer "
                                   "element accepts more");
    expects_output(setup, output_of(params));
    session_.configure(setup, params);
  }
  void enqueue(const FrameTask& task, Queue& queue) override { session_.enqueue(task, queue); }
  void check_capacity(uint32_t total) const override {
    session_.check_capacity(0, total, session_.setup().out);
  }
  void reset() override { session_.reset(); }

 private:
  Session<P> session_;
};

}  // namespace

// meson.build defines REGIONS_ALGORITHMS as a list of macro calls: X(cclabel) X(regionoverlay) …
// Each algorithm has a namespace of the same name, which contains its parameters: cclabel::Params.
std::unique_ptr<Runner> make_runner(const std::string& algorithm,
                                    const std::shared_ptr<Backend>& backend) {
  std::string known_names;
#define X(name)                                                                            \
  if (algorithm == #name) return std::make_unique<AlgorithmRunner<name::Params>>(backend); \
  known_names += std::string(known_names.empty() ? "" : ", ") + #name;
  REGIONS_ALGORITHMS
#undef X
  throw InputError("unknown algorithm '" + algorithm + "'; expected one of " + known_names);
}

}  // namespace regions

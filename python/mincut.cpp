// Minimum cuts of grids.
#include <nanobind/stl/optional.h>

#include "core/maxflow/maxflow.hpp"
#include "python/arrays.hpp"
#include "python/bindings.hpp"
#include "python/engines.hpp"
#include "python/interpreter.hpp"

namespace regions::python {
namespace {

using Capacities = Array<const int32_t, nb::ndim<2>, nb::c_contig>;
using Mask = Array<bool, nb::ndim<2>, nb::c_contig>;

class CutEngine final : public Engine {
 public:
  CutEngine(int threads, Size size, Neighbours neighbours)
      : backend_(make_cpu_backend(threads)),
        queue_(backend_->make_queue()),
        cut_(make_grid_cut<BackendKind::cpu>(backend_)) {
    cut_->configure(size, neighbours, 1);
  }
  CutReport run(const GridGraph& graph, Image<uint8_t> foreground) {
    CutReport report;
    cut_->enqueue(graph, foreground, {}, &report, 0, *queue_);
    queue_->record();
    queue_->wait();
    return report;
  }

 private:
  const std::shared_ptr<Backend> backend_;
  const std::unique_ptr<Queue> queue_;
  const std::unique_ptr<GridCut> cut_;
};

Image<const int32_t> image_of(const Capacities& array) {
  const auto width = static_cast<int>(array.shape(1));
  return {array.data(), width, static_cast<int>(array.shape(0)), width * ptrdiff_t{4}};
}

int64_t mincut(const Capacities& terminal, const Capacities& right, const Capacities& down,
               const std::optional<Capacities>& down_right,
               const std::optional<Capacities>& down_left, const Mask& mask, int threads) {
  const Size size = Voxels{AnyArray(terminal)}.slice;
  expects(mask.size() == terminal.size() && down_right.has_value() == down_left.has_value(),
          "mask and diagonal capacities go with the picture");
  GridGraph graph{.terminal = image_of(terminal), .right = image_of(right), .down = image_of(down)};
  if (down_right) {
    graph.down_right = image_of(*down_right);
    graph.down_left = image_of(*down_left);
    graph.neighbours = Neighbours::eight;
  }
  auto* bytes = reinterpret_cast<uint8_t*>(mask.data());
  const Unlocked unlocked;
  const std::string key = "mincut " + std::to_string(size.width) + "x" +
                          std::to_string(size.height) + (down_right ? " 8 " : " 4 ") +
                          std::to_string(threads);
  const auto make = [&] { return std::make_unique<CutEngine>(threads, size, graph.neighbours); };
  const CutReport report = Engines::all().with<CutEngine>(key, make, [&](CutEngine& engine) {
    return engine.run(graph, {bytes, size.width, size.height, size.width});
  });
  for (size_t i = 0; i < size.area(); ++i) bytes[i] &= 1;  // of 255
  return report.flow;
}

}  // namespace

void bind_mincut(nb::module_& module) {
  module.def("mincut", mincut, nb::arg("terminal"), nb::arg("right"), nb::arg("down"),
             nb::arg("down_right").none(), nb::arg("down_left").none(), nb::arg("mask"),
             nb::arg("threads"));
}

}  // namespace regions::python

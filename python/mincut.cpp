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
        queue_(make_immediate_queue(*backend_)),
        cut_(make_grid_cut<BackendKind::cpu>(backend_)) {
    cut_->configure(size, neighbours, 1);
  }
  CutReport run(const GridGraph& graph, Image<uint8_t> foreground, bool warm) {
    CutReport report;
    cut_->enqueue(graph, foreground, {.warm = warm}, &report, 0, *queue_);
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

using Diagonal = std::optional<Capacities>;

// A graph in arrays that live as long as the call.
GridGraph graph_of(const Capacities& terminal, const Capacities& right, const Capacities& down,
                   const Diagonal& down_right, const Diagonal& down_left) {
  expects(down_right.has_value() == down_left.has_value(), "diagonal capacities go together");
  GridGraph graph{.terminal = image_of(terminal), .right = image_of(right), .down = image_of(down)};
  if (down_right) {
    graph.down_right = image_of(*down_right);
    graph.down_left = image_of(*down_left);
    graph.neighbours = Neighbours::eight;
  }
  return graph;
}

// Calls cut(foreground), which becomes the mask, and returns its flow.
template <class Cut>
int64_t into_mask(const GridGraph& graph, const Mask& mask, Cut cut) {
  const Size size = graph.terminal.size();
  expects(mask.size() == size.area(), "the mask goes with the picture");
  auto* bytes = reinterpret_cast<uint8_t*>(mask.data());
  const CutReport report = cut(Image<uint8_t>{bytes, size.width, size.height, size.width});
  for (size_t i = 0; i < size.area(); ++i) bytes[i] &= 1;  // of 255
  return report.flow;
}

int64_t mincut(const Capacities& terminal, const Capacities& right, const Capacities& down,
               const Diagonal& down_right, const Diagonal& down_left, const Mask& mask,
               int threads) {
  const Size size = Voxels{AnyArray(terminal)}.slice;
  const GridGraph graph = graph_of(terminal, right, down, down_right, down_left);
  const Unlocked unlocked;
  using Work = EngineKey::Work;
  const EngineKey key{
      down_right ? Work::cut8 : Work::cut4, PixelFormat::gray8, size, 1, 1, threads};
  const auto make = [&] { return std::make_unique<CutEngine>(threads, size, graph.neighbours); };
  return into_mask(graph, mask, [&](Image<uint8_t> foreground) {
    return Engines::all().with<CutEngine>(
        key, make, [&](CutEngine& engine) { return engine.run(graph, foreground, false); });
  });
}

// Cuts that each begin with the flow of the last one, which is changed to fit the new capacities.
class WarmCut {
 public:
  explicit WarmCut(int threads) : threads_(threads) {}

  int64_t cut(const Capacities& terminal, const Capacities& right, const Capacities& down,
              const Diagonal& down_right, const Diagonal& down_left, const Mask& mask) {
    const Size size = Voxels{AnyArray(terminal)}.slice;
    const GridGraph graph = graph_of(terminal, right, down, down_right, down_left);
    const Unlocked unlocked;
    const Engines::Use use;
    const std::lock_guard lock(mutex_);
    if (!engine_ || !(size == size_) || graph.neighbours != neighbours_) {
      engine_.reset();
      engine_ = std::make_unique<CutEngine>(threads_, size, graph.neighbours);
      size_ = size;
      neighbours_ = graph.neighbours;
    }
    try {
      return into_mask(graph, mask, [&](Image<uint8_t> foreground) {
        return engine_->run(graph, foreground, true);
      });
    } catch (...) {
      engine_.reset();  // what it holds after a failure fits no graph
      throw;
    }
  }

 private:
  const int threads_;
  std::mutex mutex_;
  std::unique_ptr<CutEngine> engine_;
  Size size_;
  Neighbours neighbours_ = Neighbours::four;
};

}  // namespace

void bind_mincut(nb::module_& module) {
  module.def("mincut", mincut, nb::arg("terminal"), nb::arg("right"), nb::arg("down"),
             nb::arg("down_right").none(), nb::arg("down_left").none(), nb::arg("mask"),
             nb::arg("threads"));
  nb::class_<WarmCut>(module, "WarmCut")
      .def(nb::init<int>())
      .def("cut", &WarmCut::cut, nb::arg("terminal"), nb::arg("right"), nb::arg("down"),
           nb::arg("down_right").none(), nb::arg("down_left").none(), nb::arg("mask"));
}

}  // namespace regions::python

// The function mincut and the class WarmCut, which compute minimum cuts of grids.
#include <nanobind/stl/optional.h>

#include "core/maxflow/maxflow.hpp"
#include "python/arrays.hpp"
#include "python/cached_algorithms.hpp"
#include "python/module.hpp"

namespace regions::python {
namespace {

using Capacities = nb::ndarray<const int32_t, nb::ndim<2>, nb::c_contig>;
using Mask = nb::ndarray<uint8_t, nb::ndim<2>, nb::c_contig>;

// The minimum-cut algorithm for grids of one size and neighbourhood.
class CutAlgorithm final : public CachedAlgorithm {
 public:
  CutAlgorithm(const Target& target, Size size, Neighbours neighbours)
      : CachedAlgorithm(target),
        cut_(grid_cut_on(queue().backend())),
        result_(std::make_unique<Block>(queue().backend()->allocate_pinned(sizeof(CutResult)))) {
    const Backend::Entry entry(*queue().backend());
    cut_->configure(size, neighbours, 1);
  }
  ~CutAlgorithm() override { queue().destroy(cut_, result_); }

  CutResult run(const Target& target, const GridGraph& graph, Image<uint8_t> foreground,
                bool warm) {
    auto* const result = new (result_->data()) CutResult;
    queue().run(target, [&](Queue& queue) {
      cut_->enqueue(graph, foreground, {.warm = warm}, result, 0, queue);
    });
    queue().wait();
    return *result;
  }

 private:
  static std::unique_ptr<GridCut> grid_cut_on(const std::shared_ptr<Backend>& backend) {
    const Backend::Entry entry(*backend);
#if REGIONS_CUDA
    if (backend->kind() == BackendKind::cuda) return make_grid_cut<BackendKind::cuda>(backend);
#endif
    return make_grid_cut<BackendKind::cpu>(backend);
  }

  std::unique_ptr<GridCut> cut_;
  std::unique_ptr<Block> result_;  // one CutResult in pinned memory
};

Image<const int32_t> image_of(const Capacities& array) {
  const auto width = static_cast<int>(array.shape(1));
  return {array.data(), width, static_cast<int>(array.shape(0)), width * ptrdiff_t{4}};
}

using Diagonal = std::optional<Capacities>;

// Returns a graph that refers to the arrays, which exist until the call returns.
GridGraph graph_of(const Capacities& terminal, const Capacities& right, const Capacities& down,
                   const Diagonal& down_right, const Diagonal& down_left) {
  expects(down_right.has_value() == down_left.has_value(),
          "down_right and down_left must both be set or both be None");
  GridGraph graph{.terminal = image_of(terminal), .right = image_of(right), .down = image_of(down)};
  if (down_right) {
    graph.down_right = image_of(*down_right);
    graph.down_left = image_of(*down_left);
    graph.neighbours = Neighbours::eight;
  }
  return graph;
}

// Calls cut(foreground), which writes the mask, and returns the flow. In the foreground, the mask
// has the value 1 on the CPU and 255 on a device.
template <class Cut>
int64_t write_mask(const GridGraph& graph, const Mask& mask, const Target& target, Cut cut) {
  const Size size = graph.terminal.size();
  expects(mask.size() == size.area(), "mask must have the size of the picture");
  uint8_t* bytes = mask.data();
  const CutResult result = cut(Image<uint8_t>{bytes, size.width, size.height, size.width});
  if (!target.is_cpu()) return result.flow;
  for (size_t i = 0; i < size.area(); ++i) bytes[i] &= 1;  // 255 becomes 1
  return result.flow;
}

// Returns the target of a call. Throws InputError if an array is not in the memory of the target's
// device.
Target target_for(const TargetTuple& target_tuple, const Capacities& terminal,
                  const Capacities& right, const Capacities& down, const Diagonal& down_right,
                  const Diagonal& down_left, const Mask& mask) {
  const Target target = target_of(target_tuple);
  target.expect_arrays(terminal, right, down, mask);
  if (down_right) target.expect_arrays(*down_right);
  if (down_left) target.expect_arrays(*down_left);
  return target;
}

int64_t mincut(const Capacities& terminal, const Capacities& right, const Capacities& down,
               const Diagonal& down_right, const Diagonal& down_left, const Mask& mask,
               const TargetTuple& target_tuple) {
  const Target target =
      target_for(target_tuple, terminal, right, down, down_right, down_left, mask);
  const Size size = Voxels{AnyArray(terminal)}.slice;
  const GridGraph graph = graph_of(terminal, right, down, down_right, down_left);
  const Unlocked unlocked;
  using Work = CacheKey::Work;
  const CacheKey key{down_right ? Work::cut8 : Work::cut4, PixelFormat::gray8, size, 1, 1, target};
  const auto make = [&] { return std::make_unique<CutAlgorithm>(target, size, graph.neighbours); };
  return write_mask(graph, mask, target, [&](Image<uint8_t> foreground) {
    return AlgorithmCache::instance().with<CutAlgorithm>(key, make, [&](CutAlgorithm& algorithm) {
      return algorithm.run(target, graph, foreground, false);
    });
  });
}

// Computes cuts of a sequence of graphs. Each cut starts from the flow of the previous cut, adapted
// to the new capacities.
class WarmCut {
 public:
  int64_t cut(const Capacities& terminal, const Capacities& right, const Capacities& down,
              const Diagonal& down_right, const Diagonal& down_left, const Mask& mask,
              const TargetTuple& target_tuple) {
    const Target target =
        target_for(target_tuple, terminal, right, down, down_right, down_left, mask);
    const Size size = Voxels{AnyArray(terminal)}.slice;
    const GridGraph graph = graph_of(terminal, right, down, down_right, down_left);
    const Unlocked unlocked;
    const AlgorithmCache::Use use;
    const std::lock_guard lock(mutex_);
    if (!algorithm_ || !(size == size_) || graph.neighbours != neighbours_ ||
        target.device != device_) {
      algorithm_.reset();
      algorithm_ = std::make_unique<CutAlgorithm>(target, size, graph.neighbours);
      size_ = size;
      neighbours_ = graph.neighbours;
      device_ = target.device;
    }
    try {
      return write_mask(graph, mask, target, [&](Image<uint8_t> foreground) {
        return algorithm_->run(target, graph, foreground, true);
      });
    } catch (...) {
      algorithm_.reset();  // after a failure, the next cut must not start from its flow
      throw;
    }
  }

 private:
  std::mutex mutex_;  // guards all members, and is held during a cut
  std::unique_ptr<CutAlgorithm> algorithm_;
  Size size_;
  Neighbours neighbours_ = Neighbours::four;
  int device_ = Target::kCpu;
};

}  // namespace

void bind_mincut(nb::module_& module) {
  module.def("mincut", mincut, nb::arg("terminal"), nb::arg("right"), nb::arg("down"),
             nb::arg("down_right").none(), nb::arg("down_left").none(), nb::arg("mask"),
             nb::arg("target"));
  nb::class_<WarmCut>(module, "WarmCut")
      .def(nb::init<>())
      .def("cut", &WarmCut::cut, nb::arg("terminal"), nb::arg("right"), nb::arg("down"),
           nb::arg("down_right").none(), nb::arg("down_left").none(), nb::arg("mask"),
           nb::arg("target"));
}

}  // namespace regions::python

// The functions mincut and cut_volume and the class WarmCut, which compute minimum cuts of grids,
// and the function cut_boxes, which cuts objects out of a picture.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include "core/graphcutbg/graphcutbg.hpp"
#include "core/maxflow/maxflow.hpp"
#include "cpu/maxflow/volume_cut.hpp"
#include "python/arrays.hpp"
#include "python/cached_algorithms.hpp"
#include "python/module.hpp"

namespace regions::python {
namespace {

using Capacities = nb::ndarray<const int32_t, nb::ndim<2>, nb::c_contig>;
using Diagonal = std::optional<Capacities>;
using Mask = nb::ndarray<uint8_t, nb::ndim<2>, nb::c_contig>;

// The arguments of a call. They refer to the caller's arrays.
struct CutTask {
  Target target;
  GridGraph graph;
  Image<uint8_t> foreground;
  Size size() const { return graph.terminal.size(); }
};

Image<const int32_t> image_of(const Capacities& array) {
  const auto width = static_cast<int>(array.shape(1));
  return {array.data(), width, static_cast<int>(array.shape(0)), width * ptrdiff_t{4}};
}

// Throws InputError if an array is not in the memory of the target's device.
CutTask task_of(const Capacities& terminal, const Capacities& right, const Capacities& down,
                const Diagonal& down_right, const Diagonal& down_left, const Mask& mask,
                const TargetTuple& target_tuple) {
  CutTask task{.target = target_of(target_tuple)};
  task.target.expect_arrays(terminal, right, down, mask);
  if (down_right) task.target.expect_arrays(*down_right);
  if (down_left) task.target.expect_arrays(*down_left);
  const Size size = Voxels{AnyArray(terminal)}.slice;
  expects(down_right.has_value() == down_left.has_value(),
          "down_right and down_left must both be set or both be None");
  expects(mask.size() == size.area(), "mask must have the size of the picture");
  task.graph = {.terminal = image_of(terminal), .right = image_of(right), .down = image_of(down)};
  if (down_right) {
    task.graph.down_right = image_of(*down_right);
    task.graph.down_left = image_of(*down_left);
    task.graph.neighbours = Neighbours::eight;
  }
  task.foreground = {mask.data(), size.width, size.height, size.width};
  return task;
}

// The minimum-cut algorithm for grids of one size and neighbourhood.
class CutAlgorithm {
 public:
  explicit CutAlgorithm(const CutTask& task)
      : queue_(task.target),
        size_(task.size()),
        neighbours_(task.graph.neighbours),
        device_(task.target.device),
        result_(queue_.backend()->allocate_pinned(sizeof(CutResult))) {
    const auto& backend = queue_.backend();
    const Backend::Entry entry(*backend);
    cut_ = with_kind_of(*backend, [&]<BackendKind kind>() { return make_grid_cut<kind>(backend); });
    cut_->configure(size_, neighbours_, 1);
  }
  ~CutAlgorithm() { queue_.destroy(cut_, result_); }

  bool suits(const CutTask& task) const {
    return task.size() == size_ && task.graph.neighbours == neighbours_ &&
           task.target.device == device_;
  }

  // Writes the mask and returns the flow. In the foreground, the mask has the value 1 on the CPU
  // and 255 on a device. A warm cut starts from the flow of the previous cut.
  int64_t run(const CutTask& task, bool is_warm) {
    auto* const result = new (result_.data()) CutResult;
    queue_.run(task.target, [&](Queue& queue) {
      cut_->enqueue(task.graph, task.foreground, {.warm_start = is_warm}, result, 0, queue);
    });
    queue_.wait();
    if (task.target.is_cpu()) {
      uint8_t* const bytes = task.foreground.data;
      for (size_t i = 0; i < size_.area(); ++i) bytes[i] &= 1;  // 255 becomes 1
    }
    return result->flow;
  }

 private:
  DeviceQueue queue_;
  const Size size_;
  const Neighbours neighbours_;
  const int device_;
  std::unique_ptr<GridCut> cut_;
  Block result_;  // one CutResult in pinned memory
};

int64_t mincut(const Capacities& terminal, const Capacities& right, const Capacities& down,
               const Diagonal& down_right, const Diagonal& down_left, const Mask& mask,
               const TargetTuple& target) {
  const CutTask task = task_of(terminal, right, down, down_right, down_left, mask, target);
  const Unlocked unlocked;
  const CacheKey key{down_right ? CacheKey::Work::cut8 : CacheKey::Work::cut4,
                     {.size = task.size()},
                     task.target.threads,
                     task.target.device};
  const auto work = [&](CutAlgorithm& algorithm) { return algorithm.run(task, false); };
  return AlgorithmCache::instance().with<CutAlgorithm>(key, work, task);
}

using NodeMask = HostArray<uint8_t, nb::c_contig>;

// Computes the minimum cut of a grid with any number of axes. The arrays have one capacity per
// element, or a single capacity for all elements. Sets `mask` to 1 on the source's side, and
// returns the flow.
int64_t cut_volume(const ConstLabels& terminal, std::vector<std::vector<int>> offsets,
                   const std::vector<ConstLabels>& forward,
                   const std::vector<ConstLabels>& backward, const NodeMask& mask) {
  expects(
      forward.size() == offsets.size() && backward.size() == offsets.size() &&
          mask.size() == terminal.size(),
      "each offset must have capacities in both directions, and mask must have as many elements "
      "as terminal");
  const auto capacities_of = [&](const ConstLabels& array) {
    expects(array.size() == 1 || array.size() == terminal.size(),
            "capacities must have as many elements as terminal");
    return maxflow::LinkCapacities{array.data(), array.size() == 1};
  };
  maxflow::VolumeGraph graph{
      {terminal.shape_ptr(), terminal.shape_ptr() + terminal.ndim()}, terminal.data(), {}};
  for (size_t i = 0; i < offsets.size(); ++i) {
    graph.links.push_back(
        {std::move(offsets[i]), capacities_of(forward[i]), capacities_of(backward[i])});
  }
  const Unlocked unlocked;
  return maxflow::cut_volume(graph, mask.data());
}

// Computes cuts of a sequence of graphs. Each cut starts from the flow of the previous cut, adapted
// to the new capacities.
class WarmCut {
 public:
  int64_t cut(const Capacities& terminal, const Capacities& right, const Capacities& down,
              const Diagonal& down_right, const Diagonal& down_left, const Mask& mask,
              const TargetTuple& target) {
    const CutTask task = task_of(terminal, right, down, down_right, down_left, mask, target);
    const Unlocked unlocked;
    const AlgorithmCache::Use use;
    const std::lock_guard lock(mutex_);
    // During the cut the algorithm is not in algorithm_, because after a failure the next cut must
    // not start from its flow.
    std::unique_ptr<CutAlgorithm> algorithm = std::move(algorithm_);
    if (!algorithm || !algorithm->suits(task)) {
      algorithm.reset();
      algorithm = std::make_unique<CutAlgorithm>(task);
    }
    const int64_t flow = algorithm->run(task, true);
    algorithm_ = std::move(algorithm);
    return flow;
  }

 private:
  std::mutex mutex_;  // guards algorithm_, and is held during a cut
  std::unique_ptr<CutAlgorithm> algorithm_;
};

using Boxes = HostArray<const int32_t, nb::ndim<2>, nb::c_contig>;

// Sets `labels` to the number of the box in the object of each box, and to 0 elsewhere. A row of
// `boxes` is the left, top, right and bottom pixel of a box, inclusive.
void cut_boxes(const Pixels& image, bool is_bgr, const Boxes& boxes, const Labels& labels,
               const Settings& settings, const TargetTuple& target_tuple) {
  const Target target = target_of(target_tuple);
  target.expect_arrays(image, labels);
  FrameTask task{.in = picture_of(image, is_bgr ? ColorOrder::bgr : ColorOrder::rgb)};
  const Voxels voxels{AnyArray(labels)};
  expects(labels.ndim() == 2 && voxels.slice == task.in.size(),
          "labels must have the size of the image");
  expects(boxes.shape(1) == 4 && boxes.shape(0) <= kMaxBoxes,
          "boxes must have up to 256 rows of 4 numbers");
  std::vector<Region> attached(boxes.shape(0));
  for (size_t i = 0; i < attached.size(); ++i) {
    const int32_t* box = boxes.data() + 4 * i;
    attached[i].left = box[0];
    attached[i].top = box[1];
    attached[i].right = box[2];
    attached[i].bottom = box[3];
  }
  task.attached = attached.data();
  task.attached_count = static_cast<uint32_t>(attached.size());
  task.labels = {reinterpret_cast<uint32_t*>(labels.data()), voxels.slice.width,
                 voxels.slice.height, voxels.pitch};
  const Unlocked unlocked;
  auto params = parameters<GraphCutBgParams>(settings);
  params.source = GraphCutSource::boxes;
  params.output = GraphCutOutput::none;
  Setup setup{.in = task.in.layout, .size = task.in.size()};
  plan(params, setup);
  const CacheKey key{CacheKey::Work::boxes, setup, target.threads, target.device};
  const auto work = [&](ParametrisedAlgorithm<GraphCutBgParams>& algorithm) {
    return algorithm.run(target, task, params, true);
  };
  AlgorithmCache::instance().with<ParametrisedAlgorithm<GraphCutBgParams>>(key, work, target, setup,
                                                                           params);
}

}  // namespace

void bind_mincut(nb::module_& module) {
  module.def("mincut", mincut, nb::arg("terminal"), nb::arg("right"), nb::arg("down"),
             nb::arg("down_right").none(), nb::arg("down_left").none(), nb::arg("mask"),
             nb::arg("target"));
  module.def("cut_volume", cut_volume);
  module.def("cut_boxes", cut_boxes);
  nb::class_<WarmCut>(module, "WarmCut")
      .def(nb::init<>())
      .def("cut", &WarmCut::cut, nb::arg("terminal"), nb::arg("right"), nb::arg("down"),
           nb::arg("down_right").none(), nb::arg("down_left").none(), nb::arg("mask"),
           nb::arg("target"));
}

}  // namespace regions::python

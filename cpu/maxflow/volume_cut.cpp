// Loads the graph of a volume, runs the search, and reads the cut from the search trees.
#include "cpu/maxflow/volume_cut.hpp"

#include <algorithm>
#include <concepts>
#include <limits>
#include <span>
#include <string>

#include "core/backend.hpp"
#include "cpu/maxflow/cut_search.hpp"
#include "cpu/maxflow/residual_grid.hpp"
#include "cpu/maxflow/search_trees.hpp"

namespace regions::maxflow {
namespace {

// The positions of a volume's nodes in memory. Each row, slice and so on is followed by nodes
// outside the volume, so that a step over a border reaches one of them. Axes with one element need
// no such nodes, because no link runs along them.
class VolumeNodes {
 public:
  explicit VolumeNodes(const VolumeGraph& graph) : shape_(graph.shape), pitch_(shape_.size()) {
    constexpr int64_t kMaxNodes = std::numeric_limits<int32_t>::max();
    for (size_t axis = shape_.size(); axis-- > 0;) {
      pitch_[axis] = count_;
      count_ *= shape_[axis] > 1 ? shape_[axis] + 1 : 1;
      expects(count_ <= kMaxNodes, [] {
        return "a grid has too many elements for an exact cut, must have fewer than " +
               std::to_string(kMaxNodes) + " including one more per axis";
      });
    }
    for (const VolumeLinks& links : graph.links) {
      int64_t step = 0;
      for (size_t axis = 0; axis < shape_.size(); ++axis) {
        if (shape_[axis] > 1) step += links.offset[axis] * pitch_[axis];
      }
      steps_.push_back(static_cast<int32_t>(step));
      first_ = std::max(first_, std::abs(step));
    }
    count_ += 2 * first_;
    expects(count_ <= kMaxNodes, "a grid has too many elements for an exact cut");
  }

  size_t count() const { return static_cast<size_t>(count_); }
  std::span<const int32_t> steps() const { return steps_; }

  // Calls f(element, node, width) for the first element of each row: its number in raster order,
  // and its node.
  template <std::invocable<size_t, int32_t, int64_t> F>
  void for_each_row(F f) const {
    for_each_row_index([&](size_t row, std::span<const int64_t> index) {
      f(row * static_cast<size_t>(shape_.back()), node_at(index), shape_.back());
    });
  }

  // Calls f(element, node, count) for the first of the consecutive links in each row whose other
  // end is inside the volume.
  template <std::invocable<size_t, int32_t, int64_t> F>
  void for_each_link_row(const VolumeLinks& links, F f) const {
    const int64_t width = shape_.back(), step = links.offset.back();
    const int64_t first = std::max<int64_t>(0, -step), end = width - std::max<int64_t>(0, step);
    if (first >= end) return;
    for_each_row_index([&](size_t row, std::span<const int64_t> index) {
      for (size_t axis = 0; axis < index.size(); ++axis) {
        const int64_t other = index[axis] + links.offset[axis];
        if (other < 0 || other >= shape_[axis]) return;
      }
      f(row * static_cast<size_t>(width) + static_cast<size_t>(first),
        node_at(index) + static_cast<int32_t>(first), end - first);
    });
  }

 private:
  // Calls f(row, index) for each row, with its index along all axes except the last one.
  template <std::invocable<size_t, std::span<const int64_t>> F>
  void for_each_row_index(F f) const {
    std::vector<int64_t> index(shape_.size() - 1);
    for (size_t row = 0;; ++row) {
      f(row, std::span<const int64_t>(index));
      size_t axis = index.size();
      while (axis > 0 && ++index[axis - 1] == shape_[axis - 1]) index[--axis] = 0;
      if (axis == 0) return;
    }
  }
  int32_t node_at(std::span<const int64_t> index) const {
    int64_t node = first_;
    for (size_t axis = 0; axis < index.size(); ++axis) node += index[axis] * pitch_[axis];
    return static_cast<int32_t>(node);
  }

  const std::vector<int64_t>& shape_;
  std::vector<int64_t> pitch_;  // [axes], distance of neighbours along each axis (nodes)
  std::vector<int32_t> steps_;  // [links], distance to the node at each offset (nodes)
  int64_t first_ = 0;           // number of nodes before the first node of the volume
  int64_t count_ = 1;           // number of all nodes
};

// Returns an upper bound of |terminal| plus the capacities of the links of a node in both
// directions. Throws InputError for a negative capacity.
int64_t max_weight_of(const VolumeGraph& graph, const VolumeNodes& nodes) {
  int64_t terminal = 0, capacities = 0;
  nodes.for_each_row([&](size_t element, int32_t, int64_t width) {
    for (int64_t x = 0; x < width; ++x) {
      terminal = std::max(terminal, std::abs(int64_t{graph.terminal[element++]}));
    }
  });
  for (const VolumeLinks& links : graph.links) {
    for (const LinkCapacities& capacity : {links.forward, links.backward}) {
      int32_t least = 0, most = 0;
      nodes.for_each_link_row(links, [&](size_t element, int32_t, int64_t count) {
        for (int64_t x = 0; x < count; ++x, ++element) {
          least = std::min(least, capacity[element]);
          most = std::max(most, capacity[element]);
        }
      });
      expects(least == 0, "a capacity between elements is negative");
      capacities += most;
    }
  }
  return terminal + capacities;
}

// Solves the graph with numbers of type N. Returns the flow.
template <class N, int kDirections>
class VolumeCut {
 public:
  VolumeCut(const VolumeGraph& graph, const VolumeNodes& nodes)
      : graph_(graph),
        nodes_(nodes),
        backend_(make_cpu_backend(1)),
        node_memory_(backend_->allocate(nodes.count() * sizeof(Node))),
        trees_(backend_->allocate(SearchTrees<Volume>::bytes(nodes.count()))),
        volume_({node_memory_.template as<Node>(), nodes.count()}, nodes.steps()) {}

  int64_t run(uint8_t* foreground) {
    load();
    find_minimum_cut(volume_, trees_.template as<std::byte>());
    find_nodes_that_reach_sink();
    int64_t flow = 0;
    nodes_.for_each_row([&](size_t element, int32_t index, int64_t width) {
      for (int64_t x = 0; x < width; ++x, ++element, ++index) {
        const Node& node = volume_[index];
        flow += std::max(graph_.terminal[element], 0) - std::max<int64_t>(node.excess, 0);
        foreground[element] = node.label >= 0;
      }
    });
    return flow;
  }

 private:
  using Volume = ResidualVolume<N, kDirections>;
  using Node = typename Volume::Node;

  void load() {
    Node outside{};
    outside.parent = kNoParent;
    std::uninitialized_fill_n(node_memory_.template as<Node>(), nodes_.count(), outside);
    nodes_.for_each_row([&](size_t element, int32_t index, int64_t width) {
      for (int64_t x = 0; x < width; ++x, ++index) {
        const int32_t terminal = graph_.terminal[element++];
        Node& node = volume_[index];
        node.excess = terminal;
        node.parent = terminal != 0 ? kRoot : kNoParent;
        node.label = (terminal > 0) - (terminal < 0);
      }
    });
    int direction = 0;
    for (const VolumeLinks& links : graph_.links) {
      nodes_.for_each_link_row(links, [&](size_t element, int32_t index, int64_t count) {
        for (int64_t x = 0; x < count; ++x, ++element, ++index) {
          using Residual = typename N::Residual;
          Node& other = volume_[volume_.neighbour(index, direction)];
          volume_[index].residual[direction] = static_cast<Residual>(links.forward[element]);
          other.residual[opposite(direction)] = static_cast<Residual>(links.backward[element]);
        }
      });
      direction += 2;
    }
  }

  // Gives the label -1 to all nodes outside the trees from which flow can reach the sink.
  void find_nodes_that_reach_sink() {
    NodeList found;
    found.set_memory(trees_.template as<int32_t>());
    for (int32_t index = 0; index < static_cast<int32_t>(nodes_.count()); ++index) {
      if (volume_[index].label < 0) found.push(index);
    }
    while (!found.empty()) {
      const int32_t index = found.pop();
      for (int k = 0; k < kDirections; ++k) {
        const int32_t neighbour = volume_.neighbour(index, k);
        Node& node = volume_[neighbour];
        if (node.label != 0 || node.residual[opposite(k)] == 0) continue;
        node.label = -1;
        found.push(neighbour);
      }
    }
  }

  const VolumeGraph& graph_;
  const VolumeNodes& nodes_;
  std::shared_ptr<Backend> backend_;
  Block node_memory_;  // [nodes_.count()]
  Block trees_;        // working memory of the search
  Volume volume_;
};

}  // namespace

int64_t cut_volume(const VolumeGraph& graph, uint8_t* foreground) {
  expects(!graph.shape.empty() && std::ranges::all_of(graph.shape, [](int64_t n) { return n > 0; }),
          "a grid has no elements");
  expects(graph.links.size() <= VolumeGraph::kMaxLinks, [&] {
    return "a grid has links of " + std::to_string(graph.links.size()) +
           " offsets, must have at most " + std::to_string(VolumeGraph::kMaxLinks);
  });
  for (const VolumeLinks& links : graph.links) {
    expects(links.offset.size() == graph.shape.size() &&
                std::ranges::all_of(links.offset, [](int step) { return std::abs(step) <= 1; }) &&
                std::ranges::count(links.offset, 0) < std::ssize(links.offset),
            "an offset must have one number per axis, each -1, 0 or 1, and not only zeros");
  }
  const VolumeNodes nodes(graph);
  const auto solve = [&]<class N>(N) {
    if (graph.links.size() <= 3) return VolumeCut<N, 6>(graph, nodes).run(foreground);
    if (graph.links.size() <= 4) return VolumeCut<N, 8>(graph, nodes).run(foreground);
    return VolumeCut<N, 26>(graph, nodes).run(foreground);
  };
  using Narrow = NumberTypes<int32_t>;
  if (max_weight_of(graph, nodes) <= Narrow::kMaxSum) return solve(Narrow{});
  return solve(NumberTypes<int64_t>{});
}

}  // namespace regions::maxflow

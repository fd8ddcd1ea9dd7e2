// Minimum cuts on the CPU: chooses the narrowest numbers that hold the frame, keeps the last
// solution for warm starts.
#include "core/maxflow/maxflow.hpp"

#include <algorithm>
#include <limits>
#include <mutex>
#include <string>
#include <vector>

#include "core/maxflow/warm_choice.hpp"
#include "cpu/backend.hpp"
#include "cpu/maxflow/mask.hpp"
#include "cpu/maxflow/strips.hpp"
#include "cpu/maxflow/weights.hpp"

namespace regions {
namespace {

using maxflow::Lattice;
using maxflow::WeightSums;

// Sums over this many pixels of what an int32 holds stay far from the ends of an int64.
constexpr size_t kMaxPixels = size_t{1} << 29;

using Narrow = Lattice<maxflow::Numbers<int16_t>, 4>;  // all lattices have as many nodes

template <int kNeighbours>
constexpr size_t kWidestNode = sizeof(maxflow::Node<maxflow::Numbers<int64_t>, kNeighbours>);

// Rows or tiles first..last-1 of piece i of `count`.
struct Piece {
  Piece(int all, int count, int i)
      : first(static_cast<int>(static_cast<int64_t>(all) * i / count)),
        last(static_cast<int>(static_cast<int64_t>(all) * (i + 1) / count)) {}
  int first;
  int last;
};

class CpuGridCut final : public GridCut {
 public:
  explicit CpuGridCut(std::shared_ptr<Backend> backend)
      : backend_(std::move(backend)), workers_(workers_of(*backend_)) {}

  void configure(Size size, Neighbours neighbours, int slots) override {
    expects(size.width > 0 && size.height > 0 && slots > 0,
            "a cut requires a picture of at least 1x1 pixels and at least one slot");
    expects(size.area() <= kMaxPixels, "pictures of more than " + std::to_string(kMaxPixels) +
                                           " pixels are too large for an exact cut");
    const size_t nodes = Narrow::count(size);
    expects(nodes <= static_cast<size_t>(std::numeric_limits<int32_t>::max()),
            "pictures of " + std::to_string(size.width) + "x" + std::to_string(size.height) +
                " pixels are too large for an exact cut");
    const std::lock_guard lock(mutex_);
    size_ = size;
    neighbours_ = neighbours;
    const bool eight = neighbours == Neighbours::eight;
    // Frames are solved one after the other, each in the graph that the last frame is not in.
    // Memory that narrow numbers leave over, and that of tiles far from any flow, is never touched.
    for (Block& graph : graphs_) {
      graph = backend_->allocate(nodes * (eight ? kWidestNode<8> : kWidestNode<4>));
    }
    lists_ = backend_->allocate(maxflow::Forest<Narrow>::bytes(nodes));
    for (auto& tiles : is_read_) tiles.assign(Narrow::count_tiles(size), 0);
    const auto seams = static_cast<size_t>(maxflow::strips_of(size, workers_) - 1);
    kept_.assign(seams * maxflow::seam_capacities(size), 0);
    nothing_.assign(static_cast<size_t>(size.width), 0);
    sums_.assign(static_cast<size_t>(size.height), {});
    tile_values_.assign(static_cast<size_t>(size.height), 0);
    width_ = k16Bits;
    solved_width_ = kNothing;
    warm_choice_ = {};
  }

  void enqueue(const GridGraph& graph, Image<uint8_t> foreground, const CutLimits& limits,
               CutReport* report, int /*slot*/, Queue& queue) override {
    expects(graph.neighbours == neighbours_, "neighbours differs from the configured value");
    expects_size(graph.terminal, "terminal weights");
    expects(!graph.links || graph.most > 0, "computed capacities require `most`, their maximum");
    if (!graph.links) {
      expects_size(graph.right, "capacities to the right");
      expects_size(graph.down, "capacities down");
    }
    if (!graph.links && neighbours_ == Neighbours::eight) {
      expects_size(graph.down_right, "capacities down right");
      expects_size(graph.down_left, "capacities down left");
    }
    expects_size(foreground, "pixels of the foreground mask");
    queue_of(queue).submit([=, this] { *report = cut(graph, foreground, limits); });
  }

  void reset() override {
    const std::lock_guard lock(mutex_);
    solved_width_ = kNothing;
  }

 private:
  // Which numbers a graph is solved in.
  enum Width { kNothing = -1, k16Bits, k32Bits, k64Bits };

  template <class T>
  void expects_size(const Image<T>& image, const char* what) const {
    expects(!image.empty() && image.size() == size_,
            std::string(what) + " are missing or have the wrong size");
  }

  CutReport cut(const GridGraph& graph, Image<uint8_t> foreground, const CutLimits& limits) {
    const maxflow::Clock::time_point start = maxflow::Clock::now();
    const std::lock_guard lock(mutex_);
    maxflow::Deadline deadline;
    if (limits.max_iterations > 0) deadline.passes = limits.max_iterations;
    if (limits.time_budget_us > 0) {
      deadline.time = start + std::chrono::microseconds(limits.time_budget_us);
    }
    const Task task{graph, foreground, limits.warm, deadline};
    return neighbours_ == Neighbours::four ? cut_with<4>(task) : cut_with<8>(task);
  }

  struct Task {
    const GridGraph& graph;
    Image<uint8_t> foreground;
    bool warm;
    maxflow::Deadline deadline;
  };

  // Tries the numbers that held the last frame first, then wider ones.
  template <int kNeighbours>
  CutReport cut_with(const Task& task) {
    CutReport report;
    for (;; width_ = static_cast<Width>(width_ + 1)) {
      bool held = false;
      switch (width_) {
        case k16Bits:
          held = cut_in<Lattice<maxflow::Numbers<int16_t>, kNeighbours>>(task, report);
          break;
        case k32Bits:
          held = cut_in<Lattice<maxflow::Numbers<int32_t>, kNeighbours>>(task, report);
          break;
        default:
          held = cut_in<Lattice<maxflow::Numbers<int64_t>, kNeighbours>>(task, report);
      }
      if (held) return report;
    }
  }

  // Returns false if the lattice's numbers are too narrow for the frame.
  template <maxflow::ResidualLattice L>
  bool cut_in(const Task& task, CutReport& report) {
    const bool may_start_warm = task.warm && solved_width_ == width_;
    // A cut that stopped early goes on; it says little of what a whole one takes.
    const bool warm = may_start_warm && (!solved_exactly_ || warm_choice_.takes_warm());
    if (!warm) solved_width_ = kNothing;
    const maxflow::Clock::time_point start = maxflow::Clock::now();
    const WeightSums sums = sums_of(task.graph);
    expects(!sums.has_negative, "a capacity between pixels is negative");
    if (sums.most > L::Numbers::most) return false;
    const int next = warm ? current_ ^ 1 : current_;
    const L last = lattice_in<L>(current_, nullptr);
    const maxflow::TileReader<false, L> cold(task.graph, nothing_.data(), nullptr);
    const maxflow::TileReader<true, L> again(task.graph, nothing_.data(), &last);
    const typename L::Reader& reader = warm ? static_cast<const typename L::Reader&>(again) : cold;
    const L lattice = lattice_in<L>(next, &reader);
    mark_roots(task);
    std::fill(is_read_[next].begin(), is_read_[next].end(), 0);
    if (warm) keep_flow(last, lattice, task.foreground);

    maxflow::StripSolver<L> solver{lattice,      task.foreground, lists_.template as<std::byte>(),
                                   kept_.data(), workers_,        task.deadline};
    const maxflow::Growth growth = solver.solve();
    report.exact = growth.finished;
    report.iterations = growth.passes;
    report.flow = sum_tiles(lattice, [&](int32_t tile) {
      return maxflow::write_tile(lattice, tile, task.graph, task.foreground);
    });
    maxflow::share_out_free(lattice, task.foreground, lists_.template as<int32_t>());
    if (!report.exact) read_rest(lattice);
    report.gap = report.exact ? 0 : sum_tiles(lattice, [&](int32_t tile) {
      return maxflow::gap_of_tile(lattice, tile, Image<const uint8_t>(task.foreground));
    });
    if (report.exact && (solved_exactly_ || !warm)) {
      warm_choice_.note(warm, maxflow::Clock::now() - start);
    }
    current_ = next;
    solved_width_ = width_;
    solved_exactly_ = report.exact;
    width_ = sums.most <= maxflow::Numbers<int16_t>::most   ? k16Bits
             : sums.most <= maxflow::Numbers<int32_t>::most ? k32Bits
                                                            : k64Bits;
    return true;
  }

  template <maxflow::ResidualLattice L>
  L lattice_in(int graph, const typename L::Reader* reader) {
    return L(graphs_[graph].template as<typename L::Node>(), size_, is_read_[graph].data(), reader);
  }

  WeightSums sums_of(const GridGraph& graph) {
    return graph.most > 0                    ? WeightSums{graph.most, false}
           : neighbours_ == Neighbours::four ? sums_with<4>(graph)
                                             : sums_with<8>(graph);
  }

  template <int kNeighbours>
  WeightSums sums_with(const GridGraph& graph) {
    workers_.parallel_for(pieces(), [&](int i) {
      const Piece piece(size_.height, pieces(), i);
      WeightSums& sums = sums_[static_cast<size_t>(i)];
      sums = {};
      for (int y = piece.first; y < piece.last; ++y) {
        sums.add(maxflow::sums_of(maxflow::WeightRow<kNeighbours>(graph, y, nothing_.data())));
      }
    });
    WeightSums all;
    for (int i = 0; i < pieces(); ++i) all.add(sums_[static_cast<size_t>(i)]);
    return all;
  }

  void mark_roots(const Task& task) {
    workers_.parallel_for(pieces(), [&](int i) {
      const Piece piece(size_.height, pieces(), i);
      for (int y = piece.first; y < piece.last; ++y) {
        maxflow::mark_roots(task.graph.terminal.row(y), size_.width, task.foreground.row(y));
      }
    });
  }

  // Reads the tiles that the last frame's flow came to, and marks their roots.
  template <maxflow::ResidualLattice L>
  void keep_flow(const L& last, const L& lattice, Image<uint8_t> foreground) {
    sum_tiles(last, [&](int32_t tile) {
      lattice.require_tile(tile);
      lattice.for_each(tile, [&](int x, int y, const typename L::Node& node) {
        foreground(x, y) = maxflow::root_mark(node.excess);
      });
      return 0;
    });
  }

  // The sum of value_of(tile) over the tiles that have been read.
  template <maxflow::ResidualLattice L, std::invocable<int32_t> F>
  int64_t sum_tiles(const L& lattice, F value_of) {
    const auto tiles = static_cast<int>(L::count_tiles(size_));
    workers_.parallel_for(pieces(), [&](int i) {
      const Piece piece(tiles, pieces(), i);
      int64_t sum = 0;
      for (int32_t tile = piece.first; tile < piece.last; ++tile) {
        if (lattice.is_read(tile)) sum += value_of(tile);
      }
      tile_values_[static_cast<size_t>(i)] = sum;
    });
    int64_t all = 0;
    for (int i = 0; i < pieces(); ++i) all += tile_values_[static_cast<size_t>(i)];
    return all;
  }

  // Reads all tiles.
  template <maxflow::ResidualLattice L>
  void read_rest(const L& lattice) {
    const auto tiles = static_cast<int>(L::count_tiles(size_));
    workers_.parallel_for(pieces(), [&](int i) {
      const Piece piece(tiles, pieces(), i);
      for (int32_t tile = piece.first; tile < piece.last; ++tile) lattice.require_tile(tile);
    });
  }

  // Rows are shared out in more pieces than threads, so that none waits long.
  int pieces() const { return std::min(size_.height, workers_.threads() * 4); }

  std::shared_ptr<Backend> backend_;
  Workers workers_;
  std::mutex mutex_;  // one frame at a time; guards what follows
  Size size_;
  Neighbours neighbours_ = Neighbours::four;
  Block graphs_[2];  // the last frame's and the next one's
  Block lists_;      // of the forest
  std::vector<int64_t> kept_;
  std::vector<int32_t> nothing_;  // [width], zeros
  std::vector<WeightSums> sums_;
  std::vector<int64_t> tile_values_;
  std::vector<uint8_t> is_read_[2];  // tiles of either graph
  int current_ = 0;                  // index of the last frame's graph
  Width width_ = k16Bits;            // tried first
  Width solved_width_ = kNothing;    // of the last frame's graph
  bool solved_exactly_ = false;
  maxflow::WarmChoice warm_choice_;
};

}  // namespace

template <>
std::unique_ptr<GridCut> make_grid_cut<BackendKind::cpu>(std::shared_ptr<Backend> backend) {
  return std::make_unique<CpuGridCut>(std::move(backend));
}

}  // namespace regions

// Computes minimum cuts on the CPU: chooses the narrowest number types that can represent the
// frame, runs the search, reads the mask from the search trees, and stores the solution for warm
// starts.
#include "core/maxflow/maxflow.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <limits>
#include <mutex>
#include <string>
#include <vector>

#include "core/maxflow/warm_start_tuner.hpp"
#include "cpu/backend.hpp"
#include "cpu/maxflow/cut_search.hpp"
#include "cpu/maxflow/residual_grid.hpp"
#include "cpu/maxflow/search_trees.hpp"
#include "cpu/simd.hpp"

namespace regions::maxflow {
namespace {

// Sets the mask values of a row before any flow is pushed, according to the sign of each pixel's
// terminal weight.
REGIONS_CLONES void mark_roots(const int32_t* terminal, int width, uint8_t* marks) {
  std::transform(terminal, terminal + width, marks, [](int32_t t) -> uint8_t {
    return t > 0 ? kInSource : t < 0 ? kInSink : kFree;
  });
}

REGIONS_CLONES WeightSums sums_of(const WeightRow<4>& row) { return row.sums(); }
REGIONS_CLONES WeightSums sums_of(const WeightRow<8>& row) { return row.sums(); }

// Writes the mask values of a tile from its labels. Returns the tile's contribution to the flow:
// the sum of its positive terminal weights minus the excess that did not reach the sink.
template <ResidualGraph Grid>
int64_t write_tile(const Grid& grid, int32_t tile, const GridGraph& graph,
                   Image<uint8_t> foreground) {
  int64_t flow = 0;
  grid.for_each_pixel(tile, [&](int x, int y, const typename Grid::Node& node) {
    flow += std::max(graph.terminal(x, y), 0) - std::max<int64_t>(node.excess, 0);
    foreground(x, y) = node.label > 0 ? kInSource : node.label < 0 ? kInSink : kFree;
  });
  return flow;
}

// Assigns the pixels that are in no tree to foreground or background. Pixels from which flow can
// reach the sink become background. All others become foreground, which gives the largest possible
// source side. `pixels` is workspace with one entry per pixel.
template <ResidualGraph Grid>
void assign_free_pixels(const Grid& grid, Image<uint8_t> mask, int32_t* pixels) {
  constexpr int kNeighbours = Grid::kNeighbours;
  int32_t count = 0;
  const auto add_to_background = [&](int x, int y) {
    mask(x, y) = kInSink;
    pixels[count++] = y * mask.width + x;
  };
  const auto node_at = [&](int x, int y) -> auto& {
    grid.ensure_loaded(grid.index(x, y));
    return grid[grid.index(x, y)];
  };
  const auto reaches_sink = [&](int x, int y) {
    const auto& node = node_at(x, y);
    for (int k = 0; k < kNeighbours; ++k) {
      if (node.residual[k] != 0 && mask(x + step_x(k), y + step_y(k)) == kInSink) return true;
    }
    return false;
  };
  const auto spread_background = [&] {
    while (count != 0) {
      const int32_t pixel = pixels[--count];
      const int x = pixel % mask.width;
      const int y = pixel / mask.width;
      for (int k = 0; k < kNeighbours; ++k) {
        const int next_x = x + step_x(k);
        const int next_y = y + step_y(k);
        if (mask.contains(next_x, next_y) && mask(next_x, next_y) == kFree &&
            node_at(next_x, next_y).residual[opposite(k)] != 0) {
          add_to_background(next_x, next_y);
        }
      }
    }
  };
  const auto for_each_free = [&](auto f) {
    for (int y = 0; y < mask.height; ++y) {
      const uint8_t* row = mask.row(y);
      const auto find = [&](int x) {
        return static_cast<const uint8_t*>(
            std::memchr(row + x, kFree, static_cast<size_t>(mask.width - x)));
      };
      for (const uint8_t* at = find(0); at; at = find(static_cast<int>(at - row) + 1)) {
        f(static_cast<int>(at - row), y);
      }
    }
  };
  for_each_free([&](int x, int y) {
    if (!reaches_sink(x, y)) return;
    add_to_background(x, y);
    spread_background();
  });
  for_each_free([&](int x, int y) { mask(x, y) = kInSource; });
}

// Returns the contribution of a tile to the difference between the value of the mask's cut and the
// flow: the sum of the residual capacities of links from foreground to background.
template <ResidualGraph Grid>
int64_t gap_of_tile(const Grid& grid, int32_t tile, Image<const uint8_t> foreground) {
  int64_t gap = 0;
  grid.for_each_pixel(tile, [&](int x, int y, const typename Grid::Node& node) {
    if (foreground(x, y) == GridCut::kBackground) return;
    for (int k = 0; k < Grid::kNeighbours; ++k) {
      if (node.residual[k] == 0) continue;
      if (foreground(x + step_x(k), y + step_y(k)) == GridCut::kBackground) {
        gap += static_cast<int64_t>(node.residual[k]);
      }
    }
  });
  return gap;
}

}  // namespace
}  // namespace regions::maxflow

namespace regions {
namespace {

using maxflow::ResidualGrid;
using maxflow::WeightSums;

// Maximum size of a picture. The sum of this many int32 values fits into an int64.
constexpr size_t kMaxPixels = size_t{1} << 29;

// The grid type that is used to count nodes and tiles. All grid types have the same number of nodes
// and tiles for a picture of the same size.
using NarrowestGrid = ResidualGrid<maxflow::NumberTypes<int16_t>, 4>;

template <int kNeighbours>
constexpr size_t kMaxNodeBytes = sizeof(maxflow::Node<maxflow::NumberTypes<int64_t>, kNeighbours>);

// Chunk i of `count` chunks, which divide `all` rows (or tiles) evenly. The chunk consists of the
// rows (or tiles) first..last - 1.
struct ChunkRange {
  ChunkRange(int all, int count, int i)
      : first(static_cast<int>(static_cast<int64_t>(all) * i / count)),
        last(static_cast<int>(static_cast<int64_t>(all) * (i + 1) / count)) {}
  int first;
  int last;
};

class CpuGridCut final : public GridCut {
 public:
  explicit CpuGridCut(std::shared_ptr<Backend> backend)
      : backend_(std::move(backend)), workers_(workers_of(*backend_)) {}

  std::unique_ptr<GridCut> make_companion() const override {
    return std::make_unique<CpuGridCut>(backend_);
  }

  void configure(Size size, Neighbours neighbours, int slots) override {
    expects(size.width > 0 && size.height > 0 && slots > 0,
            "a cut requires a picture of at least 1x1 pixels and at least one slot");
    expects(size.area() <= kMaxPixels, "pictures of more than " + std::to_string(kMaxPixels) +
                                           " pixels are too large for an exact cut");
    const size_t nodes = NarrowestGrid::count_nodes(size);
    expects(nodes <= static_cast<size_t>(std::numeric_limits<int32_t>::max()),
            "pictures of " + std::to_string(size.width) + "x" + std::to_string(size.height) +
                " pixels are too large for an exact cut");
    const std::lock_guard lock(mutex_);
    size_ = max_size_ = size;
    neighbours_ = neighbours;
    const bool eight = neighbours == Neighbours::eight;
    // A warm start reads the last frame's graph and solves the new frame in the other graph. Some
    // memory of the graphs is never touched: memory that only wider number types use, and the
    // memory of tiles that are not loaded.
    for (Block& graph : graphs_) {
      graph = backend_->allocate(nodes * (eight ? kMaxNodeBytes<8> : kMaxNodeBytes<4>));
    }
    node_lists_ = backend_->allocate(maxflow::SearchTrees<NarrowestGrid>::bytes(nodes));
    for (auto& tiles : is_loaded_) tiles.assign(NarrowestGrid::count_tiles(size), 0);
    const auto seams = static_cast<size_t>(maxflow::chunk_count(size, workers_) - 1);
    seam_residuals_.assign(seams * maxflow::seam_size(size), 0);
    zeros_.assign(static_cast<size_t>(size.width), 0);
    sums_.assign(static_cast<size_t>(size.height), {});
    tile_values_.assign(static_cast<size_t>(size.height), 0);
    number_size_ = k16Bits;
    solved_number_size_ = kUnsolved;
    warm_start_tuner_ = {};
  }

  void enqueue(const GridGraph& graph, Image<uint8_t> foreground, const CutLimits& limits,
               CutResult* report, int /*slot*/, Queue& queue) override {
    expects(graph.neighbours == neighbours_, "neighbours differs from the configured value");
    expects(!graph.terminal.empty() && graph.terminal.width == max_size_.width &&
                graph.terminal.height <= max_size_.height,
            "terminal weights are missing or have the wrong size");
    const Size size = graph.terminal.size();
    expects(!graph.links || graph.max_weight > 0,
            "computed capacities require `most`, their maximum");
    if (!graph.links) {
      expects_size(graph.right, size, "capacities to the right");
      expects_size(graph.down, size, "capacities down");
    }
    if (!graph.links && neighbours_ == Neighbours::eight) {
      expects_size(graph.down_right, size, "capacities down right");
      expects_size(graph.down_left, size, "capacities down left");
    }
    expects_size(foreground, size, "pixels of the foreground mask");
    queue_of(queue).submit([=, this] { *report = cut(graph, foreground, limits); });
  }

  void reset() override {
    const std::lock_guard lock(mutex_);
    solved_number_size_ = kUnsolved;
  }

 private:
  // The size of the number types of a graph; kUnsolved if no frame has been solved.
  enum NumberSize { kUnsolved = -1, k16Bits, k32Bits, k64Bits };

  template <class T>
  static void expects_size(const Image<T>& image, Size size, const char* what) {
    expects(!image.empty() && image.size() == size,
            std::string(what) + " are missing or have the wrong size");
  }

  CutResult cut(const GridGraph& graph, Image<uint8_t> foreground, const CutLimits& limits) {
    const maxflow::Clock::time_point start = maxflow::Clock::now();
    const std::lock_guard lock(mutex_);
    if (graph.terminal.size() != size_) solved_number_size_ = kUnsolved;
    size_ = graph.terminal.size();
    maxflow::Deadline deadline;
    if (limits.max_iterations > 0) deadline.max_iterations = limits.max_iterations;
    if (limits.time_budget > 0) {
      deadline.time = start + std::chrono::microseconds(limits.time_budget);
    }
    const Task task{graph, foreground, limits.warm_start, deadline};
    return neighbours_ == Neighbours::four ? cut_with_neighbours<4>(task)
                                           : cut_with_neighbours<8>(task);
  }

  struct Task {
    const GridGraph& graph;
    Image<uint8_t> foreground;
    bool warm_start;
    maxflow::Deadline deadline;
  };

  // Tries the number types that were sufficient for the last frame first, then wider ones.
  template <int kNeighbours>
  CutResult cut_with_neighbours(const Task& task) {
    CutResult report;
    for (;; number_size_ = static_cast<NumberSize>(number_size_ + 1)) {
      bool is_wide_enough = false;
      switch (number_size_) {
        case k16Bits:
          is_wide_enough =
              solve_in<ResidualGrid<maxflow::NumberTypes<int16_t>, kNeighbours>>(task, report);
          break;
        case k32Bits:
          is_wide_enough =
              solve_in<ResidualGrid<maxflow::NumberTypes<int32_t>, kNeighbours>>(task, report);
          break;
        default:
          is_wide_enough =
              solve_in<ResidualGrid<maxflow::NumberTypes<int64_t>, kNeighbours>>(task, report);
      }
      if (is_wide_enough) return report;
    }
  }

  // Solves the frame in a graph of type Grid. Returns false if the number types of Grid are too
  // narrow for the frame.
  template <maxflow::ResidualGraph Grid>
  bool solve_in(const Task& task, CutResult& report) {
    const bool may_start_warm = task.warm_start && solved_number_size_ == number_size_;
    // If the last cut stopped early, the new cut always continues from its flow. The tuner does not
    // receive the time of such a continuation, because it says little about complete cuts.
    const bool warm = may_start_warm && (!solved_exactly_ || warm_start_tuner_.use_warm_start());
    if (!warm) solved_number_size_ = kUnsolved;
    const maxflow::Clock::time_point start = maxflow::Clock::now();
    const WeightSums sums = sums_of(task.graph);
    expects(!sums.has_negative, "a capacity between pixels is negative");
    if (sums.max_sum > Grid::Numbers::kMaxSum) return false;
    const int next = warm ? current_ ^ 1 : current_;
    const Grid last = make_grid<Grid>(current_, nullptr);
    const maxflow::WeightLoader<false, Grid> cold_loader(task.graph, zeros_.data(), nullptr);
    const maxflow::WeightLoader<true, Grid> warm_loader(task.graph, zeros_.data(), &last);
    const typename Grid::TileLoader& loader =
        warm ? static_cast<const typename Grid::TileLoader&>(warm_loader) : cold_loader;
    const Grid grid = make_grid<Grid>(next, &loader);
    mark_roots(task);
    std::fill(is_loaded_[next].begin(), is_loaded_[next].end(), 0);
    if (warm) load_tiles_with_flow(last, grid, task.foreground);

    const maxflow::SearchBuffers buffers{node_lists_.template as<std::byte>(),
                                         seam_residuals_.data()};
    const maxflow::SearchResult result = maxflow::find_minimum_cut(
        grid, Image<const uint8_t>(task.foreground), buffers, workers_, task.deadline);
    report.exact = result.finished;
    report.iterations = result.passes;
    report.flow = sum_tiles(grid, [&](int32_t tile) {
      return maxflow::write_tile(grid, tile, task.graph, task.foreground);
    });
    maxflow::assign_free_pixels(grid, task.foreground, node_lists_.template as<int32_t>());
    if (!report.exact) load_all_tiles(grid);
    report.gap = report.exact ? 0 : sum_tiles(grid, [&](int32_t tile) {
      return maxflow::gap_of_tile(grid, tile, Image<const uint8_t>(task.foreground));
    });
    if (report.exact && (solved_exactly_ || !warm)) {
      warm_start_tuner_.record_time(warm, maxflow::Clock::now() - start);
    }
    current_ = next;
    solved_number_size_ = number_size_;
    solved_exactly_ = report.exact;
    number_size_ = sums.max_sum <= maxflow::NumberTypes<int16_t>::kMaxSum   ? k16Bits
                   : sums.max_sum <= maxflow::NumberTypes<int32_t>::kMaxSum ? k32Bits
                                                                            : k64Bits;
    return true;
  }

  template <maxflow::ResidualGraph Grid>
  Grid make_grid(int graph, const typename Grid::TileLoader* loader) {
    return Grid(graphs_[graph].template as<typename Grid::Node>(), size_, is_loaded_[graph].data(),
                loader);
  }

  WeightSums sums_of(const GridGraph& graph) {
    return graph.max_weight > 0              ? WeightSums{graph.max_weight, false}
           : neighbours_ == Neighbours::four ? sum_weights<4>(graph)
                                             : sum_weights<8>(graph);
  }

  template <int kNeighbours>
  WeightSums sum_weights(const GridGraph& graph) {
    workers_.parallel_for(chunks(), [&](int i) {
      const ChunkRange range(size_.height, chunks(), i);
      WeightSums& sums = sums_[static_cast<size_t>(i)];
      sums = {};
      for (int y = range.first; y < range.last; ++y) {
        sums.add(maxflow::sums_of(maxflow::WeightRow<kNeighbours>(graph, y, zeros_.data())));
      }
    });
    WeightSums all;
    for (int i = 0; i < chunks(); ++i) all.add(sums_[static_cast<size_t>(i)]);
    return all;
  }

  void mark_roots(const Task& task) {
    workers_.parallel_for(chunks(), [&](int i) {
      const ChunkRange range(size_.height, chunks(), i);
      for (int y = range.first; y < range.last; ++y) {
        maxflow::mark_roots(task.graph.terminal.row(y), size_.width, task.foreground.row(y));
      }
    });
  }

  // Loads the tiles that the last frame's flow has reached, and sets their mask values.
  template <maxflow::ResidualGraph Grid>
  void load_tiles_with_flow(const Grid& last, const Grid& grid, Image<uint8_t> foreground) {
    sum_tiles(last, [&](int32_t tile) {
      grid.ensure_tile_loaded(tile);
      grid.for_each_pixel(tile, [&](int x, int y, const typename Grid::Node& node) {
        foreground(x, y) = maxflow::root_mark(node.excess);
      });
      return 0;
    });
  }

  // Returns the sum of value_of(tile) over all loaded tiles.
  template <maxflow::ResidualGraph Grid, std::invocable<int32_t> F>
  int64_t sum_tiles(const Grid& grid, F value_of) {
    const auto tiles = static_cast<int>(Grid::count_tiles(size_));
    workers_.parallel_for(chunks(), [&](int i) {
      const ChunkRange range(tiles, chunks(), i);
      int64_t sum = 0;
      for (int32_t tile = range.first; tile < range.last; ++tile) {
        if (grid.is_loaded(tile)) sum += value_of(tile);
      }
      tile_values_[static_cast<size_t>(i)] = sum;
    });
    int64_t all = 0;
    for (int i = 0; i < chunks(); ++i) all += tile_values_[static_cast<size_t>(i)];
    return all;
  }

  template <maxflow::ResidualGraph Grid>
  void load_all_tiles(const Grid& grid) {
    const auto tiles = static_cast<int>(Grid::count_tiles(size_));
    workers_.parallel_for(chunks(), [&](int i) {
      const ChunkRange range(tiles, chunks(), i);
      for (int32_t tile = range.first; tile < range.last; ++tile) grid.ensure_tile_loaded(tile);
    });
  }

  // Returns the number of chunks of rows or tiles. There are more chunks than threads, because the
  // work per chunk differs.
  int chunks() const { return std::min(size_.height, workers_.threads() * 4); }

  std::shared_ptr<Backend> backend_;
  Workers workers_;
  std::mutex mutex_;  // held while a frame is solved; guards all following members
  Size max_size_;     // size given to configure()
  Size size_;         // size of the last graph, which may have fewer rows
  Neighbours neighbours_ = Neighbours::four;
  Block graphs_[2];   // nodes of two graphs: of the last frame and, after a warm start, of the next
  Block node_lists_;  // lists of nodes for the search trees
  std::vector<int64_t> seam_residuals_;        // [seams][seam_size], see SearchBuffers
  std::vector<int32_t> zeros_;                 // [width], a row of zeros, see WeightRow
  std::vector<WeightSums> sums_;               // [chunks], statistics of a chunk of rows
  std::vector<int64_t> tile_values_;           // [chunks], sum over a chunk of tiles
  std::vector<uint8_t> is_loaded_[2];          // [tiles] for each graph, 1 if the tile is loaded
  int current_ = 0;                            // index of the last frame's graph in graphs_
  NumberSize number_size_ = k16Bits;           // number types that the next frame tries first
  NumberSize solved_number_size_ = kUnsolved;  // number types of the last frame's graph
  bool solved_exactly_ = false;
  maxflow::WarmStartTuner warm_start_tuner_;
};

}  // namespace

template <>
std::unique_ptr<GridCut> make_grid_cut<BackendKind::cpu>(std::shared_ptr<Backend> backend) {
  return std::make_unique<CpuGridCut>(std::move(backend));
}

}  // namespace regions

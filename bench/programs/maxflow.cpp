// Times minimum cuts of instances in files (*.gcg, or *.gcg.xz through the program xz). Prints one
// row for each solver, for 4 and 8 neighbours, with a cold start and with a warm start. A warm
// start (solver name + ", warm") begins with the solution of a frame that differs by noise. `ms` is
// the time from the weights to the mask, both in the backend's memory. `expected` is true if the
// flow and the number of source pixels equal the values in the file. With --streams, the program
// also measures the total rate of several solvers that run at the same time.
#include "core/maxflow/maxflow.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <numeric>
#include <thread>

#include "bench/programs/cuda.hpp"
#include "bench/programs/program.hpp"
#include "bench/programs/row.hpp"
#if REGIONS_CUDA
#include "gpu/maxflow/maxflow.hpp"
#endif

namespace regions {
namespace {

constexpr int kWeightArrays = 5;  // terminal, right, down, down_right, down_left

// An instance from a file: a header of 128 bytes, then int16 arrays.
struct Instance {
  std::string file;
  Size size;
  int64_t flow[2] = {};    // expected flow for 4 and for 8 neighbours
  int64_t pixels[2] = {};  // expected number of pixels on the largest source side
  std::array<std::vector<int32_t>, kWeightArrays> weights;
};

std::string read_uncompressed(const std::string& file) {
  std::ifstream stream(file, std::ios::binary);
  expects(stream.good(), file + ": cannot read the file");
  return {std::istreambuf_iterator<char>(stream), {}};
}

std::string read_compressed(const std::string& file) {
  std::string quoted = "'";
  for (const char c : file) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  FILE* pipe = popen(("xz -dc -- " + quoted + "'").c_str(), "r");
  expects(pipe != nullptr, file + ": cannot start the program xz");
  std::string bytes;
  char chunk[1 << 16];
  for (size_t got; (got = fread(chunk, 1, sizeof chunk, pipe)) > 0;) bytes.append(chunk, got);
  expects(pclose(pipe) == 0, file + ": xz cannot decompress the file");
  return bytes;
}

Instance load(const std::string& file) {
  const std::string bytes = file.ends_with(".xz") ? read_compressed(file) : read_uncompressed(file);
  constexpr size_t kHeaderBytes = 128;
  expects(bytes.size() >= kHeaderBytes && bytes.compare(0, 4, "GCG1") == 0,
          file + ": not an instance: expected a header that begins with GCG1");
  int32_t words[5];
  // For 4 and then for 8 neighbours: the flow, and the number of pixels of the smallest and of the
  // largest source side.
  int64_t header_values[6];
  std::memcpy(words, &bytes[4], sizeof words);
  std::memcpy(header_values, &bytes[4 + sizeof words], sizeof header_values);
  Instance instance{file,
                    {words[0], words[1]},
                    {header_values[0], header_values[3]},
                    {header_values[2], header_values[5]},
                    {}};
  const size_t area = instance.size.area();
  expects(words[0] > 0 && words[1] > 0 && words[2] == 1 &&
              bytes.size() == kHeaderBytes + kWeightArrays * area * sizeof(int16_t),
          file + ": truncated, or links are not symmetric");
  const char* at = &bytes[kHeaderBytes];
  for (auto& array : instance.weights) {
    std::vector<int16_t> stored(area);
    std::memcpy(stored.data(), at, area * sizeof(int16_t));
    at += area * sizeof(int16_t);
    array.assign(stored.begin(), stored.end());
  }
  return instance;
}

// The weights of an instance, in a backend's memory.
struct Weights {
  Weights(const Instance& instance, Backend& backend, Queue& queue) {
    for (size_t i = 0; i < kWeightArrays; ++i) {
      const size_t bytes = instance.size.area() * sizeof(int32_t);
      blocks[i] = backend.allocate(bytes);
      views[i] = {blocks[i].as<int32_t>(), instance.size.width, instance.size.height,
                  static_cast<ptrdiff_t>(sizeof(int32_t)) * instance.size.width};
      queue.copy_bytes(instance.weights[i].data(), blocks[i].data(), bytes);
    }
    queue.record();
    queue.wait();
  }
  std::array<Block, kWeightArrays> blocks;
  std::array<Image<const int32_t>, kWeightArrays> views;
};

// Returns an instance that could be the previous frame of `instance`: the terminal weights of a
// quarter of the pixels differ by up to 3.
Instance make_previous_frame(Instance instance) {
  uint32_t noise = 1;
  for (int32_t& terminal : instance.weights[0]) {
    noise = noise * 1664525 + 1013904223;  // Numerical Recipes' generator
    if (noise >> 30 == 0) terminal += static_cast<int32_t>(noise >> 8 & 0xFF) % 7 - 3;
  }
  return instance;
}

struct CutSolver {
  std::string name;
  std::function<std::shared_ptr<Backend>()> make_backend;
  std::function<std::unique_ptr<GridCut>(std::shared_ptr<Backend>)> make_cut;
};

enum class Start { cold, warm };

// A solver with its queue, its weights and its mask.
class Cut {
 public:
  Cut(const Instance& instance, Neighbours neighbours, const CutSolver& solver,
      const std::shared_ptr<Backend>& backend)
      : instance_(instance),
        neighbours_(neighbours),
        queue_(backend->make_queue()),
        cut_(solver.make_cut(backend)),
        weights_(instance, *backend, *queue_),
        mask_(backend->allocate(instance.size.area())),
        copy_(backend->allocate_pinned(instance.size.area())),
        report_(backend->allocate_pinned(sizeof(CutResult))) {
    cut_->configure(instance.size, neighbours, 1);
    new (report_.data()) CutResult;
  }

  void enqueue(const Weights& weights, bool warm) {
    const auto& v = weights.views;
    CutLimits limits;
    limits.warm_start = warm;
    cut_->enqueue(
        {v[0], v[1], v[2], v[3], v[4], neighbours_},
        {mask_.as<uint8_t>(), instance_.size.width, instance_.size.height, instance_.size.width},
        limits, report_.as<CutResult>(), 0, *queue_);
    queue_->record();
  }
  void enqueue(bool warm) { enqueue(weights_, warm); }
  void wait() { queue_->wait(); }
  void solve(const Weights& weights, bool warm) {
    enqueue(weights, warm);
    wait();
  }
  void solve(bool warm) { solve(weights_, warm); }

  Queue& queue() { return *queue_; }
  const CutResult& report() const { return *report_.as<CutResult>(); }
  int64_t source_pixels() {
    queue_->copy_bytes(mask_.data(), copy_.data(), copy_.bytes());
    queue_->record();
    queue_->wait();
    const auto* pixels = copy_.as<uint8_t>();
    return std::count_if(pixels, pixels + copy_.bytes(), [](uint8_t pixel) { return pixel != 0; });
  }
  // Returns true if the flow and the number of source pixels equal the values in the file.
  bool is_expected(int64_t pixels) const {
    const int index = neighbours_ == Neighbours::eight;
    return report().exact && report().flow == instance_.flow[index] &&
           pixels == instance_.pixels[index];
  }

 private:
  const Instance& instance_;
  Neighbours neighbours_;
  std::unique_ptr<Queue> queue_;
  std::unique_ptr<GridCut> cut_;
  Weights weights_;
  Block mask_, copy_, report_;
};

Row row_of(const char* kind, const Instance& instance, Neighbours neighbours,
           const std::string& solver) {
  Row row(kind, true);
  row.add("file", instance.file.substr(instance.file.rfind('/') + 1));
  row.add("neighbours", static_cast<int>(neighbours)).add("solver", solver);
  return row;
}

void time_one(const Instance& instance, Neighbours neighbours, const CutSolver& solver, Start start,
              const Effort& effort) {
  const auto backend = solver.make_backend();
  const Backend::Entry entry(*backend);
  Cut cut(instance, neighbours, solver, backend);
  const Weights previous_weights(make_previous_frame(instance), *backend, cut.queue());
  const bool warm = start == Start::warm;
  const Timing time = time_calls(
      1, [&](int) { cut.solve(warm); }, effort,
      [&] {
        if (warm) cut.solve(previous_weights, false);
      });
  const int64_t pixels = cut.source_pixels();
  Row row = row_of("cut", instance, neighbours, solver.name + (warm ? ", warm" : ""));
  row.add("flow", cut.report().flow).add("source_pixels", pixels);
  row.add("iterations", cut.report().iterations);
  row.add("ms", time.median / 1e3, 3).add("fastest_ms", time.fastest / 1e3, 3);
  row.add("runs", time.runs).add("exact", cut.report().exact);
  row.add("expected", cut.is_expected(pixels)).print();
}

// Measures the total cuts per second of `streams` streams, each with its own solver and thread.
void time_streams(const Instance& instance, Neighbours neighbours, const CutSolver& solver,
                  int streams, double seconds) {
  constexpr int kFramesInFlight = 16;  // number of frames in flight per stream
  const auto backend = solver.make_backend();
  const Backend::Entry entry(*backend);
  std::vector<std::unique_ptr<Cut>> cuts;
  for (int i = 0; i < streams; ++i) {
    cuts.push_back(std::make_unique<Cut>(instance, neighbours, solver, backend));
    cuts.back()->solve(false);
  }
  using Clock = std::chrono::steady_clock;
  const auto since_begin = [begin = Clock::now()] {
    return std::chrono::duration<double>(Clock::now() - begin).count();
  };
  std::vector<double> rates(cuts.size());
  std::vector<std::thread> threads;
  for (size_t i = 0; i < cuts.size(); ++i) {
    threads.emplace_back([&, i] {
      const Backend::Entry use(*backend);
      int count = 0;
      for (; since_begin() < seconds; count += kFramesInFlight) {
        for (int k = 0; k < kFramesInFlight; ++k) cuts[i]->enqueue(false);
        cuts[i]->wait();
      }
      rates[i] = count / since_begin();
    });
  }
  for (std::thread& thread : threads) thread.join();
  const bool expected = std::all_of(cuts.begin(), cuts.end(), [](const auto& cut) {
    return cut->is_expected(cut->source_pixels());
  });
  Row row = row_of("cuts", instance, neighbours, solver.name);
  const double rate = std::accumulate(rates.begin(), rates.end(), 0.0);
  row.add("streams", streams).add("per_second", rate, 0);
  const char* connections = std::getenv("CUDA_DEVICE_MAX_CONNECTIONS");
  row.add("connections", connections ? std::atoi(connections) : 8);  // CUDA's default
  row.add("expected", expected).print();
}

std::vector<CutSolver> solvers(const std::string& solver_filter) {
  std::vector<CutSolver> all;
  for (const int threads : {1, 2, 0}) {
    const auto make_backend = [threads] { return make_cpu_backend(threads); };
    if (threads == 0 && make_backend()->description() == make_cpu_backend(2)->description()) break;
    all.push_back({make_backend()->description(), make_backend, make_grid_cut<BackendKind::cpu>});
  }
#if REGIONS_CUDA
  constexpr std::pair<const char*, CutTier> kTiers[] = {{"cuda resident", CutTier::resident},
                                                        {"cuda sparse", CutTier::sparse},
                                                        {"cuda plain", CutTier::plain}};
  for (const auto& [name, tier] : kTiers) {
    if (!have_cuda()) break;
    all.push_back({name, make_first_gpu_backend, [tier = tier](std::shared_ptr<Backend> backend) {
                     return make_cuda_grid_cut(std::move(backend), tier);
                   }});
  }
#endif
  std::erase_if(all, [&](const CutSolver& s) { return s.name.find(solver_filter) == s.name.npos; });
  return all;
}

int run(int argc, char** argv) {
  std::string solver_filter;
  int streams = 0;
  Effort effort{.max_timings = 20, .seconds = 3, .warm_up = 1};
  const std::vector<std::string> files = parse(
      argc, argv, "[OPTION…] FILE.gcg[.xz]…\nTimes minimum cuts.",
      {{"--solver", "TEXT", "only solvers whose name contains TEXT", into(solver_filter)},
       {"--streams", "N", "also measure cuts per second of N streams (default: 0)", into(streams)},
       {"--runs", "N", "timings per median (default: 20)", into(effort.max_timings)},
       {"--seconds", "S", "time limit of one case (default: 3)", into(effort.seconds)}});
  expects(!files.empty(), "expected at least one FILE (see --help)");
  for (const std::string& file : files) {
    const Instance instance = load(file);
    for (const Neighbours neighbours : {Neighbours::four, Neighbours::eight}) {
      for (const CutSolver& solver : solvers(solver_filter)) {
        time_one(instance, neighbours, solver, Start::cold, effort);
        // The plain solver only serves for comparison, so it is not timed with a warm start.
        if (solver.name.find("plain") != std::string::npos) continue;
        time_one(instance, neighbours, solver, Start::warm, effort);
        if (streams > 0) {
          time_streams(instance, neighbours, solver, streams, std::min(effort.seconds, 1.0));
        }
      }
    }
  }
  return 0;
}

}  // namespace
}  // namespace regions

int main(int argc, char** argv) {
  return regions::run_program("maxflow", regions::run, argc, argv);
}

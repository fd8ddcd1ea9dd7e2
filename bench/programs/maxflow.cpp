// Times minimum cuts of instances in files (*.gcg, or *.gcg.xz through the program xz): a line for
// 4 and 8 neighbours and each solver there is, from nothing and (", warm") from the solution of a
// frame that differs by noise: flow, pixels on the source's side, iterations, and milliseconds from
// the weights in the backend's memory to the mask there, with `expected` telling whether flow and
// pixels are the file's.
#include "core/maxflow/maxflow.hpp"

#include <array>
#include <cstdio>
#include <cstring>
#include <fstream>

#include "bench/programs/cuda.hpp"
#include "bench/programs/program.hpp"
#include "bench/programs/row.hpp"
#if REGIONS_CUDA
#include "gpu/maxflow/maxflow.hpp"
#endif

namespace regions {
namespace {

constexpr int kArrays = 5;  // terminal, right, down, down_right, down_left

// A file's instance: the header of 128 bytes, then int16 arrays.
struct Instance {
  std::string file;
  Size size;
  int64_t flow[2] = {};    // for 4 and 8 neighbours
  int64_t pixels[2] = {};  // of the largest source side
  std::array<std::vector<int32_t>, kArrays> weights;
};

std::string read_plain(const std::string& file) {
  std::ifstream stream(file, std::ios::binary);
  expects(stream.good(), file + ": cannot be read");
  return {std::istreambuf_iterator<char>(stream), {}};
}

std::string read_packed(const std::string& file) {
  std::string quoted = "'";
  for (const char c : file) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  FILE* pipe = popen(("xz -dc -- " + quoted + "'").c_str(), "r");
  expects(pipe != nullptr, file + ": cannot run xz");
  std::string bytes;
  char piece[1 << 16];
  for (size_t got; (got = fread(piece, 1, sizeof piece, pipe)) > 0;) bytes.append(piece, got);
  expects(pclose(pipe) == 0, file + ": xz failed");
  return bytes;
}

Instance load(const std::string& file) {
  const std::string bytes = file.ends_with(".xz") ? read_packed(file) : read_plain(file);
  constexpr size_t kHeader = 128;
  expects(bytes.size() >= kHeader && bytes.compare(0, 4, "GCG1") == 0, file + ": not an instance");
  int32_t words[5];
  int64_t facts[6];  // flow, smallest and largest source side, twice
  std::memcpy(words, &bytes[4], sizeof words);
  std::memcpy(facts, &bytes[4 + sizeof words], sizeof facts);
  Instance instance{file, {words[0], words[1]}, {facts[0], facts[3]}, {facts[2], facts[5]}, {}};
  const size_t area = instance.size.area();
  expects(words[0] > 0 && words[1] > 0 && words[2] == 1 &&
              bytes.size() == kHeader + kArrays * area * sizeof(int16_t),
          file + ": not a whole instance of symmetric links");
  const char* at = &bytes[kHeader];
  for (auto& array : instance.weights) {
    std::vector<int16_t> narrow(area);
    std::memcpy(narrow.data(), at, area * sizeof(int16_t));
    at += area * sizeof(int16_t);
    array.assign(narrow.begin(), narrow.end());
  }
  return instance;
}

// The weights in a backend's memory.
struct Weights {
  Weights(const Instance& instance, Backend& backend, Queue& queue) {
    for (size_t i = 0; i < kArrays; ++i) {
      const size_t bytes = instance.size.area() * sizeof(int32_t);
      blocks[i] = backend.allocate(bytes);
      views[i] = {blocks[i].as<int32_t>(), instance.size.width, instance.size.height,
                  static_cast<ptrdiff_t>(sizeof(int32_t)) * instance.size.width};
      queue.copy_bytes(instance.weights[i].data(), blocks[i].data(), bytes);
    }
    queue.record();
    queue.wait();
  }
  std::array<Block, kArrays> blocks;
  std::array<Image<const int32_t>, kArrays> views;
};

// What the frame before may have been: a quarter of the pixels' terminal weights differ by up to 3.
Instance frame_before(Instance instance) {
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

void time_one(const Instance& instance, Neighbours neighbours, const CutSolver& solver, Start start,
              const Effort& effort) {
  const auto backend = solver.make_backend();
  const Backend::Entry entry(*backend);
  const auto queue = backend->make_queue();
  const auto cut = solver.make_cut(backend);
  cut->configure(instance.size, neighbours, 1);
  const Weights now(instance, *backend, *queue);
  const Weights before(frame_before(instance), *backend, *queue);
  const size_t area = instance.size.area();
  const Block mask = backend->allocate(area);
  const Block copy = backend->allocate_pinned(area);
  const Block report_block = backend->allocate_pinned(sizeof(CutReport));
  auto* report = new (report_block.data()) CutReport;
  const Image<uint8_t> foreground{mask.as<uint8_t>(), instance.size.width, instance.size.height,
                                  instance.size.width};
  const auto solve = [&](const Weights& weights, bool warm) {
    const auto& v = weights.views;
    CutLimits limits;
    limits.warm = warm;
    cut->enqueue({v[0], v[1], v[2], v[3], v[4], neighbours}, foreground, limits, report, 0, *queue);
    queue->record();
    queue->wait();
  };
  const bool warm = start == Start::warm;
  const Timing time = time_calls(
      1, [&](int) { solve(now, warm); }, effort,
      [&] {
        if (warm) solve(before, false);
      });
  queue->copy_bytes(mask.data(), copy.data(), area);
  queue->record();
  queue->wait();
  int64_t pixels = 0;
  for (size_t i = 0; i < area; ++i) pixels += copy.as<uint8_t>()[i] != 0;
  const int which = neighbours == Neighbours::eight;
  const bool expected =
      report->exact && report->flow == instance.flow[which] && pixels == instance.pixels[which];
  Row row("cut", true);
  row.add("file", instance.file.substr(instance.file.rfind('/') + 1));
  row.add("neighbours", static_cast<int>(neighbours));
  row.add("solver", solver.name + (warm ? ", warm" : "")).add("flow", report->flow);
  row.add("source_pixels", pixels).add("iterations", report->iterations);
  row.add("ms", time.median / 1e3, 3).add("fastest_ms", time.fastest / 1e3, 3);
  row.add("runs", time.runs).add("exact", report->exact).add("expected", expected).print();
}

std::vector<CutSolver> solvers(const std::string& wanted) {
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
    all.push_back({name, make_cuda, [tier = tier](std::shared_ptr<Backend> backend) {
                     return make_cuda_grid_cut(std::move(backend), tier);
                   }});
  }
#endif
  std::erase_if(all, [&](const CutSolver& s) { return s.name.find(wanted) == s.name.npos; });
  return all;
}

int run(int count, char** words) {
  std::string wanted;
  Effort effort{.least_runs = 20, .seconds = 3, .warm_up = 1};
  const std::vector<std::string> files =
      parse(count, words, "[OPTION…] FILE.gcg[.xz]…\nTimes minimum cuts.",
            {{"--solver", "TEXT", "those whose name holds it", into(wanted)},
             {"--runs", "N", "timings behind a median (default: 20)", into(effort.least_runs)},
             {"--seconds", "S", "most seconds on one (default: 3)", into(effort.seconds)}});
  expects(!files.empty(), "a FILE is wanted (see --help)");
  for (const std::string& file : files) {
    const Instance instance = load(file);
    for (const Neighbours neighbours : {Neighbours::four, Neighbours::eight}) {
      for (const CutSolver& solver : solvers(wanted)) {
        time_one(instance, neighbours, solver, Start::cold, effort);
        // The plain solver is there for comparison alone.
        if (solver.name.find("plain") != std::string::npos) continue;
        time_one(instance, neighbours, solver, Start::warm, effort);
      }
    }
  }
  return 0;
}

}  // namespace
}  // namespace regions

int main(int count, char** words) {
  return regions::run_program("maxflow", regions::run, count, words);
}

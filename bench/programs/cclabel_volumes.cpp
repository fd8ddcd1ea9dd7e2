// volumes [--json] [--cpu|--cuda] [--sizes 128,256] [--contents smooth,…] [--connectivity 6,18,26]
// [--thresholds]: times cclabel on cubes of gray values, 6-, 18- and 26-connected, and at 64
// thresholds at once. On the GPU every answer is compared with the CPU's first.
// volumes --raw CONTENT SIZE: the cube's bytes, for other programs.
#include <algorithm>
#include <cstdio>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "bench/cubes.hpp"
#include "bench/cuda.hpp"
#include "bench/program.hpp"
#include "cpu/backend.hpp"

namespace regions {
namespace {

struct Options {
  bool json = false, cpu = true, cuda = true, thresholds = false;
  std::vector<int> sizes = {128, 256}, connectivity = {6, 18, 26};
  std::vector<std::string> contents;
};

struct Row {
  std::string content;
  int side, connectivity, layers, threads;
  uint32_t regions;
  bool correct;
};

void print(const Options& options, const Row& row, const char* backend, const char* clock,
           const Timing& time) {
  if (options.json) {
    std::printf(
        "{\"what\":\"volume\",\"by\":\"cclabel\",\"backend\":\"%s\",\"threads\":%d,"
        "\"connectivity\":%d,\"content\":\"%s\",\"width\":%d,\"height\":%d,\"depth\":%d,"
        "\"thresholds\":%d,\"regions\":%u,\"correct\":%s,\"clock\":\"%s\",\"us\":%.3f,"
        "\"fastest_us\":%.3f,\"runs\":%d}\n",
        backend, row.threads, row.connectivity, row.content.c_str(), row.side, row.side, row.side,
        row.layers, row.regions, row.correct ? "true" : "false", clock, time.median, time.fastest,
        time.runs);
  } else {
    std::printf(
        "%-12s %d^3 %2d-connected %2d thresholds %-4s %d threads %-6s %10.1f us, fastest "
        "%10.1f, %d runs, %u regions%s\n",
        row.content.c_str(), row.side, row.connectivity, row.layers, backend, row.threads, clock,
        time.median, time.fastest, time.runs, row.regions, row.correct ? "" : "  WRONG");
  }
  std::fflush(stdout);
}

// One cube, on every backend: labelled by one connectivity after the other.
class Cube {
 public:
  Cube(const Options& options, std::shared_ptr<Backend> gpu, const std::string& content, int side)
      : options_(options),
        voxels_(make_cube(content, side)),
        row_{content, side, 0, options.thresholds ? 64 : 1, 0, 0, true},
        frames_(options.thresholds ? 1
                : side <= 128      ? 16
                                   : 4) {
    std::vector<double> thresholds;
    for (int k = 0; k < row_.layers && row_.layers > 1; ++k) {
      thresholds.push_back((4 * k + 2) / 255.0);
    }
    params_.thresholds = thresholds;
    params_.connectivity = Connectivity::twenty_six;  // the largest workspace does for all
    all_cores_.emplace(on_cpu(0));
    if (gpu) gpu_.emplace(stand(gpu, make_cuda_cclabel(gpu), frames_));
  }

  // Returns whether the GPU's answer was right.
  bool measure(Connectivity connectivity) {
    params_.connectivity = connectivity;
    row_.connectivity = static_cast<int>(connectivity);
    all_cores_->use(params_);
    const std::vector<uint32_t> expected = all_cores_->answer(0);
    row_.regions = *std::max_element(expected.begin(), expected.end());
    const auto cores = static_cast<int>(std::thread::hardware_concurrency());
    for (int threads = 1; options_.cpu && threads <= std::min(cores, 2); ++threads) {
      CubeStand cpu = on_cpu(threads);
      row_.threads = threads;
      row_.correct = cpu.gives(expected, 0);
      print(options_, row_, "cpu", "wall",
            time_calls(1, [&](int frame) { cpu.run(frame); }, {20, 2}));
    }
    if (!gpu_) return true;
    gpu_->use(params_);
    row_.threads = 0;
    row_.correct = gpu_->gives(expected, 0) && (frames_ == 1 || gpu_->gives(expected, frames_ - 1));
    // Replays differ by less than a hundredth: ten of them tell the median.
    const CudaTimes times = time_on_cuda(
        gpu_->queue(), frames_, [&](int frame) { gpu_->enqueue(frame); }, 10);
    print(options_, row_, "cuda", "graph", times.graph);
    print(options_, row_, "cuda", "stream", times.stream);
    return row_.correct;
  }

 private:
  CubeStand stand(const std::shared_ptr<Backend>& backend,
                  std::unique_ptr<Algorithm<CcLabelParams>> algorithm, int frames) const {
    return {backend, std::move(algorithm), voxels_, {row_.side, row_.side}, row_.side, params_,
            frames};
  }
  CubeStand on_cpu(int threads) const {
    auto cpu = make_cpu_backend(threads);
    auto algorithm = make_algorithm<CcLabelParams, BackendKind::cpu>(cpu);
    return stand(cpu, std::move(algorithm), 1);
  }

  const Options& options_;
  std::vector<uint8_t> voxels_;
  Row row_;
  int frames_;
  CcLabelParams params_;
  std::optional<CubeStand> all_cores_, gpu_;
};

int walk(const Options& options) {
  std::shared_ptr<Backend> gpu;
  std::unique_ptr<Backend::Entry> entry;
  if (options.cuda && have_cuda()) {
    gpu = make_cuda();
    entry = std::make_unique<Backend::Entry>(*gpu);
  }
  std::vector<std::string> contents = {"rand_g1_d5",  "rand_g1_d10", "rand_g1_d20", "rand_g1_d30",
                                       "rand_g1_d50", "rand_g1_d70", "rand_g1_d90", "rand_g8_d10",
                                       "rand_g8_d30", "rand_g8_d50", "smooth"};
  if (options.thresholds) contents = {"smooth", "uniform"};
  if (!options.contents.empty()) contents = options.contents;
  bool right = true;
  for (const int side : options.sizes) {
    for (const std::string& content : contents) {
      Cube cube(options, gpu, content, side);
      for (const int connectivity : options.connectivity) {
        if (options.thresholds && connectivity != 26) continue;
        right &= cube.measure(static_cast<Connectivity>(connectivity));
      }
    }
  }
  return right ? 0 : 1;
}

int run(int count, char** words) {
  Options options;
  for (int i = 1; i < count; ++i) {
    const std::string word = words[i];
    if (word == "--raw" && i + 2 < count) {
      const std::vector<uint8_t> cube = make_cube(words[i + 1], whole_number(words[i + 2]));
      return std::fwrite(cube.data(), 1, cube.size(), stdout) == cube.size() ? 0 : 1;
    }
    if (word == "--json") {
      options.json = true;
    } else if (word == "--cpu") {
      options.cuda = false;
    } else if (word == "--cuda") {
      options.cpu = false;
    } else if (word == "--thresholds") {
      options.thresholds = true;
    } else if (word == "--sizes" && i + 1 < count) {
      options.sizes = whole_numbers(words[++i]);
    } else if (word == "--contents" && i + 1 < count) {
      options.contents = split(words[++i]);
    } else if (word == "--connectivity" && i + 1 < count) {
      options.connectivity = whole_numbers(words[++i]);
    } else {
      throw InputError("unknown option '" + word + "'");
    }
  }
  return walk(options);
}

}  // namespace
}  // namespace regions

int main(int count, char** words) {
  return regions::run_program("volumes", regions::run, count, words);
}

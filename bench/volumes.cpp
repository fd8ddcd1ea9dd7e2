// volumes [--json] [--cpu|--cuda] [--sizes 128,256] [--contents smooth,…] [--connectivity 6,18,26]
// [--thresholds]: times cclabel on cubes of gray
// values, 6-, 18- and 26-connected, and at 64 thresholds at once. On the GPU every answer is
// compared with the CPU's first.
// volumes --raw CONTENT SIZE: the cube's bytes, for other programs.
#include <cstdio>
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
  std::vector<std::string> sizes = {"128", "256"}, contents, connectivity = {"6", "18", "26"};
};

std::vector<std::string> split(const std::string& list) {
  std::vector<std::string> parts;
  for (size_t at = 0; at <= list.size();) {
    const size_t end = std::min(list.find(',', at), list.size());
    parts.push_back(list.substr(at, end - at));
    at = end + 1;
  }
  return parts;
}

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

// Returns whether the GPU's answer was right.
bool measure(const Options& options, const std::shared_ptr<Backend>& gpu,
             const std::string& content, const std::vector<uint8_t>& cube, int side,
             Connectivity connectivity, int layers) {
  CcLabelParams params;
  params.connectivity = connectivity;
  std::vector<double> thresholds;
  for (int k = 0; k < layers && layers > 1; ++k) thresholds.push_back((4 * k + 2) / 255.0);
  params.thresholds = thresholds;
  Row row{content, side, static_cast<int>(connectivity), layers, 0, 0, true};
  const auto cpu_stand = [&](int threads) {
    auto cpu = make_cpu_backend(threads);
    auto algorithm = make_algorithm<CcLabelParams, BackendKind::cpu>(cpu);
    return CubeStand(cpu, std::move(algorithm), cube, {side, side}, side, params, 1);
  };
  const std::vector<uint32_t> expected = cpu_stand(0).answer(0);
  for (const uint32_t label : expected) row.regions = std::max(row.regions, label);
  if (options.cpu) {
    const auto cores = static_cast<int>(std::thread::hardware_concurrency());
    for (int threads = 1; threads <= std::min(cores, 2); ++threads) {
      CubeStand stand = cpu_stand(threads);
      row.threads = threads;
      row.correct = stand.answer(0) == expected;
      print(options, row, "cpu", "wall",
            time_calls(1, [&](int frame) { stand.run(frame); }, {20, 2}));
    }
  }
  if (!gpu) return true;
  const int frames = layers > 1 ? 1 : side <= 128 ? 16 : 4;
  CubeStand stand(gpu, make_cuda_cclabel(gpu), cube, {side, side}, side, params, frames);
  row.threads = 0;
  row.correct = stand.gives(expected, 0) && (frames == 1 || stand.gives(expected, frames - 1));
  // Replays differ by less than a hundredth: ten of them tell the median.
  const CudaTimes times = time_on_cuda(
      stand.queue(), frames, [&](int frame) { stand.enqueue(frame); }, 10);
  print(options, row, "cuda", "graph", times.graph);
  print(options, row, "cuda", "stream", times.stream);
  return row.correct;
}

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
  for (const std::string& side : options.sizes) {
    for (const std::string& content : contents) {
      const std::vector<uint8_t> cube = make_cube(content, std::stoi(side));
      for (const std::string& connectivity : options.connectivity) {
        if (options.thresholds && connectivity != "26") continue;
        right &= measure(options, gpu, content, cube, std::stoi(side),
                         static_cast<Connectivity>(std::stoi(connectivity)),
                         options.thresholds ? 64 : 1);
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
      const std::vector<uint8_t> cube = make_cube(words[i + 1], std::stoi(words[i + 2]));
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
      options.sizes = split(words[++i]);
    } else if (word == "--contents" && i + 1 < count) {
      options.contents = split(words[++i]);
    } else if (word == "--connectivity" && i + 1 < count) {
      options.connectivity = split(words[++i]);
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

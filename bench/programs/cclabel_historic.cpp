// labelling-ablation [--json] [--quick] [--side N]... [CONTENT...]: the founding papers' labelling
// methods on the GPU, variant by variant, with time and passes, beside union-find. Pictures of the
// papers' sizes stand in for theirs. Every answer is compared with the CPU's. With contents, only
// those; with sides, only cubes of those (else 128 and 256; sweeping 64 random thresholds of 256^3
// takes minutes).
//
// Propagation (GTC 2010, 2013): a maze of 512x512, noise of 300x100 and 1024x768, smooth regions of
// 4096x4096, all 8-connected, and a head-like volume of 256x256x100, 6-connected, by equal values.
// Sweeps (GTC 2015): 64 thresholds of smooth and uniformly random cubes, 26-connected, at once and,
// for the passes, one by one.
#include <algorithm>
#include <chrono>
#include <cstdio>

#include "bench/cubes.hpp"
#include "bench/cuda.hpp"
#include "bench/program.hpp"
#include "cpu/backend.hpp"
#include "gpu/cclabel/historic/historic.hpp"
#include "tests/pictures/pictures.hpp"

namespace regions {
namespace {

using propagation::Exchange;
using propagation::Gather;
using propagation::Variant;

struct Task {
  std::string name;
  Size slice;
  int slices;
  std::vector<uint8_t> voxels;
  CcLabelParams params;
};

std::vector<Task> tasks(bool quick) {
  CcLabelParams flat, head;
  head.criterion = Criterion::equal;
  head.connectivity = Connectivity::six;
  std::vector<Task> all;
  const auto add = [&](const char* content, Size size) {
    all.push_back({content, size, 1, make_picture(content, size).pixels, flat});
  };
  add("maze", {512, 512});
  add("rand_g1_d50", {300, 100});
  if (quick) return all;
  add("rand_g1_d50", {1024, 768});
  add("smooth", {4096, 4096});
  all.push_back({"head", {256, 256}, 100, make_head({256, 256}, 100), head});
  return all;
}

std::string name_of(const Variant& v) {
  const char* exchanges[] = {"global", "shared", "shuffle"};
  std::string name = exchanges[static_cast<int>(v.exchange)];
  name += v.gather == Gather::one ? ", one" : ", one+max";
  if (v.gather == Gather::one_and_max) {
    name += v.link_length ? " of " + std::to_string(v.link_length) : " of any length";
  }
  return name + (v.looks_up_roots ? ", roots" : "");
}

class Ablation {
 public:
  Ablation(bool json, std::shared_ptr<Backend> gpu) : json_(json), gpu_(std::move(gpu)) {}

  void propagate(Task task) {
    const std::vector<uint32_t> expected = on_cpu(task);
    if (task.params.criterion == Criterion::binary || task.slices == 1) {
      print(task, "union-find", stand(task, make_cuda_cclabel(gpu_)), expected);
    }
    task.params.method = Method::propagation;
    for (const Exchange exchange : {Exchange::global, Exchange::shared, Exchange::shuffle}) {
      for (const bool roots : {false, true}) {
        run(task, {exchange, Gather::one, 0, roots}, expected);
        for (const int length : {32, 64, 128, 256, 0}) {
          run(task, {exchange, Gather::one_and_max, length, roots}, expected);
        }
      }
    }
  }

  void sweep(const std::string& content, int side) {
    const std::string values = content.substr(0, content.find('-'));
    Task task{content, {side, side}, side, make_cube(values, side), {}};
    task.params.connectivity = Connectivity::twenty_six;
    std::vector<double> thresholds;
    for (int k = 0; k < 64; ++k) thresholds.push_back((4 * k + 2) / 255.0);
    task.params.thresholds = thresholds;
    const std::vector<uint32_t> expected = on_cpu(task);
    print(task, "union-find", stand(task, make_cuda_cclabel(gpu_)), expected);
    task.params.method = Method::sweep;
    print(task, "sweep", stand(task, make_cuda_cclabel(gpu_)), expected);
    std::vector<uint32_t> passes;
    for (const double threshold : thresholds) {
      task.params.thresholds = std::vector<double>{};
      task.params.threshold = threshold;
      CubeStand one = stand(task, make_cuda_cclabel(gpu_));
      one.run(0);
      passes.push_back(one.algorithm().passes(0));
    }
    std::sort(passes.begin(), passes.end());
    const auto quartile = [&](size_t k) { return passes[std::min<size_t>(k * 16, 63)]; };
    std::printf(json_ ? "{\"what\":\"ablation-passes\",\"by\":\"sweep\",\"content\":\"%s\","
                        "\"width\":%d,\"quartiles\":[%u,%u,%u,%u,%u]}\n"
                      : "%s %d^3 sweep, passes by quartile: %u %u %u %u %u\n",
                content.c_str(), side, quartile(0), quartile(1), quartile(2), quartile(3),
                quartile(4));
  }

  bool all_right() const { return right_; }

 private:
  CubeStand stand(const Task& task, std::unique_ptr<Algorithm<CcLabelParams>> algorithm) {
    return {gpu_, std::move(algorithm), task.voxels, task.slice, task.slices, task.params, 1};
  }
  static std::vector<uint32_t> on_cpu(const Task& task) {
    auto cpu = make_cpu_backend(0);
    auto algorithm = make_algorithm<CcLabelParams, BackendKind::cpu>(cpu);
    return CubeStand(cpu, std::move(algorithm), task.voxels, task.slice, task.slices, task.params,
                     1)
        .answer(0);
  }
  void run(const Task& task, const Variant& variant, const std::vector<uint32_t>& expected) {
    print(task, name_of(variant).c_str(),
          stand(task, historic::make_historic(gpu_, Method::propagation, variant)), expected);
  }
  void print(const Task& task, const char* variant, CubeStand stand,
             const std::vector<uint32_t>& expected) {
    const bool correct = stand.gives(expected, 0);
    const uint32_t passes = stand.algorithm().passes(0);
    right_ &= correct;
    // What takes milliseconds has no launch gaps to speak of; the rest is timed without them. Once
    // is enough of what takes long, and the answer was the warm-up.
    std::vector<double> samples;
    for (double all = 0; samples.size() < 3 && all < 50e3; all += samples.back()) {
      const auto start = std::chrono::steady_clock::now();
      stand.run(0);
      const std::chrono::duration<double, std::micro> elapsed =
          std::chrono::steady_clock::now() - start;
      samples.push_back(elapsed.count());
    }
    const Timing whole = summarise(samples);
    const bool is_slow = whole.median > 3e3;
    const Timing time = is_slow ? whole
                                : time_on_cuda(
                                      stand.queue(), 1, [&](int frame) { stand.enqueue(frame); }, 5)
                                      .graph;
    const char* clock = is_slow ? "wall" : "graph";
    const char* verdict = json_ ? correct ? "true" : "false" : correct ? "" : "  WRONG";
    std::printf(
        json_ ? "{\"what\":\"ablation\",\"by\":\"cclabel\",\"content\":\"%s\","
                "\"width\":%d,\"height\":%d,\"depth\":%d,\"thresholds\":%d,"
                "\"connectivity\":%d,\"variant\":\"%s\",\"clock\":\"%s\","
                "\"us\":%.3f,\"passes\":%u,\"correct\":%s}\n"
              : "%-12s %dx%dx%d %2d thresholds %2d-connected %-32s %s %12.1f us %6u passes%s\n",
        task.name.c_str(), task.slice.width, task.slice.height, task.slices, layers_of(task.params),
        static_cast<int>(task.params.connectivity), variant, clock, time.median, passes, verdict);
    std::fflush(stdout);
  }

  bool json_, right_ = true;
  std::shared_ptr<Backend> gpu_;
};

int run(int count, char** words) {
  bool json = false, quick = false;
  std::vector<std::string> contents;
  std::vector<int> sides;
  for (int i = 1; i < count; ++i) {
    const std::string word = words[i];
    if (word == "--json") {
      json = true;
    } else if (word == "--quick") {
      quick = true;
    } else if (word == "--side" && i + 1 < count) {
      sides.push_back(whole_number(words[++i]));
    } else {
      expects(word.rfind("--", 0) != 0, "unknown option '" + word + "'");
      contents.push_back(word);
    }
  }
  const auto is_wanted = [&](const std::string& content) {
    return contents.empty() ||
           std::find(contents.begin(), contents.end(), content) != contents.end();
  };
  if (!have_cuda()) {
    std::fprintf(stderr, "labelling-ablation: no CUDA device here\n");
    return 77;  // skipped
  }
  const std::shared_ptr<Backend> gpu = make_cuda();
  const Backend::Entry entry(*gpu);
  Ablation ablation(json, gpu);
  for (const Task& task : tasks(quick)) {
    if (is_wanted(task.name)) ablation.propagate(task);
  }
  if (sides.empty()) sides = quick ? std::vector{128} : std::vector{128, 256};
  for (const int side : sides) {
    for (const char* content : {"smooth-cube", "uniform-cube"}) {
      if (is_wanted(content)) ablation.sweep(content, side);
    }
  }
  return ablation.all_right() ? 0 : 1;
}

}  // namespace
}  // namespace regions

int main(int count, char** words) {
  return regions::run_program("labelling-ablation", regions::run, count, words);
}

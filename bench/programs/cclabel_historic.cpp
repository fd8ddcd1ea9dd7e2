// Times the labelling methods of earlier papers on the GPU, variant by variant, with their number
// of passes, and union-find for comparison. The pictures have the papers' sizes. Every answer is
// compared with the CPU's.
//
// Propagation (GTC 2010, 2013): a maze of 512x512, noise of 300x100 and 1024x768, smooth regions of
// 4096x4096, all 8-connected, and a head-like volume of 256x256x100, 6-connected, by equal values.
// Sweeps (GTC 2015): 64 thresholds of smooth and uniformly random cubes, 26-connected, all at once.
// To count the passes, the thresholds also run one by one.
#include <algorithm>
#include <cstdio>

#include "bench/programs/cubes.hpp"
#include "bench/programs/program.hpp"
#include "bench/programs/row.hpp"
#include "bench/programs/stand.hpp"
#include "gpu/cclabel/propagation/propagation.hpp"

namespace regions {
namespace {

using propagation::Exchange;
using propagation::Gather;
using propagation::Variant;

using VolumeStand = Stand<CcLabelParams>;

struct Task {
  std::string name;
  int slices;
  Picture stack;
  CcLabelParams params;
};

std::vector<Task> tasks(bool quick) {
  CcLabelParams flat, head;
  head.criterion = Criterion::equal;
  head.connectivity = Connectivity::six;
  std::vector<Task> all;
  const auto add = [&](const char* content, Size size) {
    all.push_back({content, 1, make_picture(content, size), flat});
  };
  add("maze", {512, 512});
  add("rand_g1_d50", {300, 100});
  if (quick) return all;
  add("rand_g1_d50", {1024, 768});
  add("smooth", {4096, 4096});
  all.push_back({"head", 100, make_head({256, 256}, 100), head});
  return all;
}

std::string name_of(const Variant& v) {
  const char* exchanges[] = {"global", "shared", "shuffle"};
  std::string name = exchanges[static_cast<int>(v.exchange)];
  name += v.gather == Gather::neighbours ? ", one" : ", one+max";
  if (v.gather == Gather::neighbours_and_farthest) {
    name += v.link_length ? " of " + std::to_string(v.link_length) : " of any length";
  }
  return name + (v.looks_up_roots ? ", roots" : "");
}

class Ablation {
 public:
  Ablation(bool json, std::shared_ptr<Backend> gpu) : json_(json), gpu_(std::move(gpu)) {}

  void propagate(Task task) {
    const Answer expected = on_cpu(task);
    if (task.params.criterion == Criterion::binary || task.slices == 1) {
      measure(task, "union-find", stand(gpu_, task), expected);
    }
    task.params.method = Method::propagation;
    const auto run = [&](const Variant& variant) {
      measure(task, name_of(variant),
              stand(gpu_, task,
                    propagation::make_propagation_labeller(gpu_, Method::propagation, variant)),
              expected);
    };
    for (const Exchange exchange : {Exchange::global, Exchange::shared, Exchange::shuffle}) {
      for (const bool roots : {false, true}) {
        run({exchange, Gather::neighbours, 0, roots});
        for (const int length : {32, 64, 128, 256, 0}) {
          run({exchange, Gather::neighbours_and_farthest, length, roots});
        }
      }
    }
  }

  void sweep(const std::string& content, int side) {
    const std::string values = content.substr(0, content.find('-'));
    Task task{content, side, make_cube(values, side), {}};
    task.params.connectivity = Connectivity::twenty_six;
    std::vector<double> thresholds;
    for (int k = 0; k < 64; ++k) thresholds.push_back((4 * k + 2) / 255.0);
    task.params.thresholds = thresholds;
    const Answer expected = on_cpu(task);
    measure(task, "union-find", stand(gpu_, task), expected);
    task.params.method = Method::sweep;
    measure(task, "sweep", stand(gpu_, task), expected);
    std::vector<uint32_t> passes;
    for (const double threshold : thresholds) {
      task.params.thresholds = std::vector<double>{};
      task.params.threshold = threshold;
      VolumeStand one = stand(gpu_, task);
      one.run(0);
      passes.push_back(passes_of(one));
    }
    std::sort(passes.begin(), passes.end());
    std::string quartiles;
    for (const size_t k : {0, 16, 32, 48, 63}) {
      quartiles += (k ? "," : "[") + std::to_string(passes[k]);
    }
    Row row("ablation-passes", json_);
    row.add("by", "sweep").add("content", content).add("width", side);
    row.put("quartiles", quartiles + "]").print();
  }

  bool all_right() const { return right_; }

 private:
  static VolumeStand stand(const std::shared_ptr<Backend>& backend, const Task& task,
                           std::unique_ptr<Algorithm<CcLabelParams>> algorithm = nullptr) {
    const Size size = task.stack.size;
    Setup setup{.in = layout_of(PixelFormat::gray8)};
    plan(task.params, setup);
    setup.size = {size.width, size.height / task.slices};
    setup.depth = task.slices;
    setup.max_regions = 1;
    VolumeStand stand(backend, setup, task.params, 1, {}, std::move(algorithm));
    stand.show(0, task.stack.frame());
    return stand;
  }
  static Answer on_cpu(const Task& task) {
    VolumeStand cpu = stand(make_cpu_backend(), task);
    cpu.run(0);
    return cpu.answer(0);
  }
  static uint32_t passes_of(VolumeStand& stand) {
    return static_cast<CcLabel&>(stand.algorithm()).passes(0);
  }
  void measure(const Task& task, const std::string& variant, VolumeStand stand,
               const Answer& expected) {
    stand.run(0);
    const bool correct = stand.has_labels(0, expected.labels);
    const uint32_t passes = passes_of(stand);
    right_ &= correct;
    // Short work is timed as a graph, without launch gaps. Work of milliseconds is timed once by
    // the wall clock, where the gaps do not matter; checking the answer was its warm-up.
    const Timing whole = time_calls(1, [&](int) { stand.run(0); }, {3, 0.05, 0, 1});
    const bool is_slow = whole.median > 3e3;
    Row row("ablation", json_);
    row.add("by", "cclabel").add("content", task.name).add("width", task.stack.size.width);
    row.add("height", task.stack.size.height / task.slices).add("depth", task.slices);
    row.add("thresholds", layers_of(task.params));
    row.add("connectivity", static_cast<int>(task.params.connectivity)).add("variant", variant);
    row.add("clock", is_slow ? "wall" : "graph");
    row.add("us", is_slow ? whole.median : stand.time({5, 1}).front().time.median, 3);
    row.add("passes", passes).add("correct", correct).print();
  }

  bool json_, right_ = true;
  std::shared_ptr<Backend> gpu_;
};

int run(int count, char** words) {
  bool json = false, quick = false;
  std::vector<int> sides;
  const std::vector<std::string> contents =
      parse(count, words, "[OPTION…] [CONTENT…]\nTimes the labelling methods of earlier papers.",
            {{"--json", nullptr, "print one JSON object per line", into(json)},
             {"--quick", nullptr, "only small pictures and cubes", into(quick)},
             {"--sides", "LIST", "sides of the cubes (default: 128,256; 256 takes minutes)",
              into(sides)}});
  const auto is_wanted = [&](const std::string& content) {
    return contents.empty() ||
           std::find(contents.begin(), contents.end(), content) != contents.end();
  };
  if (!have_cuda()) {
    std::fprintf(stderr, "cclabel_historic: skipped: no usable CUDA device\n");
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
  return regions::run_program("cclabel_historic", regions::run, count, words);
}

// Times each variant of the labelling methods of earlier papers on the GPU, and union-find for
// comparison. Also prints the number of passes of each variant. The pictures have the papers'
// sizes. Every answer is compared with the answer of the CPU.
//
// Label propagation (GTC 2010, 2013) has these inputs: a maze of 512x512, noise of 300x100 and
// 1024x768, and smooth regions of 4096x4096, all 8-connected; and a head-like volume of
// 256x256x100, 6-connected, with criterion=equal. Sweeps (GTC 2015) have smooth and uniformly
// random cubes as inputs, 26-connected, with 64 thresholds at once. To count the passes, each
// threshold is also labelled separately.
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

using VolumeTestStand = TestStand<CcLabelParams>;

// A picture or volume to label, with the parameters.
struct Task {
  std::string name;
  int slices;       // 1 for a picture
  Picture picture;  // slices are stored below one another
  CcLabelParams params;
};

std::vector<Task> tasks(bool quick) {
  CcLabelParams picture_params, head_params;
  head_params.criterion = Criterion::equal;
  head_params.connectivity = Connectivity::six;
  std::vector<Task> all;
  const auto add = [&](const char* content, Size size) {
    all.push_back({content, 1, make_picture(content, size), picture_params});
  };
  add("maze", {512, 512});
  add("rand_g1_d50", {300, 100});
  if (quick) return all;
  add("rand_g1_d50", {1024, 768});
  add("smooth", {4096, 4096});
  all.push_back({"head", 100, make_head({256, 256}, 100), head_params});
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

// Compares the variants of the labelling methods: runs each variant and prints its time and passes.
class Ablation {
 public:
  Ablation(bool json, std::shared_ptr<Backend> gpu) : json_(json), gpu_(std::move(gpu)) {}

  void measure_propagation(Task task) {
    const Answer expected = answer_of_cpu(task);
    if (task.params.criterion == Criterion::binary || task.slices == 1) {
      measure(task, "union-find", make_test_stand(gpu_, task), expected);
    }
    task.params.method = Method::propagation;
    const auto run = [&](const Variant& variant) {
      measure(task, name_of(variant),
              make_test_stand(
                  gpu_, task,
                  propagation::make_propagation_variant(gpu_, Method::propagation, variant)),
              expected);
    };
    for (const Exchange exchange : {Exchange::global, Exchange::shared, Exchange::shuffle}) {
      for (const bool looks_up_roots : {false, true}) {
        run({exchange, Gather::neighbours, 0, looks_up_roots});
        for (const int link_length : {32, 64, 128, 256, 0}) {
          run({exchange, Gather::neighbours_and_farthest, link_length, looks_up_roots});
        }
      }
    }
  }

  void measure_sweep(const std::string& content, int side) {
    const std::string cube_content = content.substr(0, content.find('-'));
    Task task{content, side, make_cube(cube_content, side), {}};
    task.params.connectivity = Connectivity::twenty_six;
    std::vector<double> thresholds;
    for (int k = 0; k < 64; ++k) thresholds.push_back((4 * k + 2) / 255.0);
    task.params.thresholds = thresholds;
    const Answer expected = answer_of_cpu(task);
    measure(task, "union-find", make_test_stand(gpu_, task), expected);
    task.params.method = Method::sweep;
    measure(task, "sweep", make_test_stand(gpu_, task), expected);
    std::vector<uint32_t> passes;
    for (const double threshold : thresholds) {
      task.params.thresholds = std::vector<double>{};
      task.params.threshold = threshold;
      VolumeTestStand single_threshold = make_test_stand(gpu_, task);
      single_threshold.run(0);
      passes.push_back(passes_of(single_threshold));
    }
    std::sort(passes.begin(), passes.end());
    std::string quartiles;
    for (const size_t k : {0, 16, 32, 48, 63}) {
      quartiles += (k ? "," : "[") + std::to_string(passes[k]);
    }
    Row row("ablation-passes", json_);
    row.add("by", "sweep").add("content", content).add("width", side);
    row.add_json("quartiles", quartiles + "]").print();
  }

  bool all_answers_correct() const { return all_correct_; }

 private:
  static VolumeTestStand make_test_stand(
      const std::shared_ptr<Backend>& backend, const Task& task,
      std::unique_ptr<Algorithm<CcLabelParams>> algorithm = nullptr) {
    const Size size = task.picture.size;
    Setup setup{.in = layout_of(PixelFormat::gray8)};
    plan(task.params, setup);
    setup.size = {size.width, size.height / task.slices};
    setup.depth = task.slices;
    setup.max_regions = 1;
    VolumeTestStand test_stand(backend, setup, task.params, 1, {}, std::move(algorithm));
    test_stand.set_input(0, task.picture.frame());
    return test_stand;
  }
  static Answer answer_of_cpu(const Task& task) {
    VolumeTestStand cpu = make_test_stand(make_cpu_backend(), task);
    cpu.run(0);
    return cpu.answer(0);
  }
  static uint32_t passes_of(VolumeTestStand& test_stand) {
    return static_cast<CcLabel&>(test_stand.algorithm()).passes(0);
  }
  void measure(const Task& task, const std::string& variant, VolumeTestStand test_stand,
               const Answer& expected) {
    test_stand.run(0);
    const bool correct = test_stand.has_labels(0, expected.labels);
    const uint32_t passes = passes_of(test_stand);
    all_correct_ &= correct;
    // A run of up to 3 ms is timed as a CUDA graph, which has no launch gaps. A longer run is timed
    // by the wall clock, because launch gaps hardly change its time. The run above, which checks
    // the answer, is the warm-up.
    const Timing single_run = time_calls(1, [&](int) { test_stand.run(0); }, {3, 0.05, 0, 1});
    const bool is_slow = single_run.median > 3e3;
    Row row("ablation", json_);
    row.add("by", "cclabel").add("content", task.name).add("width", task.picture.size.width);
    row.add("height", task.picture.size.height / task.slices).add("depth", task.slices);
    row.add("thresholds", layers_of(task.params));
    row.add("connectivity", static_cast<int>(task.params.connectivity)).add("variant", variant);
    row.add("clock", is_slow ? "wall" : "graph");
    row.add("us", is_slow ? single_run.median : test_stand.time({5, 1}).front().time.median, 3);
    row.add("passes", passes).add("correct", correct).print();
  }

  bool json_, all_correct_ = true;
  std::shared_ptr<Backend> gpu_;
};

int run(int argc, char** argv) {
  bool json = false, quick = false;
  std::vector<int> sides;
  const std::vector<std::string> contents =
      parse(argc, argv, "[OPTION…] [CONTENT…]\nTimes the labelling methods of earlier papers.",
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
    return 77;  // exit status of a skipped test
  }
  const std::shared_ptr<Backend> gpu = make_first_gpu_backend();
  const Backend::Entry entry(*gpu);
  Ablation ablation(json, gpu);
  for (const Task& task : tasks(quick)) {
    if (is_wanted(task.name)) ablation.measure_propagation(task);
  }
  if (sides.empty()) sides = quick ? std::vector{128} : std::vector{128, 256};
  for (const int side : sides) {
    for (const char* content : {"smooth-cube", "uniform-cube"}) {
      if (is_wanted(content)) ablation.measure_sweep(content, side);
    }
  }
  return ablation.all_answers_correct() ? 0 : 1;
}

}  // namespace
}  // namespace regions

int main(int argc, char** argv) {
  return regions::run_program("cclabel_historic", regions::run, argc, argv);
}

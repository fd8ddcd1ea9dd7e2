// Times cclabel on cubes of gray values, with 6, 18 and 26 neighbours and, if requested, with 64
// thresholds at once. Before the timing, every answer of the GPU is compared with the answer of the
// CPU. With --raw, the program only writes a cube's bytes to standard output, as input for other
// programs.
#include <algorithm>
#include <cstdio>
#include <optional>
#include <thread>

#include "bench/programs/cubes.hpp"
#include "bench/programs/program.hpp"
#include "bench/programs/row.hpp"
#include "bench/programs/stand.hpp"
#include "core/cclabel/cclabel.hpp"

namespace regions {
namespace {

using VolumeTestStand = TestStand<CcLabelParams>;

struct Options {
  bool json = false, cpu = false, cuda = false, thresholds = false, raw = false;
  std::vector<int> sizes = {128, 256}, connectivity = {6, 18, 26};
  std::vector<std::string> contents;
};

// Times the labelling of one cube on the CPU and the GPU. measure() is called once per
// connectivity.
class CubeBenchmark {
 public:
  CubeBenchmark(const Options& options, const std::shared_ptr<Backend>& gpu,
                const std::string& content, int side)
      : options_(options), content_(content), side_(side), cube_(make_cube(content, side)) {
    std::vector<double> thresholds;
    for (int k = 0; k < 64 && options.thresholds; ++k) thresholds.push_back((4 * k + 2) / 255.0);
    params_.thresholds = thresholds;
    // The test stands are configured for 26-connectivity, which requires the largest workspace.
    params_.connectivity = Connectivity::twenty_six;
    all_cores_.emplace(make_test_stand(make_cpu_backend(), 1));
    if (gpu) gpu_.emplace(make_test_stand(gpu, options.thresholds ? 1 : side <= 128 ? 16 : 4));
  }

  // Returns whether the GPU's answer is correct.
  bool measure(Connectivity connectivity) {
    params_.connectivity = connectivity;
    all_cores_->params = params_;
    all_cores_->run(0);
    const Answer expected = all_cores_->answer(0);
    const auto cores = static_cast<int>(std::thread::hardware_concurrency());
    for (int threads = 1; options_.cpu && threads <= std::min(cores, 2); ++threads) {
      VolumeTestStand cpu = make_test_stand(make_cpu_backend(threads), 1);
      print("cpu", threads, expected, answers_correctly(cpu, expected, 0), cpu.time({20, 2}));
    }
    if (!gpu_) return true;
    gpu_->params = params_;
    const bool correct = answers_correctly(*gpu_, expected, 0) &&
                         answers_correctly(*gpu_, expected, gpu_->count() - 1);
    // Replays of a CUDA graph differ by less than 1 %, so ten replays are enough for the median.
    print("cuda", 0, expected, correct, gpu_->time({10, 2}));
    return correct;
  }

 private:
  VolumeTestStand make_test_stand(const std::shared_ptr<Backend>& backend, int frames) const {
    Setup setup{.in = layout_of(PixelFormat::gray8), .size = {side_, side_}};
    plan(params_, setup);
    setup.depth = side_;
    setup.slots = frames;
    setup.max_regions = 1;
    VolumeTestStand test_stand(backend, setup, params_, frames);
    for (int frame = 0; frame < frames; ++frame) test_stand.set_input(frame, cube_.frame());
    return test_stand;
  }
  static bool answers_correctly(VolumeTestStand& test_stand, const Answer& expected, int frame) {
    test_stand.run(frame);
    return test_stand.has_labels(frame, expected.labels);
  }
  void print(const char* backend, int threads, const Answer& expected, bool correct,
             const std::vector<ClockedTime>& times) const {
    for (const auto& [clock, time] : times) {
      Row row("volume", options_.json);
      row.add("by", "cclabel").add("backend", backend).add("threads", threads);
      row.add("connectivity", static_cast<int>(params_.connectivity)).add("content", content_);
      row.add(Size{side_, side_}).add("depth", side_).add("thresholds", layers_of(params_));
      row.add("regions", expected.total).add("correct", correct).add("clock", clock).add(time);
      row.print();
    }
  }

  const Options& options_;
  std::string content_;
  int side_;
  Picture cube_;
  CcLabelParams params_;
  std::optional<VolumeTestStand> all_cores_, gpu_;
};

int run_cases(Options options) {
  std::shared_ptr<Backend> gpu;
  std::optional<Backend::Entry> entry;
  if (!options.cpu && !options.cuda) options.cpu = options.cuda = true;
  if (options.cuda && have_cuda()) {
    gpu = make_first_gpu_backend();
    entry.emplace(*gpu);
  }
  std::vector<std::string> contents = {"rand_g1_d5",  "rand_g1_d10", "rand_g1_d20", "rand_g1_d30",
                                       "rand_g1_d50", "rand_g1_d70", "rand_g1_d90", "rand_g8_d10",
                                       "rand_g8_d30", "rand_g8_d50", "smooth"};
  if (options.thresholds) contents = {"smooth", "uniform"};
  if (!options.contents.empty()) contents = options.contents;
  bool all_correct = true;
  for (const int side : options.sizes) {
    for (const std::string& content : contents) {
      CubeBenchmark cube(options, gpu, content, side);
      for (const int connectivity : options.connectivity) {
        if (options.thresholds && connectivity != 26) continue;
        all_correct &= cube.measure(static_cast<Connectivity>(connectivity));
      }
    }
  }
  return all_correct ? 0 : 1;
}

int run(int argc, char** argv) {
  Options options;
  const auto positional = parse(
      argc, argv, "[OPTION…] | --raw CONTENT SIZE\nTimes the labelling of cubes.",
      {{"--json", nullptr, "print one JSON object per line", into(options.json)},
       {"--cpu", nullptr, "only on the CPU", into(options.cpu)},
       {"--cuda", nullptr, "only on the GPU", into(options.cuda)},
       {"--sizes", "LIST", "default: 128,256", into(options.sizes)},
       {"--contents", "LIST", "names of cubes", into(options.contents)},
       {"--connectivity", "LIST", "default: 6,18,26", into(options.connectivity)},
       {"--thresholds", nullptr, "64 thresholds at once, 26-connected", into(options.thresholds)},
       {"--raw", nullptr, "write this cube, one byte per voxel", into(options.raw)}});
  expects(positional.size() == (options.raw ? 2 : 0),
          "unexpected arguments: expected only options, or --raw CONTENT SIZE (see --help)");
  if (!options.raw) return run_cases(options);
  int side = 0;
  read(positional[1], side);
  const Picture cube = make_cube(positional[0], side);
  return std::fwrite(cube.pixels.data(), 1, cube.pixels.size(), stdout) == cube.pixels.size() ? 0
                                                                                              : 1;
}

}  // namespace
}  // namespace regions

int main(int argc, char** argv) {
  return regions::run_program("cclabel_volumes", regions::run, argc, argv);
}

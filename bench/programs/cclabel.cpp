// Times cclabel on the CPU and on the GPU for each Case (content, size, connectivity, ...) that the
// command line selects. Before the timing, each result is compared with the result of the CPU.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <thread>

#include "bench/programs/cases.hpp"

namespace regions {
namespace {

// Computes the expected answer for each variant of the picture, on the CPU with all cores. The
// answers include the table of regions.
std::vector<Answer> answers_of(Case test_case, std::span<const Picture> variants) {
  test_case.table = true;
  CcLabelTestStand test_stand =
      make_test_stand(test_case, make_cpu_backend(0), variants, static_cast<int>(variants.size()));
  std::vector<Answer> answers;
  for (int frame = 0; frame < test_stand.count(); ++frame) {
    test_stand.enqueue(frame);
    answers.push_back(test_stand.answer(frame));
  }
  return answers;
}

std::string rate(size_t bytes, const Timing& time) {
  return std::to_string(std::lround(static_cast<double>(bytes) / time.median / 1e3)) + " GB/s";
}

// Runs all cases that the options select.
class CaseRunner {
 public:
  explicit CaseRunner(const Options& options) : options_(options) {
    const auto wants = [&](const char* name) {
      const auto& names = options.backends;
      return names.empty() || std::find(names.begin(), names.end(), name) != names.end();
    };
    for (const std::string& name : options.backends) {
      expects(name == "cpu" || name == "cuda",
              "invalid backend '" + name + "'; expected cpu or cuda");
      expects(name != "cuda" || have_cuda(), "--backend cuda: no usable CUDA device");
    }
    cpu_ = wants("cpu");
    if (have_cuda() && wants("cuda")) gpu_ = make_first_gpu_backend();
  }

  // Returns the number of wrong answers.
  int run() {
    if (!gpu_) return run_cases();
    const Backend::Entry entry(*gpu_);
    if (!options_.json) std::printf("%s\n", gpu_->description().c_str());
    return run_cases();
  }

 private:
  int run_cases() {
    for (const Case& test_case : cases_of(options_)) {
      if (gpu_ && options_.repeats == 0) time_lower_bound(test_case.size);
      prepare(test_case);
      const int frames = options_.repeats == 0 ? test_case.frames_beyond_l2() : 4;
      if (gpu_) measure(test_case, gpu_, "cuda", 0, frames);
      if (!cpu_) continue;
      const auto cores = static_cast<int>(std::thread::hardware_concurrency());
      for (const int threads : threads_of(options_, cores)) {
        measure(test_case, make_cpu_backend(threads), "cpu", threads, 4);
      }
    }
    return wrong_answers_;
  }

  // Makes the input pictures and the expected answers of a case, unless they equal the pictures and
  // answers of the previous case.
  void prepare(const Case& test_case) {
    const bool same_picture =
        test_case.content == prepared_.content && test_case.size == prepared_.size;
    if (!same_picture) variants_ = mirrored(make_picture(test_case.content, test_case.size));
    if (!same_picture || test_case.params.criterion != prepared_.params.criterion ||
        test_case.params.connectivity != prepared_.params.connectivity) {
      expected_ = answers_of(test_case, variants_);
    }
    prepared_ = test_case;
  }

  // Runs all frames `times` times. At the first wrong answer, prints a line and returns false.
  bool answers_are_correct(CcLabelTestStand& test_stand, const Case& test_case,
                           const std::string& where, int times) {
    for (int time = 0; time < times; ++time) {
      test_stand.overwrite_outputs();
      for (int frame = 0; frame < test_stand.count(); ++frame) {
        test_stand.enqueue(frame);
        const Answer& want = expected_[static_cast<size_t>(frame) % expected_.size()];
        const std::string wrong = difference(want, test_stand.answer(frame));
        if (wrong.empty()) continue;
        std::fprintf(stderr, "WRONG %s on %s, run %d, frame %d: %s\n", test_case.name().c_str(),
                     where.c_str(), time, frame, wrong.c_str());
        ++wrong_answers_;
        return false;
      }
    }
    return true;
  }

  void measure(const Case& test_case, const std::shared_ptr<Backend>& backend, const char* kind,
               int threads, int frames) {
    const int repeats = std::max(options_.repeats, 1);
    CcLabelTestStand test_stand = make_test_stand(test_case, backend, variants_, frames);
    const bool correct =
        answers_are_correct(test_stand, test_case, backend->description(), repeats);
    const auto row = [&](const char* what) {
      return test_case.row(what, "cclabel", kind, threads, expected_.front().total, correct,
                           options_.json);
    };
    if (options_.repeats > 0) return row("check").add("runs", repeats * frames).print();
    for (const auto& [clock, time] : test_stand.time(options_.effort)) {
      Row line =
          row("time").add("clock", clock).add(time).remark(rate(test_case.min_bytes(), time));
      const bool graph = clock == std::string("graph");
      const double lower_bound_us = graph ? lower_bound_.graph.median : lower_bound_.stream.median;
      if (gpu_ == backend && lower_bound_us > 0) {
        line.remark(std::to_string(time.median / lower_bound_us) + " floors");
      }
      line.print();
    }
  }

  // Times the copy of a picture from system memory to the GPU and back.
  void time_copies_of(const Case& test_case) {
    const std::unique_ptr<Queue> queue = gpu_->make_queue();
    const size_t bytes = test_case.min_bytes() - test_case.size.area() * sizeof(uint32_t);
    const CopyTimes times = time_copies(*gpu_, *queue, bytes, options_.effort.max_timings);
    for (const auto& [direction, time] : {std::pair{"up", times.up}, {"down", times.down}}) {
      Row row("copy", options_.json);
      row.add("direction", direction).add("format", std::string(name_of(test_case.format)));
      row.add(test_case.size).add("bytes", bytes).add(time).remark(rate(bytes, time)).print();
    }
  }

  // Times the lower-bound kernel, once per picture size. This happens in the same process as the
  // timings that are compared with it.
  void time_lower_bound(Size size) {
    if (lower_bound_size_ == size) return;
    lower_bound_size_ = size;
    lower_bound_ = {};
    if (size.width % 4 != 0) return;
    Case test_case{.content = "smooth", .size = size};
    const std::vector<Picture> variants = mirrored(make_picture(test_case.content, size));
    const int frames = test_case.frames_beyond_l2();
    CcLabelTestStand test_stand = make_test_stand(test_case, gpu_, variants, frames);
    const auto enqueue = [&](int frame) {
      const FrameTask& task = test_stand.task(frame);
      enqueue_lower_bound({reinterpret_cast<const uint8_t*>(task.in.plane[0]), size.width,
                           size.height, task.in.pitch[0]},
                          task.labels, test_stand.queue());
    };
    lower_bound_ = time_on_cuda(test_stand.queue(), frames, enqueue, options_.effort.max_timings);
    const size_t bytes = test_case.min_bytes();
    for (const auto& [clock, time] :
         {std::pair{"graph", lower_bound_.graph}, {"stream", lower_bound_.stream}}) {
      Row row("floor", options_.json);
      row.add("backend", "cuda").add("clock", clock).add(size).add("bytes", bytes).add(time);
      row.remark(rate(bytes, time)).print();
    }
    test_case.format = options_.format;
    time_copies_of(test_case);
  }

  const Options& options_;
  std::shared_ptr<Backend> gpu_;
  bool cpu_ = true;
  int wrong_answers_ = 0;
  Case prepared_;
  std::vector<Picture> variants_;  // inputs of the prepared case
  std::vector<Answer> expected_;   // expected answer for each variant
  Size lower_bound_size_;
  CudaTimes lower_bound_;
};

int run(int argc, char** argv) {
  const Options options = options_of(argc, argv);
  if (!options.list) return CaseRunner(options).run() == 0 ? 0 : 1;
  for (const Case& test_case : cases_of(options)) std::printf("%s\n", test_case.name().c_str());
  return 0;
}

}  // namespace
}  // namespace regions

int main(int argc, char** argv) {
  return regions::run_program("cclabel", regions::run, argc, argv);
}

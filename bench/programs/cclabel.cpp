// Times cclabel on the CPU and on the GPU for every content, size, connectivity and task of
// cases.hpp. Each answer is first compared with the CPU's.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <thread>

#include "bench/programs/cases.hpp"

namespace regions {
namespace {

// The CPU's answer for each variant, with the table of regions. It uses all cores.
std::vector<Answer> answers_of(Case task, std::span<const Picture> variants) {
  task.table = true;
  CcLabelStand stand =
      stand_of(task, make_cpu_backend(0), variants, static_cast<int>(variants.size()));
  std::vector<Answer> answers;
  for (int frame = 0; frame < stand.count(); ++frame) {
    stand.enqueue(frame);
    answers.push_back(stand.answer(frame));
  }
  return answers;
}

std::string rate(size_t bytes, const Timing& time) {
  return std::to_string(std::lround(static_cast<double>(bytes) / time.median / 1e3)) + " GB/s";
}

// Runs all cases.
class Walk {
 public:
  explicit Walk(const Options& options) : options_(options) {
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
    if (have_cuda() && wants("cuda")) gpu_ = make_cuda();
  }

  // Returns the number of wrong answers.
  int run() {
    if (!gpu_) return walk();
    const Backend::Entry entry(*gpu_);
    if (!options_.json) std::printf("%s\n", gpu_->description().c_str());
    return walk();
  }

 private:
  int walk() {
    for (const Case& task : cases_of(options_)) {
      if (gpu_ && options_.repeats == 0) time_floor(task.size);
      prepare(task);
      const int frames = options_.repeats == 0 ? task.frames_beyond_l2() : 4;
      if (gpu_) measure(task, gpu_, "cuda", 0, frames);
      if (!cpu_) continue;
      const auto cores = static_cast<int>(std::thread::hardware_concurrency());
      for (const int threads : threads_of(options_, cores)) {
        measure(task, make_cpu_backend(threads), "cpu", threads, 4);
      }
    }
    return wrong_;
  }

  // Consecutive cases share their pictures, and the tasks of one case share its answers.
  void prepare(const Case& task) {
    const bool same_picture = task.content == prepared_.content && task.size == prepared_.size;
    if (!same_picture) variants_ = mirrored(make_picture(task.content, task.size));
    if (!same_picture || task.params.criterion != prepared_.params.criterion ||
        task.params.connectivity != prepared_.params.connectivity) {
      expected_ = answers_of(task, variants_);
    }
    prepared_ = task;
  }

  // Runs all frames `times` times. Returns false and prints a line at the first wrong answer.
  bool agrees(CcLabelStand& stand, const Case& task, const std::string& where, int times) {
    for (int time = 0; time < times; ++time) {
      stand.spoil();
      for (int frame = 0; frame < stand.count(); ++frame) {
        stand.enqueue(frame);
        const Answer& want = expected_[static_cast<size_t>(frame) % expected_.size()];
        const std::string wrong = difference(want, stand.answer(frame));
        if (wrong.empty()) continue;
        std::fprintf(stderr, "WRONG %s on %s, run %d, frame %d: %s\n", task.name().c_str(),
                     where.c_str(), time, frame, wrong.c_str());
        ++wrong_;
        return false;
      }
    }
    return true;
  }

  void measure(const Case& task, const std::shared_ptr<Backend>& backend, const char* kind,
               int threads, int frames) {
    const int repeats = std::max(options_.repeats, 1);
    CcLabelStand stand = stand_of(task, backend, variants_, frames);
    const bool correct = agrees(stand, task, backend->description(), repeats);
    const auto row = [&](const char* what) {
      return task.row(what, "cclabel", kind, threads, expected_.front().total, correct,
                      options_.json);
    };
    if (options_.repeats > 0) return row("check").add("runs", repeats * frames).print();
    for (const auto& [clock, time] : stand.time(options_.effort)) {
      Row line = row("time").add("clock", clock).add(time).remark(rate(task.least_bytes(), time));
      const bool graph = clock == std::string("graph");
      const double floor = graph ? floor_.graph.median : floor_.stream.median;
      if (gpu_ == backend && floor > 0) {
        line.remark(std::to_string(time.median / floor) + " floors");
      }
      line.print();
    }
  }

  // Times the copy of a picture from system memory to the GPU and back.
  void time_copies_of(const Case& task) {
    const std::unique_ptr<Queue> queue = gpu_->make_queue();
    const size_t bytes = task.least_bytes() - task.size.area() * sizeof(uint32_t);
    const CopyTimes times = time_copies(*gpu_, *queue, bytes, options_.effort.least_runs);
    for (const auto& [direction, time] : {std::pair{"up", times.up}, {"down", times.down}}) {
      Row row("copy", options_.json);
      row.add("direction", direction).add("format", std::string(name_of(task.format)));
      row.add(task.size).add("bytes", bytes).add(time).remark(rate(bytes, time)).print();
    }
  }

  // Runs once per size, in the same run as the times that are compared with it.
  void time_floor(Size size) {
    if (floor_size_ == size) return;
    floor_size_ = size;
    floor_ = {};
    if (size.width % 4 != 0) return;
    Case task{.content = "smooth", .size = size};
    const std::vector<Picture> variants = mirrored(make_picture(task.content, size));
    const int frames = task.frames_beyond_l2();
    CcLabelStand stand = stand_of(task, gpu_, variants, frames);
    const auto enqueue = [&](int frame) {
      const FrameTask& job = stand.job(frame);
      enqueue_floor({reinterpret_cast<const uint8_t*>(job.in.plane[0]), size.width, size.height,
                     job.in.pitch[0]},
                    job.labels, stand.queue());
    };
    floor_ = time_on_cuda(stand.queue(), frames, enqueue, options_.effort.least_runs);
    const size_t bytes = task.least_bytes();
    for (const auto& [clock, time] :
         {std::pair{"graph", floor_.graph}, {"stream", floor_.stream}}) {
      Row row("floor", options_.json);
      row.add("backend", "cuda").add("clock", clock).add(size).add("bytes", bytes).add(time);
      row.remark(rate(bytes, time)).print();
    }
    task.format = options_.format;
    time_copies_of(task);
  }

  const Options& options_;
  std::shared_ptr<Backend> gpu_;
  bool cpu_ = true;
  int wrong_ = 0;
  Case prepared_;
  std::vector<Picture> variants_;  // of the prepared case
  std::vector<Answer> expected_;   // for each variant
  Size floor_size_;
  CudaTimes floor_;
};

int run(int count, char** words) {
  const Options options = options_of(count, words);
  if (!options.list) return Walk(options).run() == 0 ? 0 : 1;
  for (const Case& task : cases_of(options)) std::printf("%s\n", task.name().c_str());
  return 0;
}

}  // namespace
}  // namespace regions

int main(int count, char** words) {
  return regions::run_program("cclabel", regions::run, count, words);
}

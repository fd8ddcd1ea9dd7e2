// Times cclabel on the CPU and on the GPU: every content, size, connectivity and task of
// options.hpp. An answer is compared with the CPU's before it is timed.
#include <cstdio>
#include <map>
#include <thread>

#include "bench/cuda.hpp"
#include "bench/figure.hpp"
#include "bench/options.hpp"
#include "bench/program.hpp"
#include "cpu/backend.hpp"

namespace regions {
namespace {

int cores() { return static_cast<int>(std::thread::hardware_concurrency()); }

Stand stand_on_cpu(const Case& task, std::span<const Picture> variants, int frames, int threads) {
  auto backend = make_cpu_backend(threads);
  auto algorithm = make_algorithm<CcLabelParams, BackendKind::cpu>(backend);
  return {backend, std::move(algorithm), task, variants, frames, 1};
}

Stand stand_on_cuda(const std::shared_ptr<Backend>& gpu, const Case& task,
                    std::span<const Picture> variants, int frames) {
  return {gpu, make_cuda_cclabel(gpu), task, variants, frames, frames};
}

// What the CPU with all its cores says of each variant, table included.
std::vector<Answer> answers_of(Case task, std::span<const Picture> variants) {
  task.table = true;
  Stand stand = stand_on_cpu(task, variants, static_cast<int>(variants.size()), 0);
  std::vector<Answer> answers;
  for (int frame = 0; frame < stand.frames(); ++frame) {
    stand.enqueue(frame);
    answers.push_back(stand.answer(frame));
  }
  return answers;
}

// The walk over the cases; main() makes one.
class Walk {
 public:
  explicit Walk(const Options& options) : options_(options), report_(options.json) {
    bool cuda = have_cuda();
    cpu_ = options.backends.empty();
    for (const std::string& name : options.backends) {
      expects(name == "cpu" || name == "cuda", "no such backend: '" + name + "'");
      expects(name != "cuda" || cuda, "no GPU that works here");
      cpu_ = cpu_ || name == "cpu";
    }
    if (!options.backends.empty()) {
      cuda = cuda && std::find(options.backends.begin(), options.backends.end(), "cuda") !=
                         options.backends.end();
    }
    if (cuda) gpu_ = make_cuda();
  }

  // Returns how many answers were wrong.
  int run() {
    if (!gpu_) return walk();
    const Backend::Entry entry(*gpu_);
    report_.device(gpu_->description());
    return walk();
  }

 private:
  int walk() {
    for (const Case& task : cases_of(options_)) {
      if (gpu_ && options_.repeats == 0) time_floor(task.size);
      prepare(task);
      if (gpu_) on_cuda(task);
      if (cpu_) on_cpu(task);
    }
    return wrong_;
  }

  // Neighbouring cases share their pictures, and the tasks of one case its answers.
  void prepare(const Case& task) {
    const bool same_picture = task.content == prepared_.content && task.size == prepared_.size;
    if (!same_picture) variants_ = mirrored(make_picture(task.content, task.size));
    if (!same_picture || task.params.criterion != prepared_.params.criterion ||
        task.params.connectivity != prepared_.params.connectivity) {
      expected_ = answers_of(task, variants_);
    }
    prepared_ = task;
  }

  // Runs all frames `times` times; false and a line on stderr at the first wrong answer.
  bool agrees(Stand& stand, const Case& task, const std::string& where, int times) {
    for (int time = 0; time < times; ++time) {
      stand.spoil();
      for (int frame = 0; frame < stand.frames(); ++frame) {
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

  Figure figure(const Case& task, const std::string& backend, int threads) const {
    Figure figure{.task = task};
    figure.backend = backend;
    figure.threads = threads;
    figure.regions = expected_.front().total;
    return figure;
  }

  void on_cuda(const Case& task) {
    const bool timing = options_.repeats == 0;
    const int frames = timing ? task.frames_beyond_l2() : 4;
    Stand stand = stand_on_cuda(gpu_, task, variants_, frames);
    Figure row = figure(task, "cuda", 0);
    row.correct = agrees(stand, task, "cuda", timing ? 1 : options_.repeats);
    if (!timing) return report_.checked(row, options_.repeats * frames);
    const CudaTimes times = time_on_cuda(
        stand.queue(), frames, [&](int frame) { stand.enqueue(frame); },
        options_.effort.least_runs);
    report_.timed(row, "graph", times.graph, floor_.graph.median);
    report_.timed(row, "stream", times.stream, floor_.stream.median);
  }

  void on_cpu(const Case& task) {
    const bool timing = options_.repeats == 0;
    int last = 0;
    for (const int wanted : options_.threads) {
      const int threads = wanted == 0 ? cores() : wanted;
      if (threads > cores() || threads == last) continue;  // no more than there are, none twice
      last = threads;
      Stand stand = stand_on_cpu(task, variants_, 4, threads);
      Figure row = figure(task, "cpu", threads);
      row.correct =
          agrees(stand, task, std::to_string(threads) + " threads", timing ? 1 : options_.repeats);
      if (!timing) {
        report_.checked(row, options_.repeats * stand.frames());
        continue;
      }
      const Timing time = time_calls(
          stand.frames(), [&](int frame) { stand.run(frame); }, options_.effort);
      report_.timed(row, "wall", time, 0);
    }
  }

  // What a picture in system memory costs on its way to the GPU and back.
  void time_copies_of(const Case& task) {
    const std::unique_ptr<Queue> queue = gpu_->make_queue();
    const size_t bytes = task.least_bytes() - task.size.area() * sizeof(uint32_t);
    const CopyTimes times = time_copies(*gpu_, *queue, bytes, options_.effort.least_runs);
    report_.copies(task, bytes, times.up, times.down);
  }

  // Once a size, in the same run as what is compared with it.
  void time_floor(Size size) {
    if (floor_size_ == size) return;
    floor_size_ = size;
    floor_ = {};
    if (size.width % 4 != 0) return;
    Case task{.content = "smooth", .size = size};
    const std::vector<Picture> variants = mirrored(make_picture(task.content, size));
    const int frames = task.frames_beyond_l2();
    Stand stand = stand_on_cuda(gpu_, task, variants, frames);
    const auto enqueue = [&](int frame) {
      const Job& job = stand.job(frame);
      enqueue_floor({reinterpret_cast<const uint8_t*>(job.in.plane[0]), size.width, size.height,
                     job.in.pitch[0]},
                    job.labels, stand.queue());
    };
    floor_ = time_on_cuda(stand.queue(), frames, enqueue, options_.effort.least_runs);
    report_.floor(size, task.least_bytes(), floor_.graph, floor_.stream);
    task.format = options_.format;
    time_copies_of(task);
  }

  const Options& options_;
  Report report_;
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
  const Options options = parse(count, words);
  if (options.help) {
    std::fputs(usage().c_str(), stdout);
    return 0;
  }
  if (options.list) {
    for (const Case& task : cases_of(options)) std::printf("%s\n", task.name().c_str());
    return 0;
  }
  return Walk(options).run() == 0 ? 0 : 1;
}

}  // namespace
}  // namespace regions

int main(int count, char** words) {
  return regions::run_program("algorithms", regions::run, count, words);
}

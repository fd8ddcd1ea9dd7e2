// slicsuperpixel on pictures from standard input, RGB side by side, one after another.
//
//   superpixels WIDTH HEIGHT [cpu|cuda] [tracks|time] [--threads N] [--set NAME=VALUE]…
//
// Writes each picture's labels (uint32) to standard output, or, with `tracks`, each superpixel's
// track in their place; with `time` one line instead: the count of superpixels, the median and the
// least time of one frame, and the least CPU time of one over all threads.
#include "bench/superpixels.hpp"

#include <cstdio>
#include <cstring>
#include <vector>

#include "bench/clock.hpp"
#include "bench/cuda.hpp"
#include "bench/program.hpp"
#include "cpu/backend.hpp"

namespace regions {
namespace {

struct Task {
  Size size;
  SlicParams params;
  bool cuda = false;
  bool tracks = false;
  bool time = false;
  int threads = 0;
};

Task parse(int count, char** words) {
  expects(count >= 3,
          "usage: superpixels WIDTH HEIGHT [cpu|cuda] [tracks|time] [--threads N] "
          "[--set NAME=VALUE]…");
  Task task;
  task.size = {whole_number(words[1]), whole_number(words[2])};
  task.params.output = SlicOutput::none;
  for (int i = 3; i < count; ++i) {
    const std::string word = words[i];
    if (word == "cuda" || word == "cpu") {
      task.cuda = word == "cuda";
    } else if (word == "tracks") {
      task.tracks = true;
    } else if (word == "time") {
      task.time = true;
    } else if (word == "--threads" && i + 1 < count) {
      task.threads = std::atoi(words[++i]);
    } else if (word == "--set" && i + 1 < count) {
      const std::string text = words[++i];
      const size_t equals = text.find('=');
      expects(equals != std::string::npos, "--set wants NAME=VALUE, not '" + text + "'");
      assign_text(find(fields_of(task.params), text.substr(0, equals)), &task.params,
                  text.substr(equals + 1));
    } else {
      throw InputError("unknown word '" + word + "'");
    }
  }
  return task;
}

Frame packed(PixelFormat format, Size size, void* data, Memory memory) {
  Frame frame;
  frame.layout = layout_of(format);
  frame.width = size.width;
  frame.height = size.height;
  frame.plane[0] = static_cast<std::byte*>(data);
  frame.pitch[0] = static_cast<ptrdiff_t>(row_bytes(frame.layout, 0, size));
  frame.memory = memory;
  return frame;
}

class Stage {
 public:
  explicit Stage(const Task& task)
      : task_(task),
        backend_(task.cuda ? make_cuda() : make_cpu_backend(task.threads)),
        entry_(*backend_),
        queue_(backend_->make_queue()),
        algorithm_(task.cuda ? make_cuda_slic(backend_)
                             : make_algorithm<SlicParams, BackendKind::cpu>(backend_)),
        in_(backend_->allocate(task.size.area() * 4)),
        labels_(backend_->allocate(task.size.area() * 4)),
        host_(backend_->allocate_pinned(task.size.area() * 4)),
        total_(backend_->allocate_pinned(4)),
        records_(backend_->allocate_pinned(kMostRecords * sizeof(Region))) {
    Setup setup;
    setup.in = layout_of(PixelFormat::rgbx);
    setup.size = task.size;
    setup.max_regions = kMostRecords;
    algorithm_->prepare(task.params);
    algorithm_->configure(setup);
    job_.in = packed(PixelFormat::rgbx, task.size, in_.data(), backend_->memory());
    job_.labels = {labels_.as<uint32_t>(), task.size.width, task.size.height, task.size.width * 4};
    job_.table.total = total_.as<uint32_t>();
    if (task.tracks) {
      job_.table.regions = records_.as<Region>();
      job_.table.capacity = kMostRecords;
    }
  }
  bool read() {
    const size_t pixels = task_.size.area();
    std::vector<uint8_t> rgb(3 * pixels);
    if (std::fread(rgb.data(), 1, rgb.size(), stdin) != rgb.size()) return false;
    auto* to = host_.as<uint8_t>();
    for (size_t i = 0; i < pixels; ++i) {
      std::memcpy(to + 4 * i, rgb.data() + 3 * i, 3);
      to[4 * i + 3] = 255;
    }
    queue_->copy_bytes(host_.data(), in_.data(), 4 * pixels);
    queue_->record();
    queue_->wait();
    return true;
  }
  void write_labels() {
    algorithm_->enqueue(job_, task_.params, *queue_);
    queue_->copy_bytes(labels_.data(), host_.data(), labels_.bytes());
    queue_->record();
    queue_->wait();
    if (task_.tracks) put_tracks();
    expects(std::fwrite(host_.data(), 1, host_.bytes(), stdout) == host_.bytes(),
            "standard output is closed");
  }
  void time() {
    double median = 0, fastest = 0, cpu = 0;
    if (task_.cuda) {
      const CudaTimes times = time_on_cuda(
          *queue_, 4, [&](int) { algorithm_->enqueue(job_, task_.params, *queue_); }, 30);
      median = times.graph.median;
      fastest = times.graph.fastest;
    } else {
      const auto frame = [&](int) {
        const double before = cpu_time_us();
        algorithm_->enqueue(job_, task_.params, *queue_);
        queue_->record();
        queue_->wait();
        const double took = cpu_time_us() - before;
        if (cpu == 0 || took < cpu) cpu = took;
      };
      const Timing timing = time_calls(1, frame, {.least_runs = 20, .seconds = 2});
      median = timing.median;
      fastest = timing.fastest;
    }
    queue_->record();
    queue_->wait();
    std::printf(
        "{\"what\": \"superpixels\", \"width\": %d, \"height\": %d, \"superpixels\": %u, \"us\": "
        "%.1f, \"fastest_us\": %.1f, \"cpu_us\": %.1f}\n",
        task_.size.width, task_.size.height, *total_.as<uint32_t>(), median, fastest, cpu);
  }

 private:
  static constexpr uint32_t kMostRecords = 1 << 16;

  void put_tracks() {
    const uint32_t total = *total_.as<uint32_t>();
    expects(total <= kMostRecords, "too many superpixels to record: " + std::to_string(total));
    auto* label = host_.as<uint32_t>();
    for (size_t i = 0; i < task_.size.area(); ++i) {
      label[i] = records_.as<Region>()[label[i] - 1].track;
    }
  }

  Task task_;
  std::shared_ptr<Backend> backend_;
  Backend::Entry entry_;
  std::unique_ptr<Queue> queue_;
  std::unique_ptr<Algorithm<SlicParams>> algorithm_;
  Block in_, labels_, host_, total_, records_;
  Job job_;
};

int run(int count, char** words) {
  const Task task = parse(count, words);
  Stage stage(task);
  if (task.time) {
    expects(stage.read(), "no picture on standard input");
    stage.time();
    return 0;
  }
  while (stage.read()) stage.write_labels();
  return 0;
}

}  // namespace
}  // namespace regions

int main(int count, char** words) {
  return regions::run_program("superpixels", regions::run, count, words);
}

// What track=true adds to a frame: discs that move on a picture, labelled with records, without and
// with tracking, on the GPU and on the CPU:
//   labelling-tracking [--json] [--cuda] [WIDTH HEIGHT DISCS]
// With --cuda on the GPU alone.
#include <cstdio>
#include <string>
#include <vector>

#include "bench/cuda.hpp"
#include "bench/program.hpp"
#include "cpu/backend.hpp"
#include "tests/cclabel/tracking_scene.hpp"

namespace regions {
namespace {

constexpr int kFrames = 12;
constexpr int kRuns = 30;

struct Options {
  bool json = false, cuda_only = false;
  Size size = {1920, 1080};
  int discs = 1000;
};

// There and back, so that the first frame follows the last one.
std::vector<Picture> pictures(Size size, int discs) {
  std::vector<std::vector<Disc>> scene = {crowd(size, discs, 1)};
  while (scene.size() <= kFrames / 2) scene.push_back(moved(size, scene.back()));
  std::vector<Picture> result;
  for (int t = 0; t < kFrames; ++t) {
    result.push_back(paint_discs(size, scene[static_cast<size_t>(std::min(t, kFrames - t))]));
  }
  return result;
}

class Walk {
 public:
  Walk(std::shared_ptr<Backend> backend, std::unique_ptr<Algorithm<CcLabelParams>> algorithm,
       const std::vector<Picture>& pictures)
      : backend_(std::move(backend)),
        algorithm_(std::move(algorithm)),
        queue_(backend_->make_queue()) {
    const Layout& layout = layout_of(PixelFormat::rgb);
    const Size size = pictures[0].size;
    algorithm_->configure({.in = layout, .size = size, .max_regions = kRecords, .tracks = true});
    table_ = backend_->allocate_pinned((kRecords + 1) * sizeof(Region));
    for (const Picture& picture : pictures) {
      in_.push_back(backend_->allocate(picture.pixels.size()));
      labels_.push_back(backend_->allocate(size.area() * sizeof(uint32_t)));
      queue_->copy_bytes(picture.pixels.data(), in_.back().data(), picture.pixels.size());
      Job job;
      job.in = picture.frame();
      job.in.plane[0] = in_.back().as<std::byte>();
      job.in.memory = backend_->memory();
      job.labels = {labels_.back().as<uint32_t>(), size.width, size.height,
                    size.width * static_cast<ptrdiff_t>(sizeof(uint32_t))};
      auto* regions = table_.as<Region>();
      job.table = {regions, kRecords, reinterpret_cast<uint32_t*>(regions + kRecords)};
      jobs_.push_back(job);
    }
    queue_->record();
    queue_->wait();
  }

  Queue& queue() { return *queue_; }
  uint32_t regions() const { return *jobs_[0].table.total; }
  uint32_t last_id() const {
    return static_cast<const CcLabel&>(*algorithm_).track_report(0).last_id;
  }
  void enqueue(int frame, bool track) {
    CcLabelParams params;
    params.threshold = 0.2;
    params.output = CcOutput::none;
    params.track = track;
    algorithm_->enqueue(jobs_[static_cast<size_t>(frame % kFrames)], params, *queue_);
  }
  void run(int frame, bool track) {
    enqueue(frame, track);
    queue_->record();
    queue_->wait();
  }

 private:
  static constexpr uint32_t kRecords = 4096;
  std::shared_ptr<Backend> backend_;
  std::unique_ptr<Algorithm<CcLabelParams>> algorithm_;
  std::unique_ptr<Queue> queue_;
  Block table_;
  std::vector<Block> in_, labels_;
  std::vector<Job> jobs_;
};

// Frames take so many microseconds, by a clock of a backend.
void print(const Options& options, const char* backend, const char* clock, double without,
           double with, const Walk& walk) {
  if (options.json) {
    std::printf(
        "{\"what\":\"tracking\",\"backend\":\"%s\",\"clock\":\"%s\",\"width\":%d,\"height\":%d,"
        "\"regions\":%u,\"us_without\":%.2f,\"us_with\":%.2f}\n",
        backend, clock, options.size.width, options.size.height, walk.regions(), without, with);
  } else {
    std::printf("%-4s %-6s %9.1f us without, %9.1f us with, %8.1f us added; %u regions, %u ids\n",
                backend, clock, without, with, with - without, walk.regions(), walk.last_id());
  }
}

void time_cuda(const Options& options, const std::vector<Picture>& scene) {
  if (!have_cuda()) return;
  const auto gpu = make_cuda();
  const Backend::Entry entry(*gpu);
  Walk walk(gpu, make_cuda_cclabel(gpu), scene);
  CudaTimes times[2];
  for (const bool track : {false, true}) {
    times[track] = time_on_cuda(
        walk.queue(), kFrames, [&](int frame) { walk.enqueue(frame, track); }, kRuns);
  }
  print(options, "cuda", "graph", times[0].graph.median, times[1].graph.median, walk);
  print(options, "cuda", "stream", times[0].stream.median, times[1].stream.median, walk);
}

void time_cpu(const Options& options, const std::vector<Picture>& scene) {
  const auto cpu = make_cpu_backend();
  Walk walk(cpu, make_algorithm<CcLabelParams, BackendKind::cpu>(cpu), scene);
  Timing times[2];
  for (const bool track : {false, true}) {
    times[track] = time_calls(kFrames, [&](int frame) { walk.run(frame, track); }, {kRuns, 1});
  }
  print(options, "cpu", "call", times[0].median, times[1].median, walk);
}

Options parse(int count, char** words) {
  Options options;
  std::vector<int> numbers;
  for (int i = 1; i < count; ++i) {
    const std::string word = words[i];
    if (word == "--json") {
      options.json = true;
    } else if (word == "--cuda") {
      options.cuda_only = true;
    } else {
      numbers.push_back(whole_number(word));
    }
  }
  if (numbers.size() == 3) {
    options.size = {numbers[0], numbers[1]};
    options.discs = numbers[2];
  } else if (!numbers.empty()) {
    throw InputError("labelling-tracking [--json] [--cuda] [WIDTH HEIGHT DISCS]");
  }
  return options;
}

int run(int count, char** words) {
  const Options options = parse(count, words);
  const auto scene = pictures(options.size, options.discs);
  time_cuda(options, scene);
  if (!options.cuda_only) time_cpu(options, scene);
  return 0;
}

}  // namespace
}  // namespace regions

int main(int count, char** words) {
  return regions::run_program("labelling-tracking", regions::run, count, words);
}

// What track=true adds to a frame: discs that move on a picture, labelled with records, without and
// with tracking, on the GPU and on the CPU. Usage: labelling-tracking [WIDTH HEIGHT DISCS]
#include <cstdio>
#include <cstdlib>

#include "bench/cuda.hpp"
#include "cpu/backend.hpp"
#include "tests/cclabel/tracking_scene.hpp"

namespace regions {
namespace {

constexpr int kFrames = 12;
constexpr int kRuns = 30;

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

void print(const char* where, double without, double with, const Walk& walk) {
  std::printf("%-12s %9.1f us without, %9.1f us with, %8.1f us added; %u regions, %u ids\n", where,
              without, with, with - without, walk.regions(), walk.last_id());
}

void time_cuda(const std::vector<Picture>& scene) {
  if (!have_cuda()) return;
  const auto gpu = make_cuda();
  const Backend::Entry entry(*gpu);
  Walk walk(gpu, make_cuda_cclabel(gpu), scene);
  CudaTimes times[2];
  for (const bool track : {false, true}) {
    times[track] = time_on_cuda(
        walk.queue(), kFrames, [&](int frame) { walk.enqueue(frame, track); }, kRuns);
  }
  print("cuda graph", times[0].graph.median, times[1].graph.median, walk);
  print("cuda stream", times[0].stream.median, times[1].stream.median, walk);
}

void time_cpu(const std::vector<Picture>& scene) {
  const auto cpu = make_cpu_backend();
  Walk walk(cpu, make_algorithm<CcLabelParams, BackendKind::cpu>(cpu), scene);
  Timing times[2];
  for (const bool track : {false, true}) {
    times[track] = time_calls(kFrames, [&](int frame) { walk.run(frame, track); }, {kRuns, 1});
  }
  print("cpu", times[0].median, times[1].median, walk);
}

}  // namespace
}  // namespace regions

int main(int count, char** words) {
  const regions::Size size = {count > 3 ? std::atoi(words[1]) : 1920,
                              count > 3 ? std::atoi(words[2]) : 1080};
  const auto scene = regions::pictures(size, count > 3 ? std::atoi(words[3]) : 1000);
  std::printf("%dx%d\n", size.width, size.height);
  regions::time_cuda(scene);
  regions::time_cpu(scene);
  return 0;
}

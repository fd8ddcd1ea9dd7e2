// Times the cost of track=true per frame: moving discs are labelled with the table of regions,
// without and with tracking, on the GPU and on the CPU.
#include <algorithm>

#include "bench/programs/program.hpp"
#include "bench/programs/row.hpp"
#include "bench/programs/stand.hpp"
#include "core/cclabel/cclabel.hpp"
#include "tests/cclabel/tracking_scene.hpp"

namespace regions {
namespace {

constexpr int kFrames = 12;

struct Options {
  bool json = false, cuda_only = false;
  Size size = {1920, 1080};
  int discs = 1000;
};

// Pictures of discs that move forth and back, so that the sequence can be repeated without a jump.
std::vector<Picture> moving_discs(Size size, int discs) {
  std::vector<std::vector<Disc>> scene = {crowd(size, discs, 1)};
  while (scene.size() <= kFrames / 2) scene.push_back(moved(size, scene.back()));
  std::vector<Picture> result;
  for (int t = 0; t < kFrames; ++t) {
    result.push_back(paint_discs(size, scene[static_cast<size_t>(std::min(t, kFrames - t))]));
  }
  return result;
}

void measure(const Options& options, const std::vector<Picture>& scene,
             const std::shared_ptr<Backend>& backend, const char* name) {
  const Backend::Entry entry(*backend);
  CcLabelParams params;
  params.threshold = 0.2;
  params.output = CcOutput::none;
  params.track = true;
  Setup setup{.in = layout_of(PixelFormat::rgb), .size = options.size};
  plan(params, setup);
  TestStand<CcLabelParams> test_stand(backend, setup, params, kFrames, {.records = true});
  for (int frame = 0; frame < kFrames; ++frame) {
    test_stand.set_input(frame, scene[static_cast<size_t>(frame)].frame());
  }
  test_stand.params.track = false;
  const std::vector<ClockedTime> without_tracking = test_stand.time({30, 1});
  test_stand.params.track = true;
  const std::vector<ClockedTime> with_tracking = test_stand.time({30, 1});
  const uint32_t last_id = static_cast<CcLabel&>(test_stand.algorithm()).track_events(0).last_id;
  for (size_t i = 0; i < with_tracking.size(); ++i) {
    Row row("tracking", options.json);
    row.add("backend", name).add("clock", with_tracking[i].clock).add(options.size);
    row.add("regions", test_stand.total(0)).add("us_without", without_tracking[i].time.median, 2);
    row.add("us_with", with_tracking[i].time.median, 2)
        .remark(std::to_string(last_id) + " ids")
        .print();
  }
}

int run(int argc, char** argv) {
  Options options;
  parse(argc, argv, "[OPTION…]\nTimes the cost of tracking when moving discs are labelled.",
        {{"--json", nullptr, "print one JSON object per line", into(options.json)},
         {"--cuda", nullptr, "only on the GPU", into(options.cuda_only)},
         {"--size", "SIZE", "WIDTHxHEIGHT (default: 1920x1080)", into(options.size)},
         {"--discs", "N", "default: 1000", into(options.discs)}});
  const std::vector<Picture> scene = moving_discs(options.size, options.discs);
  if (have_cuda()) measure(options, scene, make_first_gpu_backend(), "cuda");
  if (!options.cuda_only) measure(options, scene, make_cpu_backend(), "cpu");
  return 0;
}

}  // namespace
}  // namespace regions

int main(int argc, char** argv) {
  return regions::run_program("cclabel_tracking", regions::run, argc, argv);
}

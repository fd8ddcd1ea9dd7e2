// Times the CPU cost of a frame's `regions` metadata: attaching it to a buffer without a picture,
// reading it as the next element does, and freeing it with the buffer.
#include <algorithm>

#include "bench/programs/program.hpp"
#include "bench/programs/row.hpp"
#include "plugin/metadata/region_meta.hpp"

namespace regions {
namespace {

// Makes `count` regions with different positions and sizes.
std::vector<Region> some_regions(int count) {
  std::vector<Region> regions(static_cast<size_t>(count));
  uint32_t id = 0;
  for (Region& r : regions) {
    r.id = r.track = ++id;
    r.left = r.first_x = static_cast<int>(id * 37 % 1800);
    r.top = r.first_y = static_cast<int>(id * 11 % 1000);
    r.right = r.left + static_cast<int>(id * 29 % 100);
    r.bottom = r.top + static_cast<int>(id * 13 % 70);
    r.area = static_cast<uint64_t>(r.width()) * static_cast<uint64_t>(r.height());
    r.sum_x = r.area * static_cast<uint64_t>(r.left);
    r.sum_y = r.area * static_cast<uint64_t>(r.top);
    for (uint64_t& sum : r.sum_value) sum = r.area * (id % 200 + 20);
  }
  return regions;
}

void measure(int count, const std::string& describe, int threads, bool json) {
  const std::vector<Region> regions = some_regions(count);
  const Workers workers(threads);
  const auto structures = std::make_shared<StructurePool>();
  FrameResults results;
  results.algorithm = "cclabel";
  results.size = {1920, 1080};
  results.forms = describe == "all" ? kAllForms : kTableForm;
  results.total = static_cast<uint32_t>(count);
  results.regions = regions;
  results.layout = layout_of(PixelFormat::nv12);
  AttachedRegions attached;
  GstBuffer* ring[4] = {};  // the last four buffers; older buffers have been freed
  int next = 0;
  const int frames = std::max(1, 20000 / count);
  const auto attach_all = [&](int) {
    for (int i = 0; i < frames; ++i) {
      GstBuffer*& buffer = ring[next++ % 4];
      gst_clear_buffer(&buffer);
      buffer = gst_buffer_new();
      attach_regions(buffer, results, workers, *structures);
      read_regions(buffer, results.size, attached);
    }
  };
  const Timing time = time_calls(1, attach_all, {60, 3});
  for (GstBuffer*& buffer : ring) gst_clear_buffer(&buffer);
  Row row("metadata", json);
  row.add("regions", count)
      .add("describe", describe)
      .add("threads", threads)
      .add("us", time.median / frames, 3);
  row.add("fastest_us", time.fastest / frames, 3).add("cpu_us", time.cpu_median / frames, 3);
  row.add("fastest_cpu_us", time.cpu_fastest / frames, 3).add("runs", time.runs).print();
}

int run(int argc, char** argv) {
  bool json = false;
  std::vector<int> regions = {16, 142, 1000}, threads = {1, 2};
  parse(argc, argv, "[OPTION…]\nTimes only the metadata of regions.",
        {{"--json", nullptr, "print one JSON object per line", into(json)},
         {"--regions", "LIST", "regions per frame (default: 16,142,1000)", into(regions)},
         {"--threads", "LIST", "default: 1,2", into(threads)}});
  gst_init(nullptr, nullptr);
  register_region_meta();
  for (const int region_count : regions) {
    for (const char* describe : {"all", "table"}) {
      for (const int thread_count : threads) measure(region_count, describe, thread_count, json);
    }
  }
  return 0;
}

}  // namespace
}  // namespace regions

int main(int argc, char** argv) {
  return regions::run_program("metadata", regions::run, argc, argv);
}

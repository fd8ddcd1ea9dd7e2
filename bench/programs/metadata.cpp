// metadata [--json] [--regions 16,142,1000] [--threads 1,2]: times what telling of a frame's
// regions costs its host: writing the `regions` metadata on a buffer and freeing it with the
// buffer, without any picture.
#include <algorithm>
#include <string>
#include <vector>

#include "bench/clock.hpp"
#include "bench/program.hpp"
#include "plugin/region_meta.hpp"

namespace regions {
namespace {

// So many regions of different places and sizes.
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

void measure(int count, int threads, bool json) {
  const std::vector<Region> regions = some_regions(count);
  const Workers workers(threads);
  const auto structures = std::make_shared<StructurePool>();
  Findings findings;
  findings.algorithm = "cclabel";
  findings.size = {1920, 1080};
  findings.total = static_cast<uint32_t>(count);
  findings.regions = regions;
  findings.layout = layout_of(PixelFormat::nv12);
  GstBuffer* ring[4] = {};  // frames that are still on their way
  int next = 0;
  const int frames = std::max(1, 20000 / count);
  std::vector<double> cpu;
  const Timing wall = time_calls(1,
                                 [&](int) {
                                   const double before = cpu_time_us();
                                   for (int i = 0; i < frames; ++i) {
                                     GstBuffer*& buffer = ring[next++ % 4];
                                     gst_clear_buffer(&buffer);
                                     buffer = gst_buffer_new();
                                     attach(buffer, findings, workers, *structures);
                                   }
                                   cpu.push_back((cpu_time_us() - before) / frames);
                                 },
                                 {60, 3});
  for (GstBuffer*& buffer : ring) gst_clear_buffer(&buffer);
  const Timing on_cpus = summarise(cpu);
  const char* format =
      json ? "{\"what\":\"metadata\",\"regions\":%d,\"threads\":%d,\"us\":%.3f,\"fastest_us\":%.3f,"
             "\"cpu_us\":%.3f,\"fastest_cpu_us\":%.3f,\"runs\":%d}\n"
           : "%5d regions, %d threads: %9.2f us a frame, fastest %9.2f; CPUs %9.2f, fastest %9.2f "
             "(%d runs)\n";
  std::printf(format, count, threads, wall.median / frames, wall.fastest / frames, on_cpus.median,
              on_cpus.fastest, wall.runs);
  std::fflush(stdout);
}

int run(int count, char** words) {
  bool json = false;
  std::vector<int> regions = {16, 142, 1000}, threads = {1, 2};
  for (int i = 1; i < count; ++i) {
    const std::string word = words[i];
    if (word == "--json") {
      json = true;
    } else if (word == "--regions" && i + 1 < count) {
      regions = whole_numbers(words[++i]);
    } else if (word == "--threads" && i + 1 < count) {
      threads = whole_numbers(words[++i]);
    } else {
      throw InputError("unknown option '" + word + "'");
    }
  }
  gst_init(nullptr, nullptr);
  register_region_meta();
  for (const int many : regions) {
    for (const int n : threads) measure(many, n, json);
  }
  return 0;
}

}  // namespace
}  // namespace regions

int main(int count, char** words) {
  return regions::run_program("metadata", regions::run, count, words);
}

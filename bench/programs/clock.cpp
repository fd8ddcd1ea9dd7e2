// Measures wall-clock and CPU times, and computes their medians.
#include "bench/programs/clock.hpp"

#include <algorithm>
#include <chrono>
#include <ctime>

#include "core/error.hpp"

namespace regions {

Timing summarise(std::vector<double>& samples) {
  expects(!samples.empty(), "a timing needs at least one sample");
  std::sort(samples.begin(), samples.end());
  const size_t middle = samples.size() / 2;
  const double median =
      samples.size() % 2 == 1 ? samples[middle] : (samples[middle - 1] + samples[middle]) / 2;
  return {.median = median, .fastest = samples.front(), .runs = static_cast<int>(samples.size())};
}

Timing time_calls(int frames, const FrameWork& work, const Effort& effort,
                  const std::function<void()>& prepare) {
  using Clock = std::chrono::steady_clock;
  std::vector<double> samples, cpu;
  const auto begin = Clock::now();
  for (int run = -effort.warm_up; run < effort.max_timings; ++run) {
    if (prepare) prepare();
    const double cpu_before = cpu_time_us();
    const auto start = Clock::now();
    work((run + effort.warm_up) % frames);
    const auto stop = Clock::now();
    if (run < 0) continue;
    samples.push_back(std::chrono::duration<double, std::micro>(stop - start).count());
    cpu.push_back(cpu_time_us() - cpu_before);
    const bool is_over_time = std::chrono::duration<double>(stop - begin).count() > effort.seconds;
    if (is_over_time && samples.size() >= effort.min_timings) break;
  }
  Timing timing = summarise(samples);
  const Timing cpu_timing = summarise(cpu);
  timing.cpu_median = cpu_timing.median;
  timing.cpu_fastest = cpu_timing.fastest;
  return timing;
}

double cpu_time_us() {
  timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e6 + static_cast<double>(now.tv_nsec) / 1e3;
}

}  // namespace regions

// Medians and wall-clock times.
#include "bench/clock.hpp"

#include <algorithm>
#include <chrono>
#include <ctime>

#include "core/error.hpp"

namespace regions {

Timing summarise(std::vector<double>& samples) {
  expects(!samples.empty(), "a timing needs a sample");
  std::sort(samples.begin(), samples.end());
  const size_t middle = samples.size() / 2;
  const double median =
      samples.size() % 2 == 1 ? samples[middle] : (samples[middle - 1] + samples[middle]) / 2;
  return {median, samples.front(), static_cast<int>(samples.size())};
}

Timing time_calls(int frames, const FrameWork& work, const Effort& effort) {
  using Clock = std::chrono::steady_clock;
  constexpr int kWarmUp = 2;
  constexpr int kLeast = 3;
  std::vector<double> samples;
  const auto begin = Clock::now();
  for (int run = -kWarmUp; run < effort.least_runs; ++run) {
    const auto start = Clock::now();
    work((run + kWarmUp) % frames);
    const auto stop = Clock::now();
    if (run < 0) continue;
    samples.push_back(std::chrono::duration<double, std::micro>(stop - start).count());
    const bool over = std::chrono::duration<double>(stop - begin).count() > effort.seconds;
    if (over && samples.size() >= kLeast) break;
  }
  return summarise(samples);
}

double cpu_time_us() {
  timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e6 + static_cast<double>(now.tv_nsec) / 1e3;
}

}  // namespace regions

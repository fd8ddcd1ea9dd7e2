// What a timing says, and the wall clock.
#pragma once

#include <functional>
#include <vector>

namespace regions {

struct Timing {
  double median = 0;      // microseconds
  double fastest = 0;     // microseconds
  int runs = 0;           // timings behind the two
  double cpu_median = 0;  // microseconds of all threads of the process together, where it was asked
  double cpu_fastest = 0;
};

// How often to measure: at least `least_runs` times, or what fits in `seconds` when that is fewer,
// but never fewer than `fewest`.
struct Effort {
  int least_runs = 30;
  double seconds = 1;
  int warm_up = 2;
  size_t fewest = 3;
};

// Does or enqueues the work of one frame.
using FrameWork = std::function<void(int frame)>;

// Sorts the samples (microseconds).
Timing summarise(std::vector<double>& samples);

// Wall-clock time of work(frame) for frame 0..frames-1 in turn, one after the other; prepare()
// comes before each and is not timed.
Timing time_calls(int frames, const FrameWork& work, const Effort& effort,
                  const std::function<void()>& prepare = {});

// What all threads of the process used so far, microseconds.
double cpu_time_us();

}  // namespace regions

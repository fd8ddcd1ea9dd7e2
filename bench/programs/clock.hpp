// What a timing says, and the wall clock.
#pragma once

#include <functional>
#include <vector>

namespace regions {

struct Timing {
  double median = 0;   // microseconds
  double fastest = 0;  // microseconds
  int runs = 0;        // timings behind the two
};

// How often to measure: at least `least_runs` times, or what fits in `seconds` when that is fewer
// (but never fewer than 3).
struct Effort {
  int least_runs = 30;
  double seconds = 1;
};

// Does or enqueues the work of one frame.
using FrameWork = std::function<void(int frame)>;

// Sorts the samples (microseconds).
Timing summarise(std::vector<double>& samples);

// Wall-clock time of work(frame) for frame 0..frames-1 in turn, one after the other.
Timing time_calls(int frames, const FrameWork& work, const Effort& effort);

// What all threads of the process used so far, microseconds.
double cpu_time_us();

}  // namespace regions

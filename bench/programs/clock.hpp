// The result of a timing, and the wall clock.
#pragma once

#include <functional>
#include <vector>

namespace regions {

struct Timing {
  double median = 0;      // microseconds
  double fastest = 0;     // microseconds
  int runs = 0;           // number of timings
  double cpu_median = 0;  // microseconds of all threads of the process; 0 if not measured
  double cpu_fastest = 0;
};

// How often to measure: `max_timings` times, or fewer if `seconds` are over, but at least `fewest`
// times.
struct Effort {
  int max_timings = 30;
  double seconds = 1;
  int warm_up = 2;
  size_t min_timings = 3;
};

// Does the work of one frame, or enqueues it.
using FrameWork = std::function<void(int frame)>;

// Sorts the samples (microseconds).
Timing summarise(std::vector<double>& samples);

// Wall-clock time of work(frame), for the frames 0..frames-1 in turn. prepare() runs before each
// call and is not timed.
Timing time_calls(int frames, const FrameWork& work, const Effort& effort,
                  const std::function<void()>& prepare = {});

// CPU time of all threads of the process so far, in microseconds.
double cpu_time_us();

}  // namespace regions

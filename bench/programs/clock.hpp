// Timing with the wall clock: how often to measure (Effort), and the result (Timing).
#pragma once

#include <functional>
#include <vector>

namespace regions {

struct Timing {
  double median = 0;   // median time, microseconds
  double fastest = 0;  // lowest time, microseconds
  int runs = 0;        // number of measured calls
  // Median CPU time of all threads of the process, microseconds; 0 if not measured.
  double cpu_median = 0;
  double cpu_fastest = 0;  // lowest CPU time, microseconds; 0 if not measured
};

// How often to measure: until `max_timings` calls have been timed or `seconds` have passed, but at
// least `min_timings` times.
struct Effort {
  int max_timings = 30;
  double seconds = 1;
  int warm_up = 2;  // number of calls before the first timing
  size_t min_timings = 3;
};

// A function that does the work of one frame, or enqueues it.
using FrameWork = std::function<void(int frame)>;

// Computes the median and the minimum of samples in microseconds. Sorts the samples.
Timing summarise(std::vector<double>& samples);

// Measures the wall-clock time of work(frame), where `frame` cycles through 0..frames-1. prepare()
// runs before each call and is not timed.
Timing time_calls(int frames, const FrameWork& work, const Effort& effort,
                  const std::function<void()>& prepare = {});

// Returns the CPU time of all threads of the process so far, in microseconds.
double cpu_time_us();

}  // namespace regions

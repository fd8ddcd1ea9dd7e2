// Figures as a table for people or as JSON lines for programs.
#pragma once

#include <string>

#include "bench/clock.hpp"
#include "bench/stand.hpp"

namespace regions {

struct Figure {
  Case task;
  std::string by = "cclabel";  // or a peer with its version
  std::string backend;         // cpu, cuda
  int threads = 0;             // of the cpu
  uint32_t regions = 0;
  bool correct = false;
};

class Report {
 public:
  explicit Report(bool json) : json_(json) {}

  void device(const std::string& description);
  // `floor` is the floor kernel's time (microseconds), 0 if there is none.
  void timed(const Figure& figure, const char* clock, const Timing& time, double floor);
  void checked(const Figure& figure, int runs);
  void floor(Size size, size_t bytes, const Timing& graph, const Timing& stream);
  // One picture of the case between host and device.
  void copies(const Case& task, size_t bytes, const Timing& up, const Timing& down);

 private:
  bool json_;
  bool headed_ = false;
};

}  // namespace regions

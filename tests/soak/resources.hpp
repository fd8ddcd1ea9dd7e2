// What a process holds at a moment, as the kernel and the driver tell.
#pragma once

#include <string>
#include <vector>

namespace regions::soak {

struct Resources {
  double host_mib = 0;       // resident
  double allocated_mib = 0;  // of it, what malloc() gave and the process has not freed
  double device_mib = 0;     // used on all NVIDIA devices, by every process; 0 without a driver
  int threads = 0;
  int descriptors = 0;
};

// Runs the program anew with allocators that keep nothing, unless it runs so already. glibc keeps
// up to 64 MiB at the end of each heap and a cache for each thread, GLib its slices: with them a
// process that leaks nothing grows for hours as one does that leaks. Call it before anything else.
void keep_nothing_freed(char* argv[]);

// Gives idle threads and freed memory back first, so that two calls may be compared.
Resources measure();

// What grew from the first half of the measurements to the second, in words; empty if nothing did.
std::vector<std::string> growth(const std::vector<Resources>& rounds);

}  // namespace regions::soak

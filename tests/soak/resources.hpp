// What a process holds at a moment, as the kernel and the driver tell.
#pragma once

#include <string>
#include <vector>

namespace regions::soak {

struct Resources {
  double host_mib = 0;    // resident
  double device_mib = 0;  // used on all NVIDIA devices, by every process; 0 without a driver
  int threads = 0;
  int descriptors = 0;
};

// Gives idle threads and freed memory back first, so that two calls may be compared.
Resources measure();

// What grew from the first half of the measurements to the second, in words; empty if nothing did.
std::vector<std::string> growth(const std::vector<Resources>& rounds);

}  // namespace regions::soak

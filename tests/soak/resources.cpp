// Reads /proc and, where there is a driver, NVML.
#include "tests/soak/resources.hpp"

#include <dlfcn.h>
#include <glib.h>
#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>

namespace regions::soak {
namespace {

constexpr double kMiB = 1024.0 * 1024.0;

// nvmlMemory_t and the four calls that we need, found at run time: a machine without a driver runs
// the same program.
struct Memory {
  unsigned long long total, free, used;
};

// Whether a device is among those that CUDA_VISIBLE_DEVICES leaves, a list of indices.
bool is_ours(unsigned device) {
  const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
  if (!visible) return true;
  std::istringstream list(visible);
  for (std::string index; std::getline(list, index, ',');) {
    if (index == std::to_string(device)) return true;
  }
  return false;
}

double device_mib() {
  static void* const library = dlopen("libnvidia-ml.so.1", RTLD_NOW);
  if (!library) return 0;
  const auto find = [](const char* name) { return dlsym(library, name); };
  static const auto init = reinterpret_cast<int (*)()>(find("nvmlInit_v2"));
  static const auto count_devices =
      reinterpret_cast<int (*)(unsigned*)>(find("nvmlDeviceGetCount_v2"));
  static const auto handle =
      reinterpret_cast<int (*)(unsigned, void**)>(find("nvmlDeviceGetHandleByIndex_v2"));
  static const auto info =
      reinterpret_cast<int (*)(void*, Memory*)>(find("nvmlDeviceGetMemoryInfo"));
  static const bool usable = init && count_devices && handle && info && init() == 0;
  unsigned devices = 0;
  if (!usable || count_devices(&devices) != 0) return 0;
  double used = 0;
  for (unsigned i = 0; i < devices; ++i) {
    if (!is_ours(i)) continue;
    void* device = nullptr;
    Memory memory = {};
    if (handle(i, &device) == 0 && info(device, &memory) == 0) {
      used += static_cast<double>(memory.used) / kMiB;
    }
  }
  return used;
}

double status_line(const std::string& key) {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    double value = 0;
    if (word == key && status >> value) return value;
  }
  return 0;
}

}  // namespace

void keep_nothing_freed(char* argv[]) {
  // Read once, when a process begins. 128 KiB are glibc's first values, which it would raise.
  constexpr const char* kTunables =
      "glibc.malloc.tcache_count=0:glibc.malloc.mmap_threshold=131072:"
      "glibc.malloc.trim_threshold=131072";
  const char* now = std::getenv("GLIBC_TUNABLES");
  if (now && std::string(now) == kTunables) return;
  g_setenv("GLIBC_TUNABLES", kTunables, TRUE);
  g_setenv("G_SLICE", "always-malloc", TRUE);
  execv("/proc/self/exe", argv);  // if it fails, memory only tells less
}

Resources measure() {
  g_thread_pool_stop_unused_threads();
  malloc_trim(0);
  Resources now;
  now.host_mib = status_line("VmRSS:") / 1024;
  const struct mallinfo2 allocated = mallinfo2();
  now.allocated_mib = static_cast<double>(allocated.uordblks + allocated.hblkhd) / kMiB;
  now.device_mib = device_mib();
  now.threads = static_cast<int>(status_line("Threads:"));
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    ++now.descriptors;
  }
  return now;
}

std::vector<std::string> growth(const std::vector<Resources>& rounds) {
  // The first quarter fills caches and pools. A leak shows in every round, so the least of the last
  // quarter lies above all of the second: chance peaks on either side do not matter.
  const size_t quarter = rounds.size() / 4;
  std::vector<std::string> grown;
  const auto compare = [&](const char* name, auto member, double allowed) {
    const auto value = [&](size_t i) {
      return static_cast<double>(std::invoke(member, rounds[i]));
    };
    double before = 0, after = value(rounds.size() - 1);
    for (size_t i = quarter; i < 2 * quarter; ++i) before = std::max(before, value(i));
    for (size_t i = rounds.size() - quarter; i < rounds.size(); ++i) {
      after = std::min(after, value(i));
    }
    if (after > before + allowed) {
      grown.push_back(std::string(name) + " grew from " + std::to_string(before) + " to " +
                      std::to_string(after));
    }
  };
  if (quarter == 0) return {"too few rounds to tell whether anything grows"};
  if (dlsym(RTLD_DEFAULT, "__tsan_init")) {
    std::fputs("host memory is not judged: ThreadSanitizer's own grows\n", stderr);
  } else {
    compare("host memory (MiB)", &Resources::host_mib, 8);
  }
  compare("allocated host memory (MiB)", &Resources::allocated_mib, 1);
  compare("device memory (MiB)", &Resources::device_mib, 16);
  // GLib keeps up to eight idle threads, and ends them a while after it is told.
  compare("threads", &Resources::threads, 8);
  compare("descriptors", &Resources::descriptors, 0);
  return grown;
}

}  // namespace regions::soak

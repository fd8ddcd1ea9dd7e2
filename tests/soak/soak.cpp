// Runs pipelines at the same time while their caps, properties, states and positions change at
// random. Then reports whether every frame left, and whether memory, threads and descriptors stayed
// constant.
//
//   soak [--seconds N] [--streams N] [--seed N] [--report FILE.json] [--chain LINE]
//        [--faults allocation=N,launch=N,work=N]
//
// With --faults every N-th step of a kind fails. Each failure ends its stream with an element
// error, and no other stream. The time is divided into rounds. No pipeline exists between two
// rounds, so that the remaining resources can be measured.
#include <dlfcn.h>
#include <gst/gst.h>
#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <map>
#include <sstream>
#include <thread>

#include "tests/plugin/elements.hpp"
#include "tests/soak/stream.hpp"

namespace regions::soak {
namespace {

// The resources of the process.
struct Resources {
  double host_mib = 0;       // resident
  double allocated_mib = 0;  // allocated by malloc() and not freed
  double device_mib = 0;     // used on all NVIDIA devices, by every process; 0 without a driver
  int threads = 0;
  int descriptors = 0;
};

constexpr double kMiB = 1024.0 * 1024.0;

// nvmlMemory_t. NVML is loaded at run time, because a machine without a driver runs the same
// program.
struct Memory {
  unsigned long long total, free, used;
};

// True unless CUDA_VISIBLE_DEVICES, a list of indices, excludes the device.
bool is_visible(unsigned device) {
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
    if (!is_visible(i)) continue;
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

// Restarts the program with allocators that keep no freed memory, unless it already runs with them.
// glibc keeps up to 64 MiB at the end of each heap and a cache per thread, and GLib keeps slices: a
// process without leaks would grow for hours. Call it first.
void keep_nothing_freed(char* argv[]) {
  // Read once, at the start of a process. 128 KiB are the initial values of glibc, which raises
  // them.
  constexpr const char* kTunables =
      "glibc.malloc.tcache_count=0:glibc.malloc.mmap_threshold=131072:"
      "glibc.malloc.trim_threshold=131072";
  const char* now = std::getenv("GLIBC_TUNABLES");
  if (now && std::string(now) == kTunables) return;
  g_setenv("GLIBC_TUNABLES", kTunables, TRUE);
  g_setenv("G_SLICE", "always-malloc", TRUE);
  execv("/proc/self/exe", argv);  // if it fails, leaks are harder to detect
}

// Frees idle threads and freed memory first, so that two measurements are comparable.
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

// Describes the resources that grew from the second quarter of the measurements to the last; empty
// if none did.
std::vector<std::string> growth(const std::vector<Resources>& rounds) {
  // The first quarter fills caches and pools. A leak grows in every round, so the minimum of the
  // last quarter exceeds the maximum of the second quarter. Random peaks have no effect.
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
  if (quarter == 0) return {"too few rounds to detect growth"};
  if (dlsym(RTLD_DEFAULT, "__tsan_init")) {
    std::fputs("host memory is not checked: ThreadSanitizer's own grows\n", stderr);
  } else if (std::getenv("MESON_EXE_WRAPPER")) {
    std::fputs("host memory is not checked: the emulator's own grows\n", stderr);
  } else {
    compare("host memory (MiB)", &Resources::host_mib, 8);
  }
  compare("allocated host memory (MiB)", &Resources::allocated_mib, 1);
  compare("device memory (MiB)", &Resources::device_mib, 16);
  // GLib keeps up to eight idle threads for a while.
  compare("threads", &Resources::threads, 8);
  compare("descriptors", &Resources::descriptors, 0);
  return grown;
}

struct Options {
  int seconds = 30, streams = 4, seed = 1;
  std::string report, chain, faults;
};

const std::vector<std::string> kChains = {
    "cclabel output=none ! regionoverlay",
    "cclabel output=labels",
    "cclabel criterion=equal output=colors frames-in-flight=8",
    "cclabel output=none post-messages=true ! cclabel source=mask output=mask",
    "cclabel frames-in-flight=1",
    "graphcutbg output=none ! cclabel source=mask track=true output=none ! regionoverlay",
    "slicsuperpixel",
    "slicsuperpixel warm-start=true output=none",
};

// The chains whose elements exist in this build.
std::vector<std::string> known(const std::vector<std::string>& chains) {
  std::vector<std::string> known;
  for (const std::string& chain : chains) {
    GError* error = nullptr;
    GstElement* made = gst_parse_bin_from_description(chain.c_str(), FALSE, &error);
    if (error) {
      std::cerr << "soak: left out: " << chain << ": " << error->message << '\n';
    } else {
      known.push_back(chain);
    }
    g_clear_error(&error);
    if (made) gst_object_unref(gst_object_ref_sink(made));
  }
  return known;
}

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
  }
  return out + '"';
}

class Soak {
 public:
  Soak(const Options& options, std::vector<std::string> chains)
      : options_(options), chains_(std::move(chains)) {}

  void run() {
    const int rounds = std::clamp(options_.seconds / 2, 8, 60);
    for (int round = 0; round < rounds; ++round) {
      const int64_t deadline =
          g_get_monotonic_time() + int64_t{options_.seconds} * G_USEC_PER_SEC / rounds;
      std::vector<std::thread> threads;
      for (int i = 0; i < options_.streams; ++i) {
        threads.emplace_back([this, round, i, deadline] { live(round, i, deadline); });
      }
      for (std::thread& thread : threads) thread.join();
      resources_.push_back(measure());
    }
    for (const std::string& text : growth(resources_)) total_.problems.push_back(text);
    if (!options_.faults.empty() && total_.failures == 0) {
      total_.problems.emplace_back("--faults caused no failure");
    }
    if (total_.ends == 0) total_.problems.emplace_back("no stream reached its end");
  }

  bool passed() const { return total_.problems.empty(); }

  std::string report() const {
    std::ostringstream out;
    out << "{\"passed\": " << (passed() ? "true" : "false") << ", \"seconds\": " << options_.seconds
        << ", \"streams\": " << options_.streams << ", \"seed\": " << options_.seed
        << ",\n \"frames_in\": " << total_.frames_in << ", \"frames_out\": " << total_.frames_out
        << ", \"frames_flushed\": " << total_.frames_flushed
        << ",\n \"faults\": " << quoted(options_.faults)
        << ", \"streams_failed_as_asked\": " << total_.failures << ",\n \"lives\": " << total_.lives
        << ", \"ends\": " << total_.ends << ", \"seeks\": " << total_.seeks
        << ", \"caps_changes\": " << total_.caps << ", \"property_changes\": " << total_.properties
        << ", \"state_changes\": " << total_.states << ",\n \"lives_by_chain\": {";
    const char* between = "";
    for (const auto& [chain, lives] : by_chain_) {
      out << between << "\n  " << quoted(chain) << ": " << lives;
      between = ",";
    }
    out << "},\n \"lives_by_device\": {";
    between = "";
    for (const auto& [device, lives] : by_device_) {
      out << between << quoted(device) << ": " << lives;
      between = ", ";
    }
    out << "},\n \"problems\": [";
    between = "";
    for (const std::string& text : total_.problems) {
      out << between << "\n  " << quoted(text);
      between = ",";
    }
    out << "],\n \"rounds\": [";
    between = "";
    for (const Resources& r : resources_) {
      out << between << "\n  {\"host_mib\": " << r.host_mib
          << ", \"allocated_mib\": " << r.allocated_mib << ", \"device_mib\": " << r.device_mib
          << ", \"threads\": " << r.threads << ", \"descriptors\": " << r.descriptors << "}";
      between = ",";
    }
    out << "]}\n";
    return out.str();
  }

 private:
  // One stream after another until the round is over.
  void live(int round, int slot, int64_t deadline) {
    for (int life = 0; g_get_monotonic_time() < deadline; ++life) {
      const uint64_t seed =
          ((static_cast<uint64_t>(options_.seed) * 1000 + static_cast<uint64_t>(round)) * 100 +
           static_cast<uint64_t>(slot)) *
              1000 +
          static_cast<uint64_t>(life);
      const std::string& chain = chains_[std::mt19937_64(seed)() % chains_.size()];
      Stream stream(chain, seed);
      stream.live(deadline);
      const std::string device = stream.device();
      const std::lock_guard lock(mutex_);
      total_.add(stream.tally());
      ++by_chain_[chain];
      ++by_device_[device];
    }
  }

  Options options_;
  std::vector<std::string> chains_;
  std::mutex mutex_;
  Tally total_;
  std::map<std::string, int> by_chain_, by_device_;
  std::vector<Resources> resources_;
};

// False for unknown arguments.
bool parse(int argc, char* argv[], Options& options) {
  for (int i = 1; i < argc; i += 2) {
    const std::string name = argv[i];
    if (i + 1 == argc) return false;
    const int number = std::atoi(argv[i + 1]);
    if (name == "--report") {
      options.report = argv[i + 1];
    } else if (name == "--chain") {
      options.chain = argv[i + 1];
    } else if (name == "--faults") {
      options.faults = argv[i + 1];
    } else if (name == "--seconds" && number > 0) {
      options.seconds = number;
    } else if (name == "--streams" && number > 0) {
      options.streams = number;
    } else if (name == "--seed") {
      options.seed = number;
    } else {
      return false;
    }
  }
  return true;
}

}  // namespace
}  // namespace regions::soak

int main(int argc, char* argv[]) {
  using namespace regions::soak;
  keep_nothing_freed(argv);
  gst_init(&argc, &argv);
  Options options;
  if (!parse(argc, argv, options)) {
    std::cerr << "soak [--seconds N] [--streams N] [--seed N] [--report FILE.json] [--chain LINE] "
                 "[--faults allocation=N,launch=N,work=N]\n";
    return 2;
  }
  std::vector<std::string> chains =
      known(options.chain.empty() ? regions::test::with_all_elements(kChains)
                                  : std::vector{options.chain});
  if (!options.faults.empty()) g_setenv("REGIONS_FAULTS", options.faults.c_str(), TRUE);
  if (chains.empty()) {
    std::cerr << "soak: GStreamer does not find the plugin; see pipelines/with-plugin\n";
    return 2;
  }
  Soak soak(options, std::move(chains));
  soak.run();
  const std::string report = soak.report();
  std::cout << report;
  if (!options.report.empty()) std::ofstream(options.report) << report;
  return soak.passed() ? 0 : 1;
}

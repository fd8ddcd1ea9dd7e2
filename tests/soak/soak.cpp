// Runs pipelines side by side for a given time while their caps, properties, states and positions
// change at random; then tells whether every frame left, and whether memory, threads and
// descriptors stayed flat.
//
//   soak [--seconds N] [--streams N] [--seed N] [--report FILE.json] [--chain LINE]
//        [--faults allocation=N,launch=N,work=N]
//
// With --faults every N-th such step fails: streams then end in an element error, and only those.
// The time is cut into rounds. Between rounds no pipeline lives, so that what a round leaves behind
// can be seen.
#include <gst/gst.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <map>
#include <sstream>
#include <thread>

#include "tests/plugin/elements.hpp"
#include "tests/soak/resources.hpp"
#include "tests/soak/stream.hpp"

namespace regions::soak {
namespace {

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

// Those whose elements this build has.
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
      total_.problems.emplace_back("no failure came of --faults");
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

// False if the words are none that we know.
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
    std::cerr << "soak: GStreamer finds none of our elements; see pipelines/with-plugin\n";
    return 2;
  }
  Soak soak(options, std::move(chains));
  soak.run();
  const std::string report = soak.report();
  std::cout << report;
  if (!options.report.empty()) std::ofstream(options.report) << report;
  return soak.passed() ? 0 : 1;
}

// Frames a second of whole pipelines, and how long one frame takes through them:
//   pipeline [--json] [--source system|pinned|cuda] [--from TEXT] [--chain TEXT]
//            [--in-flight LIST] [--streams LIST] [--size WxH] [--format NAME] [--content NAME]
//            [--frames N] [--idle]
// TEXT is as for gst-launch; "%d" in --chain stands for the frames in flight. --from replaces the
// ready-made frames by a source of its own ("filesrc location=clip.mp4 ! qtdemux ! …"). With --idle
// nothing is launched on the GPU: what is left is what frames cost besides.
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "bench/frame_source.hpp"
#include "bench/program.hpp"
#include "bench/stage.hpp"
#include "core/error.hpp"
#include "tests/pictures/guarded.hpp"
#include "tests/pictures/pictures.hpp"

namespace regions {
namespace {

struct Options {
  std::string source = "system";
  std::string from;
  std::string chain = "cclabel output=none frames-in-flight=%d";
  std::vector<int> in_flight = {1, 2, 3, 4, 5, 6, 7, 8};
  std::vector<int> streams;  // side by side in one process, all alike; empty: one
  Size size = {1920, 1080};
  PixelFormat format = PixelFormat::nv12;
  std::string content = "smooth";
  int frames = 1000;
  bool idle = false;
  bool json = false;
};

void read(Options& options, const std::string& name, const std::string& value) {
  if (name == "--source") {
    options.source = value;
  } else if (name == "--from") {
    options.from = value;
    options.source = "launch";
  } else if (name == "--chain") {
    options.chain = value;
  } else if (name == "--in-flight") {
    options.in_flight = whole_numbers(value);
  } else if (name == "--streams") {
    options.streams = whole_numbers(value);
  } else if (name == "--size") {
    const size_t cross = std::min(value.find('x'), value.size() - 1);
    options.size = {whole_number(value.substr(0, cross)), whole_number(value.substr(cross + 1))};
  } else if (name == "--format") {
    options.format = format_named(value);
  } else if (name == "--content") {
    options.content = value;
  } else if (name == "--frames") {
    options.frames = whole_number(value);
  } else {
    throw InputError("unknown option '" + name + "'");
  }
}

Options parse(int count, char** words) {
  Options options;
  for (int i = 1; i < count; ++i) {
    const std::string word = words[i];
    if (word == "--json" || word == "--idle") {
      (word == "--json" ? options.json : options.idle) = true;
      continue;
    }
    expects(i + 1 < count, word + " wants a value");
    read(options, word, words[++i]);
  }
  return options;
}

std::string with_number(std::string chain, int number) {
  for (size_t at; (at = chain.find("%d")) != std::string::npos;) {
    chain.replace(at, 2, std::to_string(number));
  }
  return chain;
}

std::string caps_text(const Options& options, const char* feature) {
  return std::string("video/x-raw") + feature + ",format=" + std::string(name_of(options.format)) +
         ",width=" + std::to_string(options.size.width) +
         ",height=" + std::to_string(options.size.height) + ",framerate=1000/1";
}

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

void print(const Options& options, const std::string& chain, int in_flight, int streams,
           const Outcome& got) {
  if (!options.json) {
    std::printf(
        "%-7s %-60s %2d in flight, %2d streams: %8.1f frames/s, one frame %8.1f us, of which work "
        "%8.1f us, CPUs %8.1f us, %s\n",
        options.source.c_str(), chain.c_str(), in_flight, streams, got.frames_per_second,
        got.latency_us, got.work_us, got.cpu_us, got.device.c_str());
    return;
  }
  std::printf(
      "{\"what\":\"%s\",\"source\":\"%s\",\"from\":%s,\"chain\":%s,\"in_flight\":%d,"
      "\"streams\":%d,\"format\":\"%s\",\"width\":%d,\"height\":%d,\"content\":\"%s\",\"frames\":%"
      "d,"
      "\"frames_per_second\":%.2f,\"latency_us\":%.1f,\"work_us\":%.1f,\"cpu_us\":%.1f,\"idle\":%s,"
      "\"offered_pool\":%s,\"device\":%s}\n",
      options.streams.empty() ? "pipeline" : "streams", options.source.c_str(),
      quoted(options.from).c_str(), quoted(chain).c_str(), in_flight, streams,
      std::string(name_of(options.format)).c_str(), options.size.width, options.size.height,
      options.content.c_str(), got.frames, got.frames_per_second, got.latency_us, got.work_us,
      got.cpu_us, options.idle ? "true" : "false", got.offered_pool ? "true" : "false",
      quoted(got.device).c_str());
  std::fflush(stdout);
}

// Calls visit(chain, frames in flight, streams) for all that is asked for.
template <class Visit>
void for_each_case(const Options& options, Visit visit) {
  const std::vector<int> all = options.streams.empty() ? std::vector{1} : options.streams;
  for (const int n : options.in_flight) {
    for (const int streams : all) visit(with_number(options.chain, n), n, streams);
  }
}

void measure(const Options& options) {
  if (options.source == "launch") {
    return for_each_case(options, [&](const std::string& chain, int n, int streams) {
      print(options, chain, n, streams, play_text(options.from + " ! " + chain, streams));
    });
  }
  const Picture picture = make_picture(options.content, options.size);
  const GuardedFrame frame = convert(picture.frame(), options.format);
  FrameSupply supply;
  supply.picture = frame.frame();
  supply.frames = options.frames;
  const bool cuda = options.source == "cuda";
  expects(cuda || options.source == "system" || options.source == "pinned",
          "no such source: '" + options.source + "'");
  if (options.source == "pinned") supply.origin = FrameOrigin::proposed_pool;
  if (cuda) supply.origin = FrameOrigin::ready_made;
  const Caps caps(caps_text(options, cuda ? "(memory:CUDAMemory)" : ""));
  supply.caps = caps.get();
  for_each_case(options, [&](const std::string& chain, int n, int streams) {
    supply.refill = !cuda && (chain.find("overlay") != std::string::npos);
    print(options, chain, n, streams, play(supply, chain, caps_text(options, ""), streams));
  });
}

}  // namespace
}  // namespace regions

int main(int count, char** words) {
  gst_init(nullptr, nullptr);
  try {
    const regions::Options options = regions::parse(count, words);
#if !REGIONS_FAULTS
    regions::expects(!options.idle, "--idle needs a build with tests");
#endif
    if (options.idle) setenv("REGIONS_FAULTS", "idle=1", 1);
    regions::measure(options);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "pipeline: %s\n", error.what());
    return 1;
  }
}

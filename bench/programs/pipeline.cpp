// Measures the frames per second of whole GStreamer pipelines, and the latency of single frames.
#include <cstdio>
#include <cstdlib>

#include "bench/programs/program.hpp"
#include "bench/programs/row.hpp"
#include "bench/programs/stage.hpp"
#include "tests/pictures/guarded.hpp"
#include "tests/pictures/pictures.hpp"

namespace regions {
namespace {

struct Options {
  std::string source = "system";
  // Sources in gst-launch syntax. Streams use them in turn.
  std::vector<std::string> source_descriptions;
  std::string chain = "cclabel output=none frames-in-flight=%d";
  // Each number of frames in flight that is measured. The number replaces "%d" in the chain.
  std::vector<int> in_flight = {1, 2, 3, 4, 5, 6, 7, 8};
  // Each number of equal streams that is measured in one process; empty: one stream.
  std::vector<int> streams;
  Size size = {1920, 1080};
  PixelFormat format = PixelFormat::nv12;
  std::string content = "smooth";
  int frames = 1000;
  bool skips_kernels = false;            // --idle: launch no kernels
  bool starts_sinks_separately = false;  // --apart: sinks start independently
  bool json = false;
};

Options options_of(int argc, char** argv) {
  Options options;
  parse(
      argc, argv,
      "[OPTION…]\nPlays pipelines. TEXT has the syntax of gst-launch-1.0; \"%d\" in --chain is "
      "replaced by the number of frames in flight.",
      {{"--json", nullptr, "print one JSON object per line", into(options.json)},
       {"--source", "NAME", "memory of prepared frames: system, pinned or cuda",
        into(options.source)},
       {"--from", "TEXT",
        "another source, such as filesrc location=clip.mp4 ! qtdemux ! …; may be repeated: streams "
        "use the sources in turn",
        [&](const std::string& text) {
          options.source_descriptions.push_back(text);
          options.source = "launch";
        }},
       {"--chain", "TEXT", "elements (default: cclabel)", into(options.chain)},
       {"--in-flight", "LIST", "numbers of frames in flight (default: 1 to 8)",
        into(options.in_flight)},
       {"--streams", "LIST", "numbers of streams", into(options.streams)},
       {"--size", "SIZE", "default: 1920x1080", into(options.size)},
       {"--format", "NAME", "default: NV12", into(options.format)},
       {"--content", "NAME", "default: smooth", into(options.content)},
       {"--frames", "N", "default: 1000", into(options.frames)},
       {"--idle", nullptr, "launch no kernels, to measure the other costs of a frame",
        into(options.skips_kernels)},
       {"--apart", nullptr,
        "with --from: each sink starts by itself; by default, each holds its first frame until all "
        "sinks have one",
        into(options.starts_sinks_separately)}});
  return options;
}

std::string with_frames_in_flight(std::string chain, int number) {
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

void print(const Options& options, const std::string& chain, int in_flight, int streams,
           const Outcome& outcome) {
  Row row(options.streams.empty() ? "pipeline" : "streams", options.json);
  row.add("source", options.source)
      .add("from", options.source_descriptions.empty() ? "" : options.source_descriptions[0]);
  row.add("sources", static_cast<int>(options.source_descriptions.size())).add("chain", chain);
  row.add("in_flight", in_flight).add("streams", streams);
  row.add("format", std::string(name_of(options.format))).add(options.size);
  row.add("content", options.content).add("frames", outcome.frames);
  row.add("frames_per_second", outcome.frames_per_second, 2)
      .add("latency_us", outcome.latency_us, 1);
  row.add("work_us", outcome.work_us, 1)
      .add("cpu_us", outcome.cpu_us, 1)
      .add("idle", options.skips_kernels);
  row.add("apart", options.starts_sinks_separately).add("offered_pool", outcome.offered_pool);
  row.add("device", outcome.device).print();
}

// Calls visit(chain, frames in flight, number of streams) for all requested cases.
template <class Visit>
void for_each_case(const Options& options, Visit visit) {
  const std::vector<int> stream_counts = options.streams.empty() ? std::vector{1} : options.streams;
  for (const int n : options.in_flight) {
    for (const int streams : stream_counts)
      visit(with_frames_in_flight(options.chain, n), n, streams);
  }
}

void measure(const Options& options) {
  if (options.source == "launch") {
    return for_each_case(options, [&](const std::string& chain, int n, int streams) {
      std::vector<std::string> descriptions;
      for (const std::string& source : options.source_descriptions)
        descriptions.push_back(source + " ! " + chain);
      print(options, chain, n, streams,
            play_descriptions(descriptions, streams, options.starts_sinks_separately));
    });
  }
  const Picture picture = make_picture(options.content, options.size);
  const GuardedFrame frame = convert(picture.frame(), options.format);
  FrameSupply supply;
  supply.picture = frame.frame();
  supply.frames = options.frames;
  const bool cuda = options.source == "cuda";
  expects(cuda || options.source == "system" || options.source == "pinned",
          "invalid source '" + options.source + "'; expected system, pinned or cuda");
  if (options.source == "pinned") supply.origin = FrameOrigin::proposed_pool;
  if (cuda) supply.origin = FrameOrigin::ready_made;
  const Caps caps(caps_text(options, cuda ? "(memory:CUDAMemory)" : ""));
  supply.caps = caps.get();
  for_each_case(options, [&](const std::string& chain, int n, int streams) {
    supply.refill = !cuda && (chain.find("overlay") != std::string::npos);
    print(options, chain, n, streams, play(supply, chain, caps_text(options, ""), streams));
  });
}

int run(int argc, char** argv) {
  const Options options = options_of(argc, argv);
  gst_init(nullptr, nullptr);
#if !REGIONS_FAULTS
  expects(!options.skips_kernels, "--idle needs a build with the option tests=enabled");
#endif
  if (options.skips_kernels) setenv("REGIONS_FAULTS", "idle=1", 1);
  measure(options);
  return 0;
}

}  // namespace
}  // namespace regions

int main(int argc, char** argv) {
  return regions::run_program("pipeline", regions::run, argc, argv);
}

// Runs slicsuperpixel on packed RGB pictures from standard input. Writes each picture's labels
// (uint32) to standard output, or with --tracks the tracks. With --time, it times the first picture
// and prints one row instead: the number of superpixels, the median and the fastest time of one
// frame, and the lowest CPU time of one frame over all threads.
#include <cstdio>

#include "bench/programs/program.hpp"
#include "bench/programs/rgb_input.hpp"
#include "bench/programs/row.hpp"
#include "bench/programs/stand.hpp"
#include "core/slicsuperpixel/clusters.hpp"

namespace regions {
namespace {

constexpr uint32_t kMaxRecords = 1 << 16;

struct Options {
  Size size;
  SlicParams params;
  bool cuda = false, tracks = false, time = false;
  int threads = 0;
};

Options options_of(int count, char** words) {
  Options options;
  options.params.output = SlicOutput::none;
  const auto others =
      parse(count, words, "SIZE [OPTION…]\nLabels packed RGB pictures from standard input.",
            {{"--cuda", nullptr, "run on the GPU", into(options.cuda)},
             {"--threads", "N", "CPU threads (default: all cores)", into(options.threads)},
             {"--tracks", nullptr, "write tracks instead of labels", into(options.tracks)},
             {"--time", nullptr, "time the first picture", into(options.time)},
             {"--set", "NAME=VALUE", "parameter; may be repeated", setting(options.params)}});
  expects(others.size() == 1, "expected one argument SIZE, such as 640x480 (see --help)");
  read(others[0], options.size);
  return options;
}

int run(int count, char** words) {
  const Options options = options_of(count, words);
  const auto backend = options.cuda ? make_cuda() : make_cpu_backend(options.threads);
  const Backend::Entry entry(*backend);
  Setup setup{.in = layout_of(PixelFormat::rgbx), .size = options.size};
  setup.max_regions = kMaxRecords;
  Stand<SlicParams> stand(backend, setup, options.params, 1,
                          {.total = true, .records = options.tracks});
  const auto show_next = [&] {
    const Picture picture = read_rgb(options.size);
    if (!picture.pixels.empty()) stand.show(0, picture.frame());
    return !picture.pixels.empty();
  };
  if (options.time) {
    expects(show_next(), "standard input has no picture of this size");
    const auto [clock, time] =
        stand.time({options.cuda ? 30 : 20, 2}, options.cuda ? 4 : 1).front();
    stand.finish();
    Row row("superpixels", true);
    row.add(options.size).add("superpixels", stand.total(0)).add("us", time.median, 1);
    row.add("fastest_us", time.fastest, 1).add("cpu_us", time.cpu_fastest, 1).print();
    return 0;
  }
  while (show_next()) {
    stand.run(0);
    Answer answer = stand.answer(0);
    if (options.tracks) {
      expects(answer.total <= kMaxRecords,
              "too many superpixels to record: " + std::to_string(answer.total));
      for (uint32_t& label : answer.labels) label = answer.regions[label - 1].track;
    }
    expects(std::fwrite(answer.labels.data(), sizeof(uint32_t), answer.labels.size(), stdout) ==
                answer.labels.size(),
            "cannot write to standard output");
  }
  return 0;
}

}  // namespace
}  // namespace regions

int main(int count, char** words) {
  return regions::run_program("slicsuperpixel", regions::run, count, words);
}

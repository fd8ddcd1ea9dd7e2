// Runs slicsuperpixel on packed RGB pictures from standard input. Writes the labels of each picture
// (uint32) to standard output, or track ids with --tracks. With --time, only times the first
// picture and prints one row: the number of superpixels, the median and the lowest time of one
// frame, and the lowest CPU time of one frame, summed over all threads.
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

Options options_of(int argc, char** argv) {
  Options options;
  options.params.output = SlicOutput::none;
  const auto positional =
      parse(argc, argv, "SIZE [OPTION…]\nLabels packed RGB pictures from standard input.",
            {{"--cuda", nullptr, "run on the GPU", into(options.cuda)},
             {"--threads", "N", "CPU threads (default: all cores)", into(options.threads)},
             {"--tracks", nullptr, "write tracks instead of labels", into(options.tracks)},
             {"--time", nullptr, "time the first picture", into(options.time)},
             {"--set", "NAME=VALUE", "parameter; may be repeated", setting(options.params)}});
  expects(positional.size() == 1, "expected one argument SIZE, such as 640x480 (see --help)");
  read(positional[0], options.size);
  return options;
}

int run(int argc, char** argv) {
  const Options options = options_of(argc, argv);
  const auto backend = options.cuda ? make_first_gpu_backend() : make_cpu_backend(options.threads);
  const Backend::Entry entry(*backend);
  Setup setup{.in = layout_of(PixelFormat::rgbx), .size = options.size};
  setup.max_regions = kMaxRecords;
  TestStand<SlicParams> test_stand(backend, setup, options.params, 1,
                                   {.total = true, .records = options.tracks});
  const auto read_next_picture = [&] {
    const Picture picture = read_rgb(options.size);
    if (!picture.pixels.empty()) test_stand.set_input(0, picture.frame());
    return !picture.pixels.empty();
  };
  if (options.time) {
    expects(read_next_picture(), "standard input has no picture of this size");
    const auto [clock, time] =
        test_stand.time({options.cuda ? 30 : 20, 2}, options.cuda ? 4 : 1).front();
    test_stand.wait_for_all();
    Row row("superpixels", true);
    row.add(options.size).add("superpixels", test_stand.total(0)).add("us", time.median, 1);
    row.add("fastest_us", time.fastest, 1).add("cpu_us", time.cpu_fastest, 1).print();
    return 0;
  }
  while (read_next_picture()) {
    test_stand.run(0);
    Answer answer = test_stand.answer(0);
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

int main(int argc, char** argv) {
  return regions::run_program("slicsuperpixel", regions::run, argc, argv);
}

// Computes the foreground masks of graphcutbg for bench/peers/graphcutbg_quality.py. Reads raw
// frames without padding from standard input. Writes one byte per pixel (0 or 255) to standard
// output. Writes the number of frames and the mean time per frame (ms) to standard error, as JSON.
#include "core/graphcutbg/graphcutbg.hpp"

#include <chrono>
#include <cstdio>

#include "bench/programs/program.hpp"
#include "bench/programs/stand.hpp"

namespace regions {
namespace {

struct Options {
  Size size;
  PixelFormat format = PixelFormat::bgr;
  int threads = 0;
  bool cuda = false;
  GraphCutBgParams params;
};

// Returns a frame in `bytes`, whose planes have no padding and follow one another. Resizes `bytes`
// to the size of the frame.
ConstFrame unpadded_frame(const Options& options, std::vector<std::byte>& bytes) {
  ConstFrame frame;
  frame.layout = layout_of(options.format);
  frame.width = options.size.width;
  frame.height = options.size.height;
  size_t start[3] = {}, all = 0;
  for (int p = 0; p < frame.layout.planes; ++p) {
    const size_t row = row_bytes(frame.layout, p, options.size);
    start[p] = all;
    frame.pitch[p] = static_cast<ptrdiff_t>(row);
    all += row * static_cast<size_t>(row_count(frame.layout, p, options.size));
  }
  bytes.resize(all);
  for (int p = 0; p < frame.layout.planes; ++p) frame.plane[p] = bytes.data() + start[p];
  return frame;
}

int run(int argc, char** argv) {
  Options options;
  options.params.output = GraphCutOutput::none;
  const auto positional =
      parse(argc, argv, "SIZE [OPTION…]\nComputes the masks of raw frames from standard input.",
            {{"--format", "NAME", "pixel format, as in caps (default: BGR)", into(options.format)},
             {"--threads", "N", "CPU threads (default: all cores)", into(options.threads)},
             {"--cuda", nullptr, "run on the GPU", into(options.cuda)},
             {"--set", "NAME=VALUE", "parameter; may be repeated", setting(options.params)}});
  expects(positional.size() == 1, "expected one argument SIZE, such as 640x480 (see --help)");
  read(positional[0], options.size);
  Setup setup{.in = layout_of(options.format), .size = options.size};
  plan(options.params, setup);
  const auto backend = options.cuda ? make_first_gpu_backend() : make_cpu_backend(options.threads);
  const Backend::Entry entry(*backend);
  TestStand<GraphCutBgParams> test_stand(backend, setup, options.params, 1,
                                         {.labels = false, .mask = true});
  std::vector<std::byte> bytes;
  const ConstFrame frame = unpadded_frame(options, bytes);
  using Clock = std::chrono::steady_clock;
  Clock::duration elapsed{};
  int frames = 0;
  for (; std::fread(bytes.data(), 1, bytes.size(), stdin) == bytes.size(); ++frames) {
    test_stand.set_input(0, frame);
    const Clock::time_point begin = Clock::now();
    test_stand.run(0);
    elapsed += Clock::now() - begin;
    const std::span<const uint8_t> mask = test_stand.mask(0);
    std::fwrite(mask.data(), 1, mask.size(), stdout);
  }
  const double all = std::chrono::duration<double, std::milli>(elapsed).count();
  std::fprintf(stderr, "{\"frames\": %d, \"ms\": %.3f}\n", frames, frames ? all / frames : 0);
  return 0;
}

}  // namespace
}  // namespace regions

int main(int argc, char** argv) {
  return regions::run_program("graphcutbg", regions::run, argc, argv);
}

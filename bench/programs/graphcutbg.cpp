// Computes the foreground masks of graphcutbg for bench/peers/graphcutbg_quality.py and
// mask_refinement.py. Reads raw frames without padding from standard input. With --mask, a mask
// follows each frame, and the frames are separate pictures. Writes one byte per pixel (0 or 255) to
// standard output. Writes the number of frames and the mean time per frame (ms) to standard error,
// as JSON.
#include "core/graphcutbg/graphcutbg.hpp"

#include <chrono>
#include <cstdio>

#include "bench/programs/program.hpp"
#include "bench/programs/stand.hpp"

namespace regions {
namespace {

struct Options {
  Size size;
  Size mask;  // size of the attached masks; empty: none
  PixelFormat format = PixelFormat::bgr;
  int threads = 0;
  bool cuda = false;
  GraphCutBgParams params;
};

// Returns a frame in `bytes`, whose planes have no padding and follow one another. Resizes `bytes`
// to the size of the frame.
ConstFrame unpadded_frame(PixelFormat format, Size size, std::vector<std::byte>& bytes) {
  ConstFrame frame;
  frame.layout = layout_of(format);
  frame.width = size.width;
  frame.height = size.height;
  size_t start[3] = {}, all = 0;
  for (int p = 0; p < frame.layout.planes; ++p) {
    const size_t row = row_bytes(frame.layout, p, size);
    start[p] = all;
    frame.pitch[p] = static_cast<ptrdiff_t>(row);
    all += row * static_cast<size_t>(row_count(frame.layout, p, size));
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
             {"--mask", "SIZE", "size of a gray8 mask after each frame", into(options.mask)},
             {"--set", "NAME=VALUE", "parameter; may be repeated", setting(options.params)}});
  expects(positional.size() == 1, "expected one argument SIZE, such as 640x480 (see --help)");
  read(positional[0], options.size);
  Setup setup{.in = layout_of(options.format), .size = options.size};
  setup.has_mask = options.mask.area() > 0;
  setup.mask = layout_of(PixelFormat::gray8);
  plan(options.params, setup);
  const auto backend = options.cuda ? make_first_gpu_backend() : make_cpu_backend(options.threads);
  const Backend::Entry entry(*backend);
  TestStand<GraphCutBgParams> test_stand(backend, setup, options.params, 1,
                                         {.labels = false, .mask = true});
  std::vector<std::byte> bytes, mask_bytes;
  const ConstFrame frame = unpadded_frame(options.format, options.size, bytes);
  const ConstFrame attached_mask = unpadded_frame(PixelFormat::gray8, options.mask, mask_bytes);
  FrameTask task = test_stand.task(0);
  const Block attached = backend->allocate(std::max<size_t>(mask_bytes.size(), 1));
  using Clock = std::chrono::steady_clock;
  Clock::duration elapsed{};
  int frames = 0;
  for (; std::fread(bytes.data(), 1, bytes.size(), stdin) == bytes.size(); ++frames) {
    test_stand.set_input(0, frame);
    if (setup.has_mask) {
      expects(std::fread(mask_bytes.data(), 1, mask_bytes.size(), stdin) == mask_bytes.size(),
              "the input ends before the mask of frame " + std::to_string(frames));
      const Frame copy =
          packed_frame(setup.mask, options.mask, {}, backend->memory(), attached.data());
      test_stand.queue().copy(attached_mask, copy);
      test_stand.wait_for_all();
      task.mask = copy;
      test_stand.algorithm().reset();
    }
    const Clock::time_point begin = Clock::now();
    test_stand.algorithm().enqueue(task, options.params, test_stand.queue());
    test_stand.wait_for_all();
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

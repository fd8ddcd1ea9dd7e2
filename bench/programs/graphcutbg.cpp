// Computes the foreground masks of graphcutbg for bench/peers/graphcutbg_quality.py and
// mask_refinement.py. Reads raw frames without padding from standard input. With --mask, a mask
// follows each frame, and the frames are separate pictures. Writes one byte per pixel (0 or 255) to
// standard output. Writes the number of frames and the mean time per frame (ms) to standard error,
// as JSON. With --time, writes a row with the time per frame to standard output, and no masks.
#include "core/graphcutbg/graphcutbg.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <numeric>

#include "bench/programs/program.hpp"
#include "bench/programs/row.hpp"
#include "bench/programs/stand.hpp"

namespace regions {
namespace {

struct Options {
  Size size;
  Size mask;  // size of the attached masks; empty: none
  PixelFormat format = PixelFormat::bgr;
  int threads = 0;
  bool cuda = false;
  bool time = false;
  std::vector<int> boxes;  // x, y, width and height of each box (pixels)
  bool tracked = false;    // whether each box has the same track in all frames
  GraphCutBgParams params;
};

// Zero is valid, unlike in read().
std::vector<int> numbers_of(const std::string& list) {
  std::vector<int> numbers;
  for (const uint32_t number : numbers_in(list)) numbers.push_back(static_cast<int>(number));
  return numbers;
}

// Returns the boxes as the records that a frame has for source=boxes.
std::vector<Region> records_of(const std::vector<int>& boxes, bool tracked) {
  expects(boxes.size() % 4 == 0, "--boxes requires four numbers per box");
  std::vector<Region> records;
  for (size_t i = 0; i < boxes.size(); i += 4) {
    Region& record = records.emplace_back();
    if (tracked) record.track = static_cast<uint32_t>(records.size());
    record.left = boxes[i];
    record.top = boxes[i + 1];
    record.right = boxes[i] + boxes[i + 2] - 1;
    record.bottom = boxes[i + 1] + boxes[i + 3] - 1;
  }
  return records;
}

// Writes the times of the frames, without the first, for which the GPU loads its kernels.
void write_row(const Options& options, std::vector<double> milliseconds) {
  expects(milliseconds.size() > 1, "--time requires at least two frames");
  milliseconds.erase(milliseconds.begin());
  std::ranges::sort(milliseconds);
  Row("foreground", true)
      .add("source", options.boxes.empty() ? "image" : "boxes")
      .add("backend", options.cuda ? "cuda" : "cpu")
      .add(options.size)
      .add("boxes", options.boxes.size() / 4)
      .add("tracked", options.tracked ? 1 : 0)
      .add("frames", milliseconds.size())
      .add("fastest_ms", milliseconds.front(), 3)
      .add("median_ms", milliseconds[milliseconds.size() / 2], 3)
      .add("slowest_ms", milliseconds.back(), 3)
      .print();
}

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
  const auto positional = parse(
      argc, argv, "SIZE [OPTION…]\nComputes the masks of raw frames from standard input.",
      {{"--format", "NAME", "pixel format, as in caps (default: BGR)", into(options.format)},
       {"--threads", "N", "CPU threads (default: all cores)", into(options.threads)},
       {"--cuda", nullptr, "run on the GPU", into(options.cuda)},
       {"--mask", "SIZE", "size of a gray8 mask after each frame", into(options.mask)},
       {"--boxes", "X,Y,WIDTH,HEIGHT,…", "boxes of each frame, for source=boxes (pixels)",
        [&](const std::string& text) { options.boxes = numbers_of(text); }},
       {"--tracked", nullptr, "each box has the same track in all frames", into(options.tracked)},
       {"--time", nullptr, "write times and no masks", into(options.time)},
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
  const std::vector<Region> boxes = records_of(options.boxes, options.tracked);
  task.attached = boxes.data();
  task.attached_count = static_cast<uint32_t>(boxes.size());
  const Block attached = backend->allocate(std::max<size_t>(mask_bytes.size(), 1));
  using Clock = std::chrono::steady_clock;
  std::vector<double> milliseconds;  // [frame]
  while (std::fread(bytes.data(), 1, bytes.size(), stdin) == bytes.size()) {
    test_stand.set_input(0, frame);
    if (setup.has_mask) {
      expects(std::fread(mask_bytes.data(), 1, mask_bytes.size(), stdin) == mask_bytes.size(),
              "the input ends before the mask of frame " + std::to_string(milliseconds.size()));
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
    milliseconds.push_back(std::chrono::duration<double, std::milli>(Clock::now() - begin).count());
    if (options.time) continue;
    const std::span<const uint8_t> mask = test_stand.mask(0);
    std::fwrite(mask.data(), 1, mask.size(), stdout);
  }
  const double all = std::accumulate(milliseconds.begin(), milliseconds.end(), 0.0);
  const size_t frames = milliseconds.size();
  std::fprintf(stderr, "{\"frames\": %zu, \"ms\": %.3f}\n", frames,
               frames ? all / static_cast<double>(frames) : 0);
  if (options.time) write_row(options, std::move(milliseconds));
  return 0;
}

}  // namespace
}  // namespace regions

int main(int argc, char** argv) {
  return regions::run_program("graphcutbg", regions::run, argc, argv);
}

// Masks of graphcutbg for frames that come over a pipe: bench/foreground-quality scores them.
//
//   foreground_masks WIDTHxHEIGHT [--format=BGR] [--threads=N] [--NAME=VALUE …]
//
// Reads raw frames without padding from the standard input, writes one byte a pixel (0 or 255) for
// each; the mean time of a frame goes to the standard error, as JSON. NAME is any parameter.
#include <chrono>
#include <cstdio>
#include <cstring>
#include <string_view>
#include <vector>

#include "core/graphcutbg/graphcutbg.hpp"
#include "cpu/backend.hpp"

namespace regions {
namespace {

struct Options {
  Size size;
  PixelFormat format = PixelFormat::bgr;
  int threads = 0;
  GraphCutBgParams params;
};

Options options_of(int count, char** words) {
  Options options;
  const bool sized =
      count > 1 && std::sscanf(words[1], "%dx%d", &options.size.width, &options.size.height) == 2;
  expects(sized, "first comes the size, like 320x240");
  options.params.output = GraphCutOutput::none;
  for (int i = 2; i < count; ++i) {
    const std::string_view word = words[i];
    const size_t equals = word.find('=');
    expects(word.starts_with("--") && equals != word.npos, "not an option: " + std::string(word));
    const std::string_view name = word.substr(2, equals - 2);
    const std::string value(word.substr(equals + 1));
    if (name == "format") {
      options.format = format_named(value);
    } else if (name == "threads") {
      options.threads = std::stoi(value);
    } else {
      assign_text(find(fields_of(options.params), name), &options.params, value);
    }
  }
  return options;
}

int run(const Options& options) {
  const Layout& layout = layout_of(options.format);
  const auto backend = make_cpu_backend(options.threads);
  auto made = make_algorithm<GraphCutBgParams, BackendKind::cpu>(backend);
  auto& algorithm = static_cast<GraphCutBg&>(*made);
  algorithm.prepare(options.params);
  algorithm.configure({.in = layout, .size = options.size});
  const auto queue = backend->make_queue();

  Job job;
  job.in.layout = layout;
  job.in.width = options.size.width;
  job.in.height = options.size.height;
  size_t bytes = 0;
  size_t start[3] = {};
  for (int p = 0; p < layout.planes; ++p) {
    start[p] = bytes;
    job.in.pitch[p] = static_cast<ptrdiff_t>(row_bytes(layout, p, options.size));
    bytes += row_bytes(layout, p, options.size) *
             static_cast<size_t>(row_count(layout, p, options.size));
  }
  std::vector<std::byte> frame(bytes);
  for (int p = 0; p < layout.planes; ++p) job.in.plane[p] = frame.data() + start[p];
  std::vector<uint8_t> mask(options.size.area());
  job.foreground = {mask.data(), options.size.width, options.size.height, options.size.width};

  using Clock = std::chrono::steady_clock;
  Clock::duration spent{};
  int frames = 0;
  while (std::fread(frame.data(), 1, bytes, stdin) == bytes) {
    const Clock::time_point begin = Clock::now();
    algorithm.enqueue(job, options.params, *queue);
    queue->record();
    queue->wait();
    spent += Clock::now() - begin;
    ++frames;
    std::fwrite(mask.data(), 1, mask.size(), stdout);
  }
  const double all = std::chrono::duration<double, std::milli>(spent).count();
  std::fprintf(stderr, "{\"frames\": %d, \"ms\": %.3f}\n", frames, frames ? all / frames : 0);
  return 0;
}

}  // namespace
}  // namespace regions

int main(int count, char** words) try {
  return regions::run(regions::options_of(count, words));
} catch (const std::exception& error) {
  std::fprintf(stderr, "foreground_masks: %s\n", error.what());
  return 2;
}

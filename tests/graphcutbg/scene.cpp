// Clips and the camera.
#include "tests/graphcutbg/scene.hpp"

#include <algorithm>
#include <cstdlib>

#include "cpu/backend.hpp"
#include "tests/pictures/pictures.hpp"

namespace regions {
namespace {

int block_left(const Clip& clip, int i) { return (5 + 3 * i) % clip.size.width; }
// It comes back in another colour.
int block_color(const Clip& clip, int i, int c) {
  const int pass = (5 + 3 * i) / clip.size.width;
  return 225 - (50 + 17 * (pass % 3)) * c - 12 * (pass % 4);
}

}  // namespace

bool Clip::covers(int i, int x, int y) const {
  if (empty || i == 0) return false;
  const int left = block_left(*this, i);
  const int right = std::min(size.width, left + size.width / 6);
  return x >= left && x < right && y >= size.height / 4 && y < 3 * size.height / 4;
}

GuardedFrame Clip::frame(int i) const {
  GuardedFrame picture(format, size, padding, color);
  const Frame frame = picture.frame();
  const Layout& layout = frame.layout;
  const int channels = layout.channels + layout.alpha;
  const auto left = static_cast<uint32_t>(block_left(*this, i));
  for (int y = 0; y < size.height; ++y) {
    for (int x = 0; x < size.width; ++x) {
      const auto ux = static_cast<uint32_t>(x), uy = static_cast<uint32_t>(y);
      for (int c = 0; c < channels; ++c) {
        const auto uc = static_cast<uint32_t>(c);
        const uint32_t texture = hash(ux / 8 + (other ? 99 : 0), uy / 8, 7 + uc) % 60;
        double value = 70 + texture + 12 * uc;
        if (covers(i, x, y))
          value = block_color(*this, i, c) + static_cast<int>(hash(ux - left, uy / 4, uc) % 20);
        const auto spread = static_cast<uint32_t>(2 * noise + 1);
        value = value * gain +
                static_cast<int>(hash(ux, uy, seed + uc + 10 * static_cast<uint32_t>(i)) % spread) -
                noise;
        const int level = std::clamp(static_cast<int>(value), 0, 255);
        frame.set_sample(c, x, y, level << (layout.depth - 8));
      }
    }
  }
  return picture;
}

PixelFormat output_format(const GraphCutBgParams& params, PixelFormat in) {
  if (params.output == GraphCutOutput::mask) return PixelFormat::gray8;
  return params.output == GraphCutOutput::cutout ? PixelFormat::rgba : in;
}

std::unique_ptr<GraphCutBg> as_graph_cut(std::unique_ptr<Algorithm<GraphCutBgParams>> algorithm) {
  return std::unique_ptr<GraphCutBg>(static_cast<GraphCutBg*>(algorithm.release()));
}

Camera::Camera(const Clip& what, const GraphCutBgParams& with, int threads, int slots)
    : clip(what), params(with), backend_(make_cpu_backend(threads)) {
  algorithm_ = as_graph_cut(make_algorithm<GraphCutBgParams, BackendKind::cpu>(backend_));
  algorithm_->prepare(params);
  algorithm_->configure({.in = layout_of(clip.format),
                         .size = clip.size,
                         .color = clip.color,
                         .has_output = true,
                         .slots = slots});
  queue_ = backend_->make_queue();
}

Shot Camera::shoot(const ConstFrame& frame, const ConstFrame& mask) {
  Shot shot{std::vector<uint8_t>(clip.size.area()),
            GuardedFrame(output_format(params, clip.format), clip.size, 3, clip.color),
            {},
            false};
  FrameTask task;
  task.in = frame;
  task.mask = mask;
  task.out = shot.out.frame();
  task.foreground = {shot.mask.data(), clip.size.width, clip.size.height, clip.size.width};
  algorithm_->enqueue(task, params, *queue_);
  queue_->record();
  queue_->wait();
  shot.report = algorithm_->result(0);
  shot.intact = shot.out.intact();
  return shot;
}

int wrong_pixels(const Clip& clip, int i, const std::vector<uint8_t>& mask) {
  int wrong = 0;
  for (int y = 0; y < clip.size.height; ++y) {
    for (int x = 0; x < clip.size.width; ++x) {
      const size_t at =
          static_cast<size_t>(y) * static_cast<size_t>(clip.size.width) + static_cast<size_t>(x);
      wrong += (mask[at] != 0) != clip.covers(i, x, y);
    }
  }
  return wrong;
}

}  // namespace regions

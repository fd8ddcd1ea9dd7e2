// The pictures of clips, and the camera.
#include "tests/graphcutbg/scene.hpp"

#include <algorithm>
#include <cstdlib>

#include "core/region_records.hpp"
#include "tests/pictures/backend_test.hpp"
#include "tests/pictures/pictures.hpp"

namespace regions {
namespace {

int block_left(const Clip& clip, int i) { return (5 + 3 * i) % clip.size.width; }
// The block changes its colour each time it comes back.
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
        frame.set_sample(c, x, y, level << (layout.sample_bits - 8));
      }
    }
  }
  return picture;
}

GraphCutBgParams params_with(GraphCutOutput output) {
  GraphCutBgParams params;
  params.output = output;
  return params;
}

std::unique_ptr<GraphCutBg> make_graph_cut(const std::shared_ptr<Backend>& backend) {
  return std::unique_ptr<GraphCutBg>(
      static_cast<GraphCutBg*>(make_algorithm_on<GraphCutBgParams>(backend).release()));
}

Camera::Camera(const Clip& what, const GraphCutBgParams& with, int cpu_threads)
    : Camera(what, with, make_cpu_backend(cpu_threads)) {}

Camera::Camera(const Clip& what, const GraphCutBgParams& with, std::shared_ptr<Backend> backend)
    : clip(what),
      params(with),
      backend_(std::move(backend)),
      algorithm_(make_graph_cut(backend_)),
      queue_(backend_->make_queue()) {
  algorithm_->prepare(params);
  algorithm_->configure({.in = layout_of(clip.format),
                         .size = clip.size,
                         .color = clip.color,
                         .has_output = true,
                         .slots = 1});
}

Shot Camera::shoot(const ConstFrame& frame, const ConstFrame& mask, bool in_place) {
  const auto device_frame = [&](PixelFormat format, Size size, int padding) {
    return DeviceFrame(*backend_, *queue_, format, size, padding, clip.color);
  };
  const PixelFormat format = params.output == GraphCutOutput::mask     ? PixelFormat::gray8
                             : params.output == GraphCutOutput::cutout ? PixelFormat::rgba
                                                                       : clip.format;
  const DeviceFrame out = device_frame(format, clip.size, 5 * layout_of(format).sample_bytes);
  const DeviceFrame found = device_frame(PixelFormat::gray8, clip.size, 3);
  DeviceFrame in = device_frame(clip.format, clip.size, clip.padding);
  DeviceFrame given = device_frame(mask.empty() ? PixelFormat::gray8 : mask.layout.format,
                                   mask.empty() ? clip.size : mask.size(), 0);
  in.upload(frame);
  FrameTask task;
  task.in = in.frame();
  task.out = (in_place ? in : out).frame();
  task.foreground = found.frame().plane_as<uint8_t>(0, clip.size.width, clip.size.height);
  if (!mask.empty()) {
    given.upload(mask);
    task.mask = given.frame();
  }
  const bool is_boxed = params.source == GraphCutSource::boxes;
  const DeviceFrame labels = device_frame(PixelFormat::labels32, clip.size, 4);
  const RegionRecords records(*backend_, kMaxBoxes, false, false, 0);
  if (is_boxed) {
    task.labels = labels.frame().plane_as<uint32_t>(0, clip.size.width, clip.size.height);
    task.table = records.table();
    task.attached = boxes.data();
    task.attached_count = static_cast<uint32_t>(boxes.size());
  }
  algorithm_->enqueue(task, params, *queue_);
  queue_->record();
  queue_->wait();

  bool intact = false, mask_intact = false;
  Shot shot{{}, (in_place ? in : out).download(&intact), algorithm_->result(0)};
  const GuardedFrame pixels = found.download(&mask_intact);
  const auto* first = reinterpret_cast<const uint8_t*>(pixels.frame().plane[0]);
  shot.mask.assign(first, first + clip.size.area());
  shot.intact = intact && mask_intact;
  if (!is_boxed) return shot;
  bool labels_intact = false;
  const GuardedFrame numbers = labels.download(&labels_intact);
  const auto* number = reinterpret_cast<const uint32_t*>(numbers.frame().plane[0]);
  shot.labels.assign(number, number + clip.size.area());
  shot.intact = shot.intact && labels_intact;
  const auto found_records = records.regions(records.total());
  shot.records.assign(found_records.begin(), found_records.end());
  return shot;
}

Shot Camera::shoot(int first, int end) {
  for (int i = first; i < end - 1; ++i) shoot(i);
  return shoot(end - 1);
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

// Moving frames.
#include "tests/slicsuperpixel/video.hpp"

#include <algorithm>
#include <cstring>

namespace regions {

GuardedFrame panned_frame(Size size, int x, bool cut) {
  const SlicCase wide = {"scene", {size.width + 100, size.height + 40}};
  const GuardedFrame scene = wide.frame();
  GuardedFrame frame(PixelFormat::rgb, size);
  for (int y = 0; y < size.height; ++y) {
    for (int u = 0; u < size.width; ++u) {
      for (int c = 0; c < 3; ++c) {
        const int value = scene.frame().sample(c, u + x, cut ? size.height + 39 - y : y);
        frame.frame().set_sample(c, u, y, cut ? 255 - value : value);
      }
    }
  }
  return frame;
}

std::vector<Superpixels> run_frames(const std::shared_ptr<Backend>& backend,
                                    Algorithm<SlicParams>& algorithm,
                                    const std::vector<GuardedFrame>& frames,
                                    const SlicParams& params, int slots) {
  constexpr uint32_t kCapacity = 4096;
  const Size size = frames.front().frame().size();
  const size_t pixels = size.area();
  Setup setup;
  setup.in = frames.front().frame().layout;
  setup.size = size;
  setup.slots = slots;
  setup.max_regions = kCapacity;
  algorithm.configure(setup);

  struct Place {
    std::unique_ptr<Queue> queue;
    Block in, labels, host_in, host_labels, table;
  };
  std::vector<Place> places;
  for (int s = 0; s < slots; ++s) {
    places.push_back({backend->make_queue(), backend->allocate(3 * pixels),
                      backend->allocate(4 * pixels), backend->allocate_pinned(3 * pixels),
                      backend->allocate_pinned(4 * pixels),
                      backend->allocate_pinned(kCapacity * sizeof(Region) + 8)});
  }
  std::vector<Superpixels> results;
  const auto collect = [&](const Place& place) {
    place.queue->wait();
    Superpixels& result = results.emplace_back();
    const auto* labels = place.host_labels.as<uint32_t>();
    const auto* records = place.table.as<Region>();
    result.labels.assign(labels, labels + pixels);
    const uint32_t total = *reinterpret_cast<const uint32_t*>(records + kCapacity);
    result.regions.assign(records, records + std::min(total, kCapacity));
  };
  for (size_t i = 0; i < frames.size(); ++i) {
    const Place& place = places[i % places.size()];
    if (i >= places.size()) collect(place);
    const ConstFrame frame = frames[i].frame();
    for (int y = 0; y < size.height; ++y) {
      std::memcpy(place.host_in.as<std::byte>() + 3 * static_cast<size_t>(y * size.width),
                  frame.plane[0] + y * frame.pitch[0], 3 * static_cast<size_t>(size.width));
    }
    place.queue->copy_bytes(place.host_in.data(), place.in.data(), 3 * pixels);
    Frame in;
    in.layout = setup.in;
    in.width = size.width;
    in.height = size.height;
    in.plane[0] = place.in.as<std::byte>();
    in.pitch[0] = 3 * size.width;
    in.memory = backend->memory();
    auto* records = place.table.as<Region>();
    FrameTask task;
    task.slot = static_cast<int>(i % places.size());
    task.in = in;
    task.labels = {place.labels.as<uint32_t>(), size.width, size.height, 4 * size.width};
    task.table = {records, kCapacity, reinterpret_cast<uint32_t*>(records + kCapacity)};
    algorithm.enqueue(task, params, *place.queue);
    place.queue->copy_bytes(place.labels.data(), place.host_labels.data(), 4 * pixels);
    place.queue->record();
  }
  const size_t first = frames.size() > places.size() ? frames.size() - places.size() : 0;
  for (size_t i = first; i < frames.size(); ++i) collect(places[i % places.size()]);
  return results;
}

}  // namespace regions

// Running and comparing.
#include "tests/slicsuperpixel/run.hpp"

#include <algorithm>
#include <cstring>

#include "tests/pictures/backend_test.hpp"

namespace regions {
namespace {

constexpr uint32_t kUnwritten = 0xA9A9A9A9;

// Compares the borders between recorded superpixels.
std::string border_difference(const Superpixels& found, const Superpixels& expected) {
  if (found.moments.empty()) return {};  // only records were requested
  size_t at = 0;
  for (const Border& border : expected.borders) {
    if (border.second > found.regions.size()) continue;
    const std::string name = std::to_string(border.first) + "-" + std::to_string(border.second);
    if (at >= found.borders.size()) return "border " + name + " is missing";
    const Border& other = found.borders[at++];
    if (other.first != border.first || other.second != border.second) {
      return "border " + std::to_string(other.first) + "-" + std::to_string(other.second) +
             " instead of " + name;
    }
    if (other.length != border.length) {
      return "border " + name + " has " + std::to_string(other.length) + " sides, not " +
             std::to_string(border.length);
    }
  }
  return at == found.borders.size() ? "" : "too many borders";
}

}  // namespace

SlicResult run_slic(const std::shared_ptr<Backend>& backend, const ConstFrame& in,
                    const SlicParams& params, const SlicOptions& options) {
  const auto algorithm = make_algorithm_on<SlicParams>(backend);
  const auto queue = backend->make_queue();
  Setup setup{.in = in.layout, .size = in.size(), .color = in.color};
  setup.max_regions = std::max(options.capacity, 1u);
  setup.has_borders = true;
  DeviceFrame picture(*backend, *queue, in.layout.format, in.size(), 0, in.color);
  picture.upload(in);
  const DeviceFrame labels(*backend, *queue, PixelFormat::labels32, in.size(), 12);
  FrameTask task;
  std::optional<DeviceFrame> out;
  if (options.out) {
    setup.has_output = true;
    setup.out = layout_of(*options.out);
    out.emplace(*backend, *queue, *options.out, in.size(), options.padding, in.color);
    task.out = out->frame();
  }
  algorithm->prepare(params);
  algorithm->configure(setup);

  // Each array has one more element, which must stay unchanged.
  const size_t capacity = options.capacity, max_pairs = max_borders(options.capacity);
  const Block record_block = backend->allocate_pinned((capacity + 1) * sizeof(Region));
  const Block moment_block = backend->allocate_pinned((capacity + 1) * sizeof(Moments));
  const Block border_block = backend->allocate_pinned((max_pairs + 1) * sizeof(Border));
  const Block count_block = backend->allocate_pinned(2 * sizeof(uint32_t));
  auto* records = record_block.as<Region>();
  auto* moments = moment_block.as<Moments>();
  auto* borders = border_block.as<Border>();
  auto* counts = count_block.as<uint32_t>();  // total, borders
  counts[0] = counts[1] = 0;
  records[capacity].id = borders[max_pairs].length = kUnwritten;
  moments[capacity].sum_xx = kUnwritten;
  task.in = picture.frame();
  task.labels = labels.frame().plane_as<uint32_t>(0, in.width, in.height);
  task.table.capacity = options.capacity;
  task.table.total = counts;
  if (capacity > 0) {
    task.table.regions = records;
    task.table.moments = moments;
    task.table.borders = borders;
    task.table.border_count = counts + 1;
  }
  for (int i = 0; i < options.repeats; ++i) algorithm->enqueue(task, params, *queue);
  queue->record();
  queue->wait();

  SlicResult result;
  bool labels_intact = false, out_intact = true;
  const GuardedFrame pixels = labels.download(&labels_intact);
  const auto* first = reinterpret_cast<const uint32_t*>(pixels.frame().plane[0]);
  result.superpixels.labels.assign(first, first + in.size().area());
  if (out) result.out.emplace(out->download(&out_intact));
  result.intact = labels_intact && out_intact && records[capacity].id == kUnwritten &&
                  moments[capacity].sum_xx == kUnwritten && borders[max_pairs].length == kUnwritten;
  result.total = counts[0];
  const auto known = std::min(counts[0], options.capacity);
  result.superpixels.regions.assign(records, records + known);
  result.superpixels.moments.assign(moments, moments + known);
  result.superpixels.borders.assign(borders, borders + counts[1]);
  return result;
}

SlicResult run_slic_on_cpu(int threads, const ConstFrame& in, const SlicParams& params,
                           const SlicOptions& options) {
  return run_slic(make_cpu_backend(threads), in, params, options);
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

  struct Slot {
    std::unique_ptr<Queue> queue;
    Block in, labels, host_in, host_labels, table;
  };
  std::vector<Slot> slots_in_use;
  for (int s = 0; s < slots; ++s) {
    slots_in_use.push_back({backend->make_queue(), backend->allocate(3 * pixels),
                            backend->allocate(4 * pixels), backend->allocate_pinned(3 * pixels),
                            backend->allocate_pinned(4 * pixels),
                            backend->allocate_pinned(kCapacity * sizeof(Region) + 8)});
  }
  std::vector<Superpixels> results;
  const auto collect = [&](const Slot& slot) {
    slot.queue->wait();
    Superpixels& result = results.emplace_back();
    const auto* labels = slot.host_labels.as<uint32_t>();
    const auto* records = slot.table.as<Region>();
    result.labels.assign(labels, labels + pixels);
    const uint32_t total = *reinterpret_cast<const uint32_t*>(records + kCapacity);
    result.regions.assign(records, records + std::min(total, kCapacity));
  };
  for (size_t i = 0; i < frames.size(); ++i) {
    const Slot& slot = slots_in_use[i % slots_in_use.size()];
    if (i >= slots_in_use.size()) collect(slot);
    const ConstFrame frame = frames[i].frame();
    for (int y = 0; y < size.height; ++y) {
      std::memcpy(slot.host_in.as<std::byte>() + 3 * static_cast<size_t>(y * size.width),
                  frame.plane[0] + y * frame.pitch[0], 3 * static_cast<size_t>(size.width));
    }
    slot.queue->copy_bytes(slot.host_in.data(), slot.in.data(), 3 * pixels);
    Frame in;
    in.layout = setup.in;
    in.width = size.width;
    in.height = size.height;
    in.plane[0] = slot.in.as<std::byte>();
    in.pitch[0] = 3 * size.width;
    in.memory = backend->memory();
    auto* records = slot.table.as<Region>();
    FrameTask task;
    task.slot = static_cast<int>(i % slots_in_use.size());
    task.in = in;
    task.labels = {slot.labels.as<uint32_t>(), size.width, size.height, 4 * size.width};
    task.table = {records, kCapacity, reinterpret_cast<uint32_t*>(records + kCapacity)};
    algorithm.enqueue(task, params, *slot.queue);
    slot.queue->copy_bytes(slot.labels.data(), slot.host_labels.data(), 4 * pixels);
    slot.queue->record();
  }
  const size_t first =
      frames.size() > slots_in_use.size() ? frames.size() - slots_in_use.size() : 0;
  for (size_t i = first; i < frames.size(); ++i) collect(slots_in_use[i % slots_in_use.size()]);
  return results;
}

std::string difference(const Superpixels& found, const Superpixels& expected, int width) {
  if (found.labels.size() != expected.labels.size()) return "other sizes";
  for (size_t i = 0; i < found.labels.size(); ++i) {
    if (found.labels[i] == expected.labels[i]) continue;
    const auto columns = static_cast<size_t>(width);
    return "pixel (" + std::to_string(i % columns) + ", " + std::to_string(i / columns) +
           ") has label " + std::to_string(found.labels[i]) + " instead of " +
           std::to_string(expected.labels[i]);
  }
  for (size_t k = 0; k < found.regions.size(); ++k) {
    if (k >= expected.regions.size()) return "too many records";
    if (std::memcmp(&found.regions[k], &expected.regions[k], sizeof(Region)) != 0) {
      return "the record of superpixel " + std::to_string(k + 1) + " differs";
    }
    if (k < found.moments.size() &&
        std::memcmp(&found.moments[k], &expected.moments[k], sizeof(Moments)) != 0) {
      return "the moments of superpixel " + std::to_string(k + 1) + " differ";
    }
  }
  return border_difference(found, expected);
}

}  // namespace regions

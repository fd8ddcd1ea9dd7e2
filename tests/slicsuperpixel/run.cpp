// Running and comparing.
#include "tests/slicsuperpixel/run.hpp"

#include <algorithm>
#include <cstring>

#include "cpu/backend.hpp"

namespace regions {

SlicResult run_slic_on_cpu(int threads, const ConstFrame& in, const SlicParams& params,
                           const SlicOptions& options) {
  auto backend = make_cpu_backend(threads);
  auto algorithm = make_algorithm<SlicParams, BackendKind::cpu>(backend);
  Setup setup;
  setup.in = in.layout;
  setup.size = in.size();
  setup.color = in.color;
  setup.max_regions = std::max(options.capacity, 1u);
  setup.has_borders = true;
  if (options.out) {
    setup.has_output = true;
    setup.out = layout_of(*options.out);
  }
  algorithm->configure(setup);

  SlicResult result;
  GuardedFrame labels(PixelFormat::labels32, in.size(), 8);
  std::vector<Region> records(options.capacity + 1);
  records.back().id = 0xA9A9A9A9;
  std::vector<Moments> moments(options.capacity + 1);
  moments.back().sum_xx = 0xA9A9A9A9;
  std::vector<Border> borders(max_borders(options.capacity) + 1);
  borders.back().length = 0xA9A9A9A9;
  uint32_t border_count = 0;
  FrameTask task;
  task.in = in;
  task.labels = labels.labels();
  if (options.capacity > 0) {
    task.table.regions = records.data();
    task.table.moments = moments.data();
    task.table.borders = borders.data();
    task.table.border_count = &border_count;
  }
  task.table.capacity = options.capacity;
  task.table.total = &result.total;
  if (options.out) {
    result.out.emplace(*options.out, in.size(), options.padding, in.color);
    task.out = result.out->frame();
  }
  const auto queue = backend->make_queue();
  algorithm->enqueue(task, params, *queue);
  queue->record();
  queue->wait();

  result.intact = labels.intact() && records.back().id == 0xA9A9A9A9 &&
                  moments.back().sum_xx == 0xA9A9A9A9 && borders.back().length == 0xA9A9A9A9 &&
                  (!result.out || result.out->intact());
  for (int y = 0; y < in.height; ++y) {
    const uint32_t* row = labels.labels().row(y);
    result.superpixels.labels.insert(result.superpixels.labels.end(), row, row + in.width);
  }
  const auto known = std::min(result.total, options.capacity);
  result.superpixels.regions.assign(records.begin(), records.begin() + known);
  result.superpixels.moments.assign(moments.begin(), moments.begin() + known);
  result.superpixels.borders.assign(borders.begin(), borders.begin() + border_count);
  return result;
}

namespace {

// Of what is expected, the borders between superpixels that were recorded.
std::string border_difference(const Superpixels& found, const Superpixels& expected) {
  if (found.moments.empty()) return {};  // a run that asked for records alone
  size_t at = 0;
  for (const Border& border : expected.borders) {
    if (border.second > found.regions.size()) continue;
    const std::string name = std::to_string(border.first) + "-" + std::to_string(border.second);
    if (at >= found.borders.size()) return "border " + name + " is missing";
    const Border& other = found.borders[at++];
    if (other.first != border.first || other.second != border.second) {
      return "border " + std::to_string(other.first) + "-" + std::to_string(other.second) +
             " in place of " + name;
    }
    if (other.length != border.length) {
      return "border " + name + " has " + std::to_string(other.length) + " sides, not " +
             std::to_string(border.length);
    }
  }
  return at == found.borders.size() ? "" : "too many borders";
}

}  // namespace

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

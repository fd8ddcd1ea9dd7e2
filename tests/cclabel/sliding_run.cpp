// Windows: run, and by definition.
#include "tests/cclabel/sliding_run.hpp"

#include <algorithm>
#include <cstring>

#include "core/frame.hpp"
#include "tests/cclabel/run.hpp"
#include "tests/cclabel/runs_oracle.hpp"
#include "tests/cclabel/volume_oracle.hpp"

namespace regions {
namespace {

// One frame in flight: its inputs and outputs in the backend's memory, and their copies.
class WindowSlot {
 public:
  WindowSlot(Backend& backend, const Setup& setup, const WindowOptions& options, int index)
      : setup_(setup), options_(options), index_(index), queue_(backend.make_queue()) {
    memory_ = backend.memory();
    in_ = backend.allocate(packed_bytes(setup.in, setup.size));
    mask_ = backend.allocate(packed_bytes(setup.mask, setup.size));
    labels_ = backend.allocate(map_bytes());
    host_labels_ = backend.allocate_pinned(map_bytes());
    table_ = backend.allocate_pinned((options.capacity + 1) * sizeof(Region));
    runs_ = backend.allocate_pinned((options.most_runs + 1) * sizeof(PixelRun));
    if (!options.out) return;
    out_ = backend.allocate(packed_bytes(setup.out, setup.size));
    host_out_ = backend.allocate_pinned(packed_bytes(setup.out, setup.size));
  }

  void begin(Algorithm<CcLabelParams>& algorithm, const ConstFrame& frame, const ConstFrame& mask,
             const CcLabelParams& params) {
    const Frame in = packed_frame(setup_.in, setup_.size, {}, memory_, in_.data());
    queue_->copy(frame, in);
    const int width = setup_.size.width;
    FrameTask task;
    task.slot = index_;
    task.in = in;
    if (!mask.empty()) {
      const Frame there = packed_frame(setup_.mask, setup_.size, {}, memory_, mask_.data());
      queue_->copy(mask, there);
      task.mask = there;
    }
    task.labels = {labels_.as<uint32_t>(), width, setup_.size.height, 4 * ptrdiff_t{width}};
    task.table = {table_.as<Region>(), options_.capacity, total()};
    if (options_.most_runs > 0) {
      task.table.runs = runs_.as<PixelRun>();
      task.table.run_capacity = options_.most_runs;
      task.table.run_total = total_runs();
    }
    if (options_.out) task.out = out_frame(memory_, out_);
    algorithm.enqueue(task, params, *queue_);
    queue_->copy_bytes(labels_.data(), host_labels_.data(), map_bytes());
    if (options_.out) queue_->copy(task.out, out_frame(Memory::host, host_out_));
    queue_->record();
    busy = true;
  }

  WindowResult finish(const CcLabel& algorithm) {
    queue_->wait();
    busy = false;
    WindowResult result;
    result.total = *total();
    const auto* labels = host_labels_.as<uint32_t>();
    const auto* regions = table_.as<Region>();
    result.labelling.labels.assign(labels, labels + setup_.size.area());
    result.labelling.regions.assign(regions, regions + std::min(result.total, options_.capacity));
    if (options_.most_runs > 0) {
      const auto* runs = runs_.as<PixelRun>();
      result.runs.assign(runs, runs + std::min(*total_runs(), options_.most_runs));
    }
    if (options_.out) {
      const Frame out = out_frame(Memory::host, host_out_);
      for (int y = 0; y < out.height; ++y) {
        const auto* row = reinterpret_cast<const uint8_t*>(out.plane[0] + y * out.pitch[0]);
        result.out.insert(result.out.end(), row, row + row_bytes(out.layout, 0, out.size()));
      }
    }
    result.report = algorithm.track_events(index_);
    return result;
  }

  bool busy = false;

 private:
  size_t map_bytes() const { return setup_.size.area() * sizeof(uint32_t); }
  uint32_t* total() const {
    return reinterpret_cast<uint32_t*>(table_.as<Region>() + options_.capacity);
  }
  uint32_t* total_runs() const {
    return reinterpret_cast<uint32_t*>(runs_.as<PixelRun>() + options_.most_runs);
  }
  Frame out_frame(Memory memory, const Block& block) const {
    return packed_frame(setup_.out, setup_.size, {}, memory, block.data());
  }

  const Setup& setup_;
  const WindowOptions& options_;
  const int index_;
  std::unique_ptr<Queue> queue_;
  Memory memory_;
  Block in_, mask_, labels_, host_labels_, table_, runs_, out_, host_out_;
};

}  // namespace

std::vector<WindowResult> run_windows(const std::shared_ptr<Backend>& backend,
                                      Algorithm<CcLabelParams>& algorithm,
                                      const std::vector<ConstFrame>& frames,
                                      const CcLabelParams& params, const WindowOptions& options) {
  const Backend::Entry entry(*backend);
  Setup setup{.in = frames[0].layout, .size = frames[0].size(), .slots = options.slots};
  setup.has_mask = !options.masks.empty();
  setup.mask = layout_of(PixelFormat::gray8);
  setup.depth = static_cast<int>(params.depth);
  setup.slides = setup.tracks = true;
  setup.max_regions = options.capacity;
  setup.max_runs = options.most_runs;
  if (options.out) {
    setup.has_output = true;
    setup.out = layout_of(*options.out);
  }
  algorithm.prepare(params);
  algorithm.configure(setup);
  std::vector<std::unique_ptr<WindowSlot>> slots;
  for (int i = 0; i < options.slots; ++i) {
    slots.push_back(std::make_unique<WindowSlot>(*backend, setup, options, i));
  }
  std::vector<WindowResult> results;
  for (size_t i = 0; i < frames.size() + slots.size(); ++i) {
    WindowSlot& slot = *slots[i % slots.size()];
    if (slot.busy) results.push_back(slot.finish(dynamic_cast<CcLabel&>(algorithm)));
    if (i >= frames.size()) continue;
    slot.begin(algorithm, frames[i], setup.has_mask ? options.masks[i] : ConstFrame{}, params);
  }
  return results;
}

Labelling last_of_window_slowly(const std::vector<ConstFrame>& frames, size_t t,
                                const CcLabelParams& params) {
  const size_t slices = std::min(t + 1, static_cast<size_t>(params.depth));
  const ConstFrame& last = frames[t];
  const size_t row = row_bytes(last.layout, 0, last.size());
  std::vector<std::byte> stacked;
  for (size_t k = t + 1 - slices; k <= t; ++k) {
    for (int y = 0; y < last.height; ++y) {
      const std::byte* from = frames[k].plane[0] + y * frames[k].pitch[0];
      stacked.insert(stacked.end(), from, from + row);
    }
  }
  ConstFrame volume = last;
  volume.plane[0] = stacked.data();
  volume.pitch[0] = static_cast<ptrdiff_t>(row);
  volume.height = last.height * static_cast<int>(slices);
  const Labelling whole = label_volumes_slowly(volume, static_cast<int>(slices), params);

  Labelling frame;
  std::vector<uint32_t> renamed(whole.regions.size() + 1);
  const size_t behind = whole.labels.size() - last.size().area();
  for (size_t i = 0; i < last.size().area(); ++i) {
    const uint32_t old = whole.labels[behind + i];
    const int x = static_cast<int>(i) % last.width, y = static_cast<int>(i) / last.width;
    if (old != 0 && renamed[old] == 0) {
      Region r{.first_x = x, .first_y = y, .left = x, .top = y, .right = x, .bottom = y};
      r.id = r.track = renamed[old] = static_cast<uint32_t>(frame.regions.size() + 1);
      frame.regions.push_back(r);
    }
    frame.labels.push_back(old ? renamed[old] : 0);
    if (old == 0) continue;
    Region& r = frame.regions[renamed[old] - 1];
    r.left = std::min(r.left, x);
    r.right = std::max(r.right, x);
    r.bottom = y;
    r.area += 1;
    r.sum_x += static_cast<uint64_t>(x);
    r.sum_y += static_cast<uint64_t>(y);
    for (int c = 0; c < last.layout.channels; ++c) {
      r.sum_value[c] += static_cast<uint64_t>(last.sample(c, x, y));
    }
  }
  return frame;
}

Labelling without_tracks(Labelling labelling) {
  for (Region& r : labelling.regions) r.track = r.id;
  return labelling;
}

std::string difference(const WindowResult& found, const WindowResult& expected, int width) {
  const std::string labels = difference(found.labelling, expected.labelling, width);
  if (!labels.empty()) return labels;
  if (found.total != expected.total) return "another total";
  if (found.out != expected.out) return "another output picture";
  if (std::memcmp(&found.report, &expected.report, sizeof found.report) != 0) {
    return "another report";
  }
  return difference(found.runs, expected.runs);
}

}  // namespace regions

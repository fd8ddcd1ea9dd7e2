// Sliding windows on the CPU: labels the window of the last frames as a volume, then measures,
// tracks and draws the regions of the newest frame. Frames are processed one after another.
#include "core/cclabel/sliding_window.hpp"

#include <algorithm>
#include <cstring>

#include "cpu/backend.hpp"
#include "cpu/cclabel/cclabel.hpp"
#include "cpu/cclabel/region_tracker.hpp"
#include "cpu/drawing/drawing.hpp"
#include "cpu/pixel_rows.hpp"

namespace regions {
namespace {

constexpr int kChunks = 8;  // number of chunks of rows that are processed concurrently

// The region records of each chunk of rows.
struct ChunkRecords {
  Region* records[kChunks] = {};  // [kChunks][max_regions], by label - 1
};

// Calls body(chunk, y) for all rows. Different chunks run concurrently.
template <std::invocable<int, int> Body>
void for_each_row(int height, const Workers& workers, Body body) {
  workers.parallel_for(kChunks, [&](int chunk) {
    const auto begin_of = [&](int b) { return static_cast<int>(int64_t{height} * b / kChunks); };
    for (int y = begin_of(chunk); y < begin_of(chunk + 1); ++y) body(chunk, y);
  });
}

// Adds the pixels begin..end - 1 of row y to a record.
void add_run(const ConstFrame& in, uint32_t label, int y, int begin, int end, Region& record) {
  if (record.area == 0) {
    record = {.id = label, .track = label, .first_x = begin, .first_y = y, .left = begin, .top = y};
  }
  const auto pixels = static_cast<uint64_t>(end - begin);
  record.left = std::min(record.left, begin);
  record.right = std::max(record.right, end - 1);
  record.bottom = y;
  record.area += pixels;
  record.sum_x += pixels * static_cast<uint64_t>(begin + end - 1) / 2;
  record.sum_y += pixels * static_cast<uint64_t>(y);
  for (int c = 0; c < in.layout.channels; ++c) {
    for (int x = begin; x < end; ++x)
      record.sum_value[c] += static_cast<uint64_t>(in.sample(c, x, y));
  }
}

// Returns the number of regions of the frame, which is its largest label.
uint32_t count_labels(ConstLabelMap labels, const Workers& workers) {
  uint32_t max_label[kChunks] = {};
  for_each_row(labels.height, workers, [&](int chunk, int y) {
    const uint32_t* row = labels.row(y);
    max_label[chunk] = std::max(max_label[chunk], *std::max_element(row, row + labels.width));
  });
  return *std::max_element(max_label, max_label + kChunks);
}

// Writes the records of the regions 1..count.
void measure_labels(ConstLabelMap labels, const ConstFrame& in, uint32_t count,
                    const ChunkRecords& chunk_records, Region* records, const Workers& workers) {
  for (Region* chunk : chunk_records.records) std::fill_n(chunk, count, Region{});
  for_each_row(labels.height, workers, [&](int chunk, int y) {
    for_each_label_run(labels.row(y), labels.width, [&](uint32_t label, int begin, int end) {
      if (label - 1 < count)
        add_run(in, label, y, begin, end, chunk_records.records[chunk][label - 1]);
    });
  });
  std::copy_n(chunk_records.records[0], count, records);
  for (int chunk = 1; chunk < kChunks; ++chunk) {
    for (uint32_t k = 0; k < count; ++k) add_record(chunk_records.records[chunk][k], records[k]);
  }
}

// Counts the pixels that the regions 1..count share with the regions 1..count_before of the
// previous window.
void count_shared_pixels(const WindowLabels& window, uint32_t count, uint32_t count_before,
                         const PairTable& pairs, const Workers& workers) {
  const size_t pixels = window.shared_pixels();
  const uint32_t *now = window.now_shared(), *before = window.before_shared();
  workers.parallel_for(kChunks, [&](int chunk) {
    const auto c = static_cast<size_t>(chunk);
    const size_t end = pixels * (c + 1) / kChunks;
    for (size_t i = pixels * c / kChunks, next = i; i < end; i = next) {
      while (next < end && now[next] == now[i] && before[next] == before[i]) ++next;
      if (now[i] - 1 >= count || before[i] - 1 >= count_before) continue;
      pairs.add<CpuAtomics>(before[i], now[i], static_cast<uint32_t>(next - i));
    }
  });
}

// Writes the output picture, unless it is an overlay (draw() writes overlays). `values` is
// workspace for kChunks rows.
void write_output(ConstLabelMap labels, const FrameTask& task, const CcLabelParams& params,
                  const ShownTracks& tracks, uint32_t* values, const Workers& workers) {
  const auto width = static_cast<size_t>(labels.width);
  const int bytes = task.out.layout.component[0].step, offset = task.out.layout.component[0].offset;
  for_each_row(labels.height, workers, [&](int chunk, int y) {
    const uint32_t* value =
        output_values(labels.row(y), static_cast<uint32_t>(width),
                      values + static_cast<size_t>(chunk) * width, task, params, tracks);
    std::byte* out = task.out.at(0, 0, y) - offset;
    // Copies the low bytes of each value, which are its first bytes on little-endian machines.
    for (size_t x = 0; x < width; ++x, out += bytes) {
      std::memcpy(out, value + x, static_cast<size_t>(bytes));
    }
  });
}

class SlidingWindowCpu final : public SlidingWindow, public TrackAccess {
 public:
  explicit SlidingWindowCpu(const std::shared_ptr<Backend>& backend)
      : SlidingWindowCpu(backend, make_labeller(backend).release()) {}

  Tracker& tracker() override { return setup().slides ? tracker_ : labeller_.tracker(); }

 private:
  // Takes over `labeller`.
  SlidingWindowCpu(const std::shared_ptr<Backend>& backend, CcLabel* labeller)
      : SlidingWindow(backend, std::unique_ptr<CcLabel>(labeller)),
        labeller_(dynamic_cast<TrackAccess&>(*labeller)),
        workers_(workers_of(*backend)) {}

  void allocate(const Setup& setup) override {
    const auto width = static_cast<size_t>(setup.size.width);
    states_ = backend().allocate(setup.max_regions * sizeof(TrackState));
    const size_t table_bytes = setup.max_regions * sizeof(Region);
    records_ = backend().allocate(table_bytes * (kChunks + 1));
    auto* next = records_.as<Region>() + setup.max_regions;
    for (Region*& records : chunk_records_.records) {
      records = std::exchange(next, next + setup.max_regions);
    }
    values_ = backend().allocate(kChunks * width * sizeof(uint32_t));
    if (setup.max_runs > 0) runs_.allocate(backend(), setup);
    if (setup.has_output && setup.out.format == setup.in.format) {
      ink_ = backend().allocate(ink_bytes(setup.size));
      // draw() requires ink without any codes.
      std::fill_n(ink_.as<std::byte>(), ink_bytes(setup.size), std::byte{0});
    }
    tracker_.allocate(backend(), setup);
  }

  void slide(const FrameTask& task, const CcLabelParams& params, Queue& queue) override {
    const Tracker::Ticket ticket = tracker_.take_ticket();
    const FrameGuard guard(queue_of(queue), [this, ticket] { tracker_.finish(ticket); });
    queue_of(queue).submit([this, ticket] {
      tracker_.wait_for_turn(ticket);
      tracker_.begin(ticket);
    });
    const WindowLabels window = label_window(task, params, queue);
    queue_of(queue).submit([this, task, params, window] { finish_frame(task, params, window); });
  }

  void finish_frame(const FrameTask& task, CcLabelParams params, const WindowLabels& window) {
    const LabelMap labels = window.newest();
    const uint32_t total = count_labels(labels, workers_);
    Region* records = task.table.regions ? task.table.regions : records_.as<Region>();
    const uint32_t capacity = task.table.regions ? task.table.capacity : setup().max_regions;
    const uint32_t count = std::min(total, capacity);
    measure_labels(labels, task.in, count, chunk_records_, records, workers_);
    const TrackMemory& memory = tracker_.memory();
    count_shared_pixels(window, count, memory.counts->visible, memory.pairs, workers_);
    const TrackRules rules = track_rules(params, setup().in);
    RegionTable table = task.table;
    table.regions = records;
    tracker_.assign_tracks(rules, table, states_.as<TrackState>(), count, task.slot);
    if (task.table.total) *task.table.total = total;
    if (task.table.runs) runs_.fill(labels, task.table, workers_);
    if (!task.labels.empty()) {
      for (int y = 0; y < labels.height; ++y) {
        std::copy_n(labels.row(y), labels.width, task.labels.row(y));
      }
    }
    if (task.out.empty() || params.output == CcOutput::none) return;
    if (params.output == CcOutput::overlay) {
      return draw(task.in, task.out, labels, {records, count}, params,
                  ink_in(ink_.data(), setup().size), workers_);
    }
    params.track = true;  // makes output_values() return tracks
    write_output(labels, task, params, {records, states_.as<TrackState>(), count},
                 values_.as<uint32_t>(), workers_);
  }

  void forget(IdNumbering ids) override { tracker_.forget(ids); }
  TrackEvents window_events(int slot) const override { return tracker_.report(slot); }

  TrackAccess& labeller_;  // labels single frames and volumes, and tracks them
  Workers workers_;
  Tracker tracker_;  // tracks the windows
  // Region[1 + kChunks][max_regions]: a table for frame tasks without a table, then the tables of
  // the chunks.
  Block records_;
  Block states_;                // TrackState[max_regions]
  ChunkRecords chunk_records_;  // its tables are in the memory of records_
  Block values_;                // uint32_t[kChunks][width], workspace of write_output()
  Block ink_;
  RunList runs_;
};

}  // namespace

template <>
std::unique_ptr<Algorithm<CcLabelParams>> make_algorithm<CcLabelParams, BackendKind::cpu>(
    std::shared_ptr<Backend> backend) {
  return std::make_unique<SlidingWindowCpu>(backend);
}

}  // namespace regions

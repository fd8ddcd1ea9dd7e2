// Connected-component labelling on the CPU: calls the steps of each frame in order, and allocates
// the memory of a frame.
#include "core/cclabel/cclabel.hpp"

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "core/workspace.hpp"
#include "cpu/backend.hpp"
#include "cpu/cclabel/cclabel.hpp"
#include "cpu/cclabel/region_tracker.hpp"
#include "cpu/drawing/drawing.hpp"
#include "cpu/pixel_rows.hpp"

namespace regions {
namespace {

using Params = CcLabelParams;

// Chunks of rows are labelled in parallel and then merged at the borders between them (seams). With
// smaller chunks, merging the seams costs more time than the additional threads save.
constexpr int kMinRowsPerChunk = 32;
constexpr int kChunksPerThread = 4;  // several chunks per thread, because the work per row differs

class CcLabelCpu final : public CcLabel, public TrackAccess {
 public:
  explicit CcLabelCpu(std::shared_ptr<Backend> backend)
      : backend_(std::move(backend)), workers_(workers_of(*backend_)) {}

  void prepare(const Params& params) override {
    has_codes_ = params.criterion != Criterion::binary;
  }
  void configure(const Setup& setup) override {
    expects_labellable(setup);
    expects_trackable(setup);
    setup_ = setup;
    buffers_.clear();
    buffers_.resize(static_cast<size_t>(setup.slots));
    for (LabelBuffers& buffers : buffers_) {
      buffers.allocate(*backend_, setup, max_chunks(), has_codes_);
    }
    if (setup.tracks) tracker_.allocate(*backend_, setup);
  }

  void enqueue(const FrameTask& task, const Params& params, Queue& queue) override {
    check(task, params);
    if (params.track) {
      const Tracker::Ticket ticket = tracker_.take_ticket();
      const FrameGuard guard(queue_of(queue), [this, ticket] { tracker_.finish(ticket); });
      queue_of(queue).submit(
          [this, task, params, ticket] { label_and_track(task, params, ticket); });
    } else {
      tracker_.forget(IdNumbering::continued);
      queue_of(queue).submit([this, task, params] { label(task, params); });
    }
  }

  void reset() override { tracker_.forget(IdNumbering::restarted); }
  void begin_scene() override { tracker_.forget(IdNumbering::continued); }
  TrackEvents track_events(int buffers) const override {
    return setup_.tracks ? tracker_.report(buffers) : TrackEvents{};
  }
  Tracker& tracker() override { return tracker_; }

 private:
  struct Counts {
    uint32_t total;     // number of regions that passed the filters
    uint32_t recorded;  // number of regions that get a record
  };
  void check(const FrameTask& task, const Params& params) const;

  void label(const FrameTask& task, const Params& params) {
    LabelBuffers& buffers = buffers_[static_cast<size_t>(task.slot)];
    const Counts counts = build_regions(task, params, buffers);
    write_outputs(task, params, buffers, counts.recorded);
    finish_outputs(task, params, buffers, counts);
  }

  void label_and_track(const FrameTask& task, const Params& params, const Tracker::Ticket& ticket) {
    LabelBuffers& buffers = buffers_[static_cast<size_t>(task.slot)];
    const Counts counts = build_regions(task, params, buffers);
    FrameTask early_outputs = task;
    early_outputs.out = {};  // the output picture is written later, because it may show tracks
    write_outputs(early_outputs, params, buffers, counts.recorded);
    tracker_.wait_for_turn(ticket);
    tracker_.begin(ticket);
    count_shared_pixels(buffers, counts.recorded);
    const TrackRules rules = track_rules(params, setup_.in);
    RegionTable table = task.table;
    table.regions = buffers.table_of(task);
    tracker_.assign_tracks(rules, table, buffers.states, counts.recorded, task.slot);
    buffers.tracks = {buffers.table_of(task), buffers.states, counts.recorded};
    FrameTask late_outputs = task;
    late_outputs.labels = {};
    late_outputs.table.runs = nullptr;
    write_outputs(late_outputs, params, buffers, 0);
    finish_outputs(task, params, buffers, counts);
  }

  Counts build_regions(const FrameTask& task, const Params& params, LabelBuffers& buffers) const {
    buffers.tracks = {};
    build_forest(task, params, setup_, max_chunks(), buffers, workers_);
    return number_regions(task, params, buffers);
  }

  // Writes the outputs that require complete labels: the overlay, the run lengths and the total
  // number of regions.
  void finish_outputs(const FrameTask& task, const Params& params, LabelBuffers& buffers,
                      const Counts& counts) const {
    if (params.output == CcOutput::overlay && !task.out.empty()) {
      draw(task.in, task.out, buffers.labels_of(task), {buffers.table_of(task), counts.recorded},
           params, buffers.ink, workers_);
    }
    if (task.table.runs) {
      const VolumeLayout volume_layout = volume_layout_of(setup_, task);
      buffers.runs.fill(rows_of(buffers.labels_of(task), 0, volume_layout.rows()), task.table,
                        workers_);
    }
    if (task.table.total) *task.table.total = counts.total;
  }

  Counts number_regions(const FrameTask& task, const Params& params, LabelBuffers& buffers) const;
  void write_outputs(const FrameTask& task, const Params& params, LabelBuffers& buffers,
                     uint32_t recorded) const;
  void write_chunk(const FrameTask& task, const Params& params, LabelBuffers& buffers,
                   int chunk_index, Region* records, uint32_t recorded) const;
  void count_shared_pixels(LabelBuffers& buffers, uint32_t recorded);

  int max_chunks() const {
    const int preferred = workers_.threads() == 1 ? 1 : kChunksPerThread * workers_.threads();
    const int slices = setup_.depth * setup_.layers;
    const int possible = slices > 1 ? slices : setup_.size.height / kMinRowsPerChunk;
    return std::clamp(possible, 1, std::min(preferred, RunForest::kMaxChunks));
  }

  std::shared_ptr<Backend> backend_;
  Workers workers_;
  Setup setup_;
  bool has_codes_ = false;             // set by prepare()
  std::vector<LabelBuffers> buffers_;  // [slots], memory of each frame in flight
  Tracker tracker_;
};

void CcLabelCpu::check(const FrameTask& task, const Params& params) const {
  expects(task.slot >= 0 && task.slot < setup_.slots,
          "there is no slot " + std::to_string(task.slot));
  expects_labellable(setup_, task, params);
  expects_source(setup_, task, params);
  expects(task.table.capacity <= setup_.max_regions,
          "the table has a larger capacity than configured");
  expects_trackable(setup_, task, params);
  expects_method(setup_, params, BackendKind::cpu);
}

CcLabelCpu::Counts CcLabelCpu::number_regions(const FrameTask& task, const Params& params,
                                              LabelBuffers& buffers) const {
  RunForest& forest = buffers.forest;
  const bool only_seeded = params.seeds.count > 0;
  const AreaBounds bounds = area_bounds_of(params);
  const bool has_filter = bounds.exclude_any() || only_seeded;
  if (has_filter) forest.compute_areas(buffers.pixels, 0, false, workers_);
  forest.mark_seeded(buffers.pixels, seeds_of(params, setup_.size));
  Counts counts{.total = has_filter ? forest.number_regions(workers_, bounds, only_seeded)
                                    : forest.number_regions(workers_),
                .recorded = 0};
  counts.recorded = std::min(counts.total, buffers.capacity_of(task));
  const uint32_t limit = max_output_label(task, params);
  if (counts.total > limit && params.overflow == Overflow::drop_smallest) {
    if (!has_filter) forest.compute_areas(buffers.pixels, 0, false, workers_);
    forest.keep_largest(limit);
    counts.recorded = std::min(counts.recorded, limit);
  }
  forest.detach_chunks(workers_);
  return counts;
}

void CcLabelCpu::write_outputs(const FrameTask& task, const Params& params, LabelBuffers& buffers,
                               uint32_t recorded) const {
  Region* table = buffers.table_of(task);
  workers_.parallel_for(buffers.forest.chunks(), [&](int s) {
    Region* records = s == 0 ? table : buffers.records[s];
    std::fill_n(records, recorded, Region{});
    write_chunk(task, params, buffers, s, records, recorded);
  });
  for (int s = 1; s < buffers.forest.chunks(); ++s) {
    for (uint32_t k = 0; k < recorded; ++k) add_record(buffers.records[s][k], table[k]);
  }
}

void CcLabelCpu::count_shared_pixels(LabelBuffers& buffers, uint32_t recorded) {
  const TrackMemory& memory = tracker_.memory();
  const BitImage labelled = tracker_.labelled_pixels();
  const RowSpans& spans = buffers.forest.spans();
  const bool same_spans = tracker_.set_row_spans(spans);
  workers_.parallel_for(buffers.forest.chunks(), [&](int s) {
    const RowChunk& chunk = buffers.forest.chunk(s);
    const uint32_t* label = nullptr;
    int band = -1;
    for (int row = chunk.begin; row < chunk.end; ++row) {
      if (buffers.forest.band_of(row) != band) {
        band = buffers.forest.band_of(row);
        label = buffers.forest.resolve_labels(chunk, band);
      }
      const int rows = same_spans ? spans.height(row) : 1;
      for (int y = spans.begin(row); y < spans.end(row); y += rows) {
        count_shared_in_row(buffers.pixels.row(row), buffers.forest.run_starts(band), label,
                            setup_.size.width, recorded, rows, memory.pairs, memory.labels.row(y),
                            labelled.row(y));
      }
    }
  });
}

void CcLabelCpu::write_chunk(const FrameTask& task, const Params& params, LabelBuffers& buffers,
                             int chunk_index, Region* records, uint32_t recorded) const {
  const RowChunk& chunk = buffers.forest.chunk(chunk_index);
  const RowSpans& spans = buffers.forest.spans();
  const VolumeLayout volume_layout = volume_layout_of(setup_, task);
  const int width = setup_.size.width;
  const bool draws_overlay = params.output == CcOutput::overlay,
             writes_output = !task.out.empty() && !draws_overlay;
  const LabelMap labels = draws_overlay || task.table.runs ? buffers.labels_of(task) : task.labels;
  ChannelRows values{.channels = setup_.in.channels, .bytes = setup_.in.sample_bytes};
  const uint32_t* label = nullptr;
  const uint32_t* value = nullptr;
  int band = -1;
  for (int row = chunk.begin; row < chunk.end; ++row) {
    if (buffers.forest.band_of(row) != band) {
      band = buffers.forest.band_of(row);
      label = buffers.forest.resolve_labels(chunk, band);
      const uint32_t runs = buffers.forest.run_count(chunk, band);
      value = writes_output ? output_values(label, runs, buffers.value[chunk_index], task, params,
                                            buffers.tracks)
                            : label;
    }
    const Word* pixels = buffers.pixels.row(row);
    const Word* starts = buffers.forest.run_starts(band);
    const bool measures_regions = recorded > 0 && has_bits(pixels, buffers.pixels.words);
    for (int y = spans.begin(row); y < spans.end(row); ++y) {
      if (measures_regions) {
        for (int c = 0; c < values.channels; ++c) {
          values.row[c] = channel_row(task.in, c, y % volume_layout.volume_rows(),
                                      buffers.links[chunk_index].values[0][c]);
        }
        measure_row(pixels, starts, label, width, volume_layout.position(y), values, records,
                    recorded);
      }
      if (!labels.empty()) {
        write_row(pixels, starts, label, width, 4, reinterpret_cast<std::byte*>(labels.row(y)));
      }
      if (writes_output && params.output != CcOutput::none) {
        write_row(pixels, starts, value, width, task.out.layout.component[0].step,
                  task.out.at(0, 0, y) - task.out.layout.component[0].offset);
      }
    }
  }
}

}  // namespace

void LabelBuffers::allocate(Backend& backend, const Setup& setup, int max_chunks, bool has_codes) {
  const VolumeLayout max_volume{setup.size, setup.depth, setup.layers};
  const auto width = static_cast<size_t>(setup.size.width);
  const int words = words_for(setup.size.width);
  // In narrow pictures, gaps take much memory.
  const bool is_narrow = words < 3, may_link = has_codes || setup.has_background;
  const int gap = is_narrow && !may_link ? 0 : gap_for_links(words);
  const auto words_per_row = static_cast<size_t>(words) + static_cast<size_t>(gap);
  may_draw_ =
      setup.has_output && setup.out.format == setup.in.format && max_volume.total_slices() == 1;
  may_track_ = setup.tracks;
  max_regions_ = setup.max_regions;
  Workspace memory;
  const auto reserve_image = [&](BitImage& image) {
    image.words = words;
    image.gap = gap;
    memory.reserve(image.data, words_per_row * static_cast<size_t>(max_volume.rows()), 1);
  };
  reserve_image(pixels);
  reserve_image(background);
  if (has_codes) {
    for (BitImage& plane : codes) reserve_image(plane);
  }
  for (int s = 0; s < max_chunks; ++s) {
    for (auto& channels : links[s].values) {
      for (std::byte*& row : channels) memory.reserve(row, width * sizeof(uint32_t));
    }
    for (auto* rows : {&links[s].links, &links[s].adjacency, &links[s].linked}) {
      for (Word*& row : *rows) memory.reserve(row, static_cast<size_t>(whole_blocks(words)), 1);
    }
    memory.reserve(links[s].flags, width);
    memory.reserve(value[s], width, kValuePadding);
    memory.reserve(records[s], setup.max_regions);
  }
  states = nullptr;
  if (may_track_) memory.reserve(states, setup.max_regions);
  if (may_draw_ || setup.max_runs > 0) {
    labels = {nullptr, setup.size.width, max_volume.rows(),
              static_cast<ptrdiff_t>(width * sizeof(uint32_t))};
    memory.reserve(labels.data, max_volume.size().area());
  }
  std::byte* ink_memory = nullptr;
  const size_t ink_size = ink_bytes(setup.size);
  if (may_draw_) memory.reserve(ink_memory, ink_size);
  memory.allocate(backend);
  memory_ = memory.release();
  if (may_draw_) {
    std::memset(ink_memory, 0, ink_size);  // draw() requires ink without any codes
    ink = ink_in(ink_memory, setup.size);
  }
  forest.allocate(backend, max_volume, gap);
  if (setup.max_runs > 0) runs.allocate(backend, setup);
}

std::unique_ptr<CcLabel> make_labeller(const std::shared_ptr<Backend>& backend) {
  return std::make_unique<CcLabelCpu>(backend);
}

}  // namespace regions

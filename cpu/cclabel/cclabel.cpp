// cclabel on the CPU: the list of phases.
#include "core/cclabel/cclabel.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "cpu/backend.hpp"
#include "cpu/cclabel/bands.hpp"
#include "cpu/cclabel/build_forest.hpp"
#include "cpu/cclabel/labeller.hpp"
#include "cpu/cclabel/measure.hpp"
#include "cpu/cclabel/share.hpp"
#include "cpu/cclabel/slot.hpp"
#include "cpu/cclabel/values.hpp"
#include "cpu/cclabel/write.hpp"
#include "cpu/drawing/drawing.hpp"
#include "cpu/pixel_rows.hpp"
#include "cpu/tracking/tracking.hpp"

namespace regions {
namespace {

using Params = CcLabelParams;

constexpr int kMinRows = 32;         // of a strip: fewer are not worth its seam
constexpr int kStripsPerThread = 4;  // as content is uneven

class CcLabelCpu final : public CcLabel {
 public:
  explicit CcLabelCpu(std::shared_ptr<Backend> backend)
      : backend_(std::move(backend)), workers_(workers_of(*backend_)) {}

  void configure(const Setup& setup) override {
    expects_stackable(setup);
    expects_trackable(setup);
    setup_ = setup;
    slots_.clear();
    slots_.resize(static_cast<size_t>(setup.slots));
    for (Slot& slot : slots_) slot.allocate(*backend_, setup, strips());
    if (setup.tracks) tracker_.allocate(*backend_, setup);
  }

  void enqueue(const Job& job, const Params& params, Queue& queue) override {
    check(job, params);
    if (params.track) {
      const Tracker::Ticket ticket = tracker_.next();
      const Afterwards last(queue_of(queue), [this, ticket] { tracker_.finish(ticket); });
      queue_of(queue).submit([this, job, params, ticket] { label_and_track(job, params, ticket); });
    } else {
      tracker_.forget(Ids::go_on);
      queue_of(queue).submit([this, job, params] { label(job, params); });
    }
  }

  void reset() override { tracker_.forget(Ids::begin_again); }
  void begin_scene() override { tracker_.forget(Ids::go_on); }
  TrackReport track_report(int slot) const override {
    return setup_.tracks ? tracker_.report(slot) : TrackReport{};
  }

 private:
  struct Counts {
    uint32_t total;     // regions after the area filters
    uint32_t recorded;  // of those kept
  };
  void check(const Job& job, const Params& params) const;

  void label(const Job& job, const Params& params) {
    Slot& slot = slots_[static_cast<size_t>(job.slot)];
    const Counts counts = build(job, params, slot);
    write(job, params, slot, counts.recorded);
    finish(job, params, slot, counts);
  }

  void label_and_track(const Job& job, const Params& params, const Tracker::Ticket& ticket) {
    Slot& slot = slots_[static_cast<size_t>(job.slot)];
    const Counts counts = build(job, params, slot);
    Job known = job;
    known.out = {};  // written later, as it may show tracks
    write(known, params, slot, counts.recorded);
    tracker_.await(ticket);
    tracker_.begin(ticket);
    share(slot, counts.recorded);
    const TrackRules rules = track_rules(params, setup_.in);
    RegionTable table = job.table;
    table.regions = slot.table_of(job);
    tracker_.step(rules, table, counts.recorded, job.slot);
    slot.tracks = {slot.table_of(job), counts.recorded};
    Job rest = job;
    rest.labels = {};
    rest.table.runs = nullptr;
    write(rest, params, slot, 0);
    finish(job, params, slot, counts);
  }

  Counts build(const Job& job, const Params& params, Slot& slot) const {
    slot.tracks = {};
    build_forest(job, params, setup_, strips(), slot, workers_);
    return number(job, params, slot);
  }

  void finish(const Job& job, const Params& params, Slot& slot, const Counts& counts) const {
    if (params.output == CcOutput::overlay && !job.out.empty()) {
      draw(job.in, job.out, slot.labels_of(job), {slot.table_of(job), counts.recorded}, params,
           slot.ink, workers_);
    }
    if (job.table.runs) {
      const Stack stack = stack_of(setup_, job);
      slot.runs.fill(rows_of(slot.labels_of(job), 0, stack.rows()), job.table, workers_);
    }
    if (job.table.total) *job.table.total = counts.total;
  }

  Counts number(const Job& job, const Params& params, Slot& slot) const;
  void write(const Job& job, const Params& params, Slot& slot, uint32_t recorded) const;
  void write_strip(const Job& job, const Params& params, Slot& slot, int s, Region* records,
                   uint32_t recorded) const;
  void share(Slot& slot, uint32_t recorded);

  int strips() const {
    const int wanted = workers_.threads() == 1 ? 1 : kStripsPerThread * workers_.threads();
    const int slices = setup_.depth * setup_.layers;
    const int pieces = slices > 1 ? slices : setup_.size.height / kMinRows;
    return std::clamp(pieces, 1, std::min(wanted, Forest::kMaxStrips));
  }

  std::shared_ptr<Backend> backend_;
  Workers workers_;
  Setup setup_;
  std::vector<Slot> slots_;
  Tracker tracker_;
};

void CcLabelCpu::check(const Job& job, const Params& params) const {
  expects(job.slot >= 0 && job.slot < setup_.slots, "there is no slot " + std::to_string(job.slot));
  expects_stackable(setup_, job, params);
  expects_source(setup_, job, params);
  expects(job.table.capacity <= setup_.max_regions,
          "the table has a larger capacity than configured");
  expects_trackable(setup_, job, params);
  expects_method(setup_, params, BackendKind::cpu);
}

CcLabelCpu::Counts CcLabelCpu::number(const Job& job, const Params& params, Slot& slot) const {
  Forest& forest = slot.forest;
  const bool chosen_only = params.seeds.count > 0;
  AreaRange kept{.min = static_cast<uint64_t>(params.min_area), .chosen_only = chosen_only};
  if (params.max_area > 0) kept.max = static_cast<uint64_t>(params.max_area);
  const bool filters = kept.min > 1 || params.max_area > 0 || chosen_only;
  if (filters) find_areas(forest, slot.pixels, 0, false, workers_);
  forest.choose(slot.pixels, seeds_of(params, setup_.size));
  Counts counts{.total = forest.number(workers_, filters ? &kept : nullptr), .recorded = 0};
  counts.recorded = std::min(counts.total, slot.capacity_of(job));
  const uint32_t limit = limit_of(job, params);
  if (counts.total > limit && params.overflow == Overflow::drop_smallest) {
    if (!filters) find_areas(forest, slot.pixels, 0, false, workers_);
    forest.drop_smallest(limit);
    counts.recorded = std::min(counts.recorded, limit);
  }
  forest.settle(workers_);
  return counts;
}

void CcLabelCpu::write(const Job& job, const Params& params, Slot& slot, uint32_t recorded) const {
  Region* table = slot.table_of(job);
  workers_.parallel_for(slot.forest.strips(), [&](int s) {
    Region* records = s == 0 ? table : slot.records[s];
    std::fill_n(records, recorded, Region{});
    write_strip(job, params, slot, s, records, recorded);
  });
  for (int s = 1; s < slot.forest.strips(); ++s) {
    for (uint32_t k = 0; k < recorded; ++k) add_record(slot.records[s][k], table[k]);
  }
}

void CcLabelCpu::share(Slot& slot, uint32_t recorded) {
  const TrackMemory& memory = tracker_.memory();
  const BitImage known = tracker_.known();
  const RowSpans& spans = slot.forest.spans();
  const bool same_spans = tracker_.takes(spans);
  workers_.parallel_for(slot.forest.strips(), [&](int s) {
    const Strip& strip = slot.forest.strip(s);
    const uint32_t* label = nullptr;
    int band = -1;
    for (int row = strip.begin; row < strip.end; ++row) {
      if (slot.forest.band_of(row) != band) {
        band = slot.forest.band_of(row);
        label = slot.forest.resolve(strip, band);
      }
      const int rows = same_spans ? spans.height(row) : 1;
      for (int y = spans.begin(row); y < spans.end(row); y += rows) {
        share_row(slot.pixels.row(row), slot.forest.starts(band), label, setup_.size.width,
                  recorded, rows, memory.pairs, memory.labels.row(y), known.row(y));
      }
    }
  });
}

void CcLabelCpu::write_strip(const Job& job, const Params& params, Slot& slot, int s,
                             Region* records, uint32_t recorded) const {
  const Strip& strip = slot.forest.strip(s);
  const RowSpans& spans = slot.forest.spans();
  const Stack stack = stack_of(setup_, job);
  const int width = setup_.size.width;
  const bool draws = params.output == CcOutput::overlay, wants_out = !job.out.empty() && !draws;
  const LabelMap labels = draws || job.table.runs ? slot.labels_of(job) : job.labels;
  ChannelRows values{.channels = setup_.in.channels, .bytes = setup_.in.sample_bytes};
  const uint32_t* label = nullptr;
  const uint32_t* value = nullptr;
  int band = -1;
  for (int row = strip.begin; row < strip.end; ++row) {
    if (slot.forest.band_of(row) != band) {
      band = slot.forest.band_of(row);
      label = slot.forest.resolve(strip, band);
      const uint32_t runs = slot.forest.runs(strip, band);
      value = wants_out ? values_of(label, runs, slot.value[s], job, params, slot.tracks) : label;
    }
    const Word* pixels = slot.pixels.row(row);
    const Word* starts = slot.forest.starts(band);
    const bool measures = recorded > 0 && has_bits(pixels, slot.pixels.words);
    for (int y = spans.begin(row); y < spans.end(row); ++y) {
      if (measures) {
        for (int c = 0; c < values.channels; ++c) {
          values.row[c] =
              channel_row(job.in, c, y % stack.volume_rows(), slot.rows[s].values[0][c]);
        }
        measure_row(pixels, starts, label, width, stack.place(y), values, records, recorded);
      }
      if (!labels.empty()) {
        write_row(pixels, starts, label, width, 4, reinterpret_cast<std::byte*>(labels.row(y)));
      }
      if (wants_out && params.output != CcOutput::none) {
        write_row(pixels, starts, value, width, job.out.layout.component[0].step,
                  job.out.at(0, 0, y) - job.out.layout.component[0].offset);
      }
    }
  }
}

}  // namespace

std::unique_ptr<CcLabel> make_labeller(const std::shared_ptr<Backend>& backend) {
  return std::make_unique<CcLabelCpu>(backend);
}

}  // namespace regions

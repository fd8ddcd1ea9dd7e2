// Windows on the CPU: frames take turns.
#include "core/cclabel/window.hpp"

#include <algorithm>

#include "cpu/backend.hpp"
#include "cpu/cclabel/labeller.hpp"
#include "cpu/cclabel/window_frame.hpp"
#include "cpu/drawing/drawing.hpp"
#include "cpu/pixel_runs.hpp"
#include "cpu/tracking/tracking.hpp"

namespace regions {
namespace {

class SlidingCpu final : public Sliding {
 public:
  explicit SlidingCpu(const std::shared_ptr<Backend>& backend)
      : Sliding(backend, make_labeller(backend)), workers_(workers_of(*backend)) {}

 private:
  void allocate(const Setup& setup) override {
    const auto width = static_cast<size_t>(setup.size.width);
    const size_t each = setup.max_regions * sizeof(Region);
    records_ = backend().allocate(each * (BandRecords::kBands + 1));
    auto* next = records_.as<Region>() + setup.max_regions;
    for (Region*& band : bands_.of) band = std::exchange(next, next + setup.max_regions);
    values_ = backend().allocate(BandRecords::kBands * width * sizeof(uint32_t));
    if (setup.max_runs > 0) runs_.allocate(backend(), setup);
    if (setup.has_output && setup.out.format == setup.in.format) {
      ink_ = backend().allocate(ink_bytes(setup.size));
      std::fill_n(ink_.as<std::byte>(), ink_bytes(setup.size), std::byte{0});  // draw() wants zeros
    }
    tracker_.allocate(backend(), setup);
  }

  void slide(const Job& job, const CcLabelParams& params, Queue& queue) override {
    const Tracker::Ticket ticket = tracker_.next();
    const Afterwards last(queue_of(queue), [this, ticket] { tracker_.finish(ticket); });
    queue_of(queue).submit([this, ticket] {
      tracker_.await(ticket);
      tracker_.begin(ticket);
    });
    const WindowLabels window = label_window(job, params, queue);
    queue_of(queue).submit([this, job, params, window] { finish_frame(job, params, window); });
  }

  void finish_frame(const Job& job, CcLabelParams params, const WindowLabels& window) {
    const LabelMap labels = window.newest();
    const uint32_t total = count_labels(labels, workers_);
    Region* records = job.table.regions ? job.table.regions : records_.as<Region>();
    const uint32_t most = job.table.regions ? job.table.capacity : setup().max_regions;
    const uint32_t count = std::min(total, most);
    measure_labels(labels, job.in, count, bands_, records, workers_);
    const TrackMemory& memory = tracker_.memory();
    share_windows(window, count, memory.counts->visible, memory.pairs, workers_);
    const TrackRules rules = track_rules(params, setup().in);
    RegionTable table = job.table;
    table.regions = records;
    tracker_.step(rules, table, count, job.slot);
    if (job.table.total) *job.table.total = total;
    if (job.table.runs) runs_.fill(labels, job.table, workers_);
    if (!job.labels.empty()) {
      for (int y = 0; y < labels.height; ++y) {
        std::copy_n(labels.row(y), labels.width, job.labels.row(y));
      }
    }
    if (job.out.empty() || params.output == CcOutput::none) return;
    if (params.output == CcOutput::overlay) {
      return draw(job.in, job.out, labels, {records, count}, params,
                  ink_in(ink_.data(), setup().size), workers_);
    }
    params.track = true;  // values_of() then writes tracks
    write_values(labels, job, params, {records, count}, values_.as<uint32_t>(), workers_);
  }

  void forget(Ids ids) override { tracker_.forget(ids); }
  TrackReport report(int slot) const override { return tracker_.report(slot); }

  Workers workers_;
  Tracker tracker_;
  Block records_;  // Region[max_regions] where the job wants no table, and those of bands
  BandRecords bands_;
  Block values_;  // a row of each band
  Block ink_;
  RunList runs_;
};

}  // namespace

template <>
std::unique_ptr<Algorithm<CcLabelParams>> make_algorithm<CcLabelParams, BackendKind::cpu>(
    std::shared_ptr<Backend> backend) {
  return std::make_unique<SlidingCpu>(backend);
}

}  // namespace regions

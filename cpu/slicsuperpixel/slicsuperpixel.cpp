// slicsuperpixel on the CPU: colours, iterations, pieces (labelled by cclabel), joining, output.
#include "core/slicsuperpixel/slicsuperpixel.hpp"

#include <algorithm>
#include <utility>

#include "core/cclabel/cclabel.hpp"
#include "cpu/backend.hpp"
#include "cpu/drawing/drawing.hpp"
#include "cpu/slicsuperpixel/borders.hpp"
#include "cpu/slicsuperpixel/clusters.hpp"
#include "cpu/slicsuperpixel/colors.hpp"
#include "cpu/slicsuperpixel/output.hpp"
#include "cpu/slicsuperpixel/tracks.hpp"
#include "cpu/turns.hpp"

namespace regions {
namespace {

using Params = SlicParams;

constexpr int kMinRows = 16;         // of a strip: fewer are not worth a thread
constexpr int kStripsPerThread = 4;  // as content is uneven

// Touching pixels with the same code are in one piece.
CcLabelParams piece_params() {
  CcLabelParams params;
  params.criterion = Criterion::equal;
  params.connectivity = Connectivity::four;
  params.output = CcOutput::none;
  return params;
}

Frame frame_of(Image<uint8_t> image) {
  Frame frame;
  frame.layout = layout_of(PixelFormat::gray8);
  frame.plane[0] = reinterpret_cast<std::byte*>(image.data);
  frame.pitch[0] = image.pitch;
  frame.width = image.width;
  frame.height = image.height;
  return frame;
}

class SlicCpu final : public Algorithm<Params> {
 public:
  explicit SlicCpu(std::shared_ptr<Backend> backend)
      : backend_(std::move(backend)),
        workers_(workers_of(*backend_)),
        labeller_(make_algorithm<CcLabelParams, BackendKind::cpu>(backend_)) {}

  void configure(const Setup& setup) override {
    expects_superpixels(setup);
    setup_ = setup;
    slots_.clear();
    slots_.resize(static_cast<size_t>(setup.slots));
    for (SuperpixelSlot& slot : slots_) slot.allocate(*backend_, setup);
    last_.sums.resize(most_cells(setup.size));
    last_.reach.resize(most_cells(setup.size));
    reset();
    labeller_->configure({.in = layout_of(PixelFormat::gray8),
                          .size = setup.size,
                          .slots = setup.slots,
                          .max_regions = 1});
  }

  void enqueue(const Job& job, const Params& params, Queue& queue) override {
    expects(job.in.size() == setup_.size && job.in.layout.format == setup_.in.format,
            "the frame differs from the configured size or format");
    expects(job.table.capacity <= setup_.max_regions,
            "the table has a larger capacity than configured");
    expects(params.method != SlicMethod::report,
            "method=report runs on CUDA only; the CPU supports method=fused");
    expects(!job.table.borders || setup_.has_borders,
            "borders are requested but were not configured");
    SuperpixelSlot& slot = slots_.at(static_cast<size_t>(job.slot));
    WarmStart warm;
    if (params.warm_start) {
      warm = {true, std::exchange(forget_, false), turns_.take()};
    }
    const Afterwards passes(queue_of(queue), [this, warm] {
      if (!warm.wanted) return;
      turns_.finish(warm.turn, [&] { last_.grid = {}; });  // nothing to start from
    });
    queue_of(queue).submit([this, job, params, warm] { cluster(job, params, warm); });
    Job pieces;
    pieces.slot = job.slot;
    pieces.in = frame_of(slot.codes);
    pieces.labels = slot.pieces;
    labeller_->enqueue(pieces, piece_params(), queue);
    queue_of(queue).submit([this, job, params] { finish(job, params); });
  }

  void reset() override { forget_ = true; }

 private:
  // What a frame takes from earlier frames.
  struct WarmStart {
    bool wanted = false;
    bool forgets = false;
    uint64_t turn = 0;
  };

  SuperpixelSlot& slot_of(const Job& job) { return slots_[static_cast<size_t>(job.slot)]; }

  void cluster(const Job& job, const Params& params, const WarmStart& warm);
  void finish(const Job& job, const Params& params);
  void record(const Job& job, SuperpixelSlot& slot, std::span<Region> records) const;
  void measure(const Job& job, const Params& params, SuperpixelSlot& slot,
               std::span<Moments> moments) const;
  void write(const Job& job, const Params& params, const SuperpixelSlot& slot, LabelMap labels,
             std::span<Region> records) const;

  // Strips of rows that threads share.
  int strips() const {
    const int wanted = workers_.threads() == 1 ? 1 : kStripsPerThread * workers_.threads();
    return std::clamp(setup_.size.height / kMinRows, 1, std::min(wanted, PieceStrip::kMax));
  }
  std::span<const PieceStrip> strips_of(const SuperpixelSlot& slot) const {
    return {slot.strip, static_cast<size_t>(strips())};
  }
  int first_row(int strip) const {
    return static_cast<int>(static_cast<int64_t>(setup_.size.height) * strip / strips());
  }
  // Calls body(y, strip) for all rows, the strips side by side.
  template <std::invocable<int, int> Body>
  void for_rows(Body body) const {
    workers_.parallel_for(strips(), [&](int s) {
      for (int y = first_row(s); y < first_row(s + 1); ++y) body(y, s);
    });
  }

  std::shared_ptr<Backend> backend_;
  Workers workers_;
  std::unique_ptr<Algorithm<CcLabelParams>> labeller_;
  Setup setup_;
  std::vector<SuperpixelSlot> slots_;
  // How the last frame ended, for the one that has its turn.
  struct {
    std::vector<ClusterSums> sums;  // [cells]
    std::vector<uint32_t> reach;    // [cells]
    SlicGrid grid;
    ColorSpace space = ColorSpace::lab;
    SlicVariant variant = SlicVariant::slic;
  } last_;
  bool forget_ = true;  // by the thread that enqueues
  Turns turns_;
};

void SlicCpu::cluster(const Job& job, const Params& params, const WarmStart& warm) {
  SuperpixelSlot& slot = slot_of(job);
  const SlicGrid grid = grid_of(setup_.size, params);
  const SlicScale scale = scale_of(grid, params);
  const ColorReader reader = reader_of(job.in.layout, job.in.color, params.color_space);
  workers_.parallel_for(strips(), [&](int s) {
    read_colors(job.in, reader, slot.colors, first_row(s), first_row(s + 1), slot.scratch[s]);
  });
  const ClusterWork clusters{slot, grid, scale, workers_};
  int found = 0;
  if (warm.wanted) {
    turns_.await(warm.turn);
    const bool same = !warm.forgets && last_.grid == grid && last_.space == params.color_space &&
                      last_.variant == params.variant;
    last_.grid = grid;
    last_.space = params.color_space;
    last_.variant = params.variant;
    found = clusters.find(params, {last_.sums.data(), last_.reach.data()}, same);
    turns_.pass();
  } else {
    found = clusters.find(params, {}, false);
  }
  clusters.write_codes(found);
}

void SlicCpu::finish(const Job& job, const Params& params) {
  SuperpixelSlot& slot = slot_of(job);
  const SlicGrid grid = grid_of(setup_.size, params);
  workers_.parallel_for(strips(), [&](int s) {
    const int begin = first_row(s);
    slot.strip[s] = find_runs(slot.pieces, slot.colors, begin, first_row(s + 1),
                              slot.runs_from(begin), slot.contacts_from(begin), slot.scratch[s]);
  });
  const auto all = strips_of(slot);
  const StayRule rule = stay_rule(grid, params);
  const uint32_t total = join_pieces(slot.graph, all, rule, scale_of(grid, params), workers_);
  const LabelMap labels = job.labels.empty() ? slot.labels : job.labels;
  for_rows([&](int y, int) {
    const uint32_t* from = slot.pieces.row(y);
    uint32_t* to = labels.row(y);
    for (int x = 0; x < labels.width; ++x) to[x] = slot.graph.dense[from[x]];
  });

  const bool draws = !job.out.empty() &&
                     (params.output == SlicOutput::overlay || params.output == SlicOutput::mean);
  Region* table = job.table.regions ? job.table.regions : slot.records;
  const uint32_t capacity = job.table.regions ? job.table.capacity : setup_.max_regions;
  std::span<Region> records(table, std::min(total, capacity));
  if (job.table.regions || draws) {
    record(job, slot, records);
    if (params.warm_start) {
      track_superpixels(slot, all, grid, rule.least, labels, records);
    }
  }
  const auto recorded = static_cast<uint32_t>(records.size());
  if (job.table.moments) measure(job, params, slot, {job.table.moments, recorded});
  if (job.table.borders) {
    *job.table.border_count =
        find_borders(all, slot.graph.dense, recorded, slot.borders, job.table.borders);
  }
  if (job.table.total) *job.table.total = total;
  if (!job.out.empty()) write(job, params, slot, labels, records);
}

void SlicCpu::record(const Job& job, SuperpixelSlot& slot, std::span<Region> records) const {
  workers_.parallel_for(strips(), [&](int s) {
    const Run* run = slot.strip[s].runs.data();
    RunValues* values = slot.values_from(first_row(s));
    const Run* end = run + slot.strip[s].runs.size();
    while (run != end) {
      size_t count = 0;
      while (run + count != end && run[count].y == run->y) ++count;
      sum_values(job.in, run->y, run, count, slot.scratch[s], values);
      run += count;
      values += count;
    }
  });
  std::fill(records.begin(), records.end(), Region{});
  for (size_t i = 0; i < records.size(); ++i) {
    records[i].id = records[i].track = static_cast<uint32_t>(i + 1);
  }
  for (int s = 0; s < strips(); ++s) {
    const RunValues* values = slot.values_from(first_row(s));
    for (const Run& run : slot.strip[s].runs) {
      add_run(run, *values++, slot.graph.dense[run.label], records);
    }
  }
}

void SlicCpu::measure(const Job& job, const Params& params, SuperpixelSlot& slot,
                      std::span<Moments> moments) const {
  if (params.color_space != ColorSpace::lab) {  // no step needs the colours compared any more
    const ColorReader lab = reader_of(job.in.layout, job.in.color, ColorSpace::lab);
    workers_.parallel_for(strips(), [&](int s) {
      read_colors(job.in, lab, slot.colors, first_row(s), first_row(s + 1), slot.scratch[s]);
      sum_colors(slot.colors, slot.strip[s].runs);
    });
  }
  std::fill(moments.begin(), moments.end(), Moments{});
  for_each_run(strips_of(slot),
               [&](const Run& run) { add_run(run, slot.graph.dense[run.label], moments); });
}

void SlicCpu::write(const Job& job, const Params& params, const SuperpixelSlot& slot,
                    LabelMap labels, std::span<Region> records) const {
  switch (params.output) {
    case SlicOutput::labels:
      return for_rows([&](int y, int) { write_label_row(labels, y, job.out); });
    case SlicOutput::boundaries:
      return for_rows([&](int y, int) { write_boundary_row(labels, y, job.out); });
    case SlicOutput::mean:
      return for_rows([&](int y, int) { write_mean_row(labels, y, records, job.out); });
    case SlicOutput::overlay:
      return draw(job.in, job.out, labels, records, params, slot.ink, workers_);
    case SlicOutput::none:
      return;
  }
}

}  // namespace

template <>
std::unique_ptr<Algorithm<SlicParams>> make_algorithm<SlicParams, BackendKind::cpu>(
    std::shared_ptr<Backend> backend) {
  return std::make_unique<SlicCpu>(std::move(backend));
}

}  // namespace regions

// The slicsuperpixel algorithm on the CPU: converts colours, computes clusters, labels fragments
// (with cclabel), enforces connectivity, and writes the output.
#include "cpu/slicsuperpixel/slicsuperpixel.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/cclabel/cclabel.hpp"
#include "core/slicsuperpixel/clusters.hpp"
#include "cpu/backend.hpp"
#include "cpu/drawing/drawing.hpp"
#include "cpu/frame_sequencer.hpp"

namespace regions {
namespace {

using Params = SlicParams;

constexpr int kMinRowsPerBand = 16;  // with smaller bands, additional threads save no time
constexpr int kBandsPerThread = 4;   // several bands per thread, because the work per row differs

// Returns the parameters with which cclabel finds fragments, the 4-connected components of pixels
// with equal cluster codes.
CcLabelParams fragment_label_params() {
  CcLabelParams params;
  params.criterion = Criterion::equal;
  params.connectivity = Connectivity::four;
  params.output = CcOutput::none;
  return params;
}

// Returns a grey frame that refers to the memory of `image`.
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
    buffers_.clear();
    buffers_.resize(static_cast<size_t>(setup.slots));
    for (SuperpixelBuffers& buffers : buffers_) buffers.allocate(*backend_, setup);
    previous_.sums.resize(max_cells(setup.size));
    previous_.max_distance.resize(max_cells(setup.size));
    reset();
    labeller_->configure({.in = layout_of(PixelFormat::gray8),
                          .size = setup.size,
                          .slots = setup.slots,
                          .max_regions = 1});
  }

  void enqueue(const FrameTask& task, const Params& params, Queue& queue) override {
    expects(task.in.size() == setup_.size && task.in.layout.format == setup_.in.format,
            "the frame differs from the configured size or format");
    expects(task.table.capacity <= setup_.max_regions,
            "the table has a larger capacity than configured");
    expects(params.method != SlicMethod::ece1782,
            "method=report runs on CUDA only; the CPU supports method=fused");
    expects(!task.table.borders || setup_.has_borders,
            "borders are requested but were not configured");
    SuperpixelBuffers& buffers = buffers_.at(static_cast<size_t>(task.slot));
    WarmStart warm;
    if (params.warm_start) {
      warm = {true, std::exchange(is_reset_, false), sequencer_.take_ticket()};
    }
    const FrameGuard frame_guard(queue_of(queue), [this, warm] {
      if (!warm.is_enabled) return;
      // If this frame fails, the next frame has no clusters to start from.
      sequencer_.finish(warm.ticket, [&] { previous_.grid = {}; });
    });
    queue_of(queue).submit([this, task, params, warm] { find_clusters(task, params, warm); });
    FrameTask label_task;
    label_task.slot = task.slot;
    label_task.in = frame_of(buffers.codes);
    label_task.labels = buffers.fragments;
    labeller_->enqueue(label_task, fragment_label_params(), queue);
    queue_of(queue).submit([this, task, params] { build_superpixels(task, params); });
  }

  void reset() override { is_reset_ = true; }

 private:
  // How a frame depends on earlier frames.
  struct WarmStart {
    bool is_enabled = false;
    bool discards_previous = false;
    uint64_t ticket = 0;
  };

  SuperpixelBuffers& buffers_of(const FrameTask& task) {
    return buffers_[static_cast<size_t>(task.slot)];
  }

  void find_clusters(const FrameTask& task, const Params& params, const WarmStart& warm);
  void build_superpixels(const FrameTask& task, const Params& params);
  void measure_regions(const FrameTask& task, SuperpixelBuffers& buffers,
                       std::span<Region> records) const;
  void measure_moments(const FrameTask& task, const Params& params, SuperpixelBuffers& buffers,
                       std::span<Moments> moments) const;
  void write_output(const FrameTask& task, const Params& params, const SuperpixelBuffers& buffers,
                    LabelMap labels, std::span<Region> records) const;

  // Returns the number of bands. The rows of the picture are divided into bands, which are
  // processed in parallel.
  int band_count() const {
    const int max_bands = workers_.threads() == 1 ? 1 : kBandsPerThread * workers_.threads();
    return std::clamp(setup_.size.height / kMinRowsPerBand, 1,
                      std::min(max_bands, FragmentBand::kMaxBands));
  }
  std::span<const FragmentBand> bands_of(const SuperpixelBuffers& buffers) const {
    return {buffers.bands, static_cast<size_t>(band_count())};
  }
  int first_row(int band) const {
    return static_cast<int>(static_cast<int64_t>(setup_.size.height) * band / band_count());
  }
  // Calls body(y, band) for all image rows. The bands are processed in parallel.
  template <std::invocable<int, int> Body>
  void for_each_row(Body body) const {
    workers_.parallel_for(band_count(), [&](int band) {
      for (int y = first_row(band); y < first_row(band + 1); ++y) body(y, band);
    });
  }

  std::shared_ptr<Backend> backend_;
  Workers workers_;
  std::unique_ptr<Algorithm<CcLabelParams>> labeller_;
  Setup setup_;
  std::vector<SuperpixelBuffers> buffers_;
  // The clusters of the previous frame, for a warm start. A frame uses them only in its turn, which
  // `sequencer_` determines.
  struct {
    std::vector<ClusterSums> sums;       // [cells], sums of each cluster
    std::vector<uint32_t> max_distance;  // [cells], largest colour distances (SLICO only)
    SlicGrid grid;
    ColorSpace color_space = ColorSpace::lab;
    SlicVariant variant = SlicVariant::slic;
  } previous_;
  // Whether the next frame must not start from earlier clusters. Only the thread that calls
  // enqueue() uses this member.
  bool is_reset_ = true;
  FrameSequencer sequencer_;
};

void SlicCpu::find_clusters(const FrameTask& task, const Params& params, const WarmStart& warm) {
  SuperpixelBuffers& buffers = buffers_of(task);
  const SlicGrid grid = grid_of(setup_.size, params);
  const SlicScale scale = scale_of(grid, params);
  const ColorReader reader = reader_of(task.in.layout, task.in.color, params.color_space);
  workers_.parallel_for(band_count(), [&](int band) {
    read_colors(task.in, reader, buffers.colors, first_row(band), first_row(band + 1),
                buffers.scratch[band]);
  });
  const Clustering clusters{buffers, grid, scale, workers_};
  int center_set = 0;
  if (warm.is_enabled) {
    sequencer_.wait_for_turn(warm.ticket);
    const bool is_compatible = !warm.discards_previous && previous_.grid == grid &&
                               previous_.color_space == params.color_space &&
                               previous_.variant == params.variant;
    previous_.grid = grid;
    previous_.color_space = params.color_space;
    previous_.variant = params.variant;
    center_set = clusters.find_centers(
        params, {previous_.sums.data(), previous_.max_distance.data()}, is_compatible);
    sequencer_.advance();
  } else {
    center_set = clusters.find_centers(params, {}, false);
  }
  clusters.write_cluster_codes(center_set);
}

void SlicCpu::build_superpixels(const FrameTask& task, const Params& params) {
  SuperpixelBuffers& buffers = buffers_of(task);
  const SlicGrid grid = grid_of(setup_.size, params);
  workers_.parallel_for(band_count(), [&](int band) {
    const int begin = first_row(band);
    buffers.bands[band] =
        find_runs(buffers.fragments, buffers.colors, begin, first_row(band + 1),
                  buffers.runs_from(begin), buffers.contacts_from(begin), buffers.scratch[band]);
  });
  const auto bands = bands_of(buffers);
  const RetentionRule rule = retention_rule(grid, params);
  const uint32_t total =
      enforce_connectivity(buffers.graph, bands, rule, scale_of(grid, params), workers_);
  const LabelMap labels = task.labels.empty() ? buffers.labels : task.labels;
  for_each_row([&](int y, int) {
    const uint32_t* from = buffers.fragments.row(y);
    uint32_t* to = labels.row(y);
    for (int x = 0; x < labels.width; ++x) to[x] = buffers.graph.superpixel_of[from[x]];
  });

  const bool needs_records = !task.out.empty() && (params.output == SlicOutput::overlay ||
                                                   params.output == SlicOutput::mean);
  Region* table = task.table.regions ? task.table.regions : buffers.records;
  const uint32_t capacity = task.table.regions ? task.table.capacity : setup_.max_regions;
  std::span<Region> records(table, std::min(total, capacity));
  if (task.table.regions || needs_records) {
    measure_regions(task, buffers, records);
    if (params.warm_start) {
      assign_tracks(buffers, bands, grid, rule.min_size, labels, records);
    }
  }
  const auto recorded_count = static_cast<uint32_t>(records.size());
  if (task.table.moments)
    measure_moments(task, params, buffers, {task.table.moments, recorded_count});
  if (task.table.borders) {
    *task.table.border_count = find_borders(bands, buffers.graph.superpixel_of, recorded_count,
                                            buffers.borders, task.table.borders);
  }
  if (task.table.total) *task.table.total = total;
  if (!task.out.empty()) write_output(task, params, buffers, labels, records);
}

void SlicCpu::measure_regions(const FrameTask& task, SuperpixelBuffers& buffers,
                              std::span<Region> records) const {
  workers_.parallel_for(band_count(), [&](int band) {
    const FragmentRun* run = buffers.bands[band].runs.data();
    RunValues* values = buffers.values_from(first_row(band));
    const FragmentRun* end = run + buffers.bands[band].runs.size();
    while (run != end) {
      size_t count = 0;
      while (run + count != end && run[count].y == run->y) ++count;
      sum_run_values(task.in, run->y, run, count, buffers.scratch[band], values);
      run += count;
      values += count;
    }
  });
  std::fill(records.begin(), records.end(), Region{});
  for (size_t i = 0; i < records.size(); ++i) {
    records[i].id = records[i].track = static_cast<uint32_t>(i + 1);
  }
  for (int band = 0; band < band_count(); ++band) {
    const RunValues* values = buffers.values_from(first_row(band));
    for (const FragmentRun& run : buffers.bands[band].runs) {
      add_run(run, *values++, buffers.graph.superpixel_of[run.label], records);
    }
  }
}

void SlicCpu::measure_moments(const FrameTask& task, const Params& params,
                              SuperpixelBuffers& buffers, std::span<Moments> moments) const {
  // Moments are in CIELAB. If the clustering used other colours, they are overwritten, because
  // later steps do not need them.
  if (params.color_space != ColorSpace::lab) {
    const ColorReader lab = reader_of(task.in.layout, task.in.color, ColorSpace::lab);
    workers_.parallel_for(band_count(), [&](int band) {
      read_colors(task.in, lab, buffers.colors, first_row(band), first_row(band + 1),
                  buffers.scratch[band]);
      sum_colors(buffers.colors, buffers.bands[band].runs);
    });
  }
  std::fill(moments.begin(), moments.end(), Moments{});
  for_each_run(bands_of(buffers), [&](const FragmentRun& run) {
    add_run(run, buffers.graph.superpixel_of[run.label], moments);
  });
}

void SlicCpu::write_output(const FrameTask& task, const Params& params,
                           const SuperpixelBuffers& buffers, LabelMap labels,
                           std::span<Region> records) const {
  switch (params.output) {
    case SlicOutput::labels:
      return for_each_row([&](int y, int) { write_label_row(labels, y, task.out); });
    case SlicOutput::boundaries:
      return for_each_row([&](int y, int) { write_boundary_row(labels, y, task.out); });
    case SlicOutput::mean:
      return for_each_row([&](int y, int) { write_mean_row(labels, y, records, task.out); });
    case SlicOutput::overlay:
      return draw(task.in, task.out, labels, records, params, buffers.ink, workers_);
    case SlicOutput::none:
      return;
  }
}

}  // namespace

void SuperpixelBuffers::allocate(Backend& backend, const Setup& setup) {
  const Size size = setup.size;
  const size_t pixels = size.area();
  width_ = static_cast<size_t>(size.width);
  memory_.clear();
  const size_t pitch = (width_ + kPlanePadding + 63) / 64 * 64;
  for (auto& plane : colors.plane) {
    const size_t bytes = pitch * static_cast<size_t>(size.height);
    plane = {allocate_array<int8_t>(backend, bytes), size.width, size.height,
             static_cast<ptrdiff_t>(pitch)};
    // Initialises the padding to the right of the picture, because vectors read it. The values do
    // not affect the result.
    for (int y = 0; y < size.height; ++y) std::memset(plane.row(y) + size.width, 0, pitch - width_);
  }
  const size_t cell_capacity = max_cells(size);
  allocate_sums(backend, size);
  // The arrays are large enough for the smallest cells, 2x2 pixels.
  const size_t stride = cell_stride(size.width / 2 + 1);
  const size_t rows = static_cast<size_t>(size.height) / 2 + 3;
  cells.colors = allocate_array<int8_t>(backend, CellBuffers::color_bytes(size));
  for (int16_t*& list : cells.centers) {
    list = allocate_array<int16_t>(backend, rows * CellCenterRow::kParts * stride);
  }
  for (int32_t*& list : cells.bases) list = allocate_array<int32_t>(backend, rows * stride);
  cells.sums =
      allocate_array<uint32_t>(backend, static_cast<size_t>(FragmentBand::kMaxBands) *
                                            CellBuffers::kBandRows * CellSumRow::kParts * stride);
  codes = {allocate_array<uint8_t>(backend, pixels + kPlanePadding), size.width, size.height,
           static_cast<ptrdiff_t>(width_)};
  const auto label_map = [&] {
    return LabelMap{allocate_array<uint32_t>(backend, pixels), size.width, size.height,
                    static_cast<ptrdiff_t>(width_ * sizeof(uint32_t))};
  };
  fragments = label_map();
  labels = label_map();
  runs = allocate_array<FragmentRun>(backend, pixels);
  values = allocate_array<RunValues>(backend, pixels + 1);
  allocate_graph(backend, pixels);
  largest_fragment = allocate_array<uint64_t>(backend, cell_capacity);
  spares = allocate_array<uint32_t>(backend, cell_capacity);
  records = allocate_array<Region>(backend, setup.max_regions);
  borders = setup.has_borders
                ? allocate_array<Border>(backend, border_table_size(setup.max_regions))
                : nullptr;
  const size_t scratch_bytes =
      std::max(color_scratch_bytes(size.width), run_scratch_bytes(size.width));
  for (std::byte*& memory : scratch) memory = allocate_array<std::byte>(backend, scratch_bytes);
  const size_t ink_size = ink_bytes(size);
  auto* memory = allocate_array<std::byte>(backend, ink_size);
  std::memset(memory, 0, ink_size);  // draw() requires ink without any codes
  ink = ink_in(memory, size);
}

void SuperpixelBuffers::allocate_sums(Backend& backend, Size size) {
  const auto sum_entries = [](size_t columns, size_t rows) { return 3 * (columns + 2) * rows; };
  // The arrays are large enough for the smallest cells, which have 2x2 pixels and use all rows, and
  // for cells of kPatchRows rows. Iterations skip rows (RowSubset) only if cells have at least
  // kPatchRows rows.
  const size_t max_columns = width_ / 2 + 1, height = static_cast<size_t>(size.height);
  const size_t pixels = size.area(), max_contacts = kMaxContactsPerPixel * pixels;
  const size_t contact_bytes =
      max_contacts * sizeof(FragmentContact) + (pixels + 1) * sizeof(FragmentGraph::Pixel);
  const size_t count = std::max({sum_entries(max_columns, height / 2 + 1),
                                 kMaxRowStep * sum_entries(max_columns, height / kPatchRows + 1),
                                 contact_bytes / sizeof(PackedSums) + 1});
  sums = allocate_array<PackedSums>(backend, count);
  max_distance = allocate_array<uint32_t>(backend, count);
  // When contacts are listed, the cluster sums are no longer needed, so contacts use their memory.
  contacts = reinterpret_cast<FragmentContact*>(sums);
  graph.first_pixel = reinterpret_cast<FragmentGraph::Pixel*>(contacts + max_contacts);
}

void SuperpixelBuffers::allocate_graph(Backend& backend, size_t pixels) {
  graph.fragment = allocate_array<Fragment>(backend, pixels + 1);
  // The colours of fragments share memory with the values of runs, because the values are summed
  // only after the fragments have been merged.
  static_assert(sizeof(FragmentColor) == sizeof(RunValues));
  graph.color = reinterpret_cast<FragmentColor*>(values);
  graph.parent = allocate_array<uint32_t>(backend, pixels + 1);
  graph.choice = allocate_array<uint64_t>(backend, pixels + 1);
  graph.chooser = allocate_array<uint32_t>(backend, pixels + 1);
  graph.superpixel_of = allocate_array<uint32_t>(backend, pixels + 1);
}

template <>
std::unique_ptr<Algorithm<SlicParams>> make_algorithm<SlicParams, BackendKind::cpu>(
    std::shared_ptr<Backend> backend) {
  return std::make_unique<SlicCpu>(std::move(backend));
}

}  // namespace regions

// slicsuperpixel on CUDA: colours, iterations, pieces, joining, output.
#include "core/slicsuperpixel/slicsuperpixel.hpp"

#include <vector>

#include "gpu/drawing/drawing.hpp"
#include "gpu/slicsuperpixel/slot.hpp"

namespace regions {
namespace slic {
namespace {

using Params = SlicParams;

// Frames of several streams pass a place one after another.
class FrameOrder {
 public:
  explicit FrameOrder(std::shared_ptr<Backend> backend) : backend_(std::move(backend)) {
    const Backend::Entry entry(*backend_);
    check(cudaEventCreateWithFlags(&passed_, cudaEventDisableTiming), "creating an event");
  }
  ~FrameOrder() {
    const Backend::Entry entry(*backend_);
    cudaEventDestroy(passed_);
  }
  FrameOrder(const FrameOrder&) = delete;
  FrameOrder& operator=(const FrameOrder&) = delete;

  void await(cudaStream_t stream) const {
    if (used_) check(cudaStreamWaitEvent(stream, passed_, 0), "waiting for the last frame");
  }
  void pass(cudaStream_t stream) {
    check(cudaEventRecord(passed_, stream), "recording an event");
    used_ = true;
  }

 private:
  std::shared_ptr<Backend> backend_;
  cudaEvent_t passed_ = nullptr;
  bool used_ = false;
};

class SlicCuda final : public Algorithm<Params> {
 public:
  explicit SlicCuda(std::shared_ptr<Backend> backend) : backend_(std::move(backend)) {}

  void prepare(const Params& params) override { method_ = params.method; }
  void configure(const Setup& setup) override {
    expects_superpixels(setup);
    setup_ = setup;
    slots_.clear();
    slots_.resize(static_cast<size_t>(setup.slots));
    for (Slot& slot : slots_) slot.allocate(backend_, setup, method_);
    if (!tables_.data()) upload_tables();
    kept_ = backend_->allocate(most_cells(setup.size) * sizeof(ClusterSums));
    kept_reach_ = backend_->allocate(most_cells(setup.size) * sizeof(uint32_t));
    unfit_ = backend_->allocate(sizeof(uint32_t));
    if (!order_) order_ = std::make_unique<FrameOrder>(backend_);
    reset();
  }

  void enqueue(const Job& job, const Params& params, Queue& queue) override {
    expects(job.in.size() == setup_.size && job.in.layout.format == setup_.in.format,
            "the frame differs from the configured size or format");
    expects(job.table.capacity <= setup_.max_regions,
            "the table has a larger capacity than configured");
    expects(!job.table.borders || setup_.has_borders,
            "borders are requested but were not configured");
    const Slot& slot = slots_.at(static_cast<size_t>(job.slot));
    const cudaStream_t stream = stream_of(queue);
    const SlicGrid grid = grid_of(setup_.size, params);
    Clusters clusters = slot.clusters(grid, params);
    if (params.warm_start) begin_warm(params, clusters);
    if (params.method == SlicMethod::report) {
      cluster_by_report(job, params, clusters, slot, stream);
    } else {
      cluster(job, params, clusters, slot, stream);
    }
    const Pieces& pieces = slot.pieces();
    gather(pieces, stream);
    const bool tracks = params.warm_start && records_wanted(job, params) > 0;
    if (tracks) find_largest(grid, slot.codes(), pieces, slot.tracks(), stream);
    join_pieces(pieces, stay_rule(grid, params), clusters.scale, stream);
    const LabelMap labels = job.labels.empty() ? slot.labels() : job.labels;
    number_labels(pieces, labels, stream);
    report(job, params, clusters, labels, slot, stream);
  }

  void reset() override { last_grid_ = {}; }

 private:
  // What the frame has to do with the one before.
  void begin_warm(const Params& params, Clusters& clusters) {
    clusters.kept = kept_.as<ClusterSums>();
    clusters.kept_reach = kept_reach_.as<uint32_t>();
    clusters.unfit = unfit_.as<uint32_t>();
    clusters.same = last_grid_ == clusters.grid && last_space_ == params.color_space &&
                    last_variant_ == params.variant;
    last_grid_ = clusters.grid;
    last_space_ = params.color_space;
    last_variant_ = params.variant;
  }

  void upload_tables() {
    const Backend::Entry entry(*backend_);
    many_tables_ = allow_many_tables();
    tables_ = backend_->allocate(sizeof(LabTables));
    const std::unique_ptr<Queue> queue = backend_->make_queue();
    queue->copy_bytes(&lab_tables(), tables_.data(), sizeof(LabTables));
    queue->record();
    queue->wait();
  }
  ColorTables color_tables() const { return {tables_.as<LabTables>(), many_tables_}; }

  void cluster(const Job& job, const Params& params, const Clusters& clusters, const Slot& slot,
               cudaStream_t stream) const {
    const ColorReader reader = reader_of(job.in.layout, job.in.color, params.color_space);
    const auto iterations = static_cast<int>(params.iterations);
    read_colors(job.in, reader, color_tables(), clusters, stream);
    if (params.warm_start) order_->await(stream);
    seed(clusters, iterations, stream);
    for (int i = 0; i < iterations; ++i) {
      iterate(clusters, i, rows_of(clusters.grid, params, i), stream);
    }
    if (params.warm_start) {
      keep(clusters, iterations, stream);
      order_->pass(stream);
    }
    assign_last(clusters, iterations, slot.codes(), slot.pieces(), stream);
  }

  // Sums come first: every pixel is owned from the start.
  void cluster_by_report(const Job& job, const Params& params, const Clusters& clusters,
                         const Slot& slot, cudaStream_t stream) const {
    const Report report = slot.report(clusters.grid, params);
    read_colors(job.in, reader_of(job.in.layout, job.in.color, params.color_space), color_tables(),
                clusters, stream);
    own_cells(report, stream);
    for (int i = 0; i < params.iterations; ++i) {
      reset_sums(report, stream);
      sum_owned(report, stream);
      average_sums(report, stream);
      choose_owners(report, stream);
    }
    write_owner_codes(report, slot.codes(), slot.pieces().counts, stream);
    find_components(slot.codes(), clusters, slot.pieces(), stream);
  }

  // The colours that moments are of, where others were compared; no kernel needs those any more.
  void read_lab(const Job& job, const Clusters& clusters, cudaStream_t stream) const {
    read_colors(job.in, reader_of(job.in.layout, job.in.color, ColorSpace::lab), color_tables(),
                clusters, stream);
  }

  // How many superpixels the job's table or drawing needs.
  uint32_t records_wanted(const Job& job, const Params& params) const {
    if (job.table.regions) return job.table.capacity;
    const bool draws = params.output == SlicOutput::overlay || params.output == SlicOutput::mean;
    return !job.out.empty() && draws ? setup_.max_regions : 0;
  }

  void report(const Job& job, const Params& params, const Clusters& clusters, LabelMap labels,
              const Slot& slot, cudaStream_t stream) const {
    const Records records = slot.records(records_wanted(job, params), job.table.moments);
    if (records.capacity) {
      if (records.moments && params.color_space != ColorSpace::lab) read_lab(job, clusters, stream);
      measure_records(labels, job.in, clusters.colors, records, stream);
      if (params.warm_start) {
        track_records(clusters.grid, stay_rule(clusters.grid, params).least, slot.codes(),
                      slot.pieces(), labels, slot.tracks(), records, stream);
      }
    }
    if (job.table.total) publish_records(records, job.table, stream);
    if (job.table.borders) {
      find_borders(labels, records.total, slot.borders(job.table.capacity), job.table, stream);
    }
    if (job.out.empty()) return;
    switch (params.output) {
      case SlicOutput::labels:
        return write_label_picture(labels, job.out, stream);
      case SlicOutput::boundaries:
        return write_boundaries(labels, job.out, stream);
      case SlicOutput::mean:
        return write_means(labels, records, job.out, stream);
      case SlicOutput::overlay:
        return draw(job.in, job.out, labels, {records.region, records.total, records.capacity},
                    params, slot.ink(), stream);
      case SlicOutput::none:
        return;
    }
  }

  std::shared_ptr<Backend> backend_;
  Setup setup_;
  SlicMethod method_ = SlicMethod::fused;
  Block tables_;
  bool many_tables_ = false;
  // Warm start: how the last frame ended, and which frame may look.
  Block kept_;
  Block kept_reach_;
  Block unfit_;
  SlicGrid last_grid_;
  ColorSpace last_space_ = ColorSpace::lab;
  SlicVariant last_variant_ = SlicVariant::slic;
  std::unique_ptr<FrameOrder> order_;
  std::vector<Slot> slots_;
};

}  // namespace
}  // namespace slic

template <>
std::unique_ptr<Algorithm<SlicParams>> make_algorithm<SlicParams, BackendKind::cuda>(
    std::shared_ptr<Backend> backend) {
  return std::make_unique<slic::SlicCuda>(std::move(backend));
}

}  // namespace regions

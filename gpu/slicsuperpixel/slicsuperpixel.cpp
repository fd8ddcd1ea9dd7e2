// The slicsuperpixel algorithm on the GPU: converts colours, computes clusters, finds fragments,
// enforces connectivity, and writes the output.
#include "gpu/slicsuperpixel/slicsuperpixel.hpp"

#include <algorithm>
#include <bit>
#include <string>
#include <vector>

#include "core/slicsuperpixel/clusters.hpp"
#include "core/workspace.hpp"
#include "gpu/drawing/drawing.hpp"
#include "gpu/runtime/launch.hpp"
#include "gpu/slicsuperpixel/ece1782.hpp"

namespace regions::slicsuperpixel {
namespace {

constexpr size_t kMaxIterations = 100;

// Returns the number of pixels per row of colours. A row is longer than the picture is wide,
// because strips of 32 pixels that start inside the picture may be read.
size_t color_stride(int width) { return (static_cast<size_t>(width) + 32 + 31) / 32 * 32; }
// Returns the number of pixels per row of codes and labels.
size_t row_stride(int width) { return (static_cast<size_t>(width) + 31) / 32 * 32; }

// Lets frames on several CUDA streams use shared state one after another, in the order in which
// they were enqueued.
class FrameSequencer {
 public:
  explicit FrameSequencer(std::shared_ptr<Backend> backend) : backend_(std::move(backend)) {
    const Backend::Entry entry(*backend_);
    check(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming), "creating an event");
  }
  ~FrameSequencer() {
    const Backend::Entry entry(*backend_);
    cudaEventDestroy(event_);
  }
  FrameSequencer(const FrameSequencer&) = delete;
  FrameSequencer& operator=(const FrameSequencer&) = delete;

  // Makes later work of the stream wait for all work that was on the previous frame's stream when
  // that frame called admit_next().
  void wait_for_previous(cudaStream_t stream) const {
    if (has_event_) check(cudaStreamWaitEvent(stream, event_, 0), "waiting for the last frame");
  }
  // Lets the next frame use the shared state as soon as the work that is now on the stream is done.
  void admit_next(cudaStream_t stream) {
    check(cudaEventRecord(event_, stream), "recording an event");
    has_event_ = true;
  }

 private:
  std::shared_ptr<Backend> backend_;
  cudaEvent_t event_ = nullptr;
  bool has_event_ = false;
};

class SlicCuda final : public Algorithm<Params> {
 public:
  explicit SlicCuda(std::shared_ptr<Backend> backend) : backend_(std::move(backend)) {}

  void prepare(const Params& params) override { method_ = params.method; }
  void configure(const Setup& setup) override {
    expects_superpixels(setup);
    setup_ = setup;
    buffers_.clear();
    buffers_.resize(static_cast<size_t>(setup.slots));
    for (SuperpixelBuffers& buffers : buffers_) buffers.allocate(backend_, setup, method_);
    if (!tables_.data()) upload_tables();
    saved_sums_ = backend_->allocate(max_cells(setup.size) * sizeof(ClusterSums));
    saved_max_distance_ = backend_->allocate(max_cells(setup.size) * sizeof(uint32_t));
    rejected_ = backend_->allocate(sizeof(uint32_t));
    if (!sequencer_) sequencer_ = std::make_unique<FrameSequencer>(backend_);
    reset();
  }

  void enqueue(const FrameTask& task, const Params& params, Queue& queue) override {
    expects(task.in.size() == setup_.size && task.in.layout.format == setup_.in.format,
            "the frame differs from the configured size or format");
    expects(task.table.capacity <= setup_.max_regions,
            "the table has a larger capacity than configured");
    expects(!task.table.borders || setup_.has_borders,
            "borders are requested but were not configured");
    const SuperpixelBuffers& buffers = buffers_.at(static_cast<size_t>(task.slot));
    const cudaStream_t stream = stream_of(queue);
    const SlicGrid grid = grid_of(setup_.size, params);
    Clusters clusters = buffers.clusters(grid, params);
    if (params.warm_start) set_up_warm_start(params, clusters);
    if (params.method == SlicMethod::ece1782) {
      cluster_by_ece1782(task, params, clusters, buffers, stream);
    } else {
      find_clusters(task, params, clusters, buffers, stream);
    }
    const Fragments& fragments = buffers.fragments();
    gather_fragments(fragments, stream);
    const bool finds_tracks = params.warm_start && required_records(task, params) > 0;
    if (finds_tracks)
      find_largest_fragments(grid, buffers.codes(), fragments, buffers.tracks(), stream);
    enforce_connectivity(fragments, retention_rule(grid, params), clusters.scale, stream);
    const LabelMap labels = task.labels.empty() ? buffers.labels() : task.labels;
    number_labels(fragments, labels, stream);
    write_results(task, params, clusters, labels, buffers, stream);
  }

  void reset() override { previous_grid_ = {}; }

 private:
  // Gives the frame access to the clusters of the previous frame.
  void set_up_warm_start(const Params& params, Clusters& clusters) {
    clusters.saved_sums = saved_sums_.as<ClusterSums>();
    clusters.saved_max_distance = saved_max_distance_.as<uint32_t>();
    clusters.rejected = rejected_.as<uint32_t>();
    clusters.is_compatible = previous_grid_ == clusters.grid &&
                             previous_color_space_ == params.color_space &&
                             previous_variant_ == params.variant;
    previous_grid_ = clusters.grid;
    previous_color_space_ = params.color_space;
    previous_variant_ = params.variant;
  }

  void upload_tables() {
    const Backend::Entry entry(*backend_);
    has_16_table_copies_ = allow_16_table_copies();
    tables_ = backend_->allocate(sizeof(LabTables));
    const std::unique_ptr<Queue> queue = backend_->make_queue();
    queue->copy_bytes(&lab_tables(), tables_.data(), sizeof(LabTables));
    queue->record();
    queue->wait();
  }
  ColorTables color_tables() const { return {tables_.as<LabTables>(), has_16_table_copies_}; }

  void find_clusters(const FrameTask& task, const Params& params, const Clusters& clusters,
                     const SuperpixelBuffers& buffers, cudaStream_t stream) const {
    const ColorReader reader = reader_of(task.in.layout, task.in.color, params.color_space);
    read_colors(task.in, reader, color_tables(), clusters, stream);
    if (params.warm_start) sequencer_->wait_for_previous(stream);
    seed(clusters, params.iterations, stream);
    for (int i = 0; i < params.iterations; ++i) {
      iterate(clusters, i, rows_in_iteration(clusters.grid, params, i), stream);
    }
    if (params.warm_start) {
      save_clusters(clusters, params.iterations, stream);
      sequencer_->admit_next(stream);
    }
    assign_and_find_fragments(clusters, params.iterations, buffers.codes(), buffers.fragments(),
                              stream);
  }

  // Computes the clusters by method=report. An iteration begins with the sums, because every pixel
  // has an owner from the start.
  void cluster_by_ece1782(const FrameTask& task, const Params& params, const Clusters& clusters,
                          const SuperpixelBuffers& buffers, cudaStream_t stream) const {
    const Ece1782 state = buffers.ece1782(clusters.grid, params);
    read_colors(task.in, reader_of(task.in.layout, task.in.color, params.color_space),
                color_tables(), clusters, stream);
    assign_own_cells(state, stream);
    for (int i = 0; i < params.iterations; ++i) {
      reset_sums(state, stream);
      sum_owned_pixels(state, stream);
      average_sums(state, stream);
      choose_owners(state, stream);
    }
    write_owner_codes(state, buffers.codes(), buffers.fragments().counts, stream);
    find_fragments(buffers.codes(), clusters, buffers.fragments(), stream);
  }

  // Converts the frame to CIELAB, which moments require, if the clusters used another colour space.
  // No later kernel needs the colours of the clustering.
  void read_lab(const FrameTask& task, const Clusters& clusters, cudaStream_t stream) const {
    read_colors(task.in, reader_of(task.in.layout, task.in.color, ColorSpace::lab), color_tables(),
                clusters, stream);
  }

  // Returns the number of records that the caller's table or the output picture requires.
  uint32_t required_records(const FrameTask& task, const Params& params) const {
    if (task.table.regions) return task.table.capacity;
    const bool needs_records =
        params.output == SlicOutput::overlay || params.output == SlicOutput::mean;
    return !task.out.empty() && needs_records ? setup_.max_regions : 0;
  }

  void write_results(const FrameTask& task, const Params& params, const Clusters& clusters,
                     LabelMap labels, const SuperpixelBuffers& buffers, cudaStream_t stream) const {
    const Records records = buffers.records(required_records(task, params), task.table.moments);
    if (records.capacity) {
      if (records.moments && params.color_space != ColorSpace::lab)
        read_lab(task, clusters, stream);
      measure_records(labels, task.in, clusters.colors, records, stream);
      if (params.warm_start) {
        assign_tracks(clusters.grid, retention_rule(clusters.grid, params).min_size,
                      buffers.codes(), buffers.fragments(), labels, buffers.tracks(), records,
                      stream);
      }
    }
    if (task.table.total) {
      // Most pictures have about as many superpixels as cells.
      const size_t cells = clusters.grid.cells();
      publish_records(records, static_cast<uint32_t>(cells + cells / 8), task.table, stream);
    }
    if (task.table.borders) {
      find_borders(labels, records.total, buffers.borders(task.table.capacity), task.table, stream);
    }
    if (task.out.empty()) return;
    switch (params.output) {
      case SlicOutput::labels:
        return write_label_picture(labels, task.out, stream);
      case SlicOutput::boundaries:
        return write_boundary_picture(labels, task.out, stream);
      case SlicOutput::mean:
        return write_mean_picture(labels, records, task.out, stream);
      case SlicOutput::overlay:
        return draw(task.in, task.out, labels, {records.region, records.total, records.capacity},
                    params, buffers.ink(), stream);
      case SlicOutput::none:
        return;
    }
  }

  std::shared_ptr<Backend> backend_;
  Setup setup_;
  SlicMethod method_ = SlicMethod::fused;
  Block tables_;
  bool has_16_table_copies_ = false;
  // Data of the warm start: the previous frame's clusters, and the parameters by which they were
  // computed. The frame sequencer sets the order in which frames use the clusters.
  Block saved_sums_;
  Block saved_max_distance_;
  Block rejected_;
  SlicGrid previous_grid_;
  ColorSpace previous_color_space_ = ColorSpace::lab;
  SlicVariant previous_variant_ = SlicVariant::slic;
  std::unique_ptr<FrameSequencer> sequencer_;
  std::vector<SuperpixelBuffers> buffers_;
};

}  // namespace

void SuperpixelBuffers::allocate(const std::shared_ptr<Backend>& backend, const Setup& setup,
                                 SlicMethod method) {
  size_ = setup.size;
  {
    const Backend::Entry entry(*backend);
    fragments_.merge_blocks = max_merge_blocks();
  }
  const size_t cells = max_cells(size_);
  const auto rows = static_cast<size_t>(size_.height);
  // Kernels may read whole patches (kPatchRows rows) that start inside the picture, and a few more
  // rows if iterations skip rows.
  memory_.reserve(colors_, color_stride(size_.width) * (rows + 2 * kPatchRows));
  for (ClusterSums*& sums : sums_) memory_.reserve(sums, cells);
  for (uint32_t*& distances : max_distance_) memory_.reserve(distances, cells);
  memory_.reserve(movement_sums_, kMaxIterations);
  memory_.reserve(codes_, row_stride(size_.width) * rows);
  memory_.reserve(labels_, row_stride(size_.width) * rows);
  if (method == SlicMethod::ece1782) {
    memory_.reserve(owners_, row_stride(size_.width) * rows);
    memory_.reserve(ece1782_sums_, max_ece1782_cells(size_) * kCandidates);
    memory_.reserve(ece1782_means_, max_ece1782_cells(size_));
  }
  reserve_fragments();
  memory_.reserve(tracks_.largest_fragment, cells);
  memory_.reserve(tracks_.spares, cells);
  memory_.reserve(records_, setup.max_regions);
  memory_.reserve(moments_, setup.max_regions);
  if (setup.has_borders) reserve_borders(setup.max_regions);
  memory_.allocate(*backend);
  // The arrays `arrivals` and `rank_histogram` must be zero before each frame, and each frame sets
  // them to zero again.
  fill_with_zeros(*backend, fragments_.arrivals, 2 * fragments_.tiles() * sizeof(uint32_t));
  fill_with_zeros(*backend, fragments_.rank_histogram, RetentionRule::kRanks * sizeof(uint32_t));
  if (setup.has_output && setup.out.format == setup.in.format) {
    ink_ = allocate_cleared_ink(*backend, size_);
  }
}

// Reserves memory for the worst case, in which every pixel is a fragment.
void SuperpixelBuffers::reserve_fragments() {
  using Tile = FragmentTile;
  Fragments& f = fragments_;
  f.size = size_;
  f.columns = (size_.width + Tile::width - 1) / Tile::width;
  f.rows = (size_.height + Tile::rows - 1) / Tile::rows;
  f.stride = f.columns * Tile::width;
  const size_t ids = f.ids();
  const size_t padded = static_cast<size_t>(f.stride) * static_cast<size_t>(size_.height);
  memory_.reserve(f.component, padded);
  memory_.reserve(f.count, f.tiles());
  for (uint32_t** edge : {&f.top, &f.bottom}) {
    memory_.reserve(*edge, static_cast<size_t>(f.rows) * static_cast<size_t>(f.stride));
  }
  for (uint32_t** edge : {&f.left, &f.right}) {
    memory_.reserve(*edge, static_cast<size_t>(f.columns) * static_cast<size_t>(size_.height));
  }
  memory_.reserve(f.arrivals, 2 * f.tiles());
  memory_.reserve(f.parent, ids);
  memory_.reserve(f.first_pixel, ids);
  memory_.reserve(f.sums, ids);
  memory_.reserve(f.rank_histogram, RetentionRule::kRanks);
  memory_.reserve(f.min_rank, 1);
  for (auto& choice : f.choice) memory_.reserve(choice, ids);
  memory_.reserve(f.counts, 1);
  for (int list = 0; list < kMergeLists; ++list) {
    memory_.reserve(f.edges[list], f.edge_capacity(list));
    memory_.reserve(f.small[list], f.small_capacity(list));
  }
  memory_.reserve(f.first_pixel_bits, padded / 32);
  memory_.reserve(f.tile_row_counts, static_cast<size_t>(size_.height) * f.tile_row_pitch() / 4);
  memory_.reserve(f.row_counts, (static_cast<size_t>(size_.height) + 3) / 4 * 4);
  memory_.reserve(f.total, 1);
}

void SuperpixelBuffers::reserve_borders(uint32_t regions) {
  Borders& b = borders_;
  b.table_size = std::bit_ceil(4 * regions);
  memory_.reserve(b.key, b.table_size);
  memory_.reserve(b.length, b.table_size);
  memory_.reserve(b.degree, regions);
  memory_.reserve(b.start, regions + 1);
  memory_.reserve(b.listed, regions);
  memory_.reserve(b.unsorted, max_borders(regions));
  memory_.reserve(b.sorted, max_borders(regions));
}

Borders SuperpixelBuffers::borders(uint32_t capacity) const {
  Borders borders = borders_;
  borders.capacity = capacity;
  return borders;
}

Clusters SuperpixelBuffers::clusters(const SlicGrid& grid, const SlicParams& params) const {
  Clusters clusters{grid,
                    scale_of(grid, params),
                    {colors_, size_.width, size_.height,
                     static_cast<ptrdiff_t>(color_stride(size_.width) * sizeof(uint32_t))},
                    {sums_[0], sums_[1], sums_[2]}};
  if (params.tolerance > 0) {
    clusters.movement_sums = movement_sums_;
    clusters.movement_tolerance = movement_tolerance(grid, params);
  }
  if (params.variant == SlicVariant::slico) std::copy_n(max_distance_, 3, clusters.max_distance);
  return clusters;
}

Ece1782 SuperpixelBuffers::ece1782(const SlicGrid& grid, const SlicParams& params) const {
  expects(owners_ != nullptr, "method=report must be set before caps are negotiated");
  expects(grid.width >= kMinEce1782Cell && grid.height >= kMinEce1782Cell,
          "method=report requires cells of at least " + std::to_string(kMinEce1782Cell) +
              " pixels a side, not " + std::to_string(grid.width) + "x" +
              std::to_string(grid.height));
  expects(params.variant == SlicVariant::slic && !params.warm_start,
          "method=report cannot be combined with variant=slico or warm-start=true");
  // The factor 4 is the square of 2: a colour component stores lightness in units of 1/2, and here
  // it has full weight.
  const double factor =
      4 * params.compactness * params.compactness / (static_cast<double>(grid.width) * grid.height);
  return {grid,
          clusters(grid, params).colors,
          static_cast<float>(factor),
          params.ece1782_step,
          {owners_, size_.width, size_.height,
           static_cast<ptrdiff_t>(row_stride(size_.width) * sizeof(Owner))},
          ece1782_sums_,
          ece1782_means_};
}

LabelMap SuperpixelBuffers::label_map(uint32_t* labels) const {
  return {labels, size_.width, size_.height,
          static_cast<ptrdiff_t>(row_stride(size_.width) * sizeof(uint32_t))};
}

Image<uint8_t> SuperpixelBuffers::codes() const {
  return {codes_, size_.width, size_.height, static_cast<ptrdiff_t>(row_stride(size_.width))};
}

}  // namespace regions::slicsuperpixel

namespace regions {

template <>
std::unique_ptr<Algorithm<SlicParams>> make_algorithm<SlicParams, BackendKind::cuda>(
    std::shared_ptr<Backend> backend) {
  return std::make_unique<slicsuperpixel::SlicCuda>(std::move(backend));
}

}  // namespace regions

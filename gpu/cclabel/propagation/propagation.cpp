// The labeller for method=propagation and method=sweep on CUDA: allocates the buffers of each
// in-flight frame, and enqueues the passes that cell_arrays.hpp lists.
#include "gpu/cclabel/propagation/propagation.hpp"

#include <vector>

#include "core/workspace.hpp"
#include "gpu/cclabel/first_pixels.hpp"
#include "gpu/cclabel/labeller.hpp"
#include "gpu/cclabel/propagation/cell_arrays.hpp"

namespace regions::propagation {
namespace {

// The buffers of one in-flight frame.
struct CellBuffers {
  Workspace memory;
  CellArrays cells = {};
  Region* records = nullptr;  // [max_regions]
  cclabel::LargestSelection* selection = nullptr;
  Block passes;  // [1] number of passes, in pinned host memory
};

class PropagationLabeller final : public CcLabel {
 public:
  PropagationLabeller(std::shared_ptr<Backend> backend, Method method, const Variant& variant)
      : backend_(std::move(backend)), method_(method), variant_(variant) {}

  void configure(const Setup& setup) override {
    expects_labellable(setup);
    const VolumeLayout maximum{setup.size, setup.depth, setup.layers};
    expects(maximum.size().area() < 1u << 31,
            "method=propagation and method=sweep support fewer than 2^31 cells; there are " +
                std::to_string(maximum.size().area()));
    setup_ = setup;
    buffers_ = std::vector<CellBuffers>(static_cast<size_t>(setup.slots));
    for (CellBuffers& buffers : buffers_) allocate(buffers, maximum);
    blocks_ =
        method_ == Method::sweep ? sweep_blocks(setup.size.width) : propagation_blocks(variant_);
  }

  void enqueue(const FrameTask& task, const CcLabelParams& params, Queue& queue) override {
    expects(params.method == method_, "method differs from the configured value");
    const CellBuffers& buffers = buffers_.at(static_cast<size_t>(task.slot));
    const cudaStream_t stream = stream_of(queue);
    CellArrays cells = buffers.cells;
    cells.layout = volume_layout_of(setup_, task);
    cells.connectivity = params.connectivity;
    const cclabel::LabelInput image = cclabel::label_input_of(task, params);
    const CellInput input{image, cclabel::threshold_levels_of(image, params),
                          params.label_background};
    if (method_ == Method::sweep) {
      sweep(input, cells, blocks_, stream);
    } else {
      link_cells(input, cells, stream);
      if (variant_.gather == Gather::neighbours_and_farthest)
        find_farthest(cells, variant_.link_length, stream);
      propagate(cells, variant_, blocks_, stream);
    }
    Records records;
    if (task.table.regions) records = {buffers.records, task.table.capacity};
    find_first_cells(cells, stream);
    filter_and_number_regions(
        task, params, cells.layout,
        cclabel::FirstPixelRegions<CellArrays>{cells, buffers.selection, records, stream});
    if (records.capacity > 0) measure_regions(cells, task.in, records, stream);
    if (task.table.total) cclabel::publish_table(cells.total, records, task.table, stream);
    write_outputs(task, params, cells, stream);
    queue.copy_bytes(&cells.progress->passes, buffers.passes.data(), sizeof(uint32_t));
  }

  TrackEvents track_events(int) const override { return {}; }
  uint32_t passes(int slot) const override {
    return *buffers_.at(static_cast<size_t>(slot)).passes.as<uint32_t>();
  }

 private:
  void allocate(CellBuffers& buffers, const VolumeLayout& maximum) {
    const size_t count = maximum.size().area(), words = (count + 31) / 32;
    Workspace& memory = buffers.memory;
    CellArrays& cells = buffers.cells;
    memory.reserve(cells.label, count);
    if (method_ == Method::sweep) {
      cells.stride = sweep_stride(setup_.size.width);
      memory.reserve(cells.sweep_labels,
                     static_cast<size_t>(cells.stride) * static_cast<size_t>(maximum.rows()));
    } else {
      memory.reserve(cells.links, count);
      if (variant_.gather == Gather::neighbours_and_farthest) {
        for (uint16_t*& farthest : cells.farthest) memory.reserve(farthest, count * kDirections);
      }
    }
    memory.reserve(cells.first_cell, count);
    memory.reserve(cells.region_starts, words);
    memory.reserve(cells.regions_before, words);
    memory.reserve(cells.region_counts, words / cclabel::FirstPixelBitmap::kWordsPerCount + 1);
    memory.reserve(cells.area, count);
    memory.reserve(cells.total, 2);
    memory.reserve(cells.progress, 1);
    memory.reserve(buffers.records, setup_.max_regions);
    memory.reserve(buffers.selection, 1);
    memory.allocate(*backend_);
    buffers.passes = backend_->allocate_pinned(sizeof(uint32_t));
  }

  static void write_outputs(const FrameTask& task, const CcLabelParams& params,
                            const CellArrays& cells, cudaStream_t stream) {
    if (!task.labels.empty()) write_labels(cells, task.labels, stream);
    if (task.out.empty()) return;
    const uint32_t limit = max_label_of(task.out.layout);
    if (params.output == CcOutput::labels) write_labels(cells, task.out, 1, limit, stream);
    if (params.output == CcOutput::mask) write_labels(cells, task.out, limit, limit, stream);
    if (params.output == CcOutput::colors) write_colors(cells, task.out, stream);
  }

  std::shared_ptr<Backend> backend_;
  const Method method_;
  const Variant variant_;
  Setup setup_;
  std::vector<CellBuffers> buffers_;  // [slots] one per in-flight frame
  int blocks_ = 0;                    // number of blocks of the cooperative kernel
};

}  // namespace

std::unique_ptr<CcLabel> make_propagation_variant(std::shared_ptr<Backend> backend, Method method,
                                                  const Variant& variant) {
  expects(uses_propagation(method), "method must be propagation or sweep");
  return std::make_unique<PropagationLabeller>(std::move(backend), method, variant);
}

}  // namespace regions::propagation

namespace regions {

std::unique_ptr<CcLabel> cclabel::make_propagation(std::shared_ptr<Backend> backend,
                                                   Method method) {
  return propagation::make_propagation_variant(std::move(backend), method);
}

}  // namespace regions

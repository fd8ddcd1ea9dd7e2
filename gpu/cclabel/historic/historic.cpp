// The historic methods on CUDA: what a frame asks for, phase by phase.
#include "gpu/cclabel/historic/historic.hpp"

#include <vector>

#include "gpu/cclabel/base/numbering.hpp"
#include "gpu/cclabel/propagation/phases.hpp"
#include "gpu/cclabel/sweep/sweep.hpp"
#include "gpu/runtime/workspace.hpp"

namespace regions::historic {

using cclabel::Firsts, cclabel::Records;
using cells::Cells, cells::Source;
using propagation::Variant;
namespace {

// What one frame in flight needs.
struct Slot {
  Workspace memory;
  Cells cells = {};
  Region* records = nullptr;  // [max_regions]
  cclabel::Selection* selection = nullptr;
  Block passes;  // pinned
};

class Historic final : public CcLabel {
 public:
  Historic(std::shared_ptr<Backend> backend, Method method, const Variant& variant)
      : backend_(std::move(backend)), method_(method), variant_(variant) {}

  void configure(const Setup& setup) override {
    expects_stackable(setup);
    const Stack most{setup.size, setup.depth, setup.layers};
    expects(most.size().area() < 1u << 31,
            "method=propagation and method=sweep support fewer than 2^31 cells; there are " +
                std::to_string(most.size().area()));
    setup_ = setup;
    slots_ = std::vector<Slot>(static_cast<size_t>(setup.slots));
    for (Slot& slot : slots_) allocate(slot, most);
    blocks_ = method_ == Method::sweep ? sweep::sweep_blocks(setup.size.width)
                                       : propagation::propagation_blocks(variant_);
  }

  void enqueue(const Job& job, const CcLabelParams& params, Queue& queue) override {
    expects(params.method == method_, "method differs from the configured value");
    const Slot& slot = slots_.at(static_cast<size_t>(job.slot));
    const cudaStream_t stream = stream_of(queue);
    Cells cells = slot.cells;
    cells.stack = stack_of(setup_, job);
    cells.connectivity = params.connectivity;
    const cclabel::Subject subject = cclabel::subject_of(job, params);
    const Source source{subject, cclabel::levels_of(subject, params), params.label_background};
    if (method_ == Method::sweep) {
      sweep::sweep(source, cells, blocks_, stream);
    } else {
      propagation::link_cells(source, cells, stream);
      if (variant_.gather == propagation::Gather::one_and_max)
        propagation::find_far(cells, variant_.link_length, stream);
      propagation::propagate(cells, variant_, blocks_, stream);
    }
    Records records;
    if (job.table.regions) records = {slot.records, job.table.capacity};
    find_regions(cells, stream);
    number_regions(job, params, cells.stack,
                   cclabel::FirstsRegions<Cells>{cells, slot.selection, records, stream});
    if (records.capacity > 0) measure_cells(cells, job.in, records, stream);
    if (job.table.regions) {
      cclabel::publish_table(cells.total, records, job.table, stream);
    }
    write(job, params, cells, stream);
    queue.copy_bytes(&cells.progress->passes, slot.passes.data(), sizeof(uint32_t));
  }

  TrackReport track_report(int) const override { return {}; }
  uint32_t passes(int slot) const override {
    return *slots_.at(static_cast<size_t>(slot)).passes.as<uint32_t>();
  }

 private:
  void allocate(Slot& slot, const Stack& most) {
    const size_t count = most.size().area(), words = (count + 31) / 32;
    Workspace& memory = slot.memory;
    Cells& cells = slot.cells;
    memory.reserve(cells.label, count);
    if (method_ == Method::sweep) {
      cells.stride = sweep::stride_for(setup_.size.width);
      memory.reserve(cells.swept,
                     static_cast<size_t>(cells.stride) * static_cast<size_t>(most.rows()));
    } else {
      memory.reserve(cells.links, count);
      if (variant_.gather == propagation::Gather::one_and_max) {
        for (uint16_t*& far : cells.far) memory.reserve(far, count * cells::kAxes);
      }
    }
    memory.reserve(cells.first, count);
    memory.reserve(cells.firsts, words);
    memory.reserve(cells.before, words);
    memory.reserve(cells.sums, words / Firsts::kSumWords + 1);
    memory.reserve(cells.area, count);
    memory.reserve(cells.total, 2);
    memory.reserve(cells.progress, 1);
    memory.reserve(slot.records, setup_.max_regions);
    memory.reserve(slot.selection, 1);
    memory.allocate(*backend_);
    slot.passes = backend_->allocate_pinned(sizeof(uint32_t));
  }

  static void write(const Job& job, const CcLabelParams& params, const Cells& cells,
                    cudaStream_t stream) {
    if (!job.labels.empty()) write_labels(cells, job.labels, stream);
    if (job.out.empty()) return;
    const uint32_t limit = label_limit(job.out.layout);
    if (params.output == CcOutput::labels) write_labels(cells, job.out, 1, limit, stream);
    if (params.output == CcOutput::mask) write_labels(cells, job.out, limit, limit, stream);
    if (params.output == CcOutput::colors) write_colors(cells, job.out, stream);
  }

  std::shared_ptr<Backend> backend_;
  const Method method_;
  const Variant variant_;
  Setup setup_;
  std::vector<Slot> slots_;
  int blocks_ = 0;  // of the cooperative kernel
};

}  // namespace

std::unique_ptr<CcLabel> make_historic(std::shared_ptr<Backend> backend, Method method,
                                       const Variant& variant) {
  expects(is_historic(method), "method must be propagation or sweep");
  return std::make_unique<Historic>(std::move(backend), method, variant);
}

}  // namespace regions::historic

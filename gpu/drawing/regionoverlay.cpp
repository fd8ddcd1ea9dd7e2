// Implements the element regionoverlay on the GPU: copies the region records of a frame to
// the device, then draws them.
#include "core/drawing/regionoverlay.hpp"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "core/workspace.hpp"
#include "gpu/drawing/drawing.hpp"
#include "gpu/graphcutbg/graphcutbg.hpp"
#include "gpu/runtime/copy_kernels.hpp"
#include "gpu/runtime/launch.hpp"

namespace regions {
namespace {

// The memory layout of records for the copy to the device: their count, then the records.
struct RecordLayout {
  static constexpr size_t kRecordsOffset = 256;  // bytes before the first record
  // Number of records that are copied through pinned memory. Further records are copied from the
  // caller's memory, and the caller waits for that copy. More pinned memory would cost time: the
  // driver takes half a millisecond to allocate a megabyte.
  static constexpr uint32_t kMaxStagedRecords = 8192;

  static constexpr size_t bytes(uint32_t count) { return kRecordsOffset + count * sizeof(Region); }
  static uint32_t* count(std::byte* records) { return reinterpret_cast<uint32_t*>(records); }
  static Region* regions(std::byte* records) {
    return reinterpret_cast<Region*>(records + kRecordsOffset);
  }
};
static_assert(RecordLayout::bytes(RecordLayout::kMaxStagedRecords) % RecordLayout::kRecordsOffset ==
                  0,
              "the staging memory of each frame is aligned");

// The buffers of one frame in flight.
struct OverlayBuffers {
  std::byte* ink = nullptr;
  std::byte* records = nullptr;  // on the device, see RecordLayout
  std::byte* staging = nullptr;  // pinned, for the first kMaxStagedRecords records
};

// The device memory that hides regions of one frame in flight. Empty if none are hidden.
struct HidingBuffers {
  uint8_t *hidden = nullptr, *scratch = nullptr;  // [height][width]
  uint64_t* sums = nullptr;                       // [3][cells], see graphcutbg::ColorCells
  uint32_t* weights = nullptr;                    // [cells]
  uint16_t* means[3] = {};                        // [component][cells]

  void reserve(Workspace& memory, Size size) {
    const size_t cells = graphcutbg::ColorCells::count(size, kMinHidingCell);
    for (uint8_t** plane : {&hidden, &scratch}) memory.reserve(*plane, size.area());
    memory.reserve(sums, 3 * cells);
    memory.reserve(weights, cells);
    for (uint16_t*& component : means) memory.reserve(component, cells);
  }
};

class RegionOverlayCuda final : public Algorithm<RegionOverlayParams> {
 public:
  explicit RegionOverlayCuda(std::shared_ptr<Backend> backend)
      : backend_(std::move(backend)), clearing_queue_(backend_->make_queue()) {}

  void prepare(const RegionOverlayParams& params) override { can_hide_ = params.hides(); }

  void configure(const Setup& setup) override {
    expects_drawable(setup);
    size_ = setup.size;
    max_regions_ = setup.max_regions;
    buffers_ = std::vector<OverlayBuffers>(static_cast<size_t>(setup.slots));
    constexpr size_t kStagedBytes = RecordLayout::bytes(RecordLayout::kMaxStagedRecords);
    staging_ = backend_->allocate_pinned(buffers_.size() * kStagedBytes);
    auto* staging = staging_.as<std::byte>();
    memory_ = {};
    for (OverlayBuffers& buffers : buffers_) {
      buffers.staging = std::exchange(staging, staging + kStagedBytes);
      memory_.reserve(buffers.ink, ink_bytes(setup.size));
      memory_.reserve(buffers.records, RecordLayout::bytes(max_regions_));
    }
    hiding_ = std::vector<HidingBuffers>(can_hide_ ? buffers_.size() : 0);
    for (HidingBuffers& buffers : hiding_) buffers.reserve(memory_, setup.size);
    memory_.allocate(*backend_);
    // Clears the ink of all frames in flight.
    fill_with_zeros(*clearing_queue_, buffers_.front().ink, memory_.bytes());
  }

  void enqueue(const FrameTask& task, const RegionOverlayParams& params, Queue& queue) override {
    const OverlayBuffers& buffers = buffers_.at(static_cast<size_t>(task.slot));
    const uint32_t count = std::min(task.attached_count, max_regions_);
    const uint32_t staged = std::min(count, RecordLayout::kMaxStagedRecords);
    *RecordLayout::count(buffers.staging) = count;
    if (staged) {
      std::memcpy(RecordLayout::regions(buffers.staging), task.attached, staged * sizeof(Region));
    }
    copy_small(buffers.staging, buffers.records, RecordLayout::bytes(staged), stream_of(queue));
    if (count > staged) {
      queue.copy_bytes(task.attached + staged, RecordLayout::regions(buffers.records) + staged,
                       (count - staged) * sizeof(Region));
    }
    const DeviceRegions regions{RecordLayout::regions(buffers.records),
                                RecordLayout::count(buffers.records), count,
                                have_marks({task.attached, count})};
    const LabelView labels = task.mask.empty() ? LabelView() : LabelView(task.mask);
    if (params.hides()) hide(task, params, labels, regions, queue);
    draw(params.hides() ? task.out : task.in, task.out, labels, regions, params,
         ink_in(buffers.ink, size_), stream_of(queue));
  }

 private:
  // Copies the picture to the output and hides the regions there.
  void hide(const FrameTask& task, const RegionOverlayParams& params, const LabelView& labels,
            const DeviceRegions& regions, Queue& queue) const {
    expects_hiding(can_hide_);
    const cudaStream_t stream = stream_of(queue);
    const HidingBuffers& buffers = hiding_.at(static_cast<size_t>(task.slot));
    const auto plane = [&](uint8_t* pixels) {
      return Image<uint8_t>{pixels, size_.width, size_.height, size_.width};
    };
    const Image<uint8_t> hidden = plane(buffers.hidden);
    const graphcutbg::CompositePlan plan = graphcutbg::hiding_plan_of(params);
    drawing::mark_hidden(sampler_of(labels, size_), !labels.empty(), regions, hidden, stream);
    if (plan.grow > 0) {
      graphcutbg::enqueue_mask_growth(hidden, plan.grow, plane(buffers.scratch), stream);
    }
    const graphcutbg::ColorCells cells =
        graphcutbg::color_cells_of(plan, size_, buffers.sums, buffers.weights);
    graphcutbg::Composition composition{plan, task.out, hidden, nullptr, nullptr, {}};
    Image<uint16_t> means[3];
    for (int c = 0; c < 3; ++c) {
      means[c] = {buffers.means[c], cells.columns, cells.rows,
                  static_cast<ptrdiff_t>(sizeof(uint16_t)) * cells.columns};
      composition.means[c] = means[c];
    }
    graphcutbg::enqueue_cell_means(cells, plan.blurs(), task.in, hidden, means, stream);
    if (task.in.plane[0] != task.out.plane[0]) queue.copy(task.in, task.out);
    graphcutbg::enqueue_composite(composition, stream);
  }

  std::shared_ptr<Backend> backend_;
  // The queue that clears the ink. It is created when the element opens, because many streams may
  // create their queues at once when frames arrive.
  const std::unique_ptr<Queue> clearing_queue_;
  Workspace memory_;                     // device memory of all frames in flight
  Block staging_;                        // pinned memory of all frames in flight
  std::vector<OverlayBuffers> buffers_;  // one per frame in flight
  Size size_;
  uint32_t max_regions_ = 0;
  bool can_hide_ = false;              // whether hiding_ has memory
  std::vector<HidingBuffers> hiding_;  // [slots]
};

}  // namespace

template <>
std::unique_ptr<Algorithm<RegionOverlayParams>>
make_algorithm<RegionOverlayParams, BackendKind::cuda>(std::shared_ptr<Backend> backend) {
  return std::make_unique<RegionOverlayCuda>(std::move(backend));
}

}  // namespace regions

// regionoverlay on the GPU: brings the records over, then draws.
#include "core/drawing/regionoverlay.hpp"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "gpu/drawing/drawing.hpp"
#include "gpu/runtime/launch.hpp"
#include "gpu/runtime/small_copy.hpp"
#include "gpu/runtime/workspace.hpp"
#include "gpu/runtime/zeros.hpp"

namespace regions {
namespace {

// Records as they travel: the count, then the records, in one copy.
struct Records {
  static constexpr size_t kStart = 256;  // bytes before the first record
  // So many have pinned memory, of which a megabyte takes the driver half a millisecond to give.
  // Those behind them are copied from the caller's memory, which the caller waits for.
  static constexpr uint32_t kStaged = 8192;

  static constexpr size_t bytes(uint32_t count) { return kStart + count * sizeof(Region); }
  static uint32_t* count(std::byte* records) { return reinterpret_cast<uint32_t*>(records); }
  static Region* regions(std::byte* records) { return reinterpret_cast<Region*>(records + kStart); }
};
static_assert(Records::bytes(Records::kStaged) % Records::kStart == 0, "aligned one by one");

struct Slot {
  std::byte* ink = nullptr;
  std::byte* records = nullptr;  // on the device
  std::byte* staging = nullptr;  // pinned, of the first records
};

class RegionOverlayCuda final : public Algorithm<RegionOverlayParams> {
 public:
  explicit RegionOverlayCuda(std::shared_ptr<Backend> backend)
      : backend_(std::move(backend)), clearing_(backend_->make_queue()) {}

  void configure(const Setup& setup) override {
    expects_drawable(setup);
    size_ = setup.size;
    max_regions_ = setup.max_regions;
    slots_ = std::vector<Slot>(static_cast<size_t>(setup.slots));
    constexpr size_t kStagedBytes = Records::bytes(Records::kStaged);
    staging_ = backend_->allocate_pinned(slots_.size() * kStagedBytes);
    auto* staging = staging_.as<std::byte>();
    memory_ = {};
    for (Slot& slot : slots_) {
      slot.staging = std::exchange(staging, staging + kStagedBytes);
      memory_.reserve(slot.ink, ink_bytes(setup.size));
      memory_.reserve(slot.records, Records::bytes(max_regions_));
    }
    memory_.allocate(*backend_);
    fill_with_zeros(*clearing_, slots_.front().ink, memory_.bytes());  // of all inks
  }

  void enqueue(const Job& job, const RegionOverlayParams& params, Queue& queue) override {
    const Slot& slot = slots_.at(static_cast<size_t>(job.slot));
    const uint32_t count = std::min(job.attached_count, max_regions_);
    const uint32_t staged = std::min(count, Records::kStaged);
    *Records::count(slot.staging) = count;
    if (staged) {
      std::memcpy(Records::regions(slot.staging), job.attached, staged * sizeof(Region));
    }
    small_copy(slot.staging, slot.records, Records::bytes(staged), stream_of(queue));
    if (count > staged) {
      queue.copy_bytes(job.attached + staged, Records::regions(slot.records) + staged,
                       (count - staged) * sizeof(Region));
    }
    const DeviceRegions regions{Records::regions(slot.records), Records::count(slot.records),
                                count};
    const LabelView labels = job.mask.empty() ? LabelView() : LabelView(job.mask);
    draw(job.in, job.out, labels, regions, params, ink_in(slot.ink, size_), stream_of(queue));
  }

 private:
  std::shared_ptr<Backend> backend_;
  // Made when an element opens: once frames come, many streams may want theirs.
  const std::unique_ptr<Queue> clearing_;
  Workspace memory_;  // of the slots
  Block staging_;     // likewise
  std::vector<Slot> slots_;
  Size size_;
  uint32_t max_regions_ = 0;
};

}  // namespace

template <>
std::unique_ptr<Algorithm<RegionOverlayParams>>
make_algorithm<RegionOverlayParams, BackendKind::cuda>(std::shared_ptr<Backend> backend) {
  return std::make_unique<RegionOverlayCuda>(std::move(backend));
}

}  // namespace regions

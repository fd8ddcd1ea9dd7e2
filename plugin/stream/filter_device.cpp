// The device of a stream: opening it, falling back to the CPU, and moving to another device.
#include <algorithm>
#include <utility>

#include "core/faults.hpp"
#include "plugin/memory/debug.hpp"
#include "plugin/stream/device_choice.hpp"
#include "plugin/stream/filter_stream.hpp"

namespace regions {
namespace {

constexpr size_t kRoomOfFrame = size_t{1} << 20;  // bytes, for all regions of a frame

}  // namespace

void FilterStream::open() {
  want_faults_of_environment();
  auto chosen = choose_backend(GST_ELEMENT(element_), settings(), cuda_);
  try {
    run_on(chosen);
  } catch (const MemoryError& error) {
    {
      const Backend::Entry entry(*chosen);
      queues_->make(nullptr, 0, 0);
      engine_->make(nullptr).reset();
    }
    if (!may_fall_back(*chosen)) throw;
    run_on(fall_back(GST_ELEMENT(element_), settings(), cuda_, error));
  }
}

bool FilterStream::may_fall_back(const Backend& failed) const {
  return failed.kind() == BackendKind::cuda && settings().device == Device::any;
}

// A null backend: the element runs nowhere.
void FilterStream::run_on(std::shared_ptr<Backend> fresh) {
  const auto old = backend();
  std::shared_ptr<void> before;
  queues_->make(nullptr, 0, 0);
  room_.reset();
  if (fresh) {
    const Backend::Entry entry(*fresh);
    before = engine_->make(fresh);
    const FilterSettings now = settings();
    const int frames = std::max(now.frames_in_flight, 1);
    queues_->make(fresh, frames, now.priority);
    if (engine_->makes_regions() || engine_->reads_mask()) {
      room_ = fresh->keep_pinned_room(static_cast<size_t>(frames) * kRoomOfFrame);
    }
  } else {
    before = engine_->make(nullptr);
  }
  if (old) {
    const Backend::Entry entry(*old);
    before.reset();
  }
  {
    const std::lock_guard lock(mutex_);
    active_device_ = fresh ? fresh->description() : "none";
    backend_ = std::move(fresh);
  }
  GST_INFO_OBJECT(element_, "runs on %s", active_device().c_str());
  g_object_notify(G_OBJECT(element_), "active-device");
}

// The stream has ended: no frame is under way.
void FilterStream::move_to(const CudaContextRef& context) {
  GST_DEBUG_OBJECT(element_, "moves to the device of the frames");
  run_on(backend_on(context));
  cuda_.move_to(context);
}

void FilterStream::close() {
  stop();
  setup_ = {};
  run_on(nullptr);
  cuda_.release();
}

}  // namespace regions

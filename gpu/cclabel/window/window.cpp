// Windows on CUDA: what a frame asks for, phase by phase. Frames come one behind the other.
#include "core/cclabel/window.hpp"

#include "gpu/cclabel/labeller.hpp"
#include "gpu/cclabel/run_list/run_list.hpp"
#include "gpu/cclabel/window/phases.hpp"
#include "gpu/drawing/drawing.hpp"
#include "gpu/runtime/workspace.hpp"
#include "gpu/tracking/tracker.hpp"

namespace regions {
namespace sliding {
namespace {

class SlidingCuda final : public Sliding {
 public:
  explicit SlidingCuda(const std::shared_ptr<Backend>& backend)
      : Sliding(backend, cclabel::make_labeller(backend)), tracker_(backend) {}
  ~SlidingCuda() override {
    if (!finished_) return;
    Backend::Entry entry(backend());
    cudaEventDestroy(finished_);
  }

 private:
  void allocate(const Setup& setup) override {
    memory_ = {};
    memory_.reserve(frame_.total, 2);
    memory_.reserve(frame_.records, setup.max_regions);
    memory_.reserve(frame_.first, setup.max_regions);
    memory_.allocate(backend());
    runs_ = {};
    if (setup.max_runs > 0) runs_.allocate(backend(), setup);
    const bool draws = setup.has_output && setup.out.format == setup.in.format;
    if (draws) ink_ = blank_device_ink(backend(), setup.size);
    if (!finished_) {
      check(cudaEventCreateWithFlags(&finished_, cudaEventDisableTiming), "creating an event");
    }
    has_past_ = false;
    tracker_.allocate(setup);
  }

  void slide(const Job& job, const CcLabelParams& params, Queue& queue) override {
    const cudaStream_t stream = stream_of(queue);
    if (has_past_) check(cudaStreamWaitEvent(stream, finished_, 0), "waiting for the last window");
    const TrackMemory& memory = tracker_.begin(stream);
    const WindowLabels window = label_window(job, params, queue);
    const LabelMap labels = window.newest();
    WindowFrame frame = frame_;
    frame.capacity = job.table.regions ? job.table.capacity : setup().max_regions;
    describe(labels, job.in, frame, stream);
    share_windows(window, frame, memory, stream);
    publish(job, frame, stream);
    const TrackRules rules = track_rules(params, setup().in);
    const TrackedRecords tracked{frame.records, frame.total, frame.capacity};
    tracker_.see(rules, tracked, stream);
    tracker_.match(rules, tracked, stream);
    tracker_.finish(rules, tracked, job.table.regions ? job.table : RegionTable{}, job.slot,
                    stream);
    if (job.table.runs) runs_.fill(labels, job.table, stream);
    if (!job.labels.empty()) write_labels(labels, job.labels, stream);
    if (!job.out.empty()) write_picture(labels, job.out, params, frame, stream);
    if (!job.out.empty() && params.output == CcOutput::overlay) {
      const DeviceRegions records{frame.records, frame.total, frame.capacity};
      draw(job.in, job.out, labels, records, params, ink_in(ink_.data(), setup().size), stream);
    }
    check(cudaEventRecord(finished_, stream), "recording an event");
    has_past_ = true;
  }

  static void publish(const Job& job, const WindowFrame& frame, cudaStream_t stream) {
    if (!job.table.regions) return;
    cclabel::publish_table(frame.total, {frame.records, frame.capacity}, job.table, stream);
  }

  void forget(Ids ids) override { tracker_.forget(ids); }
  TrackReport report(int slot) const override { return tracker_.report(slot); }

  tracking::Tracker tracker_;
  Workspace memory_;
  WindowFrame frame_ = {};
  runs::RunList runs_;
  Block ink_;
  cudaEvent_t finished_ = nullptr;  // behind the last frame's work
  bool has_past_ = false;
};

}  // namespace
}  // namespace sliding

template <>
std::unique_ptr<Algorithm<CcLabelParams>> make_algorithm<CcLabelParams, BackendKind::cuda>(
    std::shared_ptr<Backend> backend) {
  return std::make_unique<sliding::SlidingCuda>(backend);
}

}  // namespace regions

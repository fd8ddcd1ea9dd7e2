// Implements InFlightFrame: processes one frame or volume and attaches the results to its buffers.
#include "plugin/stream/in_flight_frame.hpp"

#include <algorithm>
#include <exception>

#include "plugin/metadata/region_meta.hpp"

namespace regions {

InFlightFrame::InFlightFrame(const StreamSetup& setup, int slot)
    : setup_(setup),
      slot_(slot),
      queue_(setup.queues->take(setup.backend, setup.priority)),
      transfer_(setup.slices > 1 ? make_volume_transfer(setup, *queue_)
                                 : make_picture_transfer(setup, *queue_)),
      fence_(std::make_shared<Fence>(setup.backend, *queue_)) {
  if (setup.algorithm->makes_regions()) {
    const RegionDetails details = setup.algorithm->details();
    records_ = RegionRecords(*setup.backend, setup.algorithm->max_regions(), details.lab,
                             details.borders, details.runs);
  }
  if (!setup.work_area.is_identity())
    work_pictures_ = std::make_unique<WorkAreaPictures>(setup, *queue_);
}

InFlightFrame::~InFlightFrame() { discard(); }

// Calls `work`. If it throws, waits for the part of the work that is already enqueued, releases all
// frames, and rethrows the exception.
template <class Work>
void InFlightFrame::discard_on_error(Work work) {
  try {
    work();
  } catch (...) {
    const std::exception_ptr error = std::current_exception();
    discard();
    std::rethrow_exception(error);
  }
}

bool InFlightFrame::add(GstBuffer* input, GstBuffer* output) {
  filled_ = g_get_monotonic_time();
  if (transfer_->frame_count() == 0) {
    started_ = filled_;
    time_ = GST_BUFFER_PTS(input);
  }
  warning_.clear();
  discard_on_error([&] { transfer_->add(input, output); });
  return transfer_->frame_count() == setup_.slices;
}

bool InFlightFrame::add_without_picture(GstBuffer* input, GstBuffer* output) {
  started_ = filled_ = g_get_monotonic_time();
  time_ = GST_BUFFER_PTS(input);
  total_ = 0;
  warning_.clear();
  wait_for_fence(input);
  passthrough_buffer_.reset(output ? output : input);
  if (!output) return true;
  gst_buffer_unref(input);
  discard_on_error(
      [&] { fill_with_zeros(MappedPicture(output, setup_.out, GST_MAP_WRITE).frame()); });
  GST_BUFFER_FLAG_SET(output, GST_BUFFER_FLAG_GAP);
  return true;
}

void InFlightFrame::start() {
  if (passthrough_buffer_) return;
  if (transfer_->frame_count() < setup_.slices) filled_ = g_get_monotonic_time();
  discard_on_error([&] {
    FrameTask task;
    task.slot = slot_;
    transfer_->enqueue_inputs(task);
    if (!records_.empty()) task.table = records_.table();
    // A sliding window has no records of occluded tracks.
    if (setup_.algorithm->has_sliding_window()) task.table.occluded_tracks = nullptr;
    queue_->start();
    enqueue_work(task);
    transfer_->enqueue_outputs(task);
    queue_->record();
  });
}

void InFlightFrame::enqueue_work(const FrameTask& task) {
  if (!work_pictures_) return setup_.algorithm->enqueue(task, *queue_);
  const FrameTask small = work_pictures_->enqueue_shrinking(task);
  setup_.algorithm->enqueue(small, *queue_);
  work_pictures_->enqueue_enlarging(small, task);
}

PendingPush InFlightFrame::take_early() {
  PendingPush early;
  discard_on_error([&] {
    is_taken_early_ = true;
    fence_->set_pending();
    CompletedFrame frame = transfer_->take_early();
    attach_fence(frame.buffer.get(), fence_);
    early = attach_results(std::move(frame), 1);
  });
  return early;
}

void InFlightFrame::finish() {
  work_time_ = 0;
  if (passthrough_buffer_) return;
  try {
    fence_->wait();
    work_time_ = queue_->elapsed();
    transfer_->complete_buffers();
    if (setup_.attaches_metadata()) collect_results();
    // The facts can no longer be attached, but facts() also checks them and throws if they
    // contradict each other.
    if (is_taken_early_) setup_.algorithm->facts(slot_);
  } catch (...) {
    release();
    throw;
  }
}

PendingPush InFlightFrame::take_next() {
  if (passthrough_buffer_) return {passthrough_buffer_.release()};
  try {
    const int frame_count = transfer_->frame_count();
    CompletedFrame next = transfer_->take_next();
    if (next.buffer && setup_.attaches_metadata())
      return attach_results(std::move(next), frame_count);
    if (next.buffer && setup_.removes_attached_labels) remove_labels(next.buffer.get());
    if (!next.buffer) release();
    return {next.buffer.release()};
  } catch (...) {
    release();
    throw;
  }
}

void InFlightFrame::collect_results() {
  total_ = records_.total();
  const LabelCapacity capacity = setup_.algorithm->check_result(slot_, total_, setup_.out.layout);
  warning_ = capacity.warning;
  record_count_ =
      records_.empty() ? 0 : std::min(capacity.labelled, setup_.algorithm->max_regions());
  // The records of occluded tracks follow the records of the regions. They are attached only if the
  // records of all regions are attached.
  if (record_count_ >= total_) record_count_ = total_ + records_.occluded_tracks();
  runs_ = records_.runs();
  if (setup_.slices > 1) {
    slice_runs_.sort(runs_, {setup_.in.size, transfer_->frame_count(), setup_.layers});
  }
  if (!work_pictures_) return;
  records_.enlarge(setup_.work_area, record_count_);
  enlarge(setup_.work_area, runs_, enlarged_runs_);
  runs_ = enlarged_runs_;
}

PendingPush InFlightFrame::attach_results(CompletedFrame frame, int frame_count) {
  FrameResults results;
  results.algorithm = setup_.algorithm->name();
  results.size = setup_.in.size;
  results.total = total_;
  results.details = setup_.algorithm->details();
  results.regions = records_.regions(record_count_);
  results.runs = runs_;
  if (setup_.slices > 1) {
    slice_regions_.clear();
    for (const Region& r : results.regions) {
      if (r.front <= frame.slice && frame.slice <= r.back) slice_regions_.push_back(r);
    }
    results.regions = slice_regions_;
    results.runs = slice_runs_.of(frame.slice);
    results.slice = frame.slice;
    results.slices = frame_count;
  } else {
    results.moments = records_.moments(record_count_);
    results.borders = records_.borders();
  }
  std::vector<GstClockTime> first_seen;
  if (setup_.algorithm->tracks()) {
    first_seen = setup_.algorithm->track_times().first_seen(results.regions,
                                                            GST_BUFFER_PTS(frame.buffer.get()));
    results.first_seen = first_seen;
  }
  results.runs_truncated = records_.total_runs() > records_.runs().size();
  results.layers = setup_.layers;
  results.layout = setup_.in.layout;
  results.color = setup_.in.color;
  results.labels = frame.label_map.get();
  results.labels_format = setup_.label_map_format();
  if (!is_taken_early_) results.facts = setup_.algorithm->facts(slot_);
  const GstStructure* structure =
      attach_regions(frame.buffer.get(), results, setup_.workers, *setup_.structures);
  return {frame.buffer.release(), structure};
}

void InFlightFrame::discard() {
  try {
    queue_->record();  // because work may have been enqueued after the last record()
    fence_->wait();
  } catch (const std::exception&) {
    // Errors of discarded work are ignored. If the device is lost, the next frame fails too and
    // reports it.
  }
  release();
}

void InFlightFrame::release() {
  passthrough_buffer_.reset();
  is_taken_early_ = false;
  transfer_->release();
}

}  // namespace regions

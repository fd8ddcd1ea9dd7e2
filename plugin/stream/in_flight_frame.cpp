// Implements InFlightFrame: processes one frame or volume and attaches the results to its buffers.
#include "plugin/stream/in_flight_frame.hpp"

#include <algorithm>
#include <cassert>
#include <iterator>

#include "plugin/metadata/region_meta.hpp"

namespace regions {
namespace {

// Copies the regions that have pixels. Returns whether one of them has a track. If none has one,
// the track of each copy is its id.
bool keep_objects(std::span<const Region> regions, std::vector<Region>& kept) {
  kept.clear();
  std::ranges::copy_if(regions, std::back_inserter(kept),
                       [](const Region& region) { return region.area > 0; });
  const bool is_tracked =
      std::ranges::any_of(kept, [](const Region& region) { return region.track != 0; });
  for (Region& region : kept) {
    if (!is_tracked) region.track = region.id;
  }
  return is_tracked;
}

}  // namespace

InFlightFrame::InFlightFrame(StreamResources& resources, SharedPlan plan, int slot)
    : resources_(resources),
      plan_(std::move(plan)),
      slot_(slot),
      queue_(plan_->is_inline() ? make_immediate_queue(*plan_->backend)
                                : resources.queues.take(plan_->backend, plan_->setup.priority)),
      transfer_(make_transfer(resources, plan_, *queue_)),
      fence_(std::make_shared<Fence>(plan_->backend, *queue_)),
      buffers_(static_cast<size_t>(plan_->slices())) {
  const Setup& setup = plan_->setup;
  if (plan_->makes_regions) {
    records_ = RegionRecords(*plan_->backend, setup.max_regions, resources.algorithm->details().lab,
                             setup.has_borders, setup.max_runs, setup.tracks);
  }
  if (!plan_->work_area.is_identity())
    work_pictures_ = std::make_unique<WorkAreaPictures>(*plan_, *queue_);
}

InFlightFrame::~InFlightFrame() {
  const Backend::Entry entry(*plan_->backend);
  discard();
  // The destructors of these members require the Entry.
  work_pictures_.reset();
  transfer_.reset();
  records_ = {};
  queue_.reset();
}

void InFlightFrame::change_state([[maybe_unused]] State from, State to) {
  assert(state_ == from);
  state_ = to;
}

// Calls `work`. If it throws, waits for the part of the work that is already enqueued, releases all
// frames, and rethrows the exception.
template <class Work>
void InFlightFrame::discard_on_error(Work work) {
  const Backend::Entry entry(*plan_->backend);
  try {
    work();
  } catch (...) {
    const std::exception_ptr error = std::current_exception();
    discard();
    std::rethrow_exception(error);
  }
}

// ---- filling

void InFlightFrame::begin(gint64 arrival_time) {
  change_state(State::pushed, State::filling);
  slot_wait_ = std::max<gint64>(done_time_ - arrival_time, 0);
  has_picture_ = true;
}

FrameBuffers& InFlightFrame::hold(BufferPtr input, BufferPtr output) {
  assert(state_ == State::filling && frame_count_ < buffers_.size());
  full_time_ = g_get_monotonic_time();
  if (frame_count_ == 0) {
    begin_time_ = full_time_;
    time_ = GST_BUFFER_PTS(input.get());
  }
  warning_.clear();
  FrameBuffers& buffers = buffers_[frame_count_++];
  buffers.hold(std::move(input), std::move(output));
  return buffers;
}

bool InFlightFrame::add(const SharedPlan& plan, BufferPtr input, BufferPtr output) {
  if (frame_count_ == 0 && plan != plan_) {
    plan_ = plan;
    transfer_->set_plan(plan);
  }
  hold(std::move(input), std::move(output));
  discard_on_error([&] { transfer_->add(added()); });
  return frame_count_ == buffers_.size();
}

bool InFlightFrame::add_without_picture(BufferPtr input, BufferPtr output) {
  wait_for_fence(input.get());
  FrameBuffers& buffers = hold(std::move(input), std::move(output));
  has_picture_ = false;
  total_regions_ = 0;
  if (!buffers.input) return true;
  buffers.input.reset();
  GstBuffer* blank = buffers.output.get();
  discard_on_error(
      [&] { fill_with_zeros(MappedPicture(blank, plan_->out, GST_MAP_WRITE).frame()); });
  GST_BUFFER_FLAG_SET(blank, GST_BUFFER_FLAG_GAP);
  return true;
}

void InFlightFrame::start() {
  start_time_ = g_get_monotonic_time();
  change_state(State::filling, State::queued);
  if (!has_picture_) return;
  if (frame_count_ < buffers_.size()) full_time_ = start_time_;
  discard_on_error([&] {
    FrameTask task;
    task.slot = slot_;
    transfer_->enqueue_inputs(added(), task);
    if (!records_.empty()) task.table = records_.table();
    // A sliding window has no records of occluded tracks.
    if (plan_->setup.slides) task.table.occluded_tracks = nullptr;
    queue_->start();
    enqueue_work(task);
    transfer_->enqueue_outputs(added(), task);
    queue_->record();
  });
}

void InFlightFrame::enqueue_work(const FrameTask& task) {
  ElementAlgorithm& algorithm = *resources_.algorithm;
  if (!work_pictures_) return algorithm.enqueue(task, *queue_);
  const FrameTask small = work_pictures_->enqueue_shrinking(*plan_, task);
  algorithm.enqueue(small, *queue_);
  work_pictures_->enqueue_enlarging(*plan_, small, task, algorithm.draws_tints());
}

// ---- finishing

bool InFlightFrame::finish_early() {
  assert(state_ == State::queued && can_push_early());
  try {
    discard_on_error([&] {
      is_pushed_early_ = true;
      fence_->set_pending();
      FrameBuffers& buffers = buffers_.front();
      buffers.in.unmap();
      // The work is not complete, but downstream waits for the fence instead of the CUDA stream.
      mark_complete(buffers.source());
      begin_scene_change();
      attach_fence(buffers.output.get(), fence_, scene_change_);
      attach_results(0);
    });
  } catch (...) {
    error_ = std::current_exception();
    state_ = State::done;
    frame_count_ = 1;
    return false;
  }
  ready_count_ = 1;
  record_latency(0);
  return true;
}

// Makes the text with which the next element gets the change of the scene. Elements downstream may
// still use the text of the former frame.
void InFlightFrame::begin_scene_change() {
  if (scene_change_.use_count() != 1) scene_change_ = std::make_shared<LateText>();
  scene_change_->begin([&algorithm = *resources_.algorithm, slot = slot_]() -> std::string {
    for (const Fact& fact : algorithm.facts(slot)) {
      if (fact.name == std::string_view(kSceneChangeField))
        return std::get<std::string>(fact.value);
    }
    return {};
  });
}

void InFlightFrame::finish() {
  change_state(State::queued, State::done);
  const Backend::Entry entry(*plan_->backend);
  work_time_ = 0;
  latency_ = {};
  try {
    gint64 wait_time = 0;  // time since the end of the work, during which earlier frames left, µs
    if (has_picture_) {
      // While a fence is pending, the thread of the next element may use the queue.
      const bool was_done = !is_pushed_early_ && queue_->done();
      fence_->wait();
      work_time_ = queue_->elapsed();
      const gint64 end_of_work = start_time_ + work_time_ / 1000;
      if (was_done) wait_time = std::max<gint64>(g_get_monotonic_time() - end_of_work, 0);
      transfer_->complete_buffers({buffers_.data(), is_pushed_early_ ? 1 : frame_count_});
      if (plan_->attaches_metadata()) collect_results();
      // The frame has left, so the next element attaches the change of the scene.
      if (is_pushed_early_) scene_change_->get();
    }
    is_processed_ = true;
    while (ready_count_ < frame_count_) {
      FrameBuffers& buffers = buffers_[ready_count_];
      buffers.end_reading();
      if (has_picture_ && plan_->attaches_metadata()) {
        attach_results(ready_count_);
      } else if (has_picture_ && plan_->removes_label_maps()) {
        remove_labels(buffers.output.get());
      }
      ++ready_count_;
    }
    record_latency(wait_time);
  } catch (...) {
    error_ = std::current_exception();
  }
  for (size_t i = ready_count_; i < buffers_.size(); ++i) buffers_[i].release();
}

void InFlightFrame::collect_results() {
  const Setup& setup = plan_->setup;
  total_regions_ = records_.total();
  const LabelCapacity capacity =
      resources_.algorithm->check_result(slot_, total_regions_, plan_->out.layout);
  warning_ = capacity.warning.empty() ? buffers_.front().notes.warning : capacity.warning;
  record_count_ = records_.empty() ? 0 : std::min(capacity.labelled, setup.max_regions);
  // The records of occluded tracks follow the records of the regions. They are attached only if the
  // records of all regions are attached.
  if (record_count_ >= total_regions_) record_count_ = total_regions_ + records_.occluded_tracks();
  runs_ = records_.runs();
  if (plan_->slices() > 1)
    slice_runs_.sort(runs_, {plan_->in.size, static_cast<int>(frame_count_), setup.layers});
  if (!work_pictures_) return;
  records_.enlarge(plan_->work_area, record_count_);
  enlarge(plan_->work_area, runs_, enlarged_runs_);
  runs_ = enlarged_runs_;
}

// Attaches the results to the frame with this index in its volume.
void InFlightFrame::attach_results(size_t index) {
  ElementAlgorithm& algorithm = *resources_.algorithm;
  FrameBuffers& buffers = buffers_[index];
  FrameResults results;
  results.algorithm = algorithm.name();
  results.size = plan_->in.size;
  results.forms = plan_->settings.describe;
  results.total = total_regions_;
  results.details = algorithm.details();
  results.regions = records_.regions(record_count_);
  results.runs = runs_;
  bool is_tracked = algorithm.tracks();
  if (plan_->slices() > 1) {
    results.slice = static_cast<int>(index);
    results.slices = static_cast<int>(frame_count_);
    kept_regions_.clear();
    for (const Region& r : results.regions) {
      if (r.front <= results.slice && results.slice <= r.back) kept_regions_.push_back(r);
    }
    results.regions = kept_regions_;
    results.runs = slice_runs_.of(results.slice);
  } else if (algorithm.skips_empty()) {
    is_tracked = keep_objects(results.regions, kept_regions_);
    results.regions = kept_regions_;
    results.total = static_cast<uint32_t>(kept_regions_.size());
  } else {
    results.moments = records_.moments(record_count_);
    results.borders = records_.borders();
  }
  std::vector<GstClockTime> first_seen;
  if (is_tracked) {
    first_seen =
        algorithm.track_times().first_seen(results.regions, GST_BUFFER_PTS(buffers.output.get()));
    results.first_seen = first_seen;
    results.track_states = records_.track_states(record_count_);
  }
  results.runs_truncated = records_.total_runs() > records_.runs().size();
  results.layers = plan_->setup.layers;
  results.layout = plan_->in.layout;
  results.color = plan_->in.color;
  results.labels = buffers.label_map.get();
  results.labels_format = plan_->label_map_format();
  if (!is_pushed_early_) {
    results.facts = algorithm.facts(slot_);
    std::ranges::copy(buffers.notes.facts, std::back_inserter(results.facts));
    if (buffers.scene_change) results.scene_change = buffers.scene_change->get();
  }
  buffers.structure =
      attach_regions(buffers.output.get(), results, resources_.workers, *resources_.structure_pool);
  buffers.label_map.reset();
}

// Measures the latency of the ready frames. It does not include `wait_time`, the time during which
// the finished frame waited for earlier frames (µs).
void InFlightFrame::record_latency(gint64 wait_time) {
  done_time_ = g_get_monotonic_time() - wait_time;
  latency_ = {full_time_ - begin_time_, done_time_ - full_time_ + slot_wait_};
}

void InFlightFrame::set_pushed() {
  if (state_ == State::queued) {  // the frame was pushed early, and finish() comes later
    assert(is_pushed_early_);
    frame_count_ = ready_count_ = 0;
    return;
  }
  change_state(State::done, State::pushed);
  release();
}

void InFlightFrame::discard() {
  const Backend::Entry entry(*plan_->backend);
  if (state_ == State::filling || state_ == State::queued) {
    try {
      queue_->record();  // because work may have been enqueued after the last record()
      fence_->wait();
    } catch (const std::exception&) {
      // Errors of discarded work are ignored. If the device is lost, the next frame fails too and
      // reports it.
    }
  }
  state_ = State::pushed;
  release();
}

void InFlightFrame::release() {
  if (scene_change_) scene_change_->end();
  for (FrameBuffers& buffers : buffers_) buffers.release();
  frame_count_ = ready_count_ = 0;
  is_pushed_early_ = is_processed_ = false;
  error_ = nullptr;
}

}  // namespace regions

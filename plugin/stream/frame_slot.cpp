// One frame, or one volume, on its way through an element.
#include "plugin/stream/frame_slot.hpp"

#include <algorithm>
#include <exception>

#include "plugin/metadata/region_meta.hpp"

namespace regions {
FrameSlot::FrameSlot(const SlotSetup& setup, int index)
    : setup_(setup),
      index_(index),
      queue_(setup.queues->take(setup.backend, setup.priority)),
      transfer_(setup.slices > 1 ? make_volume_transfer(setup, *queue_)
                                 : make_picture_transfer(setup, *queue_)),
      fence_(std::make_shared<Fence>(setup.backend, *queue_)) {
  if (setup.engine->makes_regions()) {
    const Details details = setup.engine->details();
    records_ = RegionRecords(*setup.backend, setup.engine->max_regions(), details.lab,
                             details.borders, details.runs);
  }
  if (!setup.work_area.is_whole()) work_pictures_ = std::make_unique<WorkPictures>(setup, *queue_);
}

FrameSlot::~FrameSlot() { discard(); }

// Part of the work may be running when something is thrown: discard() waits for it.
template <class Work>
void FrameSlot::guarded(Work work) {
  try {
    work();
  } catch (...) {
    const std::exception_ptr cause = std::current_exception();
    discard();
    std::rethrow_exception(cause);
  }
}

bool FrameSlot::add(GstBuffer* input, GstBuffer* output) {
  filled_ = g_get_monotonic_time();
  if (transfer_->frames() == 0) {
    started_ = filled_;
    time_ = GST_BUFFER_PTS(input);
  }
  warning_.clear();
  guarded([&] { transfer_->add(input, output); });
  return transfer_->frames() == setup_.slices;
}

bool FrameSlot::pass(GstBuffer* input, GstBuffer* output) {
  started_ = filled_ = g_get_monotonic_time();
  time_ = GST_BUFFER_PTS(input);
  total_ = 0;
  warning_.clear();
  await_fence(input);
  passed_.reset(output ? output : input);
  if (!output) return true;
  gst_buffer_unref(input);
  guarded([&] { blank(MappedPicture(output, setup_.out, GST_MAP_WRITE).frame()); });
  GST_BUFFER_FLAG_SET(output, GST_BUFFER_FLAG_GAP);
  return true;
}

void FrameSlot::begin() {
  if (passed_) return;
  if (transfer_->frames() < setup_.slices) filled_ = g_get_monotonic_time();
  guarded([&] {
    Job job;
    job.slot = index_;
    transfer_->bring_in(job);
    if (!records_.empty()) job.table = records_.table();
    // Regions of a window join and part with what is in it: a record is a region's.
    if (setup_.engine->has_window()) job.table.parts = nullptr;
    queue_->start();
    work(job);
    transfer_->take_back(job);
    queue_->record();
  });
}

void FrameSlot::work(const Job& job) {
  if (!work_pictures_) return setup_.engine->enqueue(job, *queue_);
  const Job small = work_pictures_->enter(job);
  setup_.engine->enqueue(small, *queue_);
  work_pictures_->leave(small, job);
}

Finished FrameSlot::hand_over() {
  Finished leaving;
  guarded([&] {
    handed_over_ = true;
    fence_->raise();
    ReturnedFrame frame = transfer_->hand_over();
    put_fence(frame.buffer.get(), fence_);
    leaving = describe(std::move(frame), 1);
  });
  return leaving;
}

void FrameSlot::finish() {
  work_time_ = 0;
  if (passed_) return;
  try {
    fence_->wait();
    work_time_ = queue_->elapsed();
    transfer_->complete();
    if (setup_.describes()) judge();
    if (handed_over_) setup_.engine->facts(index_);  // throws where they contradict each other
  } catch (...) {
    release();
    throw;
  }
}

Finished FrameSlot::take() {
  if (passed_) return {passed_.release()};
  try {
    const int frames = transfer_->frames();
    ReturnedFrame next = transfer_->take();
    if (next.buffer && setup_.describes()) return describe(std::move(next), frames);
    if (next.buffer && setup_.releases_labels) release_labels(next.buffer.get());
    if (!next.buffer) release();
    return {next.buffer.release()};
  } catch (...) {
    release();
    throw;
  }
}

void FrameSlot::judge() {
  total_ = records_.total();
  const Verdict verdict = setup_.engine->judge(index_, total_, setup_.out.layout);
  warning_ = verdict.warning;
  kept_ = records_.empty() ? 0 : std::min(verdict.kept, setup_.engine->max_regions());
  // Parts of shared regions come behind all regions; where some are dropped, so are the parts.
  if (kept_ >= total_) kept_ = total_ + records_.parts();
  runs_ = records_.runs();
  if (setup_.slices > 1) {
    slice_runs_.sort(runs_, {setup_.in.size, transfer_->frames(), setup_.layers});
  }
  if (!work_pictures_) return;
  records_.enlarge(setup_.work_area, kept_);
  enlarge(setup_.work_area, runs_, enlarged_runs_);
  runs_ = enlarged_runs_;
}

Finished FrameSlot::describe(ReturnedFrame frame, int frames) {
  Findings findings;
  findings.algorithm = setup_.engine->name();
  findings.size = setup_.in.size;
  findings.total = total_;
  findings.details = setup_.engine->details();
  findings.regions = records_.regions(kept_);
  findings.runs = runs_;
  if (setup_.slices > 1) {
    crossing_.clear();
    for (const Region& r : findings.regions) {
      if (r.front <= frame.slice && frame.slice <= r.back) crossing_.push_back(r);
    }
    findings.regions = crossing_;
    findings.runs = slice_runs_.of(frame.slice);
    findings.slice = frame.slice;
    findings.slices = frames;
  } else {
    findings.moments = records_.moments(kept_);
    findings.borders = records_.borders();
  }
  std::vector<GstClockTime> first_seen;
  if (setup_.engine->tracks()) {
    first_seen = setup_.engine->track_times().first_seen(findings.regions,
                                                         GST_BUFFER_PTS(frame.buffer.get()));
    findings.first_seen = first_seen;
  }
  findings.runs_truncated = records_.total_runs() > records_.runs().size();
  findings.layers = setup_.layers;
  findings.layout = setup_.in.layout;
  findings.color = setup_.in.color;
  findings.labels = frame.map.get();
  findings.labels_format = setup_.map_format();
  if (!handed_over_) findings.facts = setup_.engine->facts(index_);
  const GstStructure* structure =
      attach(frame.buffer.get(), findings, setup_.workers, *setup_.structures);
  return {frame.buffer.release(), structure};
}

void FrameSlot::discard() {
  try {
    queue_->record();  // there may be work behind the last one
    fence_->wait();
  } catch (const std::exception&) {
    // The dropped work's own failure does not matter; a lost device fails the next frame too.
  }
  release();
}

void FrameSlot::release() {
  passed_.reset();
  handed_over_ = false;
  transfer_->release();
}

}  // namespace regions

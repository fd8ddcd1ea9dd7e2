// One frame on its way through an element.
#include "plugin/frame_slot.hpp"

#include <algorithm>
#include <exception>

namespace regions {
FrameSlot::FrameSlot(const SlotSetup& setup, int index)
    : setup_(setup), index_(index), queue_(setup.backend->make_queue(setup.priority)) {
  Backend& backend = *setup.backend;
  if (setup.engine->makes_regions()) {
    const Details details = setup.engine->details();
    records_ = RegionRecords(backend, setup.engine->max_regions(), details.lab, details.borders,
                             details.runs);
  }
  if (setup.slices > 1) {
    stack_ = std::make_unique<SliceStack>(setup, *queue_);
    return;
  }
  if (!setup.place.is_whole()) work_ = std::make_unique<WorkPictures>(setup, *queue_);
  const size_t in_bytes = packed_bytes(setup.in.layout, setup.in.size);
  if (setup.uploads()) {
    pinned_in_ = backend.allocate_pinned(in_bytes);
    device_in_ = backend.allocate(in_bytes);
  }
  if (setup.downloads()) {
    const size_t out_bytes = packed_bytes(setup.out.layout, setup.out.size);
    pinned_out_ = backend.allocate_pinned(out_bytes);
    if (setup.replaces()) device_out_ = backend.allocate(out_bytes);
  }
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
  if (!stack_ || stack_->slices() == 0) started_ = filled_;
  warning_.clear();
  if (!stack_) {
    output_ = output ? output : input;
    input_ = output ? input : nullptr;
    return true;
  }
  guarded([&] { stack_->add(input, output); });
  return stack_->slices() == setup_.slices;
}

bool FrameSlot::pass(GstBuffer* input, GstBuffer* output) {
  started_ = filled_ = g_get_monotonic_time();
  warning_.clear();
  passes_ = true;
  output_ = output ? output : input;
  input_ = output ? input : nullptr;
  if (output) {
    guarded([&] { blank(MappedPicture(output, setup_.out, GST_MAP_WRITE).frame()); });
    GST_BUFFER_FLAG_SET(output, GST_BUFFER_FLAG_GAP);
  }
  return true;
}

void FrameSlot::begin() {
  if (passes_) return;
  if (stack_ && stack_->slices() < setup_.slices) filled_ = g_get_monotonic_time();
  guarded([&] {
    Job job;
    job.slot = index_;
    if (stack_) {
      stack_->fill(job);
    } else {
      bring_in(job);
      bring_attached(job);
      if (setup_.map_pool) take_map(job);
    }
    if (!records_.empty()) job.table = records_.table();
    queue_->start();
    if (work_) {
      const Job small = work_->enter(job);
      setup_.engine->enqueue(small, *queue_);
      work_->leave(small, job);
    } else {
      setup_.engine->enqueue(job, *queue_);
    }
    if (stack_) {
      stack_->take_back(job);
    } else {
      take_back(job);
    }
    queue_->record();
  });
}

void FrameSlot::bring_in(Job& job) {
  const bool in_place = setup_.picture == Output::drawn_on;
  GstBuffer* source = input_ ? input_ : output_;
  in_map_.map(source, setup_.in, in_place ? GST_MAP_READWRITE : GST_MAP_READ);
  if (setup_.in.cuda) setup_.cuda->await_producer(source, *queue_);
  Frame in = in_map_.frame();
  if (setup_.uploads()) {
    in = packed_frame(setup_.in.layout, setup_.in.size, setup_.in.color, Memory::device,
                      device_in_.data());
    if (is_pinned(source)) {
      queue_->copy(in_map_.frame(), in);
    } else {
      const Frame staged = packed_frame(setup_.in.layout, setup_.in.size, setup_.in.color,
                                        Memory::host, pinned_in_.data());
      copy_rows(in_map_.frame(), staged, setup_.workers);
      queue_->copy(staged, in);
    }
  }
  job.in = in;
  if (in_place) job.out = in;
  if (!setup_.replaces()) return;
  out_map_.map(output_, setup_.out, GST_MAP_WRITE);
  job.out = setup_.downloads() ? packed_frame(setup_.out.layout, setup_.out.size, setup_.out.color,
                                              Memory::device, device_out_.data())
                               : out_map_.frame();
}

void FrameSlot::bring_attached(Job& job) {
  if (!setup_.engine->reads_regions() && !setup_.engine->reads_mask()) return;
  const bool found = read(input_ ? input_ : output_, setup_.in.size, attached_);
  if (setup_.engine->needs_mask()) expect_mask(attached_);
  if (!found) return;
  if (work_) reduce(setup_.place, attached_.regions);
  job.attached = attached_.regions.data();
  job.attached_count = static_cast<uint32_t>(
      std::min<size_t>(attached_.regions.size(), setup_.engine->max_regions()));
  if (!attached_.labels || !setup_.engine->reads_mask()) return;

  Backend& backend = *setup_.backend;
  job.mask = mask_.hold(attached_, backend);
  if (job.mask.memory == backend.memory()) return;
  const size_t bytes =
      static_cast<size_t>(job.mask.pitch[0]) * static_cast<size_t>(job.mask.height);
  if (device_mask_.bytes() < bytes) {  // at the first such frame only
    pinned_mask_ = backend.allocate_pinned(bytes);
    device_mask_ = backend.allocate(bytes);
  }
  std::copy_n(job.mask.plane[0], bytes, pinned_mask_.as<std::byte>());
  queue_->copy_bytes(pinned_mask_.data(), device_mask_.data(), bytes);
  job.mask.plane[0] = device_mask_.as<std::byte>();
  job.mask.memory = backend.memory();
}

void FrameSlot::take_map(Job& job) {
  map_ = acquire(setup_.map_pool, "a label map or mask");
  void* data = device_data(map_).data;
  const int width = setup_.in.size.width, height = setup_.in.size.height * setup_.layers;
  if (setup_.map_format() == PixelFormat::gray8) {
    job.foreground = {static_cast<uint8_t*>(data), width, height, width};
  } else {
    job.labels = {static_cast<uint32_t*>(data), width, height,
                  static_cast<ptrdiff_t>(sizeof(uint32_t)) * width};
  }
}

void FrameSlot::take_back(const Job& job) {
  copy_rows_back_ = false;
  if (!setup_.downloads()) return;
  const bool in_place = setup_.picture == Output::drawn_on;
  const Frame& target = in_place ? in_map_.frame() : out_map_.frame();
  copy_rows_back_ = !is_pinned(output_);
  queue_->copy(job.out, copy_rows_back_
                            ? packed_frame(setup_.out.layout, setup_.out.size, setup_.out.color,
                                           Memory::host, pinned_out_.data())
                            : target);
}

void FrameSlot::finish() {
  work_time_ = 0;
  if (passes_) return;
  try {
    queue_->wait();
    work_time_ = queue_->elapsed() / static_cast<int64_t>(frames());
    if (stack_) {
      stack_->spread();
    } else if (copy_rows_back_) {
      const Frame staged = packed_frame(setup_.out.layout, setup_.out.size, setup_.out.color,
                                        Memory::host, pinned_out_.data());
      copy_rows(staged, setup_.replaces() ? out_map_.frame() : in_map_.frame(), setup_.workers);
    }
    in_map_.unmap();
    out_map_.unmap();
    if (setup_.in.cuda && setup_.picture == Output::drawn_on) mark_complete(output_);
    if (setup_.describes()) judge();
  } catch (...) {
    release();
    throw;
  }
}

Finished FrameSlot::take() {
  if (passes_) {
    const Finished passed = {std::exchange(output_, nullptr)};
    release();
    return passed;
  }
  try {
    const std::span<const Region> known = records_.regions(kept_);
    if (!stack_) {
      Finished finished = {output_};
      if (output_ && setup_.describes()) {
        finished = describe(output_, map_, known, 0, 0);
      } else if (output_ && setup_.releases_labels) {
        release_labels(output_);
      }
      output_ = nullptr;
      release();
      return finished;
    }
    const int slices = stack_->slices();
    const SliceStack::Slice slice = stack_->take();
    if (!slice.buffer) {
      release();
      return {};
    }
    crossing_.clear();  // a frame tells of the regions whose boxes it crosses
    for (const Region& r : known) {
      if (r.front <= slice.z && slice.z <= r.back) crossing_.push_back(r);
    }
    const Finished finished = describe(slice.buffer, slice.map, crossing_, slice.z, slices);
    if (slice.map) gst_buffer_unref(slice.map);
    return finished;
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
  runs_ = records_.runs();
  if (stack_) slice_runs_.sort(runs_, {setup_.in.size, stack_->slices(), setup_.layers});
  if (!work_) return;
  records_.enlarge(setup_.place, std::min(kept_, total_));
  enlarge(setup_.place, runs_, enlarged_runs_);
  runs_ = enlarged_runs_;
}

Finished FrameSlot::describe(GstBuffer* buffer, GstBuffer* map, std::span<const Region> regions,
                             int slice, int slices) {
  Findings findings;
  findings.algorithm = setup_.engine->name();
  findings.size = setup_.in.size;
  findings.total = total_;
  findings.regions = regions;
  findings.details = setup_.engine->details();
  if (stack_) {
    findings.runs = slice_runs_.of(slice);
  } else {
    findings.runs = runs_;
    findings.moments = records_.moments(kept_);
    findings.borders = records_.borders();
  }
  std::vector<GstClockTime> first_seen;
  if (setup_.engine->tracks()) {
    first_seen = setup_.engine->track_times().first_seen(regions, GST_BUFFER_PTS(buffer));
    findings.first_seen = first_seen;
  }
  findings.runs_truncated = records_.total_runs() > records_.runs().size();
  findings.slice = slice;
  findings.slices = setup_.slices > 1 ? slices : 0;
  findings.layers = setup_.layers;
  findings.layout = setup_.in.layout;
  findings.color = setup_.in.color;
  findings.labels = map;
  findings.labels_format = setup_.map_format();
  if (!stack_) findings.facts = setup_.engine->facts(index_);
  return {buffer, attach(buffer, findings, setup_.workers, *setup_.structures)};
}

void FrameSlot::discard() {
  try {
    queue_->record();  // there may be work behind the last one
    queue_->wait();
  } catch (const std::exception&) {
    // What is dropped may have failed; the next frame will tell if the device is lost.
  }
  release();
}

void FrameSlot::release() {
  passes_ = false;
  if (stack_) stack_->release();
  in_map_.unmap();
  out_map_.unmap();
  mask_.drop();
  gst_clear_buffer(&map_);
  gst_clear_buffer(&input_);
  gst_clear_buffer(&output_);
}

}  // namespace regions

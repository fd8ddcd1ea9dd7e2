// Implements StreamSetup and PreparedQueues.
#include "plugin/stream/stream_setup.hpp"

namespace regions {

void PreparedQueues::prepare(const std::shared_ptr<Backend>& backend, int count, int priority) {
  queues_.clear();
  backend_ = backend;
  priority_ = priority;
  if (!backend || backend->kind() != BackendKind::cuda) return;
  for (int i = 0; i < count; ++i) queues_.push_back(backend->make_queue(priority));
}

std::unique_ptr<Queue> PreparedQueues::take(const std::shared_ptr<Backend>& backend, int priority) {
  if (queues_.empty() || backend != backend_ || priority != priority_) {
    return backend->make_queue(priority);
  }
  std::unique_ptr<Queue> queue = std::move(queues_.back());
  queues_.pop_back();
  return queue;
}

size_t StreamSetup::label_map_bytes() const {
  return in.size.area() * static_cast<size_t>(layout_of(label_map_format()).sample_bytes) *
         static_cast<size_t>(layers);
}

// Replaced pictures are always pushed in system memory, even if the input is in CUDA memory.
bool StreamSetup::downloads() const {
  return backend->memory() == Memory::device &&
         (replaces_picture() || (!in.cuda && output == Output::drawn_on));
}

bool StreamSetup::can_push_early() const {
  return backend->kind() == BackendKind::cuda && in.cuda && output == Output::untouched &&
         slices == 1 && algorithm->makes_mask();
}

bool StreamSetup::accepts_fences_from(const std::shared_ptr<Backend>& other) const {
  return backend == other && in.cuda && slices == 1 && attaches_metadata();
}

void StreamSetup::expect_work_area(const WorkArea& area) const {
  expects_setting(area.is_identity() || (slices == 1 && layers == 1),
                  "process-scale and the rectangle require depth=1 and no thresholds");
}

Setup setup_of(const StreamSetup& stream, const RegionDetails& details, bool reads_mask,
               int slots) {
  Setup setup;
  setup.in = stream.in.layout;
  setup.size = stream.work_area.work;
  setup.color = stream.in.color;
  setup.has_output = stream.output != Output::untouched;
  setup.out = stream.out.layout;
  setup.has_mask = reads_mask;
  setup.mask = layout_of(PixelFormat::labels32);
  setup.slots = slots;
  setup.has_borders = details.borders;
  setup.max_runs = details.runs;
  setup.priority = stream.priority;
  return setup;
}

}  // namespace regions

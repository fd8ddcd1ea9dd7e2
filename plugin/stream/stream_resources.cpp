// Implements PreparedQueues.
#include "plugin/stream/stream_resources.hpp"

#include <utility>

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

}  // namespace regions

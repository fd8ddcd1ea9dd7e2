// Queues that wait for the first frames. Where many streams begin at once, all ask the driver for
// theirs when the caps come, and each waits for the others.
#pragma once

#include <memory>
#include <vector>

#include "core/backend.hpp"

namespace regions {

class ReadyQueues {
 public:
  // Of a GPU; the CPU's are threads, which are made soon enough.
  void make(const std::shared_ptr<Backend>& backend, int count, int priority) {
    queues_.clear();
    backend_ = backend;
    priority_ = priority;
    if (!backend || backend->kind() != BackendKind::cuda) return;
    for (int i = 0; i < count; ++i) queues_.push_back(backend->make_queue(priority));
  }
  // One of them, or where there is none that fits, a new one.
  std::unique_ptr<Queue> take(const std::shared_ptr<Backend>& backend, int priority) {
    if (queues_.empty() || backend != backend_ || priority != priority_) {
      return backend->make_queue(priority);
    }
    std::unique_ptr<Queue> queue = std::move(queues_.back());
    queues_.pop_back();
    return queue;
  }

 private:
  std::shared_ptr<Backend> backend_;
  int priority_ = 0;
  std::vector<std::unique_ptr<Queue>> queues_;
};

}  // namespace regions

// StreamResources: the objects that the frames of a stream use besides its plan.
#pragma once

#include <gst/gst.h>

#include <memory>
#include <utility>
#include <vector>

#include "core/workers.hpp"
#include "plugin/memory/cuda_memory.hpp"
#include "plugin/metadata/region_structure.hpp"
#include "plugin/stream/element_algorithm.hpp"

namespace regions {

// Queues that are created before the first frames, when the element opens. If many streams start at
// once, they would otherwise all create their queues when the caps arrive, and the driver would
// serialize these calls.
class PreparedQueues {
 public:
  // Replaces the prepared queues by `count` queues of a GPU. Prepares no queues for a null backend
  // or for the CPU, because creating a CPU queue is fast.
  void prepare(const std::shared_ptr<Backend>& backend, int count, int priority) {
    queues_.clear();
    backend_ = backend;
    priority_ = priority;
    if (!backend || backend->kind() != BackendKind::cuda) return;
    for (int i = 0; i < count; ++i) queues_.push_back(backend->make_queue(priority));
  }
  // Returns a prepared queue, or a new one if none has this backend and priority.
  std::unique_ptr<Queue> take(const std::shared_ptr<Backend>& backend, int priority) {
    if (queues_.empty() || backend != backend_ || priority != priority_)
      return backend->make_queue(priority);
    std::unique_ptr<Queue> queue = std::move(queues_.back());
    queues_.pop_back();
    return queue;
  }

 private:
  std::shared_ptr<Backend> backend_;
  int priority_ = 0;
  std::vector<std::unique_ptr<Queue>> queues_;
};

// FilterStream owns them. Its frames use them only while the stream runs.
struct StreamResources {
  // From the construction of the element to its end.
  const std::unique_ptr<ElementAlgorithm> algorithm;
  CudaContext cuda;

  // From open() to close().
  PreparedQueues queues;
  std::shared_ptr<void> reserved_pinned;  // reservation of pinned memory for records of regions

  // For one stream.
  Workers workers{1};  // CPU threads that copy frames and write their metadata
  std::shared_ptr<StructurePool> structure_pool;
  std::shared_ptr<GstBufferPool> label_map_pool;  // null if no label map or mask is attached
};

}  // namespace regions

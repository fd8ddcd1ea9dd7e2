// A cache of configured algorithms for later calls with pictures of the same size and format. Each
// call has exclusive use of an algorithm, so calls of several threads run in parallel. On a device,
// the work of an earlier call may still run when the next call adds its work to the same queue.
#pragma once

#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <condition_variable>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "core/region_records.hpp"
#include "python/device_queue.hpp"

namespace regions::python {

// Parameters as pairs of name and text. The Field tables define the names and the ranges.
using Settings = std::vector<std::pair<std::string, std::string>>;

// Returns parameters P with the given values. Throws InputError for a value that is out of range.
template <class P>
P parameters(const Settings& settings) {
  P params;
  for (const auto& [name, value] : settings) {
    assign_text(find(fields_of(params), name), &params, value);
  }
  return params;
}

// Calls with an equal key can use the same cached algorithm.
struct CacheKey {
  enum class Work : uint8_t {
    label,   // connected components
    select,  // removal of small regions from a mask
    slic,    // superpixels
    cut4,    // minimum cut with 4 neighbours per pixel
    cut8,    // minimum cut with 8 neighbours per pixel
    boxes    // objects in boxes
  };
  Work work;
  Setup setup;
  int threads, device;  // as in the Target
  int variant = 0;      // distinguishes algorithms with other differences, such as counting regions
  bool operator==(const CacheKey&) const = default;
};

// The cache of the process.
class AlgorithmCache {
 public:
  static AlgorithmCache& instance();

  // While a Use exists, fork() waits. A child process has no worker threads, so fork() stops the
  // threads first. Parent and child start new threads with their next work.
  class Use {
   public:
    Use();
    ~Use();
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;
  };

  // Calls work(algorithm) with an idle algorithm of the type A with this key, or with a new
  // algorithm A(arguments). If work() throws, the algorithm is destroyed.
  template <class A, class Work, class... Arguments>
  auto with(const CacheKey& key, const Work& work, const Arguments&... arguments) {
    const Use use;
    std::shared_ptr<void> algorithm = take(key);
    if (!algorithm) algorithm = std::make_shared<A>(arguments...);
    auto result = work(*static_cast<A*>(algorithm.get()));
    put_back(key, std::move(algorithm));
    return result;
  }

 private:
  struct Idle {
    CacheKey key;
    std::shared_ptr<void> algorithm;  // its type depends on key.work
  };

  AlgorithmCache();
  std::shared_ptr<void> take(const CacheKey& key);
  void put_back(const CacheKey& key, std::shared_ptr<void> algorithm);
  void before_fork();
  void after_fork();

  std::mutex mutex_;                 // guards the members below
  std::condition_variable no_uses_;  // wakes before_fork() when uses_ becomes 0
  int uses_ = 0;                     // number of Use objects
  std::list<Idle> idle_;             // most recently used first
};

// A cached algorithm with parameters P.
template <class P>
class ParametrisedAlgorithm {
 public:
  // `extra_bytes` is the size of additional backend memory, which run() passes to after_work().
  ParametrisedAlgorithm(const Target& target, const Setup& setup, const P& params,
                        size_t extra_bytes = 0)
      : queue_(target), session_(params) {
    Backend& backend = *queue_.backend();
    const Backend::Entry entry(backend);
    session_.move_to(queue_.backend());
    records_ = RegionRecords(backend, 1, false, false, 0);
    session_.configure(setup, params);
    if (extra_bytes > 0) extra_memory_ = backend.allocate(extra_bytes);
  }
  ~ParametrisedAlgorithm() {
    auto algorithm = session_.move_to(nullptr);
    queue_.destroy(algorithm, records_, extra_memory_);
  }

  // Runs the task as DeviceQueue::run() does. After the algorithm's enqueue() it calls
  // after_work(total, extra memory, queue), which may enqueue more work. `total` is the address to
  // which the number of regions is written. Returns the number of regions. On a device, returns
  // nothing unless `returns_total` is set.
  template <class AfterWork = void (*)(uint32_t*, void*, Queue&)>
  std::optional<uint32_t> run(
      const Target& target, FrameTask task, const P& params, bool returns_total,
      const AfterWork& after_work = [](uint32_t*, void*, Queue&) {}) {
    uint32_t* const total = records_.table().total;
    // If there is extra memory, after_work() writes the number of regions.
    if (target.is_cpu() || (returns_total && !extra_memory_.data())) task.table.total = total;
    queue_.run(target, [&](Queue& queue) {
      session_.enqueue(task, queue, [&](P& frame_params) { frame_params = params; });
      after_work(total, extra_memory_.data(), queue);
    });
    if (!target.is_cpu() && !returns_total) return {};
    queue_.wait();
    return records_.total();
  }

 private:
  DeviceQueue queue_;
  Session<P> session_;
  RegionRecords records_;  // memory for one record and for the counts
  Block extra_memory_;     // in the backend's memory, or empty
};

}  // namespace regions::python

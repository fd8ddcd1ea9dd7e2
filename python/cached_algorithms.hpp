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

#include "core/field.hpp"
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

// Base class of the cached objects: an algorithm with its queue.
class CachedAlgorithm {
 public:
  explicit CachedAlgorithm(const Target& target) : queue_(target) {}
  virtual ~CachedAlgorithm() = default;
  DeviceQueue& queue() { return queue_; }

 private:
  DeviceQueue queue_;
};

// Calls with an equal key can use the same cached algorithm.
struct CacheKey {
  enum class Work : uint8_t {
    label,   // connected components
    select,  // removal of small regions from a mask
    slic,    // superpixels
    cut4,    // minimum cut with 4 neighbours per pixel
    cut8     // minimum cut with 8 neighbours per pixel
  };
  Work work;
  PixelFormat format;
  Size size;
  int depth, layers, threads, device;
  int variant;  // distinguishes algorithms that differ in other properties of the work
  CacheKey(Work key_work, PixelFormat pixel_format, Size picture_size, int slices,
           int threshold_count, const Target& target, int other_properties = 0)
      : work(key_work),
        format(pixel_format),
        size(picture_size),
        depth(slices),
        layers(threshold_count),
        threads(target.threads),
        device(target.device),
        variant(other_properties) {}
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
  // algorithm from make(). If work() throws, the algorithm is destroyed.
  template <class A, class Make, class Work>
  auto with(const CacheKey& key, Make make, Work work) {
    const Use use;
    std::unique_ptr<CachedAlgorithm> algorithm = take(key);
    if (!algorithm) algorithm = make();
    auto result = work(static_cast<A&>(*algorithm));
    put_back(key, std::move(algorithm));
    return result;
  }

 private:
  struct Idle {
    CacheKey key;
    std::unique_ptr<CachedAlgorithm> algorithm;
  };

  AlgorithmCache();
  std::unique_ptr<CachedAlgorithm> take(const CacheKey& key);
  void put_back(const CacheKey& key, std::unique_ptr<CachedAlgorithm> algorithm);
  void before_fork();
  void after_fork();

  std::mutex mutex_;                 // guards the members below
  std::condition_variable no_uses_;  // wakes before_fork() when uses_ becomes 0
  int uses_ = 0;                     // number of Use objects
  std::list<Idle> idle_;             // most recently used first
};

// A cached algorithm with parameters P.
template <class P>
class ParametrisedAlgorithm final : public CachedAlgorithm {
 public:
  // `extra_bytes` is the size of additional backend memory, which run() passes to after_work().
  ParametrisedAlgorithm(const Target& target, const Setup& setup, const P& params,
                        size_t extra_bytes = 0)
      : CachedAlgorithm(target),
        algorithm_(algorithm_on<P>(queue().backend())),
        results_(std::make_unique<Block>(queue().backend()->allocate_pinned(sizeof(Results)))) {
    const Backend::Entry entry(*queue().backend());
    algorithm_->prepare(params);
    algorithm_->configure(setup);
    if (extra_bytes > 0)
      extra_memory_ = std::make_unique<Block>(queue().backend()->allocate(extra_bytes));
  }
  ~ParametrisedAlgorithm() override { queue().destroy(algorithm_, results_, extra_memory_); }

  // Runs the task as DeviceQueue::run() does. After the algorithm's enqueue() it calls
  // after_work(total, extra memory, queue), which may enqueue more work. Returns the number of
  // regions. On a device, returns nothing unless `returns_total` is set.
  template <class AfterWork = void (*)(uint32_t*, void*, Queue&)>
  std::optional<uint32_t> run(
      const Target& target, FrameTask task, const P& params, bool returns_total,
      const AfterWork& after_work = [](uint32_t*, void*, Queue&) {}) {
    auto* const results = results_->as<Results>();
    auto* const total = &results->total;
    task.table.total = total;
    // On a device the algorithm writes the number of regions only together with region records, so
    // the task gets memory for one record. If there is extra memory, after_work() writes the number
    // instead.
    if (!target.is_cpu() && returns_total && !extra_memory_)
      task.table.regions = &results->first_region;
    if (task.table.regions) task.table.capacity = 1;
    queue().run(target, [&](Queue& queue) {
      algorithm_->enqueue(task, params, queue);
      after_work(total, extra_memory_ ? extra_memory_->data() : nullptr, queue);
    });
    if (!target.is_cpu() && !returns_total) return {};
    queue().wait();
    return *total;
  }

 private:
  struct Results {
    Region first_region;
    uint32_t total;  // number of regions
  };
  std::unique_ptr<Algorithm<P>> algorithm_;
  std::unique_ptr<Block> results_;       // one Results in pinned memory
  std::unique_ptr<Block> extra_memory_;  // in the backend's memory, or null
};

}  // namespace regions::python

// A cache of configured algorithms for later calls with the same kind of picture. A call has
// exclusive use of its algorithm, so calls of several threads run in parallel. On a device, the
// work of an earlier call may still run when the next call adds its work to the same queue.
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

template <class P>
P parameters(const Settings& settings) {
  P params;
  for (const auto& [name, value] : settings) {
    assign_text(find(fields_of(params), name), &params, value);
  }
  return params;
}

// Base of the cached objects: an algorithm with its queue.
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
  enum class Work : uint8_t { label, select, slic, cut4, cut8 };
  Work work;
  PixelFormat format;
  Size size;
  int depth, layers, threads, device;
  int variant;  // distinguishes algorithms that differ in other properties of the work
  CacheKey(Work kind, PixelFormat pixels, Size sides, int slices, int levels, const Target& target,
           int other_properties = 0)
      : work(kind),
        format(pixels),
        size(sides),
        depth(slices),
        layers(levels),
        threads(target.threads),
        device(target.device),
        variant(other_properties) {}
  bool operator==(const CacheKey&) const = default;
};

class AlgorithmCache {
 public:
  static AlgorithmCache& instance();

  // fork() waits while a Use exists. The worker threads do not exist in a child process, so they
  // are stopped before fork(). Parent and child start new ones with their next work.
  class Use {
   public:
    Use();
    ~Use();
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;
  };

  // Calls work(algorithm) with an idle algorithm A of that key, or with a new algorithm from
  // make(). An algorithm is destroyed if work() throws.
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

  std::mutex mutex_;  // guards the members below
  std::condition_variable unused_;
  int uses_ = 0;
  std::list<Idle> idle_;  // most recently used first
};

// A cached algorithm with parameters P.
template <class P>
class ParametrisedAlgorithm final : public CachedAlgorithm {
 public:
  // `bytes` is the size of additional backend memory, which run() passes to then().
  ParametrisedAlgorithm(const Target& target, const Setup& setup, const P& params, size_t bytes = 0)
      : CachedAlgorithm(target),
        algorithm_(algorithm_on<P>(queue().backend())),
        results_(std::make_unique<Block>(queue().backend()->allocate_pinned(sizeof(Results)))) {
    const Backend::Entry entry(*queue().backend());
    algorithm_->prepare(params);
    algorithm_->configure(setup);
    if (bytes > 0) memory_ = std::make_unique<Block>(queue().backend()->allocate(bytes));
  }
  ~ParametrisedAlgorithm() override { queue().destroy(algorithm_, results_, memory_); }

  // See DeviceQueue::run(). Calls then(total, memory, queue) after enqueue(). Returns the number of
  // regions. On a device it returns nothing unless `wants_total` is set.
  template <class Then = void (*)(uint32_t*, void*, Queue&)>
  std::optional<uint32_t> run(
      const Target& target, FrameTask job, const P& params, bool wants_total,
      const Then& then = [](uint32_t*, void*, Queue&) {}) {
    auto* const results = results_->as<Results>();
    auto* const total = &results->total;
    job.table.total = total;
    // On a device the algorithm writes the number of regions only together with region records.
    // If there is additional memory, then() writes the number.
    if (!target.is_cpu() && wants_total && !memory_) job.table.regions = &results->first;
    if (job.table.regions) job.table.capacity = 1;
    queue().run(target, [&](Queue& queue) {
      algorithm_->enqueue(job, params, queue);
      then(total, memory_ ? memory_->data() : nullptr, queue);
    });
    if (!target.is_cpu() && !wants_total) return {};
    queue().wait();
    return *total;
  }

 private:
  struct Results {
    Region first;
    uint32_t total;
  };
  std::unique_ptr<Algorithm<P>> algorithm_;
  std::unique_ptr<Block> results_;  // pinned
  std::unique_ptr<Block> memory_;   // in the backend's memory
};

}  // namespace regions::python

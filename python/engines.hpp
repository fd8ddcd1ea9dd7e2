// Engines: a cache of configured algorithms for later calls with the same kind of picture. A call
// uses its engine alone, so calls of several threads run in parallel. On a device, the work of an
// earlier call may still run when the next call adds its work to the same queue.
#pragma once

#include <condition_variable>
#include <list>
#include <memory>
#include <mutex>

#include "python/lane.hpp"

namespace regions::python {

class Engine {
 public:
  explicit Engine(const Place& place) : lane_(place) {}
  virtual ~Engine() = default;
  Lane& lane() { return lane_; }

 private:
  Lane lane_;
};

// The calls that can use an engine: calls with an equal key.
struct EngineKey {
  enum class Work : uint8_t { label, select, slic, cut4, cut8 };
  Work work;
  PixelFormat format;
  Size size;
  int depth, layers, threads, device;
  int variant;  // distinguishes engines that differ in other properties of the work
  EngineKey(Work kind, PixelFormat pixels, Size sides, int slices, int levels, const Place& place,
            int way = 0)
      : work(kind),
        format(pixels),
        size(sides),
        depth(slices),
        layers(levels),
        threads(place.threads),
        device(place.device),
        variant(way) {}
  bool operator==(const EngineKey&) const = default;
};

class Engines {
 public:
  static Engines& all();

  // fork() waits while a Use exists. The worker threads do not exist in a child process, so they
  // are stopped before fork(). Parent and child start new ones with their next work.
  class Use {
   public:
    Use();
    ~Use();
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;
  };

  // Calls work(engine) with an idle engine E of that key, or with a new engine from make(). An
  // engine is destroyed if work() throws.
  template <class E, class Make, class Work>
  auto with(const EngineKey& key, Make make, Work work) {
    const Use use;
    std::unique_ptr<Engine> engine = take(key);
    if (!engine) engine = make();
    auto result = work(static_cast<E&>(*engine));
    give_back(key, std::move(engine));
    return result;
  }

 private:
  struct Idle {
    EngineKey key;
    std::unique_ptr<Engine> engine;
  };

  Engines();
  std::unique_ptr<Engine> take(const EngineKey& key);
  void give_back(const EngineKey& key, std::unique_ptr<Engine> engine);
  void before_fork();
  void after_fork();

  std::mutex mutex_;
  std::condition_variable unused_;
  int uses_ = 0;
  std::list<Idle> idle_;  // most recently used first
};

// The engine of an algorithm with parameters P.
template <class P>
class AlgorithmEngine final : public Engine {
 public:
  // `bytes` is the size of additional backend memory, which run() passes to then().
  AlgorithmEngine(const Place& place, const Setup& setup, const P& params, size_t bytes = 0)
      : Engine(place),
        algorithm_(algorithm_on<P>(lane().backend())),
        told_(std::make_unique<Block>(lane().backend()->allocate_pinned(sizeof(Told)))) {
    const Backend::Entry entry(*lane().backend());
    algorithm_->prepare(params);
    algorithm_->configure(setup);
    if (bytes > 0) memory_ = std::make_unique<Block>(lane().backend()->allocate(bytes));
  }
  ~AlgorithmEngine() override { lane().end(algorithm_, told_, memory_); }

  // See Lane::run(). Calls then(total, memory, queue) after enqueue(). Returns the number of
  // regions. On a device it returns nothing unless `wants_total` is set.
  template <class Then = void (*)(uint32_t*, void*, Queue&)>
  std::optional<uint32_t> run(
      const Place& place, Job job, const P& params, bool wants_total,
      const Then& then = [](uint32_t*, void*, Queue&) {}) {
    auto* const told = told_->as<Told>();
    auto* const total = &told->total;
    job.table.total = total;
    // On a device the algorithm writes the number of regions only together with region records.
    // If there is additional memory, then() writes the number.
    if (!place.is_cpu() && wants_total && !memory_) job.table.regions = &told->first;
    if (job.table.regions) job.table.capacity = 1;
    lane().run(place, [&](Queue& queue) {
      algorithm_->enqueue(job, params, queue);
      then(total, memory_ ? memory_->data() : nullptr, queue);
    });
    if (!place.is_cpu() && !wants_total) return {};
    lane().wait();
    return *total;
  }

 private:
  struct Told {
    Region first;
    uint32_t total;
  };
  std::unique_ptr<Algorithm<P>> algorithm_;
  std::unique_ptr<Block> told_;    // pinned
  std::unique_ptr<Block> memory_;  // in the backend's memory
};

}  // namespace regions::python

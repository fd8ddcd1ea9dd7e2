// Engines: algorithms that are configured, kept for the next call with pictures of their kind. A
// call has one to itself, so calls of several threads run side by side. On a device the work of
// earlier calls may be under way; that of the next comes behind it.
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

// What an engine is for.
struct EngineKey {
  enum class Work : uint8_t { label, select, slic, cut4, cut8 };
  Work work;
  PixelFormat format;
  Size size;
  int depth, layers, threads, device;
  int variant;  // of the work, where engines are not alike
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

  // While one lives fork() waits: threads that help an algorithm do not live on in a child process.
  // They are ended before, and begin again with the next work on either side.
  class Use {
   public:
    Use();
    ~Use();
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;
  };

  // Calls work(engine) with an idle engine E of that key, or with what make() makes. After a
  // failure the engine is not used again.
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
  std::list<Idle> idle_;  // the last one used first
};

// An algorithm with parameters P.
template <class P>
class AlgorithmEngine final : public Engine {
 public:
  // With so much of the backend's memory for what run() is given besides.
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

  // See Lane::run(). then(total, memory, queue) is called behind enqueue(). Returns how many
  // regions there are, or on a device, unless that is wanted, nothing.
  template <class Then = void (*)(uint32_t*, void*, Queue&)>
  std::optional<uint32_t> run(
      const Place& place, Job job, const P& params, bool wants_total,
      const Then& then = [](uint32_t*, void*, Queue&) {}) {
    auto* const told = told_->as<Told>();
    auto* const total = &told->total;
    job.table.total = total;
    // On a device it tells numbers together with regions; then() may tell them, too.
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
  std::unique_ptr<Block> memory_;  // of the device
};

}  // namespace regions::python

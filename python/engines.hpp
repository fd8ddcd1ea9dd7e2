// Engines: algorithms that are configured and idle, kept for the next call with pictures of their
// kind. A call has one to itself, so calls of several threads run side by side.
#pragma once

#include <condition_variable>
#include <list>
#include <memory>
#include <mutex>

#include "core/algorithm.hpp"

namespace regions::python {

class Engine {
 public:
  virtual ~Engine() = default;
};

// What an engine is for.
struct EngineKey {
  enum class Work : uint8_t { label, select, slic, cut4, cut8 };
  Work work;
  PixelFormat format;
  Size size;
  int depth, layers, threads;
  bool operator==(const EngineKey& other) const {
    return work == other.work && format == other.format && size == other.size &&
           depth == other.depth && layers == other.layers && threads == other.threads;
  }
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

// An algorithm of the CPU with parameters P.
template <class P>
class AlgorithmEngine final : public Engine {
 public:
  AlgorithmEngine(int threads, const Setup& setup)
      : backend_(make_cpu_backend(threads)),
        queue_(make_immediate_queue(*backend_)),
        algorithm_(make_algorithm<P, BackendKind::cpu>(backend_)) {
    algorithm_->configure(setup);
  }

  // Returns when all is written.
  void run(const Job& job, const P& params) {
    algorithm_->enqueue(job, params, *queue_);
    queue_->record();
    queue_->wait();
  }

 private:
  const std::shared_ptr<Backend> backend_;
  const std::unique_ptr<Queue> queue_;
  const std::unique_ptr<Algorithm<P>> algorithm_;
};

}  // namespace regions::python

// Engines: algorithms that are configured and idle, kept for the next call with pictures of their
// kind. A call has one to itself, so calls of several threads run side by side.
#pragma once

#include <condition_variable>
#include <list>
#include <memory>
#include <mutex>
#include <string>

#include "core/algorithm.hpp"

namespace regions::python {

class Engine {
 public:
  virtual ~Engine() = default;
};

class Engines {
 public:
  static Engines& all();

  // Calls work(engine) with an idle engine E of that key, or with what make() makes. After a
  // failure the engine is not used again.
  template <class E, class Make, class Work>
  auto with(const std::string& key, Make make, Work work) {
    const Use use(*this);
    std::unique_ptr<Engine> engine = take(key);
    if (!engine) engine = make();
    auto result = work(static_cast<E&>(*engine));
    give_back(key, std::move(engine));
    return result;
  }

 private:
  // An engine's threads do not live on in a child process: fork() waits for the calls that run, and
  // ends what is idle.
  class Use {
   public:
    explicit Use(Engines& engines);
    ~Use();

   private:
    Engines& engines_;
  };
  struct Idle {
    std::string key;
    std::unique_ptr<Engine> engine;
  };

  Engines();
  std::unique_ptr<Engine> take(const std::string& key);
  void give_back(const std::string& key, std::unique_ptr<Engine> engine);
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
        queue_(backend_->make_queue()),
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

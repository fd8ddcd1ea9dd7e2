// Where a call works: the CPU, or a CUDA device in the order of a stream of the caller's.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <unistd.h>

#include <optional>
#include <stdexcept>
#include <utility>

#include "core/algorithm.hpp"

namespace regions::python {

namespace nb = nanobind;

struct Place {
  static constexpr int kCpu = -1;

  int threads = 1;       // of the CPU
  int device = kCpu;     // else the number of a CUDA device,
  uintptr_t stream = 0;  // and a cudaStream_t of it

  bool is_cpu() const { return device == kCpu; }
  // Throws InputError where one lies elsewhere.
  template <class... Arrays>
  void expects_holds(const Arrays&... arrays) const {
    (expects_holds(arrays.device_type(), arrays.device_id()), ...);
  }
  Memory memory() const { return is_cpu() ? Memory::host : Memory::device; }

 private:
  void expects_holds(int type, int id) const;
};

// Place::threads, Place::device and Place::stream, as Python gives them.
using PlaceWords = nb::tuple;
Place place_of(const PlaceWords& words);

// A queue of a backend of its own. Work on a CUDA device goes onto the caller's stream: the caller
// waits only where it asks for numbers.
class Lane {
 public:
  explicit Lane(const Place& place);
  ~Lane() { end(queue_); }

  const std::shared_ptr<Backend>& backend() const { return backend_; }
  void wait() {
    const Backend::Entry entry(*backend_);
    queue_->wait();
  }

  // For libraries that order their work by a stream that they are given.
  void* stream() const { return queue_->native(); }
  // What comes onto that stream from here on waits for what is on ours.
  void lead(void* stream) {
    const Backend::Entry entry(*backend_);
    queue_->record();
    queue_->lead(stream);
  }

  // Calls put(queue), whose work is done on return on the CPU, and on a device when wait() returns.
  template <class Put>
  void run(const Place& place, Put put) {
    const Backend::Entry entry(*backend_);
    if (!place.is_cpu()) queue_->move_to(reinterpret_cast<void*>(place.stream));
    try {
      put(*queue_);
    } catch (...) {
      try {
        queue_->record();
      } catch (const std::runtime_error&) {  // the first failure is the one to tell
      }
      settle();
      throw;
    }
    queue_->record();
    if (place.is_cpu()) queue_->wait();
  }

  // Ends what works on the queue. In a child of fork() a device cannot be reached: there it stays.
  template <class... Owned>
  void end(std::unique_ptr<Owned>&... owned) noexcept {
    if (backend_->kind() == BackendKind::cuda && getpid() != process_) {
      (static_cast<void>(owned.release()), ...);
      return;
    }
    const Backend::Entry entry(*backend_);
    settle();
    (owned.reset(), ...);
  }

 private:
  // Waits for what is on the queue, of which no caller asks any more what became.
  void settle() noexcept {
    try {
      queue_->wait();
    } catch (const std::runtime_error&) {
    }
  }

  const pid_t process_ = getpid();
  const std::shared_ptr<Backend> backend_;
  std::unique_ptr<Queue> queue_;
};

// The algorithm of parameters P on a backend.
template <class P>
std::unique_ptr<Algorithm<P>> algorithm_on(const std::shared_ptr<Backend>& backend) {
  const Backend::Entry entry(*backend);
#if REGIONS_CUDA
  if (backend->kind() == BackendKind::cuda) return make_algorithm<P, BackendKind::cuda>(backend);
#endif
  return make_algorithm<P, BackendKind::cpu>(backend);
}

}  // namespace regions::python

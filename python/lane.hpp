// The device of a call: the CPU, or a CUDA device and a stream of the caller.
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

  int threads = 1;       // number of CPU threads
  int device = kCpu;     // kCpu, or the index of a CUDA device
  uintptr_t stream = 0;  // a cudaStream_t of that CUDA device

  bool is_cpu() const { return device == kCpu; }
  // Throws InputError if an array is not in the memory of this device.
  template <class... Arrays>
  void expects_holds(const Arrays&... arrays) const {
    (expects_holds(arrays.device_type(), arrays.device_id()), ...);
  }
  Memory memory() const { return is_cpu() ? Memory::host : Memory::device; }

 private:
  void expects_holds(int type, int id) const;
};

// Place::threads, Place::device and Place::stream as a Python tuple.
using PlaceWords = nb::tuple;
Place place_of(const PlaceWords& words);

// A backend and its queue. Work on a CUDA device is enqueued on the caller's stream. The caller
// waits only if it requests numbers.
class Lane {
 public:
  explicit Lane(const Place& place);
  ~Lane() { end(queue_); }

  const std::shared_ptr<Backend>& backend() const { return backend_; }
  void wait() {
    const Backend::Entry entry(*backend_);
    queue_->wait();
  }

  // The queue's CUDA stream, for libraries that accept a stream to synchronise with.
  void* stream() const { return queue_->native(); }
  // Work that is added to `stream` from now on waits for the work on this queue.
  void lead(void* stream) {
    const Backend::Entry entry(*backend_);
    queue_->record();
    queue_->lead(stream);
  }

  // Calls put(queue), which enqueues work. On the CPU the work is finished when run() returns, on a
  // device when wait() returns.
  template <class Put>
  void run(const Place& place, Put put) {
    const Backend::Entry entry(*backend_);
    if (!place.is_cpu()) queue_->move_to(reinterpret_cast<void*>(place.stream));
    try {
      put(*queue_);
    } catch (...) {
      try {
        queue_->record();
      } catch (const std::runtime_error&) {  // put() has failed before; its error is reported
      }
      settle();
      throw;
    }
    queue_->record();
    if (place.is_cpu()) queue_->wait();
  }

  // Destroys objects that use the queue. A child process of fork() cannot access the device, so
  // there the objects are leaked.
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
  // Waits for the work on the queue and ignores errors, because no caller needs its results.
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

// Makes the algorithm with parameters P on a backend.
template <class P>
std::unique_ptr<Algorithm<P>> algorithm_on(const std::shared_ptr<Backend>& backend) {
  const Backend::Entry entry(*backend);
#if REGIONS_CUDA
  if (backend->kind() == BackendKind::cuda) return make_algorithm<P, BackendKind::cuda>(backend);
#endif
  return make_algorithm<P, BackendKind::cpu>(backend);
}

}  // namespace regions::python

// Target: where the work of a call runs, on the CPU or on a stream of a CUDA device. DeviceQueue:
// the queue for this work.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <unistd.h>

#include <optional>
#include <utility>

#include "core/session.hpp"

namespace regions::python {

namespace nb = nanobind;

// Where the work of a call runs.
struct Target {
  static constexpr int kCpu = -1;

  int threads = 1;       // number of CPU threads
  int device = kCpu;     // kCpu, or the index of a CUDA device
  uintptr_t stream = 0;  // a cudaStream_t of that CUDA device

  bool is_cpu() const { return device == kCpu; }
  // Throws InputError if an array is not in the memory of this device.
  template <class... Arrays>
  void expect_arrays(const Arrays&... arrays) const {
    (expect_memory(arrays.device_type(), arrays.device_id()), ...);
  }
  Memory memory() const { return is_cpu() ? Memory::host : Memory::device; }

 private:
  void expect_memory(int type, int id) const;
};

// A Target as a Python tuple: (threads, device, stream).
using TargetTuple = nb::tuple;
Target target_of(const TargetTuple& tuple);

// A backend and its queue. Work on a CUDA device is enqueued on the caller's stream. The caller has
// to wait only if it requests numbers, such as the number of regions.
class DeviceQueue {
 public:
  explicit DeviceQueue(const Target& target);
  ~DeviceQueue() { destroy(queue_); }

  const std::shared_ptr<Backend>& backend() const { return backend_; }
  void wait() {
    const Backend::Entry entry(*backend_);
    queue_->wait();
  }

  // The queue's own CUDA stream, with which other libraries can synchronise.
  void* stream() const { return queue_->native(); }
  // Makes later work on `stream` wait for the work on this queue.
  void make_wait(void* stream) {
    const Backend::Entry entry(*backend_);
    queue_->record();
    queue_->lead(stream);
  }

  // Calls enqueue(queue), which enqueues work. On the CPU, the work is finished when run() returns.
  // On a device, it is finished when wait() returns.
  template <class Enqueue>
  void run(const Target& target, Enqueue enqueue) {
    const Backend::Entry entry(*backend_);
    if (!target.is_cpu()) queue_->move_to(reinterpret_cast<void*>(target.stream));
    enqueue_or_drain(*queue_, [&] { enqueue(*queue_); });
    queue_->record();
    if (target.is_cpu()) queue_->wait();
  }

  // Waits for the work on the queue, then destroys objects that use the queue. In a child process
  // of fork(), which cannot access the device, the objects are leaked instead.
  template <class... Objects>
  void destroy(Objects&... objects) noexcept {
    if (backend_->kind() == BackendKind::cuda && getpid() != process_) {
      (static_cast<void>(new Objects(std::move(objects))), ...);
      return;
    }
    const Backend::Entry entry(*backend_);
    wait_without_errors(*queue_);
    ((objects = Objects()), ...);
  }

 private:
  const pid_t process_ = getpid();  // the process that created the queue
  const std::shared_ptr<Backend> backend_;
  std::unique_ptr<Queue> queue_;
};

}  // namespace regions::python

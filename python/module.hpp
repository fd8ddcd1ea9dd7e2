// Shared by the source files of the module: the functions that bind their classes and functions,
// and the release of the interpreter's lock.
#pragma once

#include <nanobind/nanobind.h>

#include <optional>

namespace regions::python {

void bind_arrays(nanobind::module_& module);
void bind_device_queue(nanobind::module_& module);
void bind_label(nanobind::module_& module);
void bind_mincut(nanobind::module_& module);
void bind_region_sums(nanobind::module_& module);
void bind_video(nanobind::module_& module);

// Releases the interpreter's lock, so that other Python threads can run during the work. This
// thread does not hold the lock while an Unlocked exists. The exception is the shutdown of the
// interpreter, where the thread keeps the lock. Up to Python 3.13, the interpreter terminates a
// thread that takes the lock again during shutdown, and C++ then calls std::terminate().
class Unlocked {
 public:
  Unlocked();
  ~Unlocked();
  Unlocked(const Unlocked&) = delete;
  Unlocked& operator=(const Unlocked&) = delete;

 private:
  std::optional<nanobind::gil_scoped_release> release_;
};

}  // namespace regions::python

// Declarations that the source files of the module share: the functions that add classes and
// functions to the module, and the release of the interpreter's lock.
#pragma once

#include <nanobind/nanobind.h>

#include <optional>

namespace regions::python {

// Each of these functions is defined in the source file of its name, and adds the functions and
// classes of that file to the module.
void bind_arrays(nanobind::module_& module);
void bind_device_queue(nanobind::module_& module);
void bind_events(nanobind::module_& module);
void bind_flood(nanobind::module_& module);
void bind_label(nanobind::module_& module);
void bind_mincut(nanobind::module_& module);
void bind_region_sums(nanobind::module_& module);
void bind_slic_volumes(nanobind::module_& module);
void bind_small_masks(nanobind::module_& module);
void bind_value_labels(nanobind::module_& module);
void bind_video(nanobind::module_& module);

// Releases the interpreter's lock while it exists, so that other Python threads can run during the
// work. During the shutdown of the interpreter, it keeps the lock. The reason is that Python up
// to 3.13 terminates a thread that takes the lock again during shutdown, and C++ then calls
// std::terminate().
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

// The compiled module gst_regions._core, which the Python code of the package calls. The Python
// code also allocates and passes the arrays to which the module writes results.
#include "python/module.hpp"

#include <nanobind/nanobind.h>

#include <chrono>
#include <thread>

#include "core/error.hpp"

namespace nb = nanobind;

namespace regions::python {
namespace {

// The interpreter's lock guards these two variables.
int unlocked_threads = 0;  // number of threads that work without the lock
bool is_shutting_down = false;

// Called by Python's atexit, with the interpreter's lock held: waits until no thread works without
// the lock.
void begin_shutdown() {
  is_shutting_down = true;
  // The interpreter never frees the stack frames of threads that it terminates. Objects in these
  // frames are not leaks of this module, so the warnings are turned off.
  const auto threads = nanobind::module_::import_("threading").attr("active_count")();
  if (nanobind::cast<int>(threads) > 1) nanobind::set_leak_warnings(false);
  while (unlocked_threads > 0) {
    const nanobind::gil_scoped_release release;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

}  // namespace

Unlocked::Unlocked() {
  if (is_shutting_down) return;
  ++unlocked_threads;
  release_.emplace();
}

Unlocked::~Unlocked() {
  if (!release_) return;
  release_.reset();
  --unlocked_threads;
}

}  // namespace regions::python

NB_MODULE(_core, module) {
  nb::register_exception_translator([](const std::exception_ptr& thrown, void*) {
    try {
      std::rethrow_exception(thrown);
    } catch (const regions::InputError& error) {
      PyErr_SetString(PyExc_ValueError, error.what());
    } catch (const regions::MemoryError& error) {
      PyErr_SetString(PyExc_MemoryError, error.what());
    }
  });
  module.attr("__version__") = REGIONS_VERSION;
#if REGIONS_CUDA
  module.attr("has_cuda") = true;
#else
  module.attr("has_cuda") = false;
#endif
  nb::module_::import_("atexit").attr("register")(
      nb::cpp_function(regions::python::begin_shutdown));
  regions::python::bind_events(module);
  regions::python::bind_flood(module);
  regions::python::bind_label(module);
  regions::python::bind_region_sums(module);
  regions::python::bind_mincut(module);
  regions::python::bind_slic_volumes(module);
  regions::python::bind_small_masks(module);
  regions::python::bind_value_labels(module);
  regions::python::bind_video(module);
  regions::python::bind_device_queue(module);
  regions::python::bind_arrays(module);
}

// The compiled module gst_regions._core, which the Python code of the package calls. The caller
// passes the arrays for the results.
#include <nanobind/nanobind.h>

#include "core/error.hpp"
#include "python/bindings.hpp"
#include "python/interpreter.hpp"

namespace nb = nanobind;

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
  nb::module_::import_("atexit").attr("register")(nb::cpp_function(regions::python::begin_ending));
  regions::python::bind_label(module);
  regions::python::bind_label_device(module);
  regions::python::bind_masks(module);
  regions::python::bind_measure(module);
  regions::python::bind_slic(module);
  regions::python::bind_mincut(module);
  regions::python::bind_background(module);
  regions::python::bind_tracker(module);
  regions::python::bind_devices(module);
  regions::python::bind_outputs(module);
}

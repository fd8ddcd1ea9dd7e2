// Functions that add the classes and functions of each source file to the module.
#pragma once

#include <nanobind/nanobind.h>

namespace regions::python {

void bind_label(nanobind::module_& module);
void bind_label_device(nanobind::module_& module);
void bind_masks(nanobind::module_& module);
void bind_measure(nanobind::module_& module);
void bind_slic(nanobind::module_& module);
void bind_mincut(nanobind::module_& module);
void bind_devices(nanobind::module_& module);
void bind_background(nanobind::module_& module);
void bind_tracker(nanobind::module_& module);
void bind_outputs(nanobind::module_& module);

}  // namespace regions::python

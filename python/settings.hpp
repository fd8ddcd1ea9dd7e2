// Parameters as pairs of name and text. The Field tables define the names and the ranges.
#pragma once

#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <utility>
#include <vector>

#include "core/field.hpp"

namespace regions::python {

using Settings = std::vector<std::pair<std::string, std::string>>;

template <class P>
P parameters(const Settings& settings) {
  P params;
  for (const auto& [name, value] : settings) {
    assign_text(find(fields_of(params), name), &params, value);
  }
  return params;
}

}  // namespace regions::python

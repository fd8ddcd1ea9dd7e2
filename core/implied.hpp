// What a preset stands for.
#pragma once

#include "core/field.hpp"

namespace regions {

// The value of another property of the same element, by its name.
struct Implied {
  const char* name;
  Value value;
};

}  // namespace regions

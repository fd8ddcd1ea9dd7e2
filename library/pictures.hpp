// Converts the pictures of a RegionsFrame to frames and checks the RegionsFrame against regions.h.
#pragma once

#include "library/regions.h"
#include "library/runner.hpp"

namespace regions {

// A picture that the caller left out is empty.
struct Pictures {
  Frame in, mask, out, labels, foreground;

  // These throw InputError. The constructor checks each picture alone. expect_suitable() checks
  // that the members fit each other and that the algorithm produces the requested outputs.
  explicit Pictures(const RegionsFrame& frame);
  void expect_suitable(const RegionsFrame& frame, const Gives& gives) const;

  bool draws_in_place() const { return in.plane[0] == out.plane[0]; }
};

}  // namespace regions

// The pictures of the C interface's frame as frames, and whether the frame is as regions.h asks.
#pragma once

#include "library/regions.h"
#include "library/runner.hpp"

namespace regions {

// Empty where there is none.
struct Pictures {
  Frame in, mask, out, labels, foreground;

  // Throw InputError naming what is wrong with the frame: the first with a picture by itself, the
  // second with what goes together, for an algorithm that gives `gives`.
  explicit Pictures(const RegionsFrame& frame);
  void expect_suitable(const RegionsFrame& frame, const Gives& gives) const;

  bool draws_in_place() const { return in.plane[0] == out.plane[0]; }
};

}  // namespace regions

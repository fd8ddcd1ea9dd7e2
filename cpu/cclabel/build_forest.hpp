// From a frame to the joined forest of its runs.
#pragma once

#include "cpu/cclabel/slot.hpp"

namespace regions {

// Thresholds the frame or links its values, in at most `strips` strips, and leaves the forest and
// its pixels in the slot.
void build_forest(const Job& job, const CcLabelParams& params, const Setup& setup, int strips,
                  Slot& slot, const Workers& workers);

}  // namespace regions

// The oracle of cclabel on volumes and lists of thresholds: slow, obvious, and no code shared with
// the backends.
#pragma once

#include "tests/cclabel/oracle.hpp"

namespace regions {

// `in` is a stack of slices, gray or RGB of full range. Labels are [layer][z][y][x]; source=image.
Labelling label_volumes_slowly(const ConstFrame& in, int slices, const CcLabelParams& params);

}  // namespace regions

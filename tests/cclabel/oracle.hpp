// The oracle of cclabel: slow, obvious, and no code shared with the backends.
#pragma once

#include <vector>

#include "core/cclabel/cclabel.hpp"

namespace regions {

struct Labelling {
  std::vector<uint32_t> labels;  // [height][width]
  std::vector<Region> regions;   // all of them, after the area filters
};

// What the source says, the criterion compares: with source = alpha or mask, `equal` and
// `difference` compare alpha or the mask's values, and colour sums are still the picture's. The
// values of a labels32 mask are names: those of `difference` are linked when they are equal.
// `binary` takes nonzero of a mask and ignores the threshold. Labels before any overflow rule.
Labelling label_slowly(const ConstFrame& in, const ConstFrame& mask, const CcLabelParams& params);

}  // namespace regions

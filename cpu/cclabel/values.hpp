// What the output picture shows of each label.
#pragma once

#include "cpu/cclabel/slot.hpp"

namespace regions {

// The values that the output picture gets of `runs` runs: `label` itself, or `scratch` filled.
const uint32_t* values_of(const uint32_t* label, uint32_t runs, uint32_t* scratch, const Job& job,
                          const CcLabelParams& params, const Tracks& tracks);

}  // namespace regions

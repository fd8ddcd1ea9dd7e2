// The ink of all regions in a band of the picture, on the CPU.
#pragma once

#include <span>

#include "core/drawing/stamp.hpp"

namespace regions {

// Writes the codes and the marks of tiles in band `band` of Ink::kBandHeight rows. Few pixels of
// ink are written region by region; a crowd's so that the cost is bounded by the band's area and a
// little for each region, however much they overlap.
void stamp_band(const StampPlan& plan, std::span<const Region> regions, const Ink& ink, int band);

}  // namespace regions

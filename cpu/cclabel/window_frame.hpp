// The newest frame of a window, once the window's labels are known: its records, what its regions
// share with the last window's, and its pictures.
#pragma once

#include "core/cclabel/window.hpp"
#include "core/workers.hpp"

namespace regions {

// Workspace that bands of rows fill side by side.
struct BandRecords {
  static constexpr int kBands = 8;
  Region* of[kBands] = {};  // [max_regions]
};

// How many regions the frame has: its largest label.
uint32_t count_labels(ConstLabelMap labels, const Workers& workers);
// Measures the regions 1..count.
void measure_labels(ConstLabelMap labels, const ConstFrame& in, uint32_t count,
                    const BandRecords& bands, Region* records, const Workers& workers);
// Counts the pixels that regions 1..count share with regions 1..count_before of the last window.
void share_windows(const WindowLabels& window, uint32_t count, uint32_t count_before,
                   const PairTable& pairs, const Workers& workers);
// What the output picture shows but for overlays; `values` has a row for each band of rows.
void write_values(ConstLabelMap labels, const Job& job, const CcLabelParams& params,
                  std::span<const Region> regions, uint32_t* values, const Workers& workers);

}  // namespace regions

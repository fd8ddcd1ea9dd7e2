// Which superpixels touch.
#pragma once

#include "core/region.hpp"
#include "cpu/slicsuperpixel/runs.hpp"

namespace regions {

// Entries that a hash table of borders needs for so many labels.
size_t border_table_size(size_t labels);

// Runs of the final labels in raster order: counts[strip] of them at runs[strip], whose pieces have
// the labels dense[run.label].
struct LabelRuns {
  const Run* const* runs;
  const size_t* counts;
  int strips;
  const uint32_t* dense;
};

// Writes the borders between labels 1..recorded, in their order; returns how many there are.
// `table` has border_table_size(recorded) entries, whatever is in them.
uint32_t find_borders(const LabelRuns& labels, uint32_t recorded, Border* table, Border* borders);

}  // namespace regions

// Which superpixels touch.
#pragma once

#include "core/region.hpp"
#include "cpu/slicsuperpixel/runs.hpp"

namespace regions {

// Entries that a hash table of borders needs for so many labels.
size_t border_table_size(size_t labels);

// Writes the borders between labels 1..recorded, in their order; returns how many there are. Those
// of the runs of all strips are dense[run.label]. `table` has border_table_size(recorded) entries,
// whatever is in them.
uint32_t find_borders(std::span<const PieceStrip> strips, const uint32_t* dense, uint32_t recorded,
                      Border* table, Border* borders);

}  // namespace regions

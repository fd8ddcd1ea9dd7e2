// Statistics of regions, summed run by run.
#pragma once

#include "core/region.hpp"
#include "core/stack.hpp"
#include "cpu/bits.hpp"

namespace regions {

// The colour components of one row at full width, as channel_row gives them.
struct ChannelRows {
  const std::byte* row[3] = {};
  int channels = 0;
  int bytes = 1;  // of a value: 1 or 2
};

// Adds a row to the records of labels 1..count; a record of area 0 is new.
void measure_row(const Word* pixels, const Word* starts, const uint32_t* label, int width,
                 const Stack::Place& place, const ChannelRows& values, Region* records,
                 uint32_t count);

// Adds the record of the same region from another strip, lower in the picture or volume.
void add_record(const Region& more, Region& record);

}  // namespace regions

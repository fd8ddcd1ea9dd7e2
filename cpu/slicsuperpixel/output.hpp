// What is made of finished labels: records, and the output picture.
#pragma once

#include <span>

#include "cpu/slicsuperpixel/slot.hpp"

namespace regions {

// Sums the stored components of runs of row y.
void sum_values(const ConstFrame& frame, int y, const Run* runs, size_t count, std::byte* scratch,
                RunValues* values);

// Adds a run to the records of its label, which must be cleared and have ids.
void add_run(const Run& run, const RunValues& values, uint32_t label, std::span<Region> records);

// The same for the moments beside them; the run's colours are of CIELAB.
void add_run(const Run& run, uint32_t label, std::span<Moments> moments);

// Row y of the output pictures.
void write_label_row(ConstLabelMap labels, int y, const Frame& out);
void write_boundary_row(ConstLabelMap labels, int y, const Frame& out);
void write_mean_row(ConstLabelMap labels, int y, std::span<const Region> records, const Frame& out);

}  // namespace regions

// Regions as GstStructures, the entries of the `regions` metadata.
#pragma once

#include <functional>

#include "core/workers.hpp"
#include "plugin/region_meta.hpp"

namespace regions {

// Name of the structures, and type of the standard metas.
constexpr const char* kRegionName = "region";

// A structure for each region found, on several threads. `meanwhile` runs once beside them.
void write_structures(const Findings& findings, const Workers& workers,
                      std::span<StructurePtr> structures, const std::function<void()>& meanwhile);

// A field named after the fact: gboolean, gint64, gdouble, string or a GstValueArray of gdouble.
void add_fact(GstStructure* structure, const Fact& fact);

// A buffer of so many numbers each; a structure each would cost more than finding them.
void add_numbers(GstStructure* structure, const char* name, std::span<const Border> borders);
void add_numbers(GstStructure* structure, const char* name, std::span<const PixelRun> runs);

}  // namespace regions

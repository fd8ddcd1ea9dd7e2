// Regions as GstStructures, the entries of the `regions` metadata.
#pragma once

#include <functional>

#include "core/workers.hpp"
#include "plugin/metadata/region_meta.hpp"

namespace regions {

// Name of the structures, and type of the standard metas.
constexpr const char* kRegionName = "region";

// How the regions found stand in a table: its columns (see StructureMaker), and bytes of a row.
struct TableForm {
  const std::string& columns;
  size_t row_bytes;
};
TableForm table_form(const Findings& findings);

// A structure for each region found, and its row of the table, on several threads. `meanwhile` runs
// once beside them.
void write_structures(const Findings& findings, const Workers& workers,
                      std::span<StructurePtr> structures, std::byte* table,
                      const std::function<void()>& meanwhile);

// A field named after the fact: gboolean, gint64, gdouble, string or a GstValueArray of gdouble.
void add_fact(GstStructure* structure, const Fact& fact);

}  // namespace regions

// The pixels of regions as runs, read from the final label map.
#pragma once

#include "core/algorithm.hpp"
#include "cpu/workers.hpp"

namespace regions {

class RunList {
 public:
  // For as many runs as the setup wants.
  void allocate(Backend& backend, const Setup& setup);

  // Fills the table's runs: of labels 1..table.capacity.
  void fill(ConstLabelMap labels, const RegionTable& table, const Workers& workers) const;

 private:
  Block listed_;  // PixelRun[max_runs] in raster order
  Block starts_;  // [max_regions + 1], where each label's runs begin
};

}  // namespace regions

// The pixels of regions as runs, read from the final label map.
#pragma once

#include <algorithm>
#include <concepts>

#include "core/algorithm.hpp"
#include "core/workers.hpp"

namespace regions {

// Calls visit(label, begin, end) for the longest pieces of a row with one label, 0 too.
template <std::invocable<uint32_t, int, int> Visit>
void for_each_piece(const uint32_t* row, int width, Visit visit) {
  for (int begin = 0, end = 0; begin < width; begin = end) {
    const uint32_t label = row[begin];
    const auto other = [&](uint32_t value) { return value != label; };
    end = static_cast<int>(std::find_if(row + begin + 1, row + width, other) - row);
    visit(label, begin, end);
  }
}

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

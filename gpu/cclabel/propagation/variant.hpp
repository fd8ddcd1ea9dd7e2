// Variants of label propagation.
#pragma once

#include <cstdint>

namespace regions::propagation {

// How labels get from cell to cell within a block of 32x32.
enum class Exchange : uint8_t {
  global,  // not in blocks: each cell reads its neighbours from memory (2010)
  shared,  // each cell reads its neighbours' from shared memory
  shuffle  // a warp scans a row, and, transposed, a column (2013)
};
// What a cell gathers in a pass: the neighbours that it is linked to, or also the farthest cell
// that it is linked to in a straight line, either way along each axis.
enum class Gather : uint8_t { one, one_and_max };

struct Variant {
  Exchange exchange = Exchange::shuffle;
  Gather gather = Gather::one;
  int link_length = 0;  // of the farthest cell, a power of two; 0: whatever there is
  bool looks_up_roots = true;
};

}  // namespace regions::propagation

// Factory of the labeller that iterates instead of using union-find, on CUDA. It implements label
// propagation (GTC 2010 S12218, GTC 2013 S3193) and sweeps (GTC 2015, "Binary Segmentation of Many
// 3D Cubes in CUDA"). Volumes with criterion=equal or difference always use propagation. Otherwise
// both methods run only if the property `method` selects them. Both give the same labels as
// union-find. See cell_arrays.hpp for an overview of the passes.
#pragma once

#include <cstdint>

#include "core/cclabel/cclabel.hpp"

namespace regions::propagation {

// How labels move between cells within a block of 32x32 cells.
enum class Exchange : uint8_t {
  global,  // each cell reads its neighbours from device memory, without blocks (2010)
  shared,  // each cell reads its neighbours from shared memory
  shuffle  // a warp scans a row and, transposed, a column by warp shuffles (2013)
};

// Which cells a cell reads in one pass.
enum class Gather : uint8_t {
  neighbours,              // the neighbours that it is linked to
  neighbours_and_farthest  // also the farthest cell along each axis, in both directions, that can
                           // be reached in a straight line of links
};

// A variant of propagation. All variants give the same labels. They differ in speed and in the
// number of passes. The plugin always uses the default variant. The other variants are measured by
// bench/programs/cclabel_historic.cpp and tested.
struct Variant {
  Exchange exchange = Exchange::shuffle;
  Gather gather = Gather::neighbours;
  int link_length = 0;  // maximum distance of farthest cells, a power of two; 0: no limit
  // A cell with label n also reads the label of cell number n - 1.
  bool looks_up_roots = true;
};

// Returns a labeller for `method`, which must be Method::propagation (in this variant) or
// Method::sweep; throws InputError otherwise. Its configure() throws InputError for 2^31 cells or
// more. passes() of the labeller returns the number of passes of a frame.
std::unique_ptr<CcLabel> make_propagation_variant(std::shared_ptr<Backend> backend, Method method,
                                                  const Variant& variant = {});

}  // namespace regions::propagation

// Which regions get a label: the same for all methods.
#pragma once

#include <algorithm>

#include "gpu/cclabel/base/firsts.hpp"

namespace regions::cclabel {

// Areas that stay. A side has at most 65535 pixels, so that areas are below 2^32.
struct AreaBounds {
  uint32_t least, most;

  explicit AreaBounds(const CcLabelParams& params)
      : least(clamped(params.min_area)),
        most(params.max_area > 0 ? clamped(params.max_area) : UINT32_MAX) {}
  bool exclude_any() const { return least > 1 || most < UINT32_MAX; }
  static uint32_t clamped(int64_t area) {
    return static_cast<uint32_t>(std::min<int64_t>(area, UINT32_MAX - 1));
  }
};

// Whether the picture may be too small for the labels of a stack, and the smallest then have none.
inline bool drops_smallest(const Job& job, const CcLabelParams& params, const Stack& stack) {
  return params.overflow == Overflow::drop_smallest && limit_of(job, params) < stack.size().area();
}

// Numbers the regions that stay. `regions` has
//   drop_by_area(bounds)    takes those outside out of the numbering
//   number(count)           counts through what is left, in raster order
//   keep_largest(limit)     if more are numbered: takes all others out of the numbering
template <class Regions>
void number_regions(const Job& job, const CcLabelParams& params, const Stack& stack,
                    const Regions& regions) {
  const AreaBounds bounds(params);
  if (bounds.exclude_any()) regions.drop_by_area(bounds);
  regions.number(Count::all);
  if (!drops_smallest(job, params, stack)) return;
  regions.keep_largest(limit_of(job, params));
  regions.number(Count::labelled);
}

// Regions that are known by their first voxels. `Labelled` has regions() and a phase sum_areas().
template <class Labelled>
struct FirstsRegions {
  const Labelled& labelled;
  Selection* selection;
  const Records& records;
  cudaStream_t stream;

  void drop_by_area(const AreaBounds& bounds) const {
    sum_areas(labelled, stream);
    cclabel::drop_by_area(labelled.regions(), bounds.least, bounds.most, stream);
  }
  void number(Count count) const { number_firsts(labelled.regions(), count, records, stream); }
  void keep_largest(uint32_t limit) const {
    sum_areas(labelled, stream);
    drop_smallest(labelled.regions(), limit, selection, stream);
  }
};

}  // namespace regions::cclabel

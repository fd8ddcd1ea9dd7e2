// The candidates of cells side by side.
#pragma once

#include <algorithm>
#include <concepts>

#include "cpu/slicsuperpixel/centers.hpp"
#include "cpu/slicsuperpixel/lanes.hpp"

namespace regions {

// A row of cells, and the centres of the rows above, at and below it.
struct CellRow {
  const CellInput& input;
  const SlicGrid grid;
  const int row;
  const CellCenterRow centers[3];

  CellRow(const CellInput& of, int at)
      : input(of),
        grid(of.grid),
        row(at),
        centers{of.memory.center_row(of.which, at - 1, grid),
                of.memory.center_row(of.which, at, grid),
                of.memory.center_row(of.which, at + 1, grid)} {}
  int top() const { return row * grid.height; }
  int rows() const { return std::min(grid.height, grid.size.height - top()); }
};

// Candidate `place` of cells side by side. make(center, dx, dy) is that of a cluster with pixels.
template <int kLanes>
struct CellLanes {
  using Numbers = typename Vectors<kLanes>::Numbers;
  Numbers base, column, down, row, color[3];
  Numbers alive;                   // -1 or 0
  Numbers stored[3], stored_base;  // as CellCenterRow has them

  template <std::invocable<const Center&, int, int> Make>
  REGIONS_INLINE CellLanes(const CellRow& cells, int at_column, int place, Make make) {
    const SlicGrid& grid = cells.grid;
    const int dx = place % 3 - 1, dy = place / 3 - 1;
    const CellCenterRow& from = cells.centers[place / 3];
    int part[5][kLanes], bases[kLanes], made[7][kLanes];
    for (int p = 0; p < 5; ++p) {
      for (int i = 0; i < kLanes; ++i) part[p][i] = from.part[p][at_column + dx + i];
    }
    std::memcpy(bases, from.base + at_column + dx, sizeof bases);
    for (int i = 0; i < kLanes; ++i) {
      // What a lost cluster's memory holds may be too large to be scored.
      const int kept = bases[i] == CellCenterRow::kLost ? 0 : -1;
      const Center center = {{part[0][i] & kept, part[1][i] & kept, part[2][i] & kept},
                             bases[i] & kept,
                             part[3][i] & kept,
                             part[4][i] & kept,
                             true};
      const Candidate candidate = make(center, dx * grid.width, dy * grid.height);
      made[0][i] = candidate.base;
      made[1][i] = candidate.column;
      made[2][i] = candidate.row;
      made[3][i] = candidate.down;
      for (int c = 0; c < 3; ++c) made[4 + c][i] = candidate.color[c];
    }
    stored_base = from_array(bases);
    alive = stored_base != CellCenterRow::kLost;
    base = alive ? from_array(made[0]) : Numbers{} + no_candidate(true, place).base;
    column = from_array(made[1]) & alive;
    row = from_array(made[2]) & alive;
    down = from_array(made[3]) & alive;
    for (int c = 0; c < 3; ++c) {
      color[c] = from_array(made[4 + c]) & alive;
      stored[c] = from_array(part[c]) & alive;
    }
  }

 private:
  REGIONS_INLINE static Numbers from_array(const int (&values)[kLanes]) {
    Numbers numbers;
    std::memcpy(&numbers, values, sizeof numbers);
    return numbers;
  }
};

// What lanes are: pixels of one cell side by side, or the same pixel of cells side by side.
enum class Lanes : uint8_t { pixels, cells };

// What lanes of one kind see of the candidates of cells side by side: of pixels those of cell
// `cell`.
template <Lanes lanes, class Candidates>
struct Neighbourhood {
  const Candidates& all;
  int cell = 0;

  template <class Part>
  REGIONS_INLINE auto of(const Part& part) const {
    if constexpr (lanes == Lanes::pixels) {
      return part[cell];
    } else {
      return part;
    }
  }
  // The scores of column u, of pixels from there on, before the first row of patch `patch`; small
  // cells have one patch.
  REGIONS_INLINE auto starts(int place, int u, int patch) const {
    using Vector = Vectors<Candidates::kLanes>;
    typename Vector::Numbers first = {};
    if constexpr (lanes == Lanes::pixels) {
      const int column = of(all.column[place]);
      first += of(all.base[place]) + kPatchRows * patch * of(all.down[place]) + column * u;
      first += column * Vector::lane();
    } else {
      first = all.base[place] + all.column[place] * u;
    }
    return (first & ~15) | place;
  }
};

}  // namespace regions

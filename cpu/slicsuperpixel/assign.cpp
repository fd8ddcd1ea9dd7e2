// Scores are small integers in floats, so multiplications and additions are exact in any order,
// fused or not, and the compiler may use whatever the machine has.
#include "cpu/slicsuperpixel/assign.hpp"

#include <type_traits>

#include "cpu/slicsuperpixel/by_lanes.hpp"

namespace regions {
namespace {

// The candidates of a cell, each part side by side; as many as vectors have lanes, of which nine
// count. They are made together: one by one they would cost as much as a third of the pixels.
struct Candidates {
  static constexpr bool kSmallCells = false;
  static constexpr int kLanes = 16;
  int base[kLanes];
  int down[kLanes];
  int column[kLanes];
  float row[kLanes];  // as scores
  float color[3][kLanes];

  REGIONS_INLINE Candidates(const AssignInput& input, int x, int y) {
    const SlicGrid& grid = input.grid;
    int first[kLanes] = {}, second[kLanes] = {}, third[kLanes] = {}, bases[kLanes] = {};
    int xs[kLanes] = {}, ys[kLanes] = {}, across[kLanes] = {}, along[kLanes] = {};
    bool counts[kCandidates], is_inside[kCandidates];
    for (int place = 0; place < kCandidates; ++place) {
      const int cx = x + place % 3 - 1, cy = y + place / 3 - 1;
      const bool inside = cx >= 0 && cy >= 0 && cx < grid.columns && cy < grid.rows;
      const Center& center = input.centers[inside ? grid.index(cx, cy) : 0];
      is_inside[place] = inside;
      counts[place] = inside && center.alive;
      first[place] = center.color[0];
      second[place] = center.color[1];
      third[place] = center.color[2];
      bases[place] = center.base;
      xs[place] = center.x;
      ys[place] = center.y;
      across[place] = (place % 3 - 1) * grid.width;
      along[place] = (place / 3 - 1) * grid.height;
    }
    for (int i = 0; i < kLanes; ++i) {
      const Center center = {{first[i], second[i], third[i]}, bases[i], xs[i], ys[i], true};
      set(i, candidate_at(center, across[i], along[i], grid, input.scale));
    }
    for (int place = 0; place < kCandidates; ++place) {
      if (!counts[place]) set(place, no_candidate(is_inside[place], place));
    }
  }

 private:
  REGIONS_INLINE void set(int place, const Candidate& candidate) {
    base[place] = candidate.base;
    down[place] = candidate.down;
    column[place] = candidate.column;
    row[place] = static_cast<float>(16 * candidate.row);
    for (int c = 0; c < 3; ++c) color[c][place] = static_cast<float>(16 * candidate.color[c]);
  }
};

// The same of small cells side by side.
template <int kLanes>
struct CellCandidates {
  static constexpr bool kSmallCells = true;
  using Numbers = typename Vectors<kLanes>::Numbers;
  using Scores = typename Vectors<kLanes>::Scores;
  Numbers base[kCandidates];
  Numbers column[kCandidates];
  Scores row[kCandidates];
  Scores color[3][kCandidates];

  REGIONS_INLINE CellCandidates(const CellRow& cells, int first) {
    const SlicGrid& grid = cells.grid;
    const SlicScale& scale = cells.input.scale;
    const auto make = [&](const Center& center, int dx, int dy) {
      return candidate_at(center, dx, dy, grid, scale);
    };
#pragma GCC unroll 9
    for (int place = 0; place < kCandidates; ++place) {
      const CellLanes<kLanes> lanes(cells, first, place, make);
      base[place] = lanes.base;
      column[place] = lanes.column;
      row[place] = __builtin_convertvector(16 * lanes.row, Scores);
      for (int c = 0; c < 3; ++c) {
        color[c][place] = __builtin_convertvector(16 * lanes.color[c], Scores);
      }
    }
  }
};

// Columns of one patch side by side, or of small cells.
template <int lanes, class Around>
class Strip {
 public:
  static constexpr int kLanes = lanes;
  static constexpr bool kAdapts = false;
  using Neighbourhood = Around;

 private:
  using Scores = typename Vectors<kLanes>::Scores;
  using Numbers = typename Vectors<kLanes>::Numbers;

 public:
  REGIONS_INLINE Strip(const Around& around, int u, int patch, RowChoice choice) : around_(around) {
#pragma GCC unroll 9
    for (int place = 0; place < kCandidates; ++place) {
      const Numbers start = starts_of<kLanes>(around, place, u, patch);
      const auto phase = static_cast<float>(choice.phase), step = static_cast<float>(choice.step);
      start_[place] = __builtin_convertvector(start, Scores) + phase * around.row[place];
      increment_[place] = step * around.row[place];
    }
  }
  // Places of the pixels in the next row.
  REGIONS_INLINE Numbers places(int, const Numbers (&pixel)[3]) {
    Scores color[3];
    for (int c = 0; c < 3; ++c) color[c] = __builtin_convertvector(pixel[c], Scores);
    Scores best = score(0, color);
#pragma GCC unroll 8
    for (int place = 1; place < kCandidates; ++place) {
      const Scores other = score(place, color);
      best = other < best ? other : best;
    }
    return __builtin_convertvector(best, Numbers) & 15;
  }
  REGIONS_INLINE void note(const Numbers&) {}
  REGIONS_INLINE void give(int, const RowSums&, int) const {}

 private:
  REGIONS_INLINE Scores score(int place, const Scores (&color)[3]) {
    Scores sum = start_[place];
    start_[place] += increment_[place];
    for (int c = 0; c < 3; ++c) sum += around_.color[c][place] * color[c];
    return sum;
  }
  using Slope = std::remove_cvref_t<decltype(Around::row[0])>;
  const Around& around_;
  Scores start_[kCandidates];     // of the next row
  Slope increment_[kCandidates];  // from a row to the next that is chosen
};

using Passes = ByLanes<Strip, Candidates, CellCandidates>;

}  // namespace

void sum_clusters(const AssignInput& input, int row, RowChoice choice, Image<uint8_t> places,
                  const RowSums& sums) {
  if (input.colors_of) return sum_adaptive_clusters(input, row, choice, sums);
  Passes::sum(input, row, choice, places, sums);
}

void move_pixels(const AssignInput& input, int row, RowChoice choice, Image<uint8_t> places,
                 const RowSums& sums) {
  Passes::move(input, row, choice, places, sums);
}

void write_codes(const AssignInput& input, int row, Image<uint8_t> codes) {
  if (input.colors_of) return write_adaptive_codes(input, row, codes);
  Passes::code(input, row, codes);
}

void sum_cells(const CellInput& input, int row, const CellSumRow (&sums)[3]) {
  if (input.adapts()) return sum_adaptive_cells(input, row, sums);
  Passes::sum_cells(input, row, sums);
}

void write_cell_codes(const CellInput& input, int row, Image<uint8_t> codes) {
  if (input.adapts()) return write_adaptive_cell_codes(input, row, codes);
  Passes::code_cells(input, row, codes);
}

}  // namespace regions

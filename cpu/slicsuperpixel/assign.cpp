// Scores are small integers in floats, so multiplications and additions are exact in any order,
// fused or not, and the compiler may use whatever the machine has.
#include "cpu/slicsuperpixel/assign.hpp"

#include <type_traits>

#include "cpu/slicsuperpixel/by_lanes.hpp"

namespace regions {
namespace {

// The candidates of cells side by side, their colours and rows as scores.
template <int lanes>
struct Candidates {
  static constexpr int kLanes = lanes;
  using Numbers = typename Vectors<kLanes>::Numbers;
  using Scores = typename Vectors<kLanes>::Scores;
  Numbers base[kCandidates];
  Numbers column[kCandidates];
  Numbers down[kCandidates];
  Scores row[kCandidates];
  Scores color[3][kCandidates];

  REGIONS_INLINE Candidates(const CellRow& cells, int first) {
    const SlicGrid& grid = cells.grid;
    const SlicScale& scale = cells.input.scale;
    const auto make = [&](const Center& center, int dx, int dy) {
      return candidate_at(center, dx, dy, grid, scale);
    };
#pragma GCC unroll 9
    for (int place = 0; place < kCandidates; ++place) {
      const CellLanes<kLanes> made(cells, first, place, make);
      base[place] = made.base;
      column[place] = made.column;
      down[place] = made.down;
      row[place] = __builtin_convertvector(16 * made.row, Scores);
      for (int c = 0; c < 3; ++c) {
        color[c][place] = __builtin_convertvector(16 * made.color[c], Scores);
      }
    }
  }
};

// Columns of one patch side by side, or of small cells.
template <int lanes, Lanes of>
class Strip {
 public:
  static constexpr int kLanes = lanes;
  static constexpr bool kAdapts = false;
  using Candidates = regions::Candidates<lanes>;
  using Around = Neighbourhood<of, Candidates>;

 private:
  using Scores = typename Vectors<kLanes>::Scores;
  using Numbers = typename Vectors<kLanes>::Numbers;

 public:
  REGIONS_INLINE Strip(const Around& around, int u, int patch, RowChoice choice) : around_(around) {
#pragma GCC unroll 9
    for (int place = 0; place < kCandidates; ++place) {
      const Numbers start = around.starts(place, u, patch);
      const auto phase = static_cast<float>(choice.phase), step = static_cast<float>(choice.step);
      start_[place] =
          __builtin_convertvector(start, Scores) + phase * around.of(around.all.row[place]);
      increment_[place] = step * around.of(around.all.row[place]);
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
    for (int c = 0; c < 3; ++c) sum += around_.of(around_.all.color[c][place]) * color[c];
    return sum;
  }
  using Slope = std::conditional_t<of == Lanes::pixels, float, Scores>;
  const Around around_;
  Scores start_[kCandidates];     // of the next row
  Slope increment_[kCandidates];  // from a row to the next that is chosen
};

using Passes = ByLanes<Strip>;

}  // namespace

void sum_clusters(const AssignInput& input, int row, RowChoice choice, Image<uint8_t> places,
                  const RowSums& sums) {
  if (input.cells.adapts()) return sum_adaptive_clusters(input, row, choice, sums);
  Passes::sum(input, row, choice, places, sums);
}

void move_pixels(const AssignInput& input, int row, RowChoice choice, Image<uint8_t> places,
                 const RowSums& sums) {
  Passes::move(input, row, choice, places, sums);
}

void write_codes(const AssignInput& input, int row, Image<uint8_t> codes) {
  if (input.cells.adapts()) return write_adaptive_codes(input, row, codes);
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

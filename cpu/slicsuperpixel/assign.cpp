// Scores are small integers in floats, so multiplications and additions are exact in any order,
// fused or not, and the compiler may use whatever the machine has.
#include "cpu/slicsuperpixel/assign.hpp"

#include "cpu/slicsuperpixel/strips.hpp"

namespace regions {
namespace {

// The candidates of a cell, each part side by side.
struct Candidates {
  int base[kCandidates];
  int down[kCandidates];
  int column[kCandidates];
  float row[kCandidates];  // as scores
  float color[3][kCandidates];

  REGIONS_INLINE Candidates(const AssignInput& input, int x, int y) {
    const SlicGrid& grid = input.grid;
    for (int place = 0; place < kCandidates; ++place) {
      const int cx = x + place % 3 - 1, cy = y + place / 3 - 1;
      const bool inside = cx >= 0 && cy >= 0 && cx < grid.columns && cy < grid.rows;
      const ptrdiff_t index = inside ? static_cast<ptrdiff_t>(cy) * grid.columns + cx : 0;
      const Candidate candidate =
          candidate_of(input.centers[index], inside, place, grid, input.scale);
      base[place] = candidate.base;
      down[place] = candidate.down;
      column[place] = candidate.column;
      row[place] = static_cast<float>(16 * candidate.row);
      for (int c = 0; c < 3; ++c) {
        color[c][place] = static_cast<float>(16 * candidate.color[c]);
      }
    }
  }
};

// Columns of one patch side by side.
template <int lanes>
class Strip {
 public:
  static constexpr int kLanes = lanes;
  using Neighbourhood = Candidates;

 private:
  using Scores = typename Vectors<kLanes>::Scores;
  using Numbers = typename Vectors<kLanes>::Numbers;

 public:
  REGIONS_INLINE Strip(const Candidates& around, int u, int patch) : around_(around) {
#pragma GCC unroll 9
    for (int place = 0; place < kCandidates; ++place) {
      const int first =
          around.base[place] + kPatchRows * patch * around.down[place] + around.column[place] * u;
      const Numbers start =
          ((first + around.column[place] * Vectors<kLanes>::lane()) & ~15) | place;
      start_[place] = __builtin_convertvector(start, Scores);
    }
  }
  // Places of the pixels in row v.
  REGIONS_INLINE Numbers places(int v, const Numbers (&pixel)[3]) const {
    Scores color[3];
    for (int c = 0; c < 3; ++c) color[c] = __builtin_convertvector(pixel[c], Scores);
    const Scores rows = Scores{} + static_cast<float>(v);
    Scores best = score(0, rows, color);
#pragma GCC unroll 8
    for (int place = 1; place < kCandidates; ++place) {
      const Scores other = score(place, rows, color);
      best = other < best ? other : best;
    }
    return __builtin_convertvector(best, Numbers) & 15;
  }
  REGIONS_INLINE void note(const Numbers&) {}
  REGIONS_INLINE void give(int, const RowSums&, int) const {}

 private:
  REGIONS_INLINE Scores score(int place, const Scores& v, const Scores (&color)[3]) const {
    Scores sum = start_[place] + v * around_.row[place];
    for (int c = 0; c < 3; ++c) sum += around_.color[c][place] * color[c];
    return sum;
  }
  const Candidates& around_;
  Scores start_[kCandidates];
};

using Codes = Image<uint8_t>;

REGIONS_BY_16 void sum_by_16(const AssignInput& in, int row, RowChoice choice, const RowSums& to) {
  sum_by<Strip<16>>(in, row, choice, to);
}
REGIONS_BY_8 void sum_by_8(const AssignInput& in, int row, RowChoice choice, const RowSums& to) {
  sum_by<Strip<8>>(in, row, choice, to);
}
void sum_by_4(const AssignInput& in, int row, RowChoice choice, const RowSums& to) {
  sum_by<Strip<4>>(in, row, choice, to);
}
REGIONS_BY_16 void code_by_16(const AssignInput& in, int row, Codes codes) {
  code_by<Strip<16>>(in, row, codes);
}
REGIONS_BY_8 void code_by_8(const AssignInput& in, int row, Codes codes) {
  code_by<Strip<8>>(in, row, codes);
}
void code_by_4(const AssignInput& in, int row, Codes codes) { code_by<Strip<4>>(in, row, codes); }

}  // namespace

void sum_clusters(const AssignInput& input, int row, RowChoice choice, const RowSums& sums) {
  static const auto run = for_machine(sum_by_16, sum_by_8, sum_by_4);
  if (input.colors_of) return sum_adaptive_clusters(input, row, choice, sums);
  run(input, row, choice, sums);
}

void write_codes(const AssignInput& input, int row, Image<uint8_t> codes) {
  static const auto run = for_machine(code_by_16, code_by_8, code_by_4);
  if (input.colors_of) return write_adaptive_codes(input, row, codes);
  run(input, row, codes);
}

}  // namespace regions

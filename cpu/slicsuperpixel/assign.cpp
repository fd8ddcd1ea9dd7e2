// Scores are small integers in floats, so multiplications and additions are exact in any order,
// fused or not, and the compiler may use whatever the machine has.
#include "cpu/slicsuperpixel/assign.hpp"

#include "cpu/slicsuperpixel/strips.hpp"

namespace regions {
namespace {

// The candidates of a cell, each part side by side; as many as vectors have lanes, of which nine
// count. They are made together: one by one they would cost as much as a third of the pixels.
struct Candidates {
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
  REGIONS_INLINE Strip(const Candidates& around, int u, int patch, RowChoice choice)
      : around_(around) {
#pragma GCC unroll 9
    for (int place = 0; place < kCandidates; ++place) {
      const int first =
          around.base[place] + kPatchRows * patch * around.down[place] + around.column[place] * u;
      const Numbers start =
          ((first + around.column[place] * Vectors<kLanes>::lane()) & ~15) | place;
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
  const Candidates& around_;
  Scores start_[kCandidates];     // of the next row
  float increment_[kCandidates];  // from a row to the next that is chosen
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

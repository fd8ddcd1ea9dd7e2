// The assignment step of SLIC on the CPU: each pixel chooses the nearest cluster.
//
// Scores are small integers stored in floats. Additions and multiplications are therefore exact.
// The result depends neither on their order nor on fused operations, so the compiler may use any
// instruction set.
#include <type_traits>

#include "cpu/slicsuperpixel/assign_passes.hpp"

namespace regions {
namespace {

// The nine candidate clusters of kLanes cells, as vectors with one cell per lane. The members are
// those of Candidate, but `row` and `color` are multiplied by 16: `row` is the score per row, and
// `color` is the score per unit of a colour component.
template <int lanes>
struct Candidates {
  static constexpr int kLanes = lanes;
  using Ints = typename Vectors<kLanes>::Ints;
  using Floats = typename Vectors<kLanes>::Floats;
  Ints base[kCandidates];
  Ints column[kCandidates];
  Ints down[kCandidates];
  Floats row[kCandidates];
  Floats color[3][kCandidates];

  REGIONS_INLINE Candidates(const CellRow& cells, int first) {
    const SlicGrid& grid = cells.grid;
    const SlicScale& scale = cells.input.scale;
    const auto make_candidate = [&](const Center& center, int dx, int dy) {
      return candidate_at(center, dx, dy, grid, scale);
    };
#pragma GCC unroll 9
    for (int candidate = 0; candidate < kCandidates; ++candidate) {
      const CandidateVectors<kLanes> vectors(cells, first, candidate, make_candidate);
      base[candidate] = vectors.base;
      column[candidate] = vectors.column;
      down[candidate] = vectors.down;
      row[candidate] = __builtin_convertvector(16 * vectors.row, Floats);
      for (int c = 0; c < 3; ++c) {
        color[c][candidate] = __builtin_convertvector(16 * vectors.color[c], Floats);
      }
    }
  }
};

// A ChoosingStrip with SLIC's distance. Its lanes are neighbouring columns of one patch, or the
// same column of several small cells.
template <int lanes, LaneContent content>
class Strip {
 public:
  static constexpr int kLanes = lanes;
  static constexpr bool kIsSlico = false;
  using Candidates = regions::Candidates<lanes>;
  using View = CandidateView<content, Candidates>;

 private:
  using Floats = typename Vectors<kLanes>::Floats;
  using Ints = typename Vectors<kLanes>::Ints;

 public:
  REGIONS_INLINE Strip(const View& view, int u, int patch, RowSubset row_subset) : view_(view) {
#pragma GCC unroll 9
    for (int candidate = 0; candidate < kCandidates; ++candidate) {
      const Ints start_score = view.start_scores(candidate, u, patch);
      const auto phase = static_cast<float>(row_subset.phase),
                 step = static_cast<float>(row_subset.row_step);
      next_row_score_[candidate] = __builtin_convertvector(start_score, Floats) +
                                   phase * view.select(view.all.row[candidate]);
      score_per_step_[candidate] = step * view.select(view.all.row[candidate]);
    }
  }
  // Returns the nearest candidate of each pixel of the next row.
  REGIONS_INLINE Ints choose(int, const Ints (&pixel)[3]) {
    Floats color[3];
    for (int c = 0; c < 3; ++c) color[c] = __builtin_convertvector(pixel[c], Floats);
    Floats best = score(0, color);
#pragma GCC unroll 8
    for (int candidate = 1; candidate < kCandidates; ++candidate) {
      const Floats other = score(candidate, color);
      best = other < best ? other : best;
    }
    return __builtin_convertvector(best, Ints) & 15;
  }
  // SLIC does not use the largest colour distances, so these two functions are empty.
  REGIONS_INLINE void record_distances(const Ints&) {}
  REGIONS_INLINE void merge_distances(int, const RowSums&, int) const {}

 private:
  // Returns the score of a candidate for the pixels of the current row and moves on to the next
  // row.
  REGIONS_INLINE Floats score(int candidate, const Floats (&color)[3]) {
    Floats sum = next_row_score_[candidate];
    next_row_score_[candidate] += score_per_step_[candidate];
    for (int c = 0; c < 3; ++c) sum += view_.select(view_.all.color[c][candidate]) * color[c];
    return sum;
  }
  using Slope = std::conditional_t<content == LaneContent::pixels, float, Floats>;
  const View view_;
  // The score of each candidate in the next row, without the terms for the pixel's colour.
  Floats next_row_score_[kCandidates];
  Slope score_per_step_[kCandidates];  // change of the score from a used row to the next used row
};

using Passes = PassDispatch<Strip>;

}  // namespace

void assign_and_sum(const AssignInput& input, int row, RowSubset row_subset, Image<uint8_t> chosen,
                    const RowSums& sums) {
  if (input.cells.is_slico()) return slico_assign_and_sum(input, row, row_subset, sums);
  Passes::sum(input, row, row_subset, chosen, sums);
}

void reassign_pixels(const AssignInput& input, int row, RowSubset row_subset, Image<uint8_t> chosen,
                     const RowSums& sums) {
  Passes::reassign(input, row, row_subset, chosen, sums);
}

void write_cluster_codes(const AssignInput& input, int row, Image<uint8_t> codes) {
  if (input.cells.is_slico()) return write_slico_codes(input, row, codes);
  Passes::write_codes(input, row, codes);
}

void assign_and_sum_cells(const CellInput& input, int row, const CellSumRow (&sums)[3]) {
  if (input.is_slico()) return slico_assign_and_sum_cells(input, row, sums);
  Passes::sum_small_cells(input, row, sums);
}

void write_cell_codes(const CellInput& input, int row, Image<uint8_t> codes) {
  if (input.is_slico()) return write_slico_cell_codes(input, row, codes);
  Passes::write_small_cell_codes(input, row, codes);
}

}  // namespace regions

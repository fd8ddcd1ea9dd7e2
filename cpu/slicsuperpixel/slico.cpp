// The assignment step of SLICO on the CPU: each pixel chooses the nearest cluster. The header
// core/slicsuperpixel/clusters.hpp describes SLICO.
//
// Squared colour distances are integers below 2^24 and therefore exact in a float. The score of the
// colour is rounded to an integer, and then the integer score of the position is added.
#include <algorithm>

#include "cpu/slicsuperpixel/assign_passes.hpp"

namespace regions {
namespace {

// The nine candidate clusters of kLanes cells, as vectors with one cell per lane, and the mean
// colours of the clusters.
template <int lanes>
struct SlicoCandidates {
  static constexpr int kLanes = lanes;
  using Ints = typename Vectors<kLanes>::Ints;
  using Floats = typename Vectors<kLanes>::Floats;
  Ints base[kCandidates];
  Ints column[kCandidates];
  Ints down[kCandidates];
  Ints row[kCandidates];
  Floats mean[3][kCandidates];
  Floats factor[kCandidates];
  float weight[3];

  REGIONS_INLINE SlicoCandidates(const CellRow& cells, int first) {
    const SlicGrid& grid = cells.grid;
    const SlicScale& scale = cells.input.scale;
    for (int c = 0; c < 3; ++c) weight[c] = static_cast<float>(scale.weight[c]);
    const auto make_candidate = [&](Center center, int dx, int dy) {
      for (int& coefficient : center.color) coefficient = 0;
      center.base = 0;
      return candidate_at(center, dx, dy, grid, scale);
    };
#pragma GCC unroll 9
    for (int candidate = 0; candidate < kCandidates; ++candidate) {
      const CandidateVectors<kLanes> vectors(cells, first, candidate, make_candidate);
      const AdaptiveCandidate empty = adaptive_candidate_of({}, {}, true, candidate, grid, scale);
      base[candidate] = vectors.alive ? vectors.base : Ints{} + empty.place.base;
      column[candidate] = vectors.column;
      down[candidate] = vectors.down;
      row[candidate] = 16 * vectors.row;
      for (int c = 0; c < 3; ++c) {
        mean[c][candidate] = __builtin_convertvector(vectors.stored[c], Floats);
      }
      const Ints max_distance = vectors.alive ? vectors.stored_base : Ints{} + 1;
      const Floats share = scale.adaptive / __builtin_convertvector(max_distance, Floats);
      factor[candidate] = vectors.alive ? share : Floats{};
    }
  }
};

// A ChoosingStrip with SLICO's distance.
template <int lanes, LaneContent content>
class SlicoStrip {
 public:
  static constexpr int kLanes = lanes;
  static constexpr bool kIsSlico = true;
  using Candidates = SlicoCandidates<lanes>;
  using View = CandidateView<content, Candidates>;

 private:
  using Floats = typename Vectors<kLanes>::Floats;
  using Ints = typename Vectors<kLanes>::Ints;

 public:
  REGIONS_INLINE SlicoStrip(const View& view, int u, int patch, RowSubset) : view_(view) {
#pragma GCC unroll 9
    for (int candidate = 0; candidate < kCandidates; ++candidate) {
      start_score_[candidate] = view.start_scores(candidate, u, patch);
      max_distance_[candidate] = Floats{};
    }
  }
  REGIONS_INLINE Ints choose(int v, const Ints (&pixel)[3]) {
    Floats color[3];
    for (int c = 0; c < 3; ++c) {
      color[c] = __builtin_convertvector(4 * (pixel[c] + kColorBias), Floats);
    }
    Ints best = {};
#pragma GCC unroll 9
    for (int candidate = 0; candidate < kCandidates; ++candidate) {
      Floats distance = {};
      for (int c = 0; c < 3; ++c) {
        const Floats d = color[c] - view_.select(view_.all.mean[c][candidate]);
        distance += view_.all.weight[c] * (d * d);
      }
      Floats score = distance * view_.select(view_.all.factor[candidate]);
      score = score < kMaxColorScore ? score : Floats{} + kMaxColorScore;
      const Ints sum = start_score_[candidate] + v * view_.select(view_.all.row[candidate]) +
                       16 * __builtin_convertvector(score, Ints);
      const Ints better = candidate == 0 ? Ints{} == 0 : sum < best;
      best = better ? sum : best;
      distance_ = better ? distance : distance_;
    }
    return best & 15;
  }
  // Updates the largest colour distance of each candidate with the pixels that chose it.
  REGIONS_INLINE void record_distances(const Ints& candidates) {
#pragma GCC unroll 9
    for (int candidate = 0; candidate < kCandidates; ++candidate) {
      const Floats chosen = candidates == candidate ? distance_ : Floats{};
      max_distance_[candidate] =
          chosen > max_distance_[candidate] ? chosen : max_distance_[candidate];
    }
  }
  REGIONS_INLINE void merge_distances(int candidate, const RowSums& sums, int cluster) const {
    float largest = 0;
    for (int i = 0; i < kLanes; ++i) largest = std::max(largest, max_distance_[candidate][i]);
    uint32_t& max_distance = sums.max_distance[candidate / 3][cluster];
    max_distance = std::max(max_distance, static_cast<uint32_t>(largest));
  }
  REGIONS_INLINE const Floats& max_distance(int candidate) const {
    return max_distance_[candidate];
  }

 private:
  const View view_;
  Ints start_score_[kCandidates];
  Floats max_distance_[kCandidates];
  Floats distance_ = {};  // colour distance of each pixel to the result of the last choose()
};

using Passes = PassDispatch<SlicoStrip>;

}  // namespace

void slico_assign_and_sum(const AssignInput& input, int row, RowSubset row_subset,
                          const RowSums& sums) {
  Passes::sum(input, row, row_subset, {}, sums);
}

void write_slico_codes(const AssignInput& input, int row, Image<uint8_t> codes) {
  Passes::write_codes(input, row, codes);
}

void slico_assign_and_sum_cells(const CellInput& input, int row, const CellSumRow (&sums)[3]) {
  Passes::sum_small_cells(input, row, sums);
}

void write_slico_cell_codes(const CellInput& input, int row, Image<uint8_t> codes) {
  Passes::write_small_cell_codes(input, row, codes);
}

}  // namespace regions

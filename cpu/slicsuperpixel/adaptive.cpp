// Pixels choose as SLICO does (core/slicsuperpixel/slico.hpp). Squared distances are integers below
// 2^24, exact in a float; their scores are rounded to integers before anything is added.
#include "cpu/slicsuperpixel/by_lanes.hpp"

namespace regions {
namespace {

// The candidates of cells side by side.
template <int lanes>
struct AdaptiveCandidates {
  static constexpr int kLanes = lanes;
  using Numbers = typename Vectors<kLanes>::Numbers;
  using Floats = typename Vectors<kLanes>::Scores;
  Numbers base[kCandidates];
  Numbers column[kCandidates];
  Numbers down[kCandidates];
  Numbers row[kCandidates];
  Floats mean[3][kCandidates];
  Floats factor[kCandidates];
  float weight[3];

  REGIONS_INLINE AdaptiveCandidates(const CellRow& cells, int first) {
    const SlicGrid& grid = cells.grid;
    const SlicScale& scale = cells.input.scale;
    for (int c = 0; c < 3; ++c) weight[c] = static_cast<float>(scale.weight[c]);
    const auto make = [&](Center center, int dx, int dy) {
      for (int& coefficient : center.color) coefficient = 0;
      center.base = 0;
      return candidate_at(center, dx, dy, grid, scale);
    };
#pragma GCC unroll 9
    for (int place = 0; place < kCandidates; ++place) {
      const CellLanes<kLanes> made(cells, first, place, make);
      const AdaptiveCandidate lost = adaptive_candidate_of({}, {}, true, place, grid, scale);
      base[place] = made.alive ? made.base : Numbers{} + lost.place.base;
      column[place] = made.column;
      down[place] = made.down;
      row[place] = 16 * made.row;
      for (int c = 0; c < 3; ++c) {
        mean[c][place] = __builtin_convertvector(made.stored[c], Floats);
      }
      const Numbers reach = made.alive ? made.stored_base : Numbers{} + 1;
      const Floats share = scale.adaptive / __builtin_convertvector(reach, Floats);
      factor[place] = made.alive ? share : Floats{};
    }
  }
};

template <int lanes, Lanes of>
class AdaptiveStrip {
 public:
  static constexpr int kLanes = lanes;
  static constexpr bool kAdapts = true;
  using Candidates = AdaptiveCandidates<lanes>;
  using Around = Neighbourhood<of, Candidates>;

 private:
  using Floats = typename Vectors<kLanes>::Scores;
  using Numbers = typename Vectors<kLanes>::Numbers;

 public:
  REGIONS_INLINE AdaptiveStrip(const Around& around, int u, int patch, RowChoice)
      : around_(around) {
#pragma GCC unroll 9
    for (int place = 0; place < kCandidates; ++place) {
      start_[place] = around.starts(place, u, patch);
      reach_[place] = Floats{};
    }
  }
  REGIONS_INLINE Numbers places(int v, const Numbers (&pixel)[3]) {
    Floats color[3];
    for (int c = 0; c < 3; ++c) {
      color[c] = __builtin_convertvector(4 * (pixel[c] + kColorBias), Floats);
    }
    Numbers best = {};
#pragma GCC unroll 9
    for (int place = 0; place < kCandidates; ++place) {
      Floats distance = {};
      for (int c = 0; c < 3; ++c) {
        const Floats d = color[c] - around_.of(around_.all.mean[c][place]);
        distance += around_.all.weight[c] * (d * d);
      }
      Floats score = distance * around_.of(around_.all.factor[place]);
      score = score < kMaxColorScore ? score : Floats{} + kMaxColorScore;
      const Numbers sum = start_[place] + v * around_.of(around_.all.row[place]) +
                          16 * __builtin_convertvector(score, Numbers);
      const Numbers better = place == 0 ? Numbers{} == 0 : sum < best;
      best = better ? sum : best;
      distance_ = better ? distance : distance_;
    }
    return best & 15;
  }
  // Keeps the greatest distance of pixels to the candidate they chose.
  REGIONS_INLINE void note(const Numbers& places) {
#pragma GCC unroll 9
    for (int place = 0; place < kCandidates; ++place) {
      const Floats chosen = places == place ? distance_ : Floats{};
      reach_[place] = chosen > reach_[place] ? chosen : reach_[place];
    }
  }
  REGIONS_INLINE void give(int place, const RowSums& sums, int cluster) const {
    float most = 0;
    for (int i = 0; i < kLanes; ++i) most = std::max(most, reach_[place][i]);
    uint32_t& reach = sums.reach[place / 3][cluster];
    reach = std::max(reach, static_cast<uint32_t>(most));
  }
  REGIONS_INLINE const Floats& reach(int place) const { return reach_[place]; }

 private:
  const Around around_;
  Numbers start_[kCandidates];
  Floats reach_[kCandidates];
  Floats distance_ = {};
};

using Passes = ByLanes<AdaptiveStrip>;

}  // namespace

void sum_adaptive_clusters(const AssignInput& input, int row, RowChoice choice,
                           const RowSums& sums) {
  Passes::sum(input, row, choice, {}, sums);
}

void write_adaptive_codes(const AssignInput& input, int row, Image<uint8_t> codes) {
  Passes::code(input, row, codes);
}

void sum_adaptive_cells(const CellInput& input, int row, const CellSumRow (&sums)[3]) {
  Passes::sum_cells(input, row, sums);
}

void write_adaptive_cell_codes(const CellInput& input, int row, Image<uint8_t> codes) {
  Passes::code_cells(input, row, codes);
}

}  // namespace regions

// Pixels choose as SLICO does (core/slicsuperpixel/slico.hpp). Squared distances are integers below
// 2^24, exact in a float; their scores are rounded to integers before anything is added.
#include "cpu/slicsuperpixel/by_lanes.hpp"

namespace regions {
namespace {

// The candidates of a cell, each part side by side.
struct AdaptiveCandidates {
  static constexpr bool kSmallCells = false;
  int base[kCandidates];
  int down[kCandidates];
  int column[kCandidates];
  int row[kCandidates];
  float mean[3][kCandidates];
  float factor[kCandidates];
  float weight[3];

  REGIONS_INLINE AdaptiveCandidates(const AssignInput& input, int x, int y) {
    const SlicGrid& grid = input.grid;
    for (int c = 0; c < 3; ++c) weight[c] = static_cast<float>(input.scale.weight[c]);
    for (int place = 0; place < kCandidates; ++place) {
      const int cx = x + place % 3 - 1, cy = y + place / 3 - 1;
      const bool inside = cx >= 0 && cy >= 0 && cx < grid.columns && cy < grid.rows;
      const size_t index = inside ? grid.index(cx, cy) : 0;
      const AdaptiveCandidate candidate = adaptive_candidate_of(
          input.centers[index], input.colors_of[index], inside, place, grid, input.scale);
      base[place] = candidate.place.base;
      down[place] = candidate.place.down;
      column[place] = candidate.place.column;
      row[place] = 16 * candidate.place.row;
      for (int c = 0; c < 3; ++c) mean[c][place] = static_cast<float>(candidate.color.mean[c]);
      factor[place] = candidate.factor;
    }
  }
};

// The same of small cells side by side.
template <int kLanes>
struct AdaptiveCellCandidates {
  static constexpr bool kSmallCells = true;
  using Numbers = typename Vectors<kLanes>::Numbers;
  using Floats = typename Vectors<kLanes>::Scores;
  Numbers base[kCandidates];
  Numbers column[kCandidates];
  Numbers row[kCandidates];
  Floats mean[3][kCandidates];
  Floats factor[kCandidates];
  float weight[3];

  REGIONS_INLINE AdaptiveCellCandidates(const CellRow& cells, int first) {
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
      const CellLanes<kLanes> lanes(cells, first, place, make);
      const AdaptiveCandidate lost = adaptive_candidate_of({}, {}, true, place, grid, scale);
      base[place] = lanes.alive ? lanes.base : Numbers{} + lost.place.base;
      column[place] = lanes.column;
      row[place] = 16 * lanes.row;
      for (int c = 0; c < 3; ++c) {
        mean[c][place] = __builtin_convertvector(lanes.stored[c], Floats);
      }
      const Numbers reach = lanes.alive ? lanes.stored_base : Numbers{} + 1;
      const Floats share = scale.adaptive / __builtin_convertvector(reach, Floats);
      factor[place] = lanes.alive ? share : Floats{};
    }
  }
};

template <int lanes, class Around>
class AdaptiveStrip {
 public:
  static constexpr int kLanes = lanes;
  static constexpr bool kAdapts = true;
  using Neighbourhood = Around;

 private:
  using Floats = typename Vectors<kLanes>::Scores;
  using Numbers = typename Vectors<kLanes>::Numbers;

 public:
  REGIONS_INLINE AdaptiveStrip(const Around& around, int u, int patch, RowChoice)
      : around_(around) {
#pragma GCC unroll 9
    for (int place = 0; place < kCandidates; ++place) {
      start_[place] = starts_of<kLanes>(around, place, u, patch);
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
        const Floats d = color[c] - around_.mean[c][place];
        distance += around_.weight[c] * (d * d);
      }
      Floats score = distance * around_.factor[place];
      score = score < kMostColorScore ? score : Floats{} + kMostColorScore;
      const Numbers sum =
          start_[place] + v * around_.row[place] + 16 * __builtin_convertvector(score, Numbers);
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
  const Around& around_;
  Numbers start_[kCandidates];
  Floats reach_[kCandidates];
  Floats distance_ = {};
};

using Passes = ByLanes<AdaptiveStrip, AdaptiveCandidates, AdaptiveCellCandidates>;

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

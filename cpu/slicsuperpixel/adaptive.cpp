// Pixels choose as SLICO does (core/slico.hpp). Squared distances are integers below 2^24, exact in
// a float; their scores are rounded to integers before anything is added.
#include "cpu/slicsuperpixel/strips.hpp"

namespace regions {
namespace {

// The candidates of a cell, each part side by side.
struct AdaptiveCandidates {
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

template <int lanes>
class AdaptiveStrip {
 public:
  static constexpr int kLanes = lanes;
  using Neighbourhood = AdaptiveCandidates;

 private:
  using Floats = typename Vectors<kLanes>::Scores;
  using Numbers = typename Vectors<kLanes>::Numbers;

 public:
  REGIONS_INLINE AdaptiveStrip(const AdaptiveCandidates& around, int u, int patch, RowChoice)
      : around_(around) {
#pragma GCC unroll 9
    for (int place = 0; place < kCandidates; ++place) {
      const int first =
          around.base[place] + kPatchRows * patch * around.down[place] + around.column[place] * u;
      start_[place] = ((first + around.column[place] * Vectors<kLanes>::lane()) & ~15) | place;
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
  // How far the pixels chosen for are.
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

 private:
  const AdaptiveCandidates& around_;
  Numbers start_[kCandidates];
  Floats reach_[kCandidates];
  Floats distance_ = {};
};

using Codes = Image<uint8_t>;

REGIONS_BY_16 void sum_by_16(const AssignInput& in, int row, RowChoice choice, const RowSums& to) {
  sum_by<AdaptiveStrip<16>>(in, row, choice, to);
}
REGIONS_BY_8 void sum_by_8(const AssignInput& in, int row, RowChoice choice, const RowSums& to) {
  sum_by<AdaptiveStrip<8>>(in, row, choice, to);
}
void sum_by_4(const AssignInput& in, int row, RowChoice choice, const RowSums& to) {
  sum_by<AdaptiveStrip<4>>(in, row, choice, to);
}
REGIONS_BY_16 void code_by_16(const AssignInput& in, int row, Codes codes) {
  code_by<AdaptiveStrip<16>>(in, row, codes);
}
REGIONS_BY_8 void code_by_8(const AssignInput& in, int row, Codes codes) {
  code_by<AdaptiveStrip<8>>(in, row, codes);
}
void code_by_4(const AssignInput& in, int row, Codes codes) {
  code_by<AdaptiveStrip<4>>(in, row, codes);
}

}  // namespace

void sum_adaptive_clusters(const AssignInput& input, int row, RowChoice choice,
                           const RowSums& sums) {
  static const auto run = for_machine(sum_by_16, sum_by_8, sum_by_4);
  run(input, row, choice, sums);
}

void write_adaptive_codes(const AssignInput& input, int row, Image<uint8_t> codes) {
  static const auto run = for_machine(code_by_16, code_by_8, code_by_4);
  run(input, row, codes);
}

}  // namespace regions

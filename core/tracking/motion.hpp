// Matching by motion: of one step of tracking, the part that shared pixels leave. Also what all
// parts know of the tracks.
#pragma once

#include "core/tracking/cost.hpp"

#ifdef __CUDACC__
#define REGIONS_TEAM __device__
#else
#define REGIONS_TEAM
#endif

namespace regions {

// The tracks of a step, counted through: the visible ones, then the lost ones.
struct StepTracks {
  const TrackMemory& m;
  const uint32_t visible;  // before
  const uint32_t all;      // those and the lost ones
  Track* const before;
  Track* const lost_before;
  Track* const now;
  Track* const lost_now;

  REGIONS_TEAM StepTracks(const TrackMemory& memory, const TrackCounts& counts)
      : m(memory),
        visible(counts.visible),
        all(counts.visible + counts.lost),
        before(memory.visible[counts.front]),
        lost_before(memory.lost[counts.front]),
        now(memory.visible[1 - counts.front]),
        lost_now(memory.lost[1 - counts.front]) {}

  REGIONS_TEAM Track& track(uint32_t t) const {
    return t < visible ? before[t] : lost_before[t - visible];
  }
  // Whether the region of visible track `a` parted, with guests in it.
  REGIONS_TEAM bool is_parted(uint32_t a) const {
    return a < visible && before[a].guests > 0 && m.claims[a] > 1;
  }
  REGIONS_TEAM void join(uint32_t t, uint32_t b) const {
    m.track_of[b] = t + 1;
    m.region_of[t] = b + 1;
  }
};

// All members of the team call match(); see core/tracking/step.hpp for what a team offers.
template <class Team>
class MotionMatch {
 public:
  REGIONS_TEAM MotionMatch(const Team& team, const TrackMemory& memory, const StepTracks& tracks)
      : team_(team), m_(memory), t_(tracks) {}

  // Region `b` is the free one of that rank.
  REGIONS_TEAM void offer(uint32_t b, uint32_t rank) const {
    if (rank >= TrackMemory::kMaxFree) return;
    const uint32_t origin = m_.origin[b];
    m_.column[rank] = b;
    m_.column_spot[rank] = spot_of(whole(t_.now[b]), origin != 0 && t_.is_parted(origin - 1));
    m_.best_of_column[rank] = UINT64_MAX;
  }

  // Rounds of bids: a track and a region that are each other's best are matched, which is what a
  // sorted list of all pairs would give, best first. Returns how many were matched.
  REGIONS_TEAM uint32_t match(uint32_t free_regions) const {
    const uint32_t limit = TrackMemory::kMaxFree;
    const uint32_t free_tracks = team_.compact(
        t_.all, [&](uint32_t t) { return m_.region_of[t] == 0; },
        [&](uint32_t t, uint32_t rank) {
          if (rank >= limit) return;
          m_.row[rank] = t;
          const Track old = whole(t_.track(t));
          m_.row_spot[rank] = spot_of(old, reach_of(old));
          m_.best_of_row[rank] = UINT64_MAX;
        });
    const uint32_t rows = free_tracks < limit ? free_tracks : limit;
    const uint32_t columns = free_regions < limit ? free_regions : limit;
    const uint32_t most = rows < columns ? rows : columns;
    uint32_t matched = 0;
    for (uint32_t round = 0; round < kRounds && matched < most; ++round) {
      if (round > 0) forget_bids(rows, columns);
      const uint32_t more = bid(rows, columns);
      if (more == 0) break;
      matched += more;
    }
    return matched;
  }

 private:
  static constexpr uint32_t kRounds = 16;  // of bids; what is left then is born anew

  REGIONS_TEAM void forget_bids(uint32_t rows, uint32_t columns) const {
    team_.for_each(rows > columns ? rows : columns, [&](uint32_t i) {
      if (i < rows) m_.best_of_row[i] = UINT64_MAX;
      if (i < columns) m_.best_of_column[i] = UINT64_MAX;
    });
  }

  // Returns how many were matched.
  REGIONS_TEAM uint32_t bid(uint32_t rows, uint32_t columns) const {
    team_.for_each_pair(
        rows, columns, [&](uint32_t row) { return m_.row_spot[row].area != 0; },
        [&](uint32_t row, uint32_t column) {
          if (!may_fit(m_.row_spot[row], m_.column_spot[column])) return;
          const uint32_t t = m_.row[row], b = m_.column[column];
          const uint32_t cost = misfit(whole(t_.track(t)), whole(t_.now[b]), parted_from(t, b));
          if (cost == kNoFit) return;
          team_.lower(m_.best_of_row + row, uint64_t{cost} << 32 | column);
          team_.lower(m_.best_of_column + column, uint64_t{cost} << 32 | row);
        });
    return team_.count(columns, [&](uint32_t column) {
      const auto row = static_cast<uint32_t>(m_.best_of_column[column]);
      if (row == kNoMatch || static_cast<uint32_t>(m_.best_of_row[row]) != column) return false;
      t_.join(m_.row[row], m_.column[column]);
      m_.row_spot[row].area = m_.column_spot[column].area = 0;
      return true;
    });
  }

  // Whether `b` came out of the parted region in which track `t` was, seen or as a guest.
  REGIONS_TEAM bool parted_from(uint32_t t, uint32_t b) const {
    if (m_.origin[b] == 0) return false;
    const uint32_t a = m_.origin[b] - 1;
    return t_.is_parted(a) && (t == a || t_.track(t).host == a + 1);
  }

  const Team& team_;
  const TrackMemory& m_;
  const StepTracks& t_;
};

}  // namespace regions

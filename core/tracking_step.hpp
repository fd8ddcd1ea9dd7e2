// One step of tracking: gives this frame's regions the tracks of the last one. Run by a team, all
// of whose members call it: one thread on the CPU, a block of threads on a GPU. Whatever a phase
// writes that other members read is order-independent: maxima and minima of keys, sums, and places
// by rank.
//
// First, a region and a track that share most pixels with each other belong together if they also
// look alike. What that leaves is matched by predicted place, size and colour, best pairs first;
// then by what pixels it shares. A track whose pixels went to a region that another track keeps is
// that one's guest, and moves with it as predicted until the region parts.
#pragma once

#include "core/tracking_cost.hpp"

#ifdef __CUDACC__
#define REGIONS_TEAM __device__
#else
#define REGIONS_TEAM
#endif

namespace regions {

// A team offers for_each(count, f(i)), for_each_pair(rows, columns, is_active(row), f(row, column))
// and once(f), at whose ends all members meet; compact(count, wanted(i), take(i, rank)), which
// gives how many were wanted and calls take() only after the wanted() of the same i; and the
// atomics raise(), lower() and add(). A team for anything but match() needs no meeting, and of
// these only for_each() and raise().
template <class Team>
class TrackStep {
 public:
  // `regions` are the records of labels 1..count. `counts` are those of before the step:
  // memory.counts_before for finish(), memory.counts for the others.
  REGIONS_TEAM TrackStep(const Team& team, const TrackMemory& memory, const TrackRules& rules,
                         Region* regions, uint32_t count, const TrackCounts& counts)
      : team_(team),
        m_(memory),
        rules_(rules),
        regions_(regions),
        count_(count),
        counts_(counts),
        visible_(counts.visible),
        tracks_(counts.visible + counts.lost),
        before_(memory.visible[counts.front]),
        lost_before_(memory.lost[counts.front]),
        now_(memory.visible[1 - counts.front]),
        lost_now_(memory.lost[1 - counts.front]) {}

  // Looks at the regions and predicts where tracks are.
  REGIONS_TEAM void see() const {
    const uint32_t all = count_ > tracks_ ? count_ : tracks_;
    team_.for_each(all, [&](uint32_t i) {
      if (i < count_) {
        now_[i] = sight_of(regions_[i], rules_);
        m_.best_of_region[i] = 0;
        m_.track_of[i] = 0;
        m_.joins[i] = 0;
      }
      if (i < tracks_) {
        Track& old = track(i);
        old.x += old.vx;
        old.y += old.vy;
        m_.best_of_track[i] = 0;
        m_.region_of[i] = 0;
        m_.claims[i] = 0;
      }
    });
  }

  // Looks at every pair that shares pixels, and empties the table of pairs.
  REGIONS_TEAM void weigh_pairs() const {
    const PairTable& pairs = m_.pairs;
    const uint32_t used = *pairs.used_count;
    if (used > pairs.most) {
      team_.for_each(pairs.slots, [&](uint32_t slot) { pairs.key[slot] = pairs.count[slot] = 0; });
      return;
    }
    team_.for_each(used, [&](uint32_t i) {
      const uint32_t slot = pairs.used[i];
      const uint32_t a = (pairs.key[slot] >> 16) - 1, b = (pairs.key[slot] & 0xffff) - 1;
      const uint32_t pixels = pairs.count[slot];
      pairs.key[slot] = pairs.count[slot] = 0;
      if (a >= visible_ || b >= count_) return;
      const Track old = whole(before_[a]), now = whole(now_[b]);
      if (!is_plausible(old, now)) return;
      // With guests, the track's region never looked like it.
      const bool is_alike = old.guests > 0 || misfit(old, now, false) <= kDoubt;
      team_.raise(m_.best_of_region + b, key_of(pixels, a, is_alike));
      team_.raise(m_.best_of_track + a, key_of(pixels, b, is_alike));
    });
  }

  // Decides which regions and tracks belong together, and gives new ids.
  REGIONS_TEAM void match(TrackReport* report) const {
    choose_by_pixels();
    match_by_pixels();
    if (match_by_motion()) match_in_doubt();
    count_changes();
    const uint32_t born = name_regions();
    const uint32_t lost = keep_lost();
    team_.once([&] {
      m_.report->lost = lost;
      m_.report->last_id = counts_.last_id + born;
      *report = *m_.report;
      *m_.report = {};
      *m_.counts_before = counts_;
      *m_.counts = {1 - counts_.front, count_, lost, counts_.last_id + born};
      *m_.pairs.used_count = 0;
    });
  }

  // Brings the tracks up to now. `published` is a copy of the first records for whoever asked, or
  // null.
  REGIONS_TEAM void finish(const RegionTable& published) const {
    team_.for_each(count_, [&](uint32_t b) {
      const uint32_t joins = m_.joins[b], owner = m_.track_of[b];
      Track next = whole(now_[b]);
      if (owner != 0) next = followed(whole(track(owner - 1)), next, joins > 0);
      next.guests = joins;
      now_[b] = next;
      regions_[b].track = next.id;
      if (b < published.capacity) published.regions[b].track = next.id;
    });
    team_.for_each(m_.counts->lost, [&](uint32_t rank) {
      const uint32_t t = m_.kept[rank];
      Track lost = whole(track(t));
      ++lost.missed;
      lost.guests = 0;
      lost.host = m_.heir[t];
      if (lost.host) confine(lost, regions_[lost.host - 1]);
      lost_now_[rank] = lost;
    });
  }

 private:
  static constexpr uint32_t kRounds = 16;  // of bids; what is left then is born anew
  static constexpr uint32_t kDoubt = 128;  // misfit beyond which shared pixels are no proof
  static constexpr uint32_t kFirm = 3;     // frames after which a track is worth hosting

  REGIONS_TEAM Track& track(uint32_t t) const {
    return t < visible_ ? before_[t] : lost_before_[t - visible_];
  }
  // Whether the region of visible track `a` parted, with guests in it.
  REGIONS_TEAM bool is_parted(uint32_t a) const {
    return a < visible_ && before_[a].guests > 0 && m_.claims[a] > 1;
  }
  REGIONS_TEAM void join(uint32_t t, uint32_t b) const {
    m_.track_of[b] = t + 1;
    m_.region_of[t] = b + 1;
  }

  REGIONS_TEAM void choose_by_pixels() const {
    const uint32_t all = count_ > tracks_ ? count_ : tracks_;
    team_.for_each(all, [&](uint32_t i) {
      if (i < tracks_) m_.heir[i] = place_in(m_.best_of_track[i]) + 1;
      if (i >= count_) return;
      const uint32_t a = place_in(m_.best_of_region[i]);
      m_.origin[i] = a + 1;
      if (a != kNobody) team_.add(m_.claims + a, 1);
    });
  }

  REGIONS_TEAM void match_by_pixels() const {
    team_.for_each(count_, [&](uint32_t b) {
      if (m_.origin[b] == 0 || !is_alike_in(m_.best_of_region[b])) return;
      const uint32_t a = m_.origin[b] - 1;
      if (m_.heir[a] == b + 1 && !is_parted(a)) join(a, b);
    });
  }

  // Rounds of bids: whoever is each other's best is matched, which is what a sorted list of all
  // pairs would give, best first. Returns whether any region was free.
  REGIONS_TEAM bool match_by_motion() const {
    const uint32_t limit = TrackMemory::kMostFree;
    const uint32_t free_regions = team_.compact(
        count_, [&](uint32_t b) { return m_.track_of[b] == 0; },
        [&](uint32_t b, uint32_t rank) {
          if (rank >= limit) return;
          const uint32_t origin = m_.origin[b];
          m_.column[rank] = b;
          m_.column_spot[rank] = spot_of(whole(now_[b]), origin != 0 && is_parted(origin - 1));
        });
    if (free_regions == 0) return false;
    const uint32_t free_tracks = team_.compact(
        tracks_, [&](uint32_t t) { return m_.region_of[t] == 0; },
        [&](uint32_t t, uint32_t rank) {
          if (rank >= limit) return;
          m_.row[rank] = t;
          const Track old = whole(track(t));
          m_.row_spot[rank] = spot_of(old, reach_of(old));
        });
    const uint32_t rows = free_tracks < limit ? free_tracks : limit;
    const uint32_t columns = free_regions < limit ? free_regions : limit;
    if (rows == 0) return true;
    for (uint32_t round = 0; round < kRounds; ++round) {
      if (bid(rows, columns) == 0) break;
    }
    return true;
  }

  // Returns how many were matched.
  REGIONS_TEAM uint32_t bid(uint32_t rows, uint32_t columns) const {
    team_.for_each(rows > columns ? rows : columns, [&](uint32_t i) {
      if (i < rows) m_.best_of_row[i] = UINT64_MAX;
      if (i < columns) m_.best_of_column[i] = UINT64_MAX;
    });
    team_.for_each_pair(
        rows, columns, [&](uint32_t row) { return m_.row_spot[row].area != 0; },
        [&](uint32_t row, uint32_t column) {
          if (!may_fit(m_.row_spot[row], m_.column_spot[column])) return;
          const uint32_t t = m_.row[row], b = m_.column[column];
          const uint32_t cost = misfit(whole(track(t)), whole(now_[b]), parted_from(t, b));
          if (cost == kNoFit) return;
          team_.lower(m_.best_of_row + row, uint64_t{cost} << 32 | column);
          team_.lower(m_.best_of_column + column, uint64_t{cost} << 32 | row);
        });
    return team_.compact(
        columns,
        [&](uint32_t column) {
          const auto row = static_cast<uint32_t>(m_.best_of_column[column]);
          return row != kNobody && static_cast<uint32_t>(m_.best_of_row[row]) == column;
        },
        [&](uint32_t column, uint32_t) {
          const auto row = static_cast<uint32_t>(m_.best_of_column[column]);
          join(m_.row[row], m_.column[column]);
          m_.row_spot[row].area = m_.column_spot[column].area = 0;
        });
  }

  // Whether `b` came out of the parted region in which track `t` was, seen or as a guest.
  REGIONS_TEAM bool parted_from(uint32_t t, uint32_t b) const {
    if (m_.origin[b] == 0) return false;
    const uint32_t a = m_.origin[b] - 1;
    return is_parted(a) && (t == a || track(t).host == a + 1);
  }

  // Also the owner of a parted region that fits none of its parts.
  REGIONS_TEAM void match_in_doubt() const {
    team_.for_each(visible_, [&](uint32_t a) {
      if (m_.region_of[a] != 0 || m_.heir[a] == 0) return;
      const uint32_t b = m_.heir[a] - 1;
      if (m_.track_of[b] == 0 && m_.origin[b] == a + 1) join(a, b);
    });
  }

  REGIONS_TEAM bool is_forgotten(uint32_t t) const {
    const Track old = whole(track(t));
    if (old.missed >= rules_.memory) return true;
    return t < visible_ && m_.heir[t] != 0 && old.seen < kFirm;
  }

  REGIONS_TEAM void count_changes() const {
    team_.for_each(count_ > tracks_ ? count_ : tracks_, [&](uint32_t i) {
      if (i < tracks_ && m_.region_of[i] == 0) find_host(i);
      if (i < count_) count_arrival(i);
    });
  }

  // Where a track without a region went: into the region with most of its pixels; a guest with its
  // host.
  REGIONS_TEAM void find_host(uint32_t t) const {
    if (t >= visible_) {
      const uint32_t host = track(t).host, kept = host ? m_.region_of[host - 1] : 0;
      m_.heir[t] = kept || host == 0 ? kept : m_.heir[host - 1];
    } else if (m_.heir[t] != 0) {
      team_.add(&m_.report->merges, 1);
    }
    if (is_forgotten(t)) {
      team_.add(&m_.report->deaths, 1);
    } else if (m_.heir[t] != 0) {
      team_.add(m_.joins + m_.heir[t] - 1, 1);
    }
  }

  REGIONS_TEAM void count_arrival(uint32_t b) const {
    const uint32_t origin = m_.origin[b];
    const bool parts = origin != 0 && m_.track_of[b] != origin && m_.region_of[origin - 1] != 0;
    if (parts) team_.add(&m_.report->splits, 1);
    if (!parts && m_.track_of[b] == 0) team_.add(&m_.report->births, 1);
  }

  // Returns how many ids are new.
  REGIONS_TEAM uint32_t name_regions() const {
    return team_.compact(
        count_, [&](uint32_t b) { return m_.track_of[b] == 0; },
        [&](uint32_t b, uint32_t rank) { now_[b].id = counts_.last_id + rank + 1; });
  }

  // Returns how many tracks are waited for.
  REGIONS_TEAM uint32_t keep_lost() const {
    const uint32_t found = team_.compact(
        tracks_, [&](uint32_t t) { return m_.region_of[t] == 0 && !is_forgotten(t); },
        [&](uint32_t t, uint32_t rank) {
          if (rank < m_.capacity) m_.kept[rank] = t;
        });
    if (found <= m_.capacity) return found;
    team_.once([&] { m_.report->deaths += found - m_.capacity; });
    return m_.capacity;
  }

  const Team& team_;
  const TrackMemory& m_;
  const TrackRules rules_;
  Region* const regions_;
  const uint32_t count_;  // regions now
  const TrackCounts counts_;
  const uint32_t visible_;  // tracks before
  const uint32_t tracks_;   // those and the lost ones
  Track* const before_;
  Track* const lost_before_;
  Track* const now_;
  Track* const lost_now_;
};

}  // namespace regions

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

#include "core/tracking/motion.hpp"
#include "core/tracking/shared_regions.hpp"

namespace regions {

// The counts of two lists.
struct Two {
  uint32_t first = 0, second = 0;
};

// A team offers for_each(count, f(i)), for_each_pair(rows, columns, is_active(row), f(row,
// column)), count(count, f(i)), which gives how many f() say yes, and once(f), at whose ends all
// members meet; compact(count, wanted(i), take(i, rank)), which gives how many were wanted and
// calls take() only after the wanted() of the same i, and compact_two() for two lists at once; and
// the atomics raise(), lower() and add(). A team for anything but match() needs no meeting, and of
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
        t_(memory, counts) {}

  // Looks at the regions and at every pair that shares pixels, and empties the table of pairs. What
  // a pair needs of its region is worked out again: the members of a team may not have met.
  REGIONS_TEAM void see() const {
    const PairTable& pairs = m_.pairs;
    const uint32_t used = *pairs.used_count;
    const bool overflowed = used > pairs.most;
    if (overflowed) {
      team_.for_each(pairs.slots, [&](uint32_t slot) { pairs.key[slot] = pairs.count[slot] = 0; });
    }
    team_.for_each(count_ + (overflowed ? 0 : used), [&](uint32_t i) {
      // One way for both, as it is the way to the code that takes time.
      uint32_t a = kNoMatch, b = i, pixels = 0;
      if (i >= count_) {
        const uint32_t slot = pairs.used[i - count_], key = pairs.key[slot];
        a = (key >> 16) - 1;
        b = (key & 0xffff) - 1;
        pixels = pairs.count[slot];
        pairs.key[slot] = pairs.count[slot] = 0;
        if (a >= t_.visible || b >= count_) return;
      }
      Track old;
      if (a != kNoMatch) old = whole(t_.before[a]);
      const Track now = sight_of(regions_[b], rules_);
      if (a == kNoMatch) {
        t_.now[b] = now;
        for (uint64_t* keys : m_.outermost) keys[b] = 0;
      } else {
        weigh(a, old, b, now, pixels);
      }
    });
  }

  // Decides which regions and tracks belong together, and gives new ids.
  REGIONS_TEAM void match() const {
    choose_by_pixels();
    const uint32_t free_regions = match_by_pixels();
    if (free_regions > 0 && motion().match(free_regions) < free_regions) match_in_doubt();
    const Two settled = settle();
    const uint32_t born = settled.first, found = settled.second;
    const uint32_t lost = found < m_.capacity ? found : m_.capacity;
    const uint32_t parts = lost > 0 ? shared().share_out(lost) : 0;
    team_.once([&] {
      m_.report->parts = parts;
      if (found > lost) m_.report->deaths += found - lost;
      m_.report->lost = lost;
      m_.report->last_id = counts_.last_id + born;
      *m_.counts_before = counts_;
      *m_.counts = {1 - counts_.front, count_, lost, counts_.last_id + born};
      *m_.pairs.used_count = 0;
    });
  }

  // Brings the tracks up to the next frame, and leaves the memory of a step as that wants it.
  // `published` is the copy of the first records that the job asked for, or null.
  REGIONS_TEAM void finish(const RegionTable& published, TrackReport* report) const {
    const uint32_t all = count_ > t_.all ? count_ : t_.all;
    team_.for_each(all + 1, [&](uint32_t i) {
      if (i == all) {
        if (published.parts) *published.parts = places_for(m_.report->parts, published);
        *report = *m_.report;
        *m_.report = {};
      }
      if (i < count_) bring_up(i, published);
      if (i >= t_.all) return;
      m_.best_of_track[i] = 0;
      m_.region_of[i] = 0;
      m_.claims[i] = 0;
    });
    team_.for_each(m_.counts->lost, [&](uint32_t rank) {
      const uint32_t t = m_.kept[rank];
      const bool is_part = m_.part_rank[rank] != 0;
      Track lost = is_part ? whole(t_.lost_now[rank]) : whole(t_.track(t));
      lost.host = m_.heir[t];
      if (!is_part) ++lost.missed;
      lost.guests = 0;
      predict(lost);
      t_.lost_now[rank] = lost;
      if (!is_part || !published.parts) return;
      const uint32_t part = m_.part_rank[rank] - 1;
      if (part < places_for(part + 1, published)) {
        published.regions[count_ + part] = m_.part_record[part];
      }
    });
  }

 private:
  static constexpr uint32_t kDoubt = 128;  // misfit beyond which shared pixels are no proof
  static constexpr uint32_t kFirm = 3;     // frames after which a track is worth hosting

  REGIONS_TEAM void weigh(uint32_t a, const Track& old, uint32_t b, const Track& now,
                          uint32_t pixels) const {
    if (!is_plausible(old, now)) return;
    // With guests, the track's region never looked like it.
    const bool is_alike = old.guests > 0 || misfit(old, now, false) <= kDoubt;
    team_.raise(m_.best_of_region + b, key_of(pixels, a, is_alike));
    team_.raise(m_.best_of_track + a, key_of(pixels, b, is_alike));
  }

  REGIONS_TEAM void bring_up(uint32_t b, const RegionTable& published) const {
    const uint32_t guests = m_.joins[b] % TrackMemory::kOneTold,
                   told = m_.joins[b] / TrackMemory::kOneTold;
    const uint32_t owner = m_.track_of[b];
    m_.best_of_region[b] = 0;
    m_.track_of[b] = 0;
    m_.joins[b] = 0;
    Track next = whole(t_.now[b]);
    const uint32_t given = next.id;
    const bool is_shared = owner != 0 && told > 0;
    if (is_shared) {
      next = shared().part(owner - 1, b);
      next.seen = seen_again(next);
      next.missed = 0;
      next.host = 0;
    } else if (owner != 0) {
      next = followed(whole(t_.track(owner - 1)), next);
    }
    next.guests = guests;
    if (next.id == 0) next.id = given;
    regions_[b].track = next.id;
    if (b < published.capacity) published.regions[b].track = next.id;
    if (is_shared && published.parts) {
      const Region region = regions_[b];
      put_box(regions_[b], next, region);
      if (b < published.capacity) put_box(published.regions[b], next, region);
    }
    predict(next);
    t_.now[b] = next;
  }

  REGIONS_TEAM static void predict(Track& track) {
    move_to(track, track.x + track.vx, track.y + track.vy);
  }

  // Of so many records of parts, those that find a place behind the regions'.
  REGIONS_TEAM uint32_t places_for(uint32_t parts, const RegionTable& published) const {
    const uint32_t free = published.capacity > count_ ? published.capacity - count_ : 0;
    return parts < free ? parts : free;
  }

  REGIONS_TEAM MotionMatch<Team> motion() const { return {team_, m_, t_}; }
  REGIONS_TEAM SharedRegions<Team> shared() const {
    return {team_, m_, t_, regions_, count_, rules_.color_bits};
  }

  REGIONS_TEAM void choose_by_pixels() const {
    const uint32_t all = count_ > t_.all ? count_ : t_.all;
    team_.for_each(all, [&](uint32_t i) {
      if (i < t_.all) m_.heir[i] = place_in(m_.best_of_track[i]) + 1;
      if (i >= count_) return;
      const uint32_t a = place_in(m_.best_of_region[i]);
      m_.origin[i] = a + 1;
      if (a != kNoMatch) team_.add(m_.claims + a, 1);
    });
  }

  REGIONS_TEAM bool is_matched_by_pixels(uint32_t b) const {
    const uint64_t best = m_.best_of_region[b];
    if (!is_alike_in(best)) return false;
    const uint32_t a = place_in(best);
    const bool parted = t_.is_parted(a);  // asked for with the next, not after it
    return m_.heir[a] == b + 1 && !parted;
  }

  // Returns how many regions are left free.
  REGIONS_TEAM uint32_t match_by_pixels() const {
    return team_.compact(
        count_,
        [&](uint32_t b) {
          const bool is_matched = is_matched_by_pixels(b);
          if (is_matched) t_.join(m_.origin[b] - 1, b);
          return !is_matched;
        },
        [&](uint32_t b, uint32_t rank) { motion().offer(b, rank); });
  }

  // Also the owner of a parted region that fits none of its parts.
  REGIONS_TEAM void match_in_doubt() const {
    team_.for_each(t_.visible, [&](uint32_t a) {
      if (m_.region_of[a] != 0 || m_.heir[a] == 0) return;
      const uint32_t b = m_.heir[a] - 1;
      if (m_.track_of[b] == 0 && m_.origin[b] == a + 1) t_.join(a, b);
    });
  }

  REGIONS_TEAM bool is_forgotten(uint32_t t) const {
    const Track old = whole(t_.track(t));
    if (old.id == 0 || old.missed >= rules_.memory) return true;
    return t < t_.visible && m_.heir[t] != 0 && old.seen < kFirm;
  }

  // Gives new ids and lists the tracks that are waited for. Returns how many there are of both; of
  // the latter, those that are beyond the capacity are not listed.
  REGIONS_TEAM Two settle() const {
    return team_.compact_two(
        count_ > t_.all ? count_ : t_.all,
        [&](uint32_t i) {
          if (i >= count_) return false;
          const bool is_born = gets_id(i);
          count_arrival(i, is_born);
          return is_born;
        },
        [&](uint32_t b, uint32_t rank) { t_.now[b].id = counts_.last_id + rank + 1; },
        [&](uint32_t i) { return i < t_.all && m_.region_of[i] == 0 && is_waited_for(i); },
        [&](uint32_t t, uint32_t rank) {
          if (rank < m_.capacity) m_.kept[rank] = t;
        });
  }

  // Whether region `b` has been seen so often now that its track is born.
  REGIONS_TEAM bool gets_id(uint32_t b) const {
    const uint32_t owner = m_.track_of[b];
    if (owner == 0) return rules_.birth <= 1;
    const Track& old = t_.track(owner - 1);
    return old.id == 0 && old.seen + 1u >= rules_.birth;
  }

  // Where a track without a region went: into the region with most of its pixels; a guest with its
  // host. Returns whether it is remembered.
  REGIONS_TEAM bool is_waited_for(uint32_t t) const {
    const bool is_born = t_.track(t).id != 0;
    if (t >= t_.visible) {
      const uint32_t host = t_.track(t).host, kept = host ? m_.region_of[host - 1] : 0;
      m_.heir[t] = kept || host == 0 ? kept : m_.heir[host - 1];
    } else if (m_.heir[t] != 0) {
      if (is_born) team_.add(&m_.report->merges, 1);
    }
    const bool is_over = is_forgotten(t);
    if (is_over) {
      if (is_born) team_.add(&m_.report->deaths, 1);
    } else if (m_.heir[t] != 0) {
      team_.add(m_.joins + m_.heir[t] - 1, 1);
    }
    return !is_over;
  }

  REGIONS_TEAM void count_arrival(uint32_t b, bool is_born) const {
    const uint32_t origin = m_.origin[b], owner = m_.track_of[b];
    const bool was_guest = owner > t_.visible && t_.track(owner - 1).host != 0;
    const bool parts =
        was_guest || (origin != 0 && owner != origin && m_.region_of[origin - 1] != 0);
    if (parts) team_.add(&m_.report->splits, 1);
    if (!parts && is_born) team_.add(&m_.report->births, 1);
  }

  const Team& team_;
  const TrackMemory& m_;
  const TrackRules rules_;
  Region* const regions_;
  const uint32_t count_;  // regions now
  const TrackCounts counts_;
  const StepTracks t_;
};

}  // namespace regions

// Regions that several tracks share, as a team works on them: each track gets its part of its
// region.
#pragma once

#include "core/tracking/motion.hpp"
#include "core/tracking/parts.hpp"

namespace regions {

// See TrackStep for what a team offers.
template <class Team>
class SharedRegions {
 public:
  REGIONS_TEAM SharedRegions(const Team& team, const TrackMemory& memory, const StepTracks& tracks,
                             const Region* regions, uint32_t count, uint32_t color_bits)
      : team_(team),
        m_(memory),
        t_(tracks),
        regions_(regions),
        count_(count),
        color_bits_(color_bits) {}

  REGIONS_TEAM Track part(uint32_t t, uint32_t b) const {
    return part_of(whole(t_.track(t)), t, regions_[b],
                   [&](int side) { return m_.outermost[side][b]; });
  }

  // Gives the tracks of shared regions their parts. Returns how many of the lost ones have one.
  REGIONS_TEAM uint32_t share_out(uint32_t lost) const {
    const uint32_t parts = team_.compact(
        count_ > lost ? count_ : lost,
        [&](uint32_t i) {
          if (i < count_ && m_.joins[i] > 0 && m_.track_of[i] != 0)
            reach_out(m_.track_of[i] - 1, i);
          if (i >= lost) return false;
          const uint32_t t = m_.kept[i], host = m_.heir[t];
          m_.part_rank[i] = 0;
          if (host == 0 || !is_told(t, host - 1)) return false;
          reach_out(t, host - 1);
          team_.add(m_.joins + host - 1, TrackMemory::kOneTold);
          return true;
        },
        [&](uint32_t rank, uint32_t r) {
          m_.part[r] = rank;
          m_.part_rank[rank] = r + 1;
        });
    team_.for_each(parts, [&](uint32_t r) {
      const uint32_t rank = m_.part[r], t = m_.kept[rank], b = m_.heir[t] - 1;
      Track guest = part(t, b);
      if (!holds_both(b, guest.area)) ++guest.missed;
      t_.lost_now[rank] = guest;
      m_.part_record[r] = record_of(guest, regions_[b], color_bits_);
    });
    return parts;
  }

 private:
  static constexpr uint32_t kHidden = 2;  // frames in which a guest may be unseen and is told of
  static constexpr uint32_t kMaxTogether = 5;  // of equal size

  REGIONS_TEAM void reach_out(uint32_t t, uint32_t b) const {
    const Track track = whole(t_.track(t));
    for (int side = 0; side < kSides; ++side) {
      team_.raise(m_.outermost[side] + b, side_key(side, track, t));
    }
  }

  // Whether a region is so much larger than one of them that the guest must be there.
  REGIONS_TEAM bool holds_both(uint32_t b, uint32_t guest_area) const {
    const uint32_t owner = m_.track_of[b];
    const uint64_t area = owner != 0 ? t_.track(owner - 1).area : 0;
    return regions_[b].area * 2 > 3 * (area > guest_area ? area : guest_area);
  }
  // Whether a guest is told of: it is there, or was a while ago and may be hidden; and it was no
  // fragment of what the region is now.
  REGIONS_TEAM bool is_told(uint32_t t, uint32_t b) const {
    const Track guest = whole(t_.track(t));
    const bool is_fragment = uint64_t{guest.area} * kMaxTogether < regions_[b].area;
    return !is_fragment && (guest.missed <= kHidden || holds_both(b, guest.area));
  }

  const Team& team_;
  const TrackMemory& m_;
  const StepTracks& t_;
  const Region* const regions_;
  const uint32_t count_;  // regions now
  const uint32_t color_bits_;
};

}  // namespace regions

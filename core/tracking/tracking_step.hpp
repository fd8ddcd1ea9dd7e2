// One step of tracking: assigns tracks to the regions of a frame. A team of threads executes it:
// one thread on the CPU, a thread block on a GPU. All threads of the team call the same functions.
// Results that several threads write do not depend on the order of threads: they are maxima and
// minima of keys, sums, and positions by rank.
//
// First, a region and a track match if they look alike and each shares more pixels with the other
// than with any other track or region. The remaining regions and tracks are matched by predicted
// position, size and colour, best pairs first, and then by shared pixels alone. If the pixels of a
// track are now part of a region that belongs to another track, this region hides the track. The
// hidden track moves as predicted and stays inside the region, until the region splits.
//
// Regions that move together are pieces of one object, which has one track and the box of all its
// pieces (Bose, Wang, Grimson: Multi-class object tracking algorithm that handles fragmentation and
// grouping, CVPR 2007). A region is a piece if it split off the object, or if it moved like the
// object in its first frames. It becomes an object when it moves differently.
#pragma once

#include "core/tracking/tracking.hpp"

#ifdef __CUDACC__
#define REGIONS_TEAM __device__
#else
#define REGIONS_TEAM
#endif

namespace regions {

// Number of units per pixel in positions, and per 8-bit step in colours.
inline constexpr int kTrackUnit = 16;

REGIONS_HD inline int64_t smaller_of(int64_t a, int64_t b) { return a < b ? a : b; }
REGIONS_HD inline int64_t larger_of(int64_t a, int64_t b) { return a > b ? a : b; }
REGIONS_HD inline int64_t distance_of(int64_t a, int64_t b) { return a < b ? b - a : a - b; }

// Converts a region to a track that was seen in one frame.
REGIONS_HD inline Track observed_track(const Region& region, const TrackRules& rules) {
  Track now;
  now.x = static_cast<int32_t>(region.sum_x * kTrackUnit / region.area);
  now.y = static_cast<int32_t>(region.sum_y * kTrackUnit / region.area);
  now.left = region.left;
  now.top = region.top;
  now.right = region.right;
  now.bottom = region.bottom;
  now.area = static_cast<uint32_t>(region.area);
  for (int c = 0; c < 3; ++c) {
    const uint64_t sum = region.sum_value[c] * kTrackUnit >> (rules.sample_bits - 8);
    now.color[c] = static_cast<int32_t>(sum / region.area);
  }
  now.seen = 1;
  return now;
}

// Moves the centre of the track to (x, y), and its box by whole pixels.
REGIONS_HD inline void move_to(Track& track, int32_t x, int32_t y) {
  const int32_t dx = (x >> 4) - (track.x >> 4), dy = (y >> 4) - (track.y >> 4);
  static_assert(kTrackUnit == 1 << 4);
  track.x = x;
  track.y = y;
  track.left += dx;
  track.right += dx;
  track.top += dy;
  track.bottom += dy;
}

// True if the track may have moved to this region: its predicted centre is inside the region's box,
// extended by half the track's size. Shared pixels alone are not sufficient: if objects in a row
// move by the distance between them, each object shares pixels with the previous position of the
// next object.
REGIONS_HD inline bool is_plausible(const Track& track, const Track& region) {
  const int dx = track.width() / 2 + 1, dy = track.height() / 2 + 1;
  const int x = track.x / kTrackUnit, y = track.y / kTrackUnit;
  return x >= region.left - dx && x <= region.right + dx && y >= region.top - dy &&
         y <= region.bottom + dy;
}

// Maximum distance of a matching region from the predicted centre, 1/16 pixel. It is twice the
// shorter side of the track plus its motion per frame, because a track may turn back, and it grows
// with each missed frame. It is below 2^28 for pictures of up to 65535 pixels per side.
REGIONS_HD inline uint32_t reach_of(const Track& track) {
  const int64_t side = smaller_of(track.width(), track.height());
  const int64_t reach = 2 * kTrackUnit * side + distance_of(track.vx, 0) + distance_of(track.vy, 0);
  return static_cast<uint32_t>(reach + reach * smaller_of(track.missed, 64) / 32);
}

REGIONS_HD inline TrackSummary summary_of(const Track& track, uint32_t reach) {
  return {track.x, track.y, track.area, reach};
}

// A fast test: if it returns false, misfit() is kNoFit.
REGIONS_HD inline bool may_fit(const TrackSummary& track, const TrackSummary& region) {
  if (region.area == 0 || uint64_t{region.area} * 4 < track.area) return false;
  if (region.reach != 0) return true;
  const int64_t reach = track.reach;
  return uint64_t{track.area} * 4 >= region.area && distance_of(track.x, region.x) <= reach &&
         distance_of(track.y, region.y) <= reach;
}

inline constexpr uint32_t kNoFit = UINT32_MAX;

// Cost of assigning a region to a track at its predicted position; 0 is a perfect fit. If
// `is_split` is true, the region split off another region that contained the track. Then a larger
// region and any distance are accepted.
REGIONS_HD inline uint32_t misfit(const Track& track, const Track& region, bool is_split) {
  // A region with less than a quarter or more than four times the area of the track does not match
  // the track, whatever its position is.
  if (uint64_t{region.area} * 4 < track.area) return kNoFit;
  if (!is_split && region.area > uint64_t{track.area} * 4) return kNoFit;
  const int64_t reach = reach_of(track);
  const int64_t dx = region.x - track.x, dy = region.y - track.y;
  const int64_t distance_cost = (dx * dx + dy * dy) * 256 / (reach * reach);
  if (!is_split && distance_cost > 256) return kNoFit;
  const int64_t large = larger_of(track.area, region.area);
  const int64_t size = 256 * distance_of(track.area, region.area) / large;
  int64_t color = 0;
  for (int c = 0; c < 3; ++c) color += distance_of(track.color[c], region.color[c]);
  color = smaller_of(color * 4 / kTrackUnit, 768);
  return static_cast<uint32_t>(smaller_of(distance_cost, 1024) + size / 4 + color);
}

// Area of a piece of an object relative to its largest region, below which it may be anywhere next
// to this region.
inline constexpr int kSmallPiece = 4;

// True if two regions are one above the other with little space in between, as the pieces of a
// person are, and not side by side, as two persons are. Their rows may overlap a little.
REGIONS_HD inline bool is_stacked(const Track& a, const Track& b) {
  const int64_t columns = smaller_of(a.right, b.right) - larger_of(a.left, b.left) + 1;
  const int64_t rows = smaller_of(a.bottom, b.bottom) - larger_of(a.top, b.top) + 1;
  return columns * 2 >= smaller_of(a.width(), b.width()) &&
         rows * 4 <= smaller_of(a.height(), b.height()) && -rows * 6 <= a.height() + b.height();
}

// True if the box of both regions is at least four times as tall as wide. Two persons one above the
// other have such a box.
REGIONS_HD inline bool is_column(const Track& a, const Track& b) {
  const int64_t height = larger_of(a.bottom, b.bottom) - smaller_of(a.top, b.top) + 1;
  const int64_t width = larger_of(a.right, b.right) - smaller_of(a.left, b.left) + 1;
  return height >= width * 4;
}

// True if `area` differs from `earlier` by more than a quarter.
REGIONS_HD inline bool is_resized(uint32_t area, uint32_t earlier) {
  return distance_of(area, earlier) * 4 > int64_t{earlier};
}

// Number of frames after which a new region has probably entered the picture as a whole. Earlier,
// it may be narrow.
inline constexpr int kBorderFrames = 8;

// True if a piece moves differently from the region `whole` of its object: its place relative to
// this region changed by more than a quarter of the region's shorter side. Regions that change
// their sizes say nothing about their movement. Also true if both together have the shape of two
// objects.
REGIONS_HD inline bool is_independent(const Track& piece, const Track& now, const Track& whole) {
  if (piece.seen >= kBorderFrames && is_column(now, whole)) return true;
  if (is_resized(now.area, piece.area) || is_resized(whole.area, piece.whole_area)) return false;
  const int64_t side =
      larger_of(smaller_of(now.width(), now.height()), smaller_of(whole.width(), whole.height()));
  const int64_t limit = kTrackUnit * larger_of(side / 4, 2);
  return distance_of(now.x - whole.x, piece.offset_x) > limit ||
         distance_of(now.y - whole.y, piece.offset_y) > limit;
}

// Stores in `now`, the observation of a piece, how it belongs to the object of region `whole`.
// `piece` is its track before this frame.
REGIONS_HD inline void attach_piece(Track& now, const Track& piece, const Track& whole,
                                    uint32_t whole_index) {
  const bool is_new = piece.whole == 0 || is_resized(now.area, piece.area) ||
                      is_resized(whole.area, piece.whole_area);
  now.whole = static_cast<uint16_t>(whole_index + 1);
  now.whole_area = whole.area;
  now.offset_x = is_new ? now.x - whole.x : piece.offset_x;
  now.offset_y = is_new ? now.y - whole.y : piece.offset_y;
}

// Returns `next` as a piece that attach_piece() described in `now`.
REGIONS_HD inline Track as_piece(Track next, const Track& now) {
  next.id = 0;
  next.area = now.area;
  next.whole = now.whole;
  next.part_of = now.part_of;
  next.whole_area = now.whole_area;
  next.offset_x = now.offset_x;
  next.offset_y = now.offset_y;
  return next;
}

// Counts the frames in which a track rests. A track has moved if its centre is more than an eighth
// of its shorter side from the place where it began to rest, and more than two pixels.
REGIONS_HD inline void rested(Track& next) {
  const int64_t limit = kTrackUnit * larger_of(smaller_of(next.width(), next.height()) / 8, 2);
  const bool has_moved = distance_of(next.x, next.rest_x) > limit ||
                         distance_of(next.y, next.rest_y) > limit || next.seen <= 1;
  if (has_moved) {
    next.rest_x = next.x;
    next.rest_y = next.y;
  }
  next.still = has_moved ? 0 : static_cast<uint32_t>(smaller_of(next.still + 1, INT32_MAX));
}

// The value of Track::seen after one more frame in which the track has a region.
REGIONS_HD inline uint16_t seen_again(const Track& track) {
  return static_cast<uint16_t>(smaller_of(track.seen + 1, UINT16_MAX));
}

// Returns the track after a frame in which it is the only track of the region `now`.
REGIONS_HD inline Track followed(const Track& track, const Track& now) {
  // A track that lost more than a third of its pixels is probably disappearing behind another
  // object. The visible part says little about its position and size.
  const bool is_whole = uint64_t{now.area} * 3 >= uint64_t{track.area} * 2;
  Track next = track;
  if (is_whole) next = now;
  move_to(next, now.x, now.y);
  next.id = track.id;
  next.seen = seen_again(track);
  next.missed = 0;
  next.host = 0;
  next.hidden = 0;
  next.whole = 0;
  next.part_of = 0;
  next.rest_x = track.rest_x;
  next.rest_y = track.rest_y;
  next.still = track.still;
  next.vx = track.vx;
  next.vy = track.vy;
  if (!is_whole) next.area = track.area - (track.area - now.area) / 4;
  // In the first frames, the velocity is the mean of all movements. Later, each frame corrects it
  // by 1/8 of the difference between the observed and the predicted position. The velocity is not
  // updated after a frame in which the track shared its region, because the track's position was
  // only assumed in that frame.
  const bool was_alone = track.occluded_count == 0 && track.host == 0;
  if (was_alone && is_whole) {
    const int sightings = static_cast<int>(smaller_of(track.seen, 8));
    next.vx += (now.x - track.x) / sightings;
    next.vy += (now.y - track.y) / sightings;
  }
  for (int c = 0; c < 3; ++c) {
    next.color[c] = track.color[c] + (now.color[c] - track.color[c]) / 8;
  }
  return next;
}

// Copies a track with loads of 16 bytes. Threads of a warp read tracks at unrelated addresses, so
// the number of loads determines the time.
REGIONS_HD inline Track load_track(const Track& track) {
#ifdef __CUDA_ARCH__
  struct Words {
    uint4 word[sizeof(Track) / sizeof(uint4)];
  };
  return __builtin_bit_cast(Track, *reinterpret_cast<const Words*>(&track));
#else
  return track;
#endif
}

inline constexpr uint32_t kNoMatch = UINT32_MAX;

// Keys of pairs of a track and a region. The largest key has the most shared pixels; of equal
// pairs, it has the lowest index (below 2^31). The lowest bit stores whether both look alike.
REGIONS_HD inline uint64_t key_of(uint32_t pixels, uint32_t index, bool is_alike) {
  return uint64_t{pixels} << 32 | (kNoMatch - 2 * index - (is_alike ? 0 : 1));
}
REGIONS_HD inline uint32_t index_in(uint64_t key) {
  return key ? (kNoMatch - static_cast<uint32_t>(key)) / 2 : kNoMatch;
}
REGIONS_HD inline bool is_alike_in(uint64_t key) { return key % 2 != 0; }

// Occluded tracks: if several tracks share a region, each track gets a box with the size of the
// track at its predicted position. The sides of the region correct this position: each side of the
// region belongs to the track that is outermost on that side. side_key() is largest for the
// outermost track, and for the first of several equal tracks.
enum Side : int { kLeft, kTop, kRight, kBottom };
inline constexpr int kSides = 4;

REGIONS_HD inline uint64_t side_key(int side, const Track& track, uint32_t track_index) {
  const int32_t out = side == kLeft    ? -track.left
                      : side == kTop   ? -track.top
                      : side == kRight ? track.right
                                       : track.bottom;
  return static_cast<uint64_t>(int64_t{out} + (int64_t{1} << 30)) << 32 |
         (UINT32_MAX - track_index);
}

// Distance by which a box moves along one axis, in 1/16 pixel. A box that reaches beyond the
// region's box moves into it. Otherwise, a box that is outermost on one side moves half of the way
// to this side. A box that is not smaller than the region is centred.
REGIONS_HD inline int32_t move_between(int32_t low, int32_t high, int32_t region_low,
                                       int32_t region_high, bool is_first, bool is_last) {
  const int32_t to_low = region_low - low, to_high = region_high - high;
  if (to_low >= to_high) return kTrackUnit / 2 * (to_low + to_high);
  if (to_low > 0) return kTrackUnit * to_low;
  if (to_high < 0) return kTrackUnit * to_high;
  return is_first == is_last ? 0 : kTrackUnit / 2 * (is_first ? to_low : to_high);
}

// Returns the track moved into the region that it shares. `outermost(side)` is the key of the
// outermost track on that side.
template <class Outermost>
REGIONS_HD inline Track track_inside(Track track, uint32_t track_index, const Region& region,
                                     Outermost outermost) {
  bool is_out[kSides];
  for (int side = 0; side < kSides; ++side) {
    is_out[side] = static_cast<uint32_t>(outermost(side)) == UINT32_MAX - track_index;
  }
  const int32_t dx = move_between(track.left, track.right, region.left, region.right, is_out[kLeft],
                                  is_out[kRight]);
  const int32_t dy = move_between(track.top, track.bottom, region.top, region.bottom, is_out[kTop],
                                  is_out[kBottom]);
  move_to(track, track.x + dx, track.y + dy);
  return track;
}

// Sets the box of a record to the track's box, clipped to the region.
REGIONS_HD inline void set_box(Region& record, const Track& track, const Region& region) {
  record.left = static_cast<int32_t>(larger_of(track.left, region.left));
  record.top = static_cast<int32_t>(larger_of(track.top, region.top));
  record.right = static_cast<int32_t>(smaller_of(track.right, region.right));
  record.bottom = static_cast<int32_t>(smaller_of(track.bottom, region.bottom));
}

// Sets the box of a record to the track's box.
REGIONS_HD inline void set_box(Region& record, const Track& track) {
  record.left = track.left;
  record.top = track.top;
  record.right = track.right;
  record.bottom = track.bottom;
}

// Returns the record of an occluded track inside `region`, the region that hides it.
REGIONS_HD inline Region record_of(const Track& track, const Region& region, uint32_t color_bits) {
  Region record;
  record.id = region.id;
  record.track = track.id;
  record.first_x = region.first_x;
  record.first_y = region.first_y;
  record.layer = region.layer;
  set_box(record, track, region);
  record.area = track.area;
  record.sum_x = uint64_t{track.area} * static_cast<uint32_t>(larger_of(track.x, 0)) / kTrackUnit;
  record.sum_y = uint64_t{track.area} * static_cast<uint32_t>(larger_of(track.y, 0)) / kTrackUnit;
  for (int c = 0; c < 3; ++c) {
    record.sum_value[c] =
        (uint64_t{track.area} * static_cast<uint32_t>(track.color[c]) << (color_bits - 8)) /
        kTrackUnit;
  }
  return record;
}

// The tracks of a step. Track indices count the visible tracks of the previous frame first, and
// then the lost tracks.
struct StepTracks {
  const TrackMemory& memory;
  const uint32_t visible;      // number of previously visible tracks
  const uint32_t all;          // number of previously visible and lost tracks
  Track* const previous;       // [visible], visible tracks of the previous frame
  Track* const lost_previous;  // [all - visible], lost tracks of the previous frame
  Track* const now;            // [number of regions], tracks of this frame's regions
  Track* const lost_now;       // lost tracks of this frame

  REGIONS_TEAM StepTracks(const TrackMemory& track_memory, const TrackCounts& counts)
      : memory(track_memory),
        visible(counts.visible),
        all(counts.visible + counts.lost),
        previous(track_memory.visible[counts.front]),
        lost_previous(track_memory.lost[counts.front]),
        now(track_memory.visible[1 - counts.front]),
        lost_now(track_memory.lost[1 - counts.front]) {}

  REGIONS_TEAM Track& track(uint32_t track_index) const {
    return track_index < visible ? previous[track_index] : lost_previous[track_index - visible];
  }
  // True if the region of this visible track hid other tracks and has split.
  REGIONS_TEAM bool is_split(uint32_t visible_index) const {
    return visible_index < visible && previous[visible_index].occluded_count > 0 &&
           memory.claims[visible_index] > 1;
  }
  REGIONS_TEAM void assign(uint32_t track_index, uint32_t region_index) const {
    memory.track_of[region_index] = track_index + 1;
    memory.region_of[track_index] = region_index + 1;
  }
};

// Matching by motion, for the regions and tracks that are still unmatched after matching by shared
// pixels. Rows are unmatched tracks, and columns are unmatched regions. All threads of the team
// must call match(). TrackStep describes the functions of a team.
template <class Team>
class MotionMatcher {
 public:
  REGIONS_TEAM MotionMatcher(const Team& team, const TrackMemory& memory, const StepTracks& tracks)
      : team_(team), memory_(memory), tracks_(tracks) {}

  // Adds an unmatched region as column `rank`.
  REGIONS_TEAM void add_region(uint32_t region_index, uint32_t rank) const {
    if (rank >= TrackMemory::kMaxUnmatched) return;
    const uint32_t origin = memory_.origin[region_index];
    memory_.column[rank] = region_index;
    memory_.column_summary[rank] = summary_of(load_track(tracks_.now[region_index]),
                                              origin != 0 && tracks_.is_split(origin - 1));
    memory_.best_of_column[rank] = UINT64_MAX;
  }

  // Matches in rounds: a track and a region match if each is the best choice of the other. The
  // result is the same as if all pairs were sorted and the best pairs were matched first.
  // `free_regions` is the number of regions that add_region() added. Returns the number of matches.
  REGIONS_TEAM uint32_t match(uint32_t free_regions) const {
    const uint32_t limit = TrackMemory::kMaxUnmatched;
    const uint32_t free_tracks = team_.compact(
        tracks_.all, [&](uint32_t track_index) { return memory_.region_of[track_index] == 0; },
        [&](uint32_t track_index, uint32_t rank) {
          if (rank >= limit) return;
          memory_.row[rank] = track_index;
          const Track old = load_track(tracks_.track(track_index));
          memory_.row_summary[rank] = summary_of(old, reach_of(old));
          memory_.best_of_row[rank] = UINT64_MAX;
        });
    const uint32_t rows = free_tracks < limit ? free_tracks : limit;
    const uint32_t columns = free_regions < limit ? free_regions : limit;
    const uint32_t max_matches = rows < columns ? rows : columns;
    uint32_t matched = 0;
    for (uint32_t round = 0; round < kRounds && matched < max_matches; ++round) {
      if (round > 0) forget_bids(rows, columns);
      const uint32_t more = bid(rows, columns);
      if (more == 0) break;
      matched += more;
    }
    return matched;
  }

 private:
  // Maximum number of rounds. Regions that are still unmatched are matched by shared pixels alone,
  // or get new tracks.
  static constexpr uint32_t kRounds = 16;

  // Resets the best choices before the next round.
  REGIONS_TEAM void forget_bids(uint32_t rows, uint32_t columns) const {
    team_.for_each(rows > columns ? rows : columns, [&](uint32_t i) {
      if (i < rows) memory_.best_of_row[i] = UINT64_MAX;
      if (i < columns) memory_.best_of_column[i] = UINT64_MAX;
    });
  }

  // Executes one round: finds the best choice of each row and column, and matches the pairs that
  // choose each other. Returns the number of matches.
  REGIONS_TEAM uint32_t bid(uint32_t rows, uint32_t columns) const {
    team_.for_each_pair(
        rows, columns, [&](uint32_t row) { return memory_.row_summary[row].area != 0; },
        [&](uint32_t row, uint32_t column) {
          if (!may_fit(memory_.row_summary[row], memory_.column_summary[column])) return;
          const uint32_t track_index = memory_.row[row], region_index = memory_.column[column];
          const uint32_t cost =
              misfit(load_track(tracks_.track(track_index)), load_track(tracks_.now[region_index]),
                     split_from(track_index, region_index));
          if (cost == kNoFit) return;
          team_.lower(memory_.best_of_row + row, uint64_t{cost} << 32 | column);
          team_.lower(memory_.best_of_column + column, uint64_t{cost} << 32 | row);
        });
    return team_.count(columns, [&](uint32_t column) {
      const auto row = static_cast<uint32_t>(memory_.best_of_column[column]);
      if (row == kNoMatch || static_cast<uint32_t>(memory_.best_of_row[row]) != column)
        return false;
      tracks_.assign(memory_.row[row], memory_.column[column]);
      memory_.row_summary[row].area = memory_.column_summary[column].area = 0;
      return true;
    });
  }

  // True if this region split off the region in which the track was visible or hidden.
  REGIONS_TEAM bool split_from(uint32_t track_index, uint32_t region_index) const {
    if (memory_.origin[region_index] == 0) return false;
    const uint32_t visible_index = memory_.origin[region_index] - 1;
    return tracks_.is_split(visible_index) &&
           (track_index == visible_index || tracks_.track(track_index).host == visible_index + 1);
  }

  const Team& team_;
  const TrackMemory& memory_;
  const StepTracks& tracks_;
};

// Regions that several tracks share. TrackStep describes the functions of a team.
template <class Team>
class SharedRegions {
 public:
  REGIONS_TEAM SharedRegions(const Team& team, const TrackMemory& memory, const StepTracks& tracks,
                             const Region* regions, uint32_t count, uint32_t color_bits)
      : team_(team),
        memory_(memory),
        tracks_(tracks),
        regions_(regions),
        count_(count),
        color_bits_(color_bits) {}

  // Returns the track, moved into the region that it shares with other tracks.
  REGIONS_TEAM Track track_in(uint32_t track_index, uint32_t region_index) const {
    return track_inside(load_track(tracks_.track(track_index)), track_index, regions_[region_index],
                        [&](int side) { return memory_.outermost[side][region_index]; });
  }

  // Places the tracks that share a region inside this region. `lost` is the number of lost tracks.
  // Returns how many lost tracks get a record.
  REGIONS_TEAM uint32_t place_occluded(uint32_t lost) const {
    const uint32_t record_count = team_.compact(
        count_ > lost ? count_ : lost,
        [&](uint32_t i) {
          if (i < count_ && memory_.tracks_inside[i] > 0 && memory_.track_of[i] != 0)
            offer_sides(memory_.track_of[i] - 1, i);
          if (i >= lost) return false;
          const uint32_t track_index = memory_.lost_indices[i],
                         host = memory_.destination[track_index];
          memory_.occluded_rank[i] = 0;
          if (host == 0 || !is_reported(track_index, host - 1)) return false;
          offer_sides(track_index, host - 1);
          team_.add(memory_.tracks_inside + host - 1, TrackMemory::kOneOccluded);
          return true;
        },
        [&](uint32_t rank, uint32_t r) {
          memory_.occluded[r] = rank;
          memory_.occluded_rank[rank] = r + 1;
        });
    team_.for_each(record_count, [&](uint32_t r) {
      const uint32_t rank = memory_.occluded[r], track_index = memory_.lost_indices[rank],
                     region_index = memory_.destination[track_index] - 1;
      Track occluded = track_in(track_index, region_index);
      if (!has_area_for_both(region_index, occluded.area)) ++occluded.missed;
      tracks_.lost_now[rank] = occluded;
      memory_.occluded_record[r] = record_of(occluded, regions_[region_index], color_bits_);
    });
    return record_count;
  }

 private:
  // An occluded track with more missed frames than this gets a record only if its region has enough
  // area for both tracks.
  static constexpr uint32_t kMaxHiddenFrames = 2;
  // An occluded track gets no record if the area of its region is more than this many times its own
  // area.
  static constexpr uint32_t kMaxTracksPerRegion = 5;

  // Offers the sides of a track as candidates for the outermost sides in a region.
  REGIONS_TEAM void offer_sides(uint32_t track_index, uint32_t region_index) const {
    const Track track = load_track(tracks_.track(track_index));
    for (int side = 0; side < kSides; ++side) {
      team_.raise(memory_.outermost[side] + region_index, side_key(side, track, track_index));
    }
  }

  // True if the region probably contains both its own track and the occluded track: its area is
  // more than 1.5 times the area of the larger track.
  REGIONS_TEAM bool has_area_for_both(uint32_t region_index, uint32_t occluded_area) const {
    const uint32_t owner = memory_.track_of[region_index];
    const uint64_t area = owner != 0 ? tracks_.track(owner - 1).area : 0;
    return regions_[region_index].area * 2 > 3 * (area > occluded_area ? area : occluded_area);
  }
  // True if an occluded track gets a record. It must not be tiny compared with the region. In
  // addition, it was visible recently, or the region has enough area for both tracks.
  REGIONS_TEAM bool is_reported(uint32_t track_index, uint32_t region_index) const {
    const Track occluded = load_track(tracks_.track(track_index));
    const bool is_fragment =
        uint64_t{occluded.area} * kMaxTracksPerRegion < regions_[region_index].area;
    return !is_fragment &&
           (occluded.missed <= kMaxHiddenFrames || has_area_for_both(region_index, occluded.area));
  }

  const Team& team_;
  const TrackMemory& memory_;
  const StepTracks& tracks_;
  const Region* const regions_;
  const uint32_t count_;  // number of regions in this frame
  const uint32_t color_bits_;
};

// Objects that are seen in several regions. One of the regions has the track of the object, the
// others are its pieces. TrackStep describes the functions of a team.
template <class Team>
class PieceJoiner {
 public:
  REGIONS_TEAM PieceJoiner(const Team& team, const TrackMemory& memory, const StepTracks& tracks,
                           uint32_t count)
      : team_(team), memory_(memory), tracks_(tracks), count_(count) {}

  // Finds the object of each region that is a piece. The matches of tracks are known. Returns the
  // number of regions that may be pieces.
  REGIONS_TEAM uint32_t find() const {
    const uint32_t candidates = team_.compact(
        count_,
        [&](uint32_t region_index) {
          memory_.whole_of[region_index] = 0;
          return may_be_piece(region_index);
        },
        [&](uint32_t region_index, uint32_t rank) {
          memory_.candidate[rank] = region_index;
          if (rank < TrackMemory::kMaxUnmatched) memory_.neighbour[rank] = 0;
        });
    if (candidates == 0) return 0;
    bequeath(candidates);
    team_.for_each(candidates, [&](uint32_t rank) {
      const uint32_t region_index = memory_.candidate[rank], piece = piece_track(region_index);
      if (memory_.track_of[region_index] == 0) {
        memory_.whole_of[region_index] = whole_of_new(region_index);
      } else if (piece != 0) {
        memory_.whole_of[region_index] = whole_of_piece(piece - 1, region_index);
      }
    });
    if (count_ <= TrackMemory::kMaxUnmatched) find_companions(candidates);
    return candidates;
  }

  // Describes each piece in its observation. Sums the areas and boxes of the pieces of each object,
  // except if its region hides other tracks.
  REGIONS_TEAM void join(uint32_t candidates) const {
    team_.for_each(candidates, [&](uint32_t rank) {
      const uint32_t region_index = memory_.candidate[rank], whole = memory_.whole_of[region_index];
      if (whole == 0) return;
      const uint32_t owner = memory_.track_of[region_index];
      Track& piece = tracks_.now[region_index];
      attach_piece(piece, owner != 0 ? load_track(tracks_.track(owner - 1)) : Track{},
                   tracks_.now[whole - 1], whole - 1);
      piece.part_of = id_of(whole - 1);
      if (memory_.tracks_inside[whole - 1] != 0) return;
      team_.add(memory_.piece_area + whole - 1, piece.area);
      for (int side = 0; side < kSides; ++side) {
        team_.raise(memory_.outermost[side] + whole - 1, side_key(side, piece, region_index));
      }
    });
  }

  // Returns the region `now` together with its pieces, as one observation of the object. `track` is
  // the object's track before this frame; null: it is new. If the object has a track, its centre
  // moves like its box.
  REGIONS_TEAM Track joined(const Track* track, Track now, uint32_t region_index) const {
    const auto side = [&](int which) {
      return static_cast<int32_t>(
          static_cast<int64_t>(memory_.outermost[which][region_index] >> 32) - (int64_t{1} << 30));
    };
    now.left = static_cast<int32_t>(smaller_of(now.left, -side(kLeft)));
    now.top = static_cast<int32_t>(smaller_of(now.top, -side(kTop)));
    now.right = static_cast<int32_t>(larger_of(now.right, side(kRight)));
    now.bottom = static_cast<int32_t>(larger_of(now.bottom, side(kBottom)));
    now.area += memory_.piece_area[region_index];
    if (track) {
      now.x = track->x + (now.left + now.right - track->left - track->right) * (kTrackUnit / 2);
      now.y = track->y + (now.top + now.bottom - track->top - track->bottom) * (kTrackUnit / 2);
    }
    return now;
  }

 private:
  static constexpr uint32_t kTurns = 16;  // number of frames between two comparisons of a track

  // 1 + index of the track of this region, if the region was a piece; otherwise 0.
  REGIONS_TEAM uint32_t piece_track(uint32_t region_index) const {
    const uint32_t owner = memory_.track_of[region_index];
    const bool was_piece =
        owner != 0 && owner <= tracks_.visible && tracks_.previous[owner - 1].whole != 0;
    return was_piece ? owner : 0;
  }

  // The id of the track of this region in this frame.
  REGIONS_TEAM uint32_t id_of(uint32_t region_index) const {
    const uint32_t owner = memory_.track_of[region_index];
    const uint32_t id = owner != 0 ? tracks_.track(owner - 1).id : 0;
    return id != 0 ? id : tracks_.now[region_index].id;
  }

  // If the region of an object disappeared, its largest piece continues the object's track.
  REGIONS_TEAM void bequeath(uint32_t candidates) const {
    team_.for_each(candidates, [&](uint32_t rank) {
      const uint32_t region_index = memory_.candidate[rank], piece = piece_track(region_index);
      if (piece == 0) return;
      const uint32_t whole = tracks_.previous[piece - 1].whole - 1;
      if (memory_.region_of[whole] != 0) return;
      team_.raise(memory_.heir + whole,
                  key_of(tracks_.now[region_index].area, region_index, false));
    });
    team_.for_each(candidates, [&](uint32_t rank) {
      const uint32_t region_index = memory_.candidate[rank], piece = piece_track(region_index);
      if (piece == 0) return;
      const uint32_t whole = tracks_.previous[piece - 1].whole - 1;
      if (memory_.heir[whole] == 0 || index_in(memory_.heir[whole]) != region_index) return;
      memory_.region_of[piece - 1] = 0;
      tracks_.assign(whole, region_index);
    });
  }

  // True if this region may be a piece: it split off a region, or its motion is to be compared.
  REGIONS_TEAM bool may_be_piece(uint32_t region_index) const {
    const uint32_t owner = memory_.track_of[region_index];
    if (owner == 0) return memory_.origin[region_index] != 0;
    return owner <= tracks_.visible && is_compared(tracks_.previous[owner - 1]);
  }

  // True if the motion of this track's region is compared with the motion of other regions in this
  // frame: it was a piece, or it has been seen for 8 frames. Later, it is every 16th frame, in
  // which few other tracks are compared.
  REGIONS_TEAM static bool is_compared(const Track& track) {
    const bool is_turn = track.seen > kBorderFrames && (track.seen + track.id) % kTurns == 0;
    return track.whole != 0 || track.seen == kBorderFrames || is_turn;
  }

  // The order of regions that move together: the largest one has the track of the object. A region
  // that was a piece of another object comes last, then the track that was seen for the shortest
  // time.
  REGIONS_TEAM uint64_t rank_of(uint32_t region_index) const {
    const Track track = load_track(tracks_.previous[memory_.track_of[region_index] - 1]);
    const uint64_t seen = track.whole != 0 ? 0 : track.seen;
    const int64_t area = smaller_of(tracks_.now[region_index].area, UINT16_MAX);
    return seen << 48 | key_of(static_cast<uint32_t>(area), region_index, false);
  }

  // Joins each region whose motion can be judged now to a region that moves with it.
  REGIONS_TEAM void find_companions(uint32_t candidates) const {
    const uint32_t rows =
        candidates < TrackMemory::kMaxUnmatched ? candidates : TrackMemory::kMaxUnmatched;
    team_.for_each_pair(
        rows, count_,
        [&](uint32_t rank) {
          const uint32_t region_index = memory_.candidate[rank];
          return is_object(region_index) &&
                 is_compared(tracks_.previous[memory_.track_of[region_index] - 1]);
        },
        [&](uint32_t rank, uint32_t other) {
          const uint32_t region_index = memory_.candidate[rank];
          if (other == region_index) return;
          if (!is_stacked(tracks_.now[region_index], tracks_.now[other])) return;
          if (!is_object(other) || !move_together(region_index, other)) return;
          const uint64_t order = rank_of(other);
          if (order > rank_of(region_index)) team_.raise(memory_.neighbour + rank, order);
        });
    team_.for_each(rows, [&](uint32_t rank) {
      if (memory_.neighbour[rank] == 0) return;
      const uint32_t region_index = memory_.candidate[rank];
      memory_.whole_of[region_index] = index_in(memory_.neighbour[rank]) + 1;
      if (tracks_.previous[memory_.track_of[region_index] - 1].id != 0)
        team_.add(&memory_.report->deaths, 1);
    });
    // A piece of a piece belongs to the object of the latter. Threads may read old or new entries,
    // which lead to the same object.
    team_.for_each(rows, [&](uint32_t rank) {
      uint32_t whole = memory_.whole_of[memory_.candidate[rank]];
      while (whole != 0 && memory_.whole_of[whole - 1] != 0) whole = memory_.whole_of[whole - 1];
      memory_.whole_of[memory_.candidate[rank]] = whole;
    });
  }

  // True if the region has the only track of an object that was visible in the previous frame.
  REGIONS_TEAM bool is_object(uint32_t region_index) const {
    const uint32_t owner = memory_.track_of[region_index];
    return memory_.whole_of[region_index] == 0 && owner != 0 && owner <= tracks_.visible &&
           tracks_.previous[owner - 1].occluded_count == 0;
  }

  // True if two regions, one above the other, move in the same way and may be one object.
  REGIONS_TEAM bool move_together(uint32_t region_index, uint32_t other) const {
    const Track now = load_track(tracks_.now[region_index]);
    const Track beside = load_track(tracks_.now[other]);
    if (is_column(now, beside)) return false;
    const Track one = load_track(tracks_.previous[memory_.track_of[region_index] - 1]);
    const Track two = load_track(tracks_.previous[memory_.track_of[other] - 1]);
    const int64_t speed = distance_of(two.vx, 0) + distance_of(two.vy, 0);
    // Later comparisons are stricter, because two tracks have the same speed now and then.
    const int strictness = one.seen > kBorderFrames ? 2 : 1;
    const int64_t limit = larger_of(kTrackUnit / 2, speed / 8) / strictness;
    return speed >= kTrackUnit / 2 && distance_of(one.vx, two.vx) <= limit &&
           distance_of(one.vy, two.vy) <= limit;
  }

  // 1 + index of the region whose object a new region is a piece of; 0: none.
  REGIONS_TEAM uint32_t whole_of_new(uint32_t region_index) const {
    const uint32_t whole = whole_of_track(memory_.origin[region_index] - 1);
    if (whole == 0 || whole == region_index + 1) return 0;
    const Track now = load_track(tracks_.now[region_index]);
    const Track beside = load_track(tracks_.now[whole - 1]);
    if (tracks_.previous[memory_.origin[region_index] - 1].seen >= kBorderFrames &&
        is_column(now, beside))
      return 0;
    const bool is_small = uint64_t{now.area} * kSmallPiece < beside.area;
    return is_small || is_stacked(now, beside) ? whole : 0;
  }

  // 1 + index of the region of the object that this visible track belongs to; 0: the object has no
  // region, or shares it with other tracks.
  REGIONS_TEAM uint32_t whole_of_track(uint32_t visible_index) const {
    const Track track = load_track(tracks_.previous[visible_index]);
    const uint32_t whole = track.whole != 0 ? track.whole - 1 : visible_index;
    const bool is_shared = track.occluded_count > 0 || tracks_.previous[whole].occluded_count > 0;
    return is_shared ? 0 : memory_.region_of[whole];
  }

  // 1 + index of the region whose object the piece still belongs to; 0: it is an object now.
  REGIONS_TEAM uint32_t whole_of_piece(uint32_t piece_index, uint32_t region_index) const {
    const Track piece = load_track(tracks_.previous[piece_index]);
    const uint32_t whole = memory_.region_of[piece.whole - 1];
    if (whole == 0) return 0;
    const bool is_other = is_independent(piece, load_track(tracks_.now[region_index]),
                                         load_track(tracks_.now[whole - 1]));
    return is_other ? 0 : whole;
  }

  const Team& team_;
  const TrackMemory& memory_;
  const StepTracks& tracks_;
  const uint32_t count_;  // number of regions in this frame
};

// The lengths of two lists.
struct TwoCounts {
  uint32_t first = 0, second = 0;
};

// One step of tracking. `track_index` is the index of any track, and `visible_index` is the index
// of a visible track. A team provides these functions: for_each(count, f(i)); for_each_pair(rows,
// columns, is_active(row), f(row, column)); count(count, f(i)), which returns how often f()
// returned true; and once(f), which calls f() in one thread. All threads of the team synchronise at
// the end of each function. compact(count, selects(i), use(i, rank)) calls use() for each selected
// index with its rank among the selected indices, and returns their number; compact_two() does this
// for two lists at once. raise(), lower() and add() are the atomic maximum, minimum and sum. Only
// match() requires all of these functions. The other functions of TrackStep use only for_each() and
// raise(), and do not require that the team synchronises.
template <class Team>
class TrackStep {
 public:
  // `regions` are the records of labels 1..count. `counts` are the numbers of tracks before the
  // step: memory.counts_before for finish(), memory.counts for other functions.
  REGIONS_TEAM TrackStep(const Team& team, const TrackMemory& memory, const TrackRules& rules,
                         Region* regions, uint32_t count, const TrackCounts& counts)
      : team_(team),
        memory_(memory),
        rules_(rules),
        regions_(regions),
        count_(count),
        counts_(counts),
        tracks_(memory, counts) {}

  // Reads all regions and all pairs that share pixels, and clears the table of pairs. The values of
  // a region are computed again for each of its pairs, so that the team need not synchronise in
  // between.
  REGIONS_TEAM void collect_pairs() const {
    const PairTable& pairs = memory_.pairs;
    const uint32_t used = *pairs.used_count;
    const bool overflowed = used > pairs.max_pairs;
    if (overflowed) {
      team_.for_each(pairs.slots, [&](uint32_t slot) { pairs.key[slot] = pairs.count[slot] = 0; });
    }
    team_.for_each(count_ + (overflowed ? 0 : used), [&](uint32_t i) {
      // Regions and pairs use the same code path, because threads of a warp that take different
      // paths would cost time.
      uint32_t visible_index = kNoMatch, region_index = i, pixels = 0;
      if (i >= count_) {
        const uint32_t slot = pairs.used[i - count_], key = pairs.key[slot];
        visible_index = (key >> 16) - 1;
        region_index = (key & 0xffff) - 1;
        pixels = pairs.count[slot];
        pairs.key[slot] = pairs.count[slot] = 0;
        if (visible_index >= tracks_.visible || region_index >= count_) return;
      }
      Track old;
      if (visible_index != kNoMatch) old = load_track(tracks_.previous[visible_index]);
      const Track now = observed_track(regions_[region_index], rules_);
      if (visible_index == kNoMatch) {
        tracks_.now[region_index] = now;
        memory_.piece_area[region_index] = 0;
        for (uint64_t* keys : memory_.outermost) keys[region_index] = 0;
      } else {
        score_pair(visible_index, old, region_index, now, pixels);
      }
    });
  }

  // Decides which regions and tracks belong together, and assigns new ids.
  REGIONS_TEAM void match() const {
    choose_by_pixels();
    const uint32_t free_regions = match_by_pixels();
    if (free_regions > 0 && motion().match(free_regions) < free_regions) match_remaining();
    const uint32_t candidates = pieces().find();
    const TwoCounts lists = collect_new_and_lost();
    const uint32_t born = lists.first, all_lost = lists.second;
    const uint32_t lost = all_lost < memory_.capacity ? all_lost : memory_.capacity;
    const uint32_t occluded = lost > 0 ? shared().place_occluded(lost) : 0;
    if (candidates > 0) pieces().join(candidates);
    team_.once([&] {
      memory_.report->occluded = occluded;
      if (all_lost > lost) memory_.report->deaths += all_lost - lost;
      memory_.report->lost = lost;
      memory_.report->last_id = counts_.last_id + born;
      *memory_.counts_before = counts_;
      *memory_.counts = {1 - counts_.front, count_, lost, counts_.last_id + born};
      *memory_.pairs.used_count = 0;
    });
  }

  // Updates the tracks for the next frame and resets the arrays of the step. Writes the states of
  // all regions to `states`. `published` is the table that the task requested, with copies of the
  // first records; its pointers may be null.
  REGIONS_TEAM void finish(const RegionTable& published, TrackState* states,
                           TrackEvents* report) const {
    const uint32_t all = count_ > tracks_.all ? count_ : tracks_.all;
    team_.for_each(all + 1, [&](uint32_t i) {
      if (i == all) {
        if (published.occluded_tracks)
          *published.occluded_tracks = records_that_fit(memory_.report->occluded, published);
        *report = *memory_.report;
        *memory_.report = {};
      }
      if (i < count_) states[i] = update_track(i, published);
      if (i >= tracks_.all) return;
      if (i < tracks_.visible) memory_.heir[i] = 0;
      memory_.best_of_track[i] = 0;
      if (memory_.region_of[i] != 0) memory_.destination[i] = 0;
      memory_.region_of[i] = 0;
      memory_.claims[i] = 0;
    });
    team_.for_each(memory_.counts->lost, [&](uint32_t rank) {
      const uint32_t track_index = memory_.lost_indices[rank];
      const bool is_occluded = memory_.occluded_rank[rank] != 0;
      Track lost =
          is_occluded ? load_track(tracks_.lost_now[rank]) : load_track(tracks_.track(track_index));
      lost.host = memory_.destination[track_index];
      if (!is_occluded) ++lost.missed;
      if (is_occluded) lost.hidden = static_cast<uint16_t>(smaller_of(lost.hidden + 1, UINT16_MAX));
      lost.occluded_count = 0;
      predict(lost);
      tracks_.lost_now[rank] = lost;
      if (!is_occluded || !published.occluded_tracks) return;
      const uint32_t index = memory_.occluded_rank[rank] - 1;
      if (index < records_that_fit(index + 1, published)) {
        published.regions[count_ + index] = memory_.occluded_record[index];
        if (published.track_states) published.track_states[count_ + index] = {lost.still, 0};
      }
    });
  }

 private:
  // Maximum misfit() of a pair that looks alike.
  static constexpr uint32_t kMaxMisfit = 128;
  // A lost track that was seen in fewer frames is forgotten when its region merges into another
  // region.
  static constexpr uint32_t kMinSeen = 3;
  // A track may share a region for kMaxHiddenRatio times as long as it was alone, or as kMinAlone
  // frames if that is longer.
  static constexpr int kMaxHiddenRatio = 4;
  static constexpr int kMinAlone = 16;

  // Offers a track and a region to each other as partners, if they may belong together.
  REGIONS_TEAM void score_pair(uint32_t visible_index, const Track& old, uint32_t region_index,
                               const Track& now, uint32_t pixels) const {
    if (!is_plausible(old, now)) return;
    // A region that hides other tracks does not look like its own track, so looks are not compared.
    const bool is_alike = old.occluded_count > 0 || misfit(old, now, false) <= kMaxMisfit;
    team_.raise(memory_.best_of_region + region_index, key_of(pixels, visible_index, is_alike));
    team_.raise(memory_.best_of_track + visible_index, key_of(pixels, region_index, is_alike));
  }

  // Updates the track of a region for the next frame, and writes its id to the records. Returns its
  // state.
  REGIONS_TEAM TrackState update_track(uint32_t region_index, const RegionTable& published) const {
    const uint32_t occluded_count = memory_.tracks_inside[region_index] % TrackMemory::kOneOccluded,
                   reported = memory_.tracks_inside[region_index] / TrackMemory::kOneOccluded;
    const uint32_t owner = memory_.track_of[region_index];
    memory_.best_of_region[region_index] = 0;
    memory_.track_of[region_index] = 0;
    memory_.tracks_inside[region_index] = 0;
    const Track now = load_track(tracks_.now[region_index]);
    Track next = now, old;
    if (owner != 0) old = load_track(tracks_.track(owner - 1));
    const bool is_shared = owner != 0 && reported > 0;
    const bool is_joined = !is_shared && memory_.piece_area[region_index] > 0;
    if (is_joined) next = pieces().joined(owner != 0 ? &old : nullptr, now, region_index);
    const Track joined = next;
    if (is_shared) {
      next = shared().track_in(owner - 1, region_index);
      next.seen = seen_again(next);
      next.missed = 0;
      next.host = 0;
      next.hidden = 0;
      next.whole = 0;
    } else if (owner != 0) {
      next = followed(old, next);
    }
    next.occluded_count = occluded_count;
    if (next.id == 0) next.id = now.id;
    const bool is_piece = memory_.whole_of[region_index] != 0;
    if (old.whole != 0 && next.whole == 0 && !is_piece)
      next.seen = 1;  // it is an object from now on
    rested(next);
    if (is_piece) next = as_piece(next, now);
    regions_[region_index].track = next.id;
    if (region_index < published.capacity) published.regions[region_index].track = next.id;
    const TrackState state = {next.still, next.part_of};
    if (published.track_states && region_index < published.capacity)
      published.track_states[region_index] = state;
    if ((is_shared || is_joined) && published.occluded_tracks) {
      const Region region = regions_[region_index];
      const auto adjust = [&](Region& record) {
        if (is_joined) set_box(record, joined);
        if (!is_joined) set_box(record, next, region);
      };
      adjust(regions_[region_index]);
      if (region_index < published.capacity) adjust(published.regions[region_index]);
    }
    predict(next);
    tracks_.now[region_index] = next;
    return state;
  }

  // Moves a track by its velocity to its position in the next frame.
  REGIONS_TEAM static void predict(Track& track) {
    move_to(track, track.x + track.vx, track.y + track.vy);
  }

  // Returns how many of `count` records of occluded tracks fit in the table after the regions.
  REGIONS_TEAM uint32_t records_that_fit(uint32_t count, const RegionTable& published) const {
    const uint32_t free = published.capacity > count_ ? published.capacity - count_ : 0;
    return count < free ? count : free;
  }

  REGIONS_TEAM MotionMatcher<Team> motion() const { return {team_, memory_, tracks_}; }
  REGIONS_TEAM PieceJoiner<Team> pieces() const { return {team_, memory_, tracks_, count_}; }
  REGIONS_TEAM SharedRegions<Team> shared() const {
    return {team_, memory_, tracks_, regions_, count_, rules_.sample_bits};
  }

  // Stores for each track and region the partner with which it shares the most pixels.
  REGIONS_TEAM void choose_by_pixels() const {
    const uint32_t all = count_ > tracks_.all ? count_ : tracks_.all;
    team_.for_each(all, [&](uint32_t i) {
      if (i < tracks_.all) memory_.destination[i] = index_in(memory_.best_of_track[i]) + 1;
      if (i >= count_) return;
      const uint32_t visible_index = index_in(memory_.best_of_region[i]);
      memory_.origin[i] = visible_index + 1;
      if (visible_index != kNoMatch) team_.add(memory_.claims + visible_index, 1);
    });
  }

  // True if this region and its best track choose each other and look alike.
  REGIONS_TEAM bool is_matched_by_pixels(uint32_t region_index) const {
    const uint64_t best = memory_.best_of_region[region_index];
    if (!is_alike_in(best)) return false;
    const uint32_t visible_index = index_in(best);
    // Evaluated here, so that a GPU reads its values at the same time as `destination`.
    const bool is_split = tracks_.is_split(visible_index);
    return memory_.destination[visible_index] == region_index + 1 && !is_split;
  }

  // Returns the number of regions without a match.
  REGIONS_TEAM uint32_t match_by_pixels() const {
    return team_.compact(
        count_,
        [&](uint32_t region_index) {
          const bool is_matched = is_matched_by_pixels(region_index);
          if (is_matched) tracks_.assign(memory_.origin[region_index] - 1, region_index);
          return !is_matched;
        },
        [&](uint32_t region_index, uint32_t rank) { motion().add_region(region_index, rank); });
  }

  // Matches the remaining visible tracks by shared pixels alone. This includes a track whose region
  // split, if the track fits none of the new regions.
  REGIONS_TEAM void match_remaining() const {
    team_.for_each(tracks_.visible, [&](uint32_t visible_index) {
      if (memory_.region_of[visible_index] != 0 || memory_.destination[visible_index] == 0) return;
      const uint32_t region_index = memory_.destination[visible_index] - 1;
      if (memory_.track_of[region_index] == 0 && memory_.origin[region_index] == visible_index + 1)
        tracks_.assign(visible_index, region_index);
    });
  }

  // True if this lost track is no longer remembered.
  REGIONS_TEAM bool is_forgotten(uint32_t track_index) const {
    const Track old = load_track(tracks_.track(track_index));
    if (old.id == 0 || old.missed >= rules_.track_memory) return true;
    // A track that shares a region for much longer than it was alone is probably a part of one
    // object.
    if (old.hidden > kMaxHiddenRatio * larger_of(old.seen, kMinAlone)) return true;
    return track_index < tracks_.visible && memory_.destination[track_index] != 0 &&
           old.seen < kMinSeen;
  }

  // Gives new ids, and lists the lost tracks that are remembered. Returns the number of new ids,
  // and the number of lost tracks that are remembered. Lost tracks beyond the capacity are counted
  // but not listed.
  REGIONS_TEAM TwoCounts collect_new_and_lost() const {
    return team_.compact_two(
        count_ > tracks_.all ? count_ : tracks_.all,
        [&](uint32_t i) {
          if (i >= count_) return false;
          const bool is_born = gets_id(i);
          count_arrival(i, is_born);
          return is_born;
        },
        [&](uint32_t region_index, uint32_t rank) {
          tracks_.now[region_index].id = counts_.last_id + rank + 1;
        },
        [&](uint32_t i) {
          return i < tracks_.all && memory_.region_of[i] == 0 && update_lost_track(i);
        },
        [&](uint32_t track_index, uint32_t rank) {
          if (rank < memory_.capacity) memory_.lost_indices[rank] = track_index;
        });
  }

  // True if the track of this region gets its id in this frame.
  REGIONS_TEAM bool gets_id(uint32_t region_index) const {
    if (memory_.whole_of[region_index] != 0) return false;
    const uint32_t owner = memory_.track_of[region_index];
    if (owner == 0) return rules_.track_birth <= 1;
    const Track& old = tracks_.track(owner - 1);
    return old.id == 0 && old.seen + 1u >= rules_.track_birth;
  }

  // Updates a track that has no region: finds the region that probably hides it, and counts a merge
  // or a death. Returns true if the track is remembered.
  REGIONS_TEAM bool update_lost_track(uint32_t track_index) const {
    const bool has_id = tracks_.track(track_index).id != 0;
    if (track_index >= tracks_.visible) {
      const uint32_t host = tracks_.track(track_index).host,
                     host_region = host ? memory_.region_of[host - 1] : 0;
      memory_.destination[track_index] =
          host_region || host == 0 ? host_region : memory_.destination[host - 1];
    } else if (memory_.destination[track_index] != 0) {
      if (has_id) team_.add(&memory_.report->merges, 1);
    }
    const bool is_over = is_forgotten(track_index);
    if (is_over) {
      if (has_id) team_.add(&memory_.report->deaths, 1);
    } else if (memory_.destination[track_index] != 0) {
      team_.add(memory_.tracks_inside + memory_.destination[track_index] - 1, 1);
    }
    return !is_over;
  }

  // Counts a region that split off another region, or a new track.
  REGIONS_TEAM void count_arrival(uint32_t region_index, bool is_born) const {
    const uint32_t origin = memory_.origin[region_index], owner = memory_.track_of[region_index];
    if (memory_.whole_of[region_index] != 0) return;
    const bool was_occluded = owner > tracks_.visible && tracks_.track(owner - 1).host != 0;
    const bool was_piece =
        owner != 0 && owner <= tracks_.visible && tracks_.previous[owner - 1].whole != 0;
    const bool has_split = was_occluded || was_piece ||
                           (origin != 0 && owner != origin && memory_.region_of[origin - 1] != 0);
    if (has_split) team_.add(&memory_.report->splits, 1);
    if (!has_split && is_born) team_.add(&memory_.report->births, 1);
  }

  const Team& team_;
  const TrackMemory& memory_;
  const TrackRules rules_;
  Region* const regions_;
  const uint32_t count_;  // number of regions in this frame
  const TrackCounts counts_;
  const StepTracks tracks_;
};

}  // namespace regions

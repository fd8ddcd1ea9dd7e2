// Tracking of regions from frame to frame: tracks, events and the memory of a tracked stream.
// tracking_step.hpp contains the algorithm, which all backends share.
#pragma once

#include "core/region.hpp"

namespace regions {

// Counts of events between the previous and the current frame.
struct TrackEvents {
  uint32_t births = 0;  // number of new ids, except for regions that split off another region
  uint32_t deaths = 0;  // number of ids that were forgotten in this frame
  // Number of regions that split off another region, and of tracks that are visible again after an
  // occlusion.
  uint32_t splits = 0;
  uint32_t merges = 0;   // number of tracks whose region merged into the region of another track
  uint32_t lost = 0;     // number of ids that have no region in this frame but are still remembered
  uint32_t last_id = 0;  // the last id that was given to a track
  // Number of lost ids that are hidden in the region of another track and have a record.
  uint32_t occluded = 0;
};

// A region over time. Positions and velocities are in 1/16 pixel. The size is a multiple of 16
// bytes, because a GPU reads 16 bytes at once.
struct alignas(16) Track {
  uint32_t id = 0;      // 0: no id yet, see TrackRules
  uint16_t seen = 0;    // number of frames in which the track had a region, at most 65535
  uint16_t missed = 0;  // number of frames since the last region
  // For a lost track: 1 + index of the visible track whose region probably hides it; 0: none.
  uint32_t host = 0;
  // For a visible track: number of lost tracks that are hidden in its region.
  uint32_t occluded_count = 0;
  int32_t x = 0, y = 0;    // centre
  int32_t vx = 0, vy = 0;  // velocity of the centre, 1/16 pixel per frame
  // Bounding box, pixels; all sides are inclusive.
  int32_t left = 0, top = 0, right = 0, bottom = 0;
  uint32_t area = 0;               // pixels
  int32_t color[3] = {};           // mean colour, 1/16 of an 8-bit step
  uint32_t still = 0;              // number of frames for which the track rests, see rested()
  int32_t rest_x = 0, rest_y = 0;  // the place where it rests
  // Number of frames since the track shares the region of another track, at most 65535.
  uint16_t hidden = 0;
  // For a visible track whose region is a piece of another track's object: 1 + index of that track;
  // 0: no piece. A piece has no id.
  uint16_t whole = 0;
  // For a piece, see as_piece():
  uint32_t part_of = 0;                // id of the object's track
  uint32_t whole_area = 0;             // area of the object's main region, pixels
  int32_t offset_x = 0, offset_y = 0;  // centre relative to the centre of that region

  REGIONS_HD int width() const { return right - left + 1; }
  REGIONS_HD int height() const { return bottom - top + 1; }
};

// A short description of a track or region, for a fast test whether both are too different to
// match; see may_fit().
struct alignas(16) TrackSummary {
  int32_t x = 0, y = 0;  // centre, 1/16 pixel
  uint32_t area = 0;     // pixels; 0: already matched
  // For a track: maximum distance from its predicted position, 1/16 pixel. For a region: nonzero if
  // it split off a region that hides other tracks.
  uint32_t reach = 0;
};

// Counts the pixels that each region of the previous frame shares with each region of this frame,
// in a hash table of label pairs. Many threads may add in any order, because the counts are
// integers.
struct PairTable {
  uint32_t slots = 0;         // number of slots, a power of two
  uint32_t max_pairs = 0;     // maximum number of pairs; with more pairs the table is not used
  uint32_t* key = nullptr;    // [slots], previous label << 16 | current label; 0: free
  uint32_t* count = nullptr;  // [slots], number of shared pixels
  uint32_t* used = nullptr;   // [max_pairs], indices of used slots, in any order
  // Number of used slots; if it exceeds `max_pairs`, the table overflowed.
  uint32_t* used_count = nullptr;

  // Adds shared pixels of a pair of labels. `Atomics` provides the atomic functions exchange_if(at,
  // expected, desired) and add(at, more), which return the previous value, and read(at).
  template <class Atomics>
  REGIONS_HD void add(uint32_t previous, uint32_t current, uint32_t pixels) const {
    const uint32_t pair = previous << 16 | current;
    if (Atomics::read(used_count) > max_pairs) return;
    uint32_t slot = (pair * 2654435769u) >> 7 & (slots - 1);  // Fibonacci hashing
    for (uint32_t i = 0; i < slots; ++i, slot = (slot + 1) & (slots - 1)) {
      uint32_t stored = Atomics::read(key + slot);
      if (stored == 0) {
        stored = Atomics::exchange_if(key + slot, 0, pair);
        if (stored == 0) {
          const uint32_t index = Atomics::add(used_count, 1);
          if (index < max_pairs) used[index] = slot;
          stored = pair;
        }
      }
      if (stored != pair) continue;
      Atomics::add(count + slot, pixels);
      return;
    }
  }
};

// The numbers of tracks, which change from frame to frame.
struct TrackCounts {
  // Index (0 or 1) of the buffers in TrackMemory::visible and TrackMemory::lost that contain the
  // tracks of the last frame. The next frame writes its tracks to the other buffers.
  uint32_t front = 0;
  uint32_t visible = 0;  // number of visible tracks
  uint32_t lost = 0;     // number of lost tracks
  // The last id that was given to a track. Must be the last member: a reset with
  // IdNumbering::continued clears the memory before this member.
  uint32_t last_id = 0;
};

// The arrays for tracking in one stream. tracking_in() places them in one block of memory.
struct TrackMemory {
  // Labels have 16 bits, so that two labels fit in a pair.
  static constexpr uint32_t kMaxRegions = 65535;
  // Added to `tracks_inside` for each occluded track that has a record.
  static constexpr uint32_t kOneOccluded = 1 << 16;

  uint32_t capacity = 0;                 // maximum number of regions per frame, and of lost tracks
  TrackCounts* counts = nullptr;         // numbers of tracks after this frame
  TrackCounts* counts_before = nullptr;  // numbers of tracks before this frame
  TrackEvents* report = nullptr;         // events of this frame
  Track* visible[2] = {};                // [capacity], tracks of the regions with labels 1, 2, …
  Track* lost[2] = {};                   // [capacity], tracks without a region
  Image<uint16_t> labels;  // [height][width], labels of the previous frame; 0: not tracked. The
                           // pitch is a multiple of 256 bytes
  PairTable pairs;

  // Arrays for one step. Track indices count the visible tracks first and then the lost tracks.
  // Keys are computed by key_of() in tracking_step.hpp.
  uint64_t* best_of_region = nullptr;  // [capacity], for each region: key of its best track
  uint64_t* best_of_track = nullptr;   // [2 capacity], for each track: key of its best region
  // [capacity], for each region: 1 + index of the track with the most shared pixels; 0: none.
  uint32_t* origin = nullptr;
  uint32_t* track_of = nullptr;   // [capacity], 1 + index of the track of the region; 0: none
  uint32_t* region_of = nullptr;  // [2 capacity], 1 + index of the region of the track; 0: none
  uint32_t* claims = nullptr;     // [2 capacity], number of regions whose `origin` is this track
  // [2 capacity], for each track: 1 + index of the region with the most shared pixels, or of the
  // region that hides the track; 0: none. After the step, 0 for tracks that have a region.
  uint32_t* destination = nullptr;
  // [capacity], for each region: number of lost tracks inside the region, plus kOneOccluded for
  // each such track that has a record.
  uint32_t* tracks_inside = nullptr;
  uint32_t* lost_indices = nullptr;  // [capacity], indices of the tracks that are lost now
  // [capacity], positions in lost_indices of the tracks that get a record.
  uint32_t* occluded = nullptr;
  // [capacity], for each entry of lost_indices: 1 + its index in `occluded`; 0: it gets no record.
  uint32_t* occluded_rank = nullptr;
  Region* occluded_record = nullptr;  // [capacity], records of the tracks in `occluded`
  // [side][capacity], keys of the outermost track on each side of a region, see side_key(). For the
  // region of an object in pieces: of the outermost piece.
  uint64_t* outermost[4] = {};
  // Arrays for objects in pieces, see PieceJoiner in tracking_step.hpp.
  uint32_t* candidate = nullptr;  // [capacity], indices of the regions that may be pieces
  // [capacity], for each region: 1 + index of the region whose object it is a piece of; 0: none.
  uint32_t* whole_of = nullptr;
  uint32_t* piece_area = nullptr;  // [capacity], for each region: pixels of its pieces
  uint64_t* heir = nullptr;        // [capacity], for each visible track: key of its largest piece
  // Arrays for matching by motion. Rows are unmatched tracks, and columns are unmatched regions.
  // Only the first kMaxUnmatched of each are used.
  static constexpr uint32_t kMaxUnmatched = 1024;
  uint32_t* row = nullptr;                 // [kMaxUnmatched], track indices
  uint32_t* column = nullptr;              // [kMaxUnmatched], region indices
  TrackSummary* row_summary = nullptr;     // [kMaxUnmatched], summaries of the tracks in `row`
  TrackSummary* column_summary = nullptr;  // [kMaxUnmatched], summaries of the regions in `column`
  uint64_t* best_of_row = nullptr;         // [kMaxUnmatched], lowest cost << 32 | column
  uint64_t* best_of_column = nullptr;      // [kMaxUnmatched], lowest cost << 32 | row
  // [kMaxUnmatched], for the first entries of `candidate`: rank of the region that moves with it.
  uint64_t* neighbour = nullptr;
};

// Settings of tracking, from the parameters and the pixel format.
struct TrackRules {
  uint32_t track_birth = 1;   // number of consecutive frames with a region until a track gets an id
  uint32_t track_memory = 0;  // number of frames for which a lost track is remembered
  uint32_t sample_bits = 8;   // bits per sample of the colour sums
};

// Says whether ids continue or restart at 1 after all tracks are forgotten.
enum class IdNumbering : uint8_t { continued, restarted };

// tracking_bytes() returns the size of the memory for pictures of this size. tracking_reset_bytes()
// returns the size of its first part, which must be zeroed to forget all tracks. tracking_in()
// returns the arrays in a block of this memory, which must be aligned to 256 bytes. The whole
// memory must be zero before the first frame.
size_t tracking_bytes(Size picture, uint32_t max_regions);
size_t tracking_reset_bytes(Size picture, uint32_t max_regions, IdNumbering ids);
TrackMemory tracking_in(void* memory, Size picture, uint32_t max_regions);

}  // namespace regions

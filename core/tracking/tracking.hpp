// Tracking of regions from frame to frame: tracks, events and the memory of a tracked stream.
// tracking_step.hpp contains the algorithm, which all backends share.
#pragma once

#include "core/region.hpp"

namespace regions {

// Events that happened to regions between the previous and the current frame.
struct TrackEvents {
  uint32_t births = 0;  // new ids of regions that did not split off another region
  uint32_t deaths = 0;  // ids that were abandoned
  // Regions that split off a region whose id another one keeps, or that end an occlusion.
  uint32_t splits = 0;
  uint32_t merges = 0;  // regions that merged into a region with another id
  uint32_t lost = 0;    // ids without a region in this frame, which are still remembered
  uint32_t last_id = 0;
  uint32_t occluded = 0;  // lost ids inside the region of another track that have a record
};

// A region over time. Positions are in 1/16 pixel. The layout consists of groups of 16 bytes, which
// a GPU reads at once.
struct alignas(16) Track {
  uint32_t id = 0;      // 0: no id yet, see TrackRules
  uint16_t seen = 0;    // number of frames with a region, up to 65535
  uint16_t missed = 0;  // number of frames since then
  // For a lost track: 1 + index of the visible track whose region probably hides it; 0: none.
  uint32_t host = 0;
  uint32_t occluded_count = 0;  // for a visible track: number of lost tracks that its region hides
  int32_t x = 0, y = 0;         // centre
  int32_t vx = 0, vy = 0;       // velocity of the centre, per frame
  int32_t left = 0, top = 0, right = 0, bottom = 0;  // box, pixels; all four sides inclusive
  uint32_t area = 0;                                 // pixels
  int32_t color[3] = {};                             // mean, 1/16 of an 8-bit step

  REGIONS_HD int width() const { return right - left + 1; }
  REGIONS_HD int height() const { return bottom - top + 1; }
};

// The part of a track or region that quickly shows that two of them are too far apart.
struct alignas(16) TrackSummary {
  int32_t x = 0, y = 0;  // sixteenths of a pixel
  uint32_t area = 0;     // pixels; 0: already matched
  // For a track: maximum distance from its predicted position, 1/16 pixel. For a region: nonzero if
  // it split off a region that hides other tracks.
  uint32_t reach = 0;
};

// Number of pixels that each region of the previous frame shares with each region of this frame, as
// a hash table of label pairs. Many threads may add in any order, because the sums are exact.
struct PairTable {
  uint32_t slots = 0;         // a power of two
  uint32_t max_pairs = 0;     // maximum number of pairs; beyond it the table is unusable
  uint32_t* key = nullptr;    // [slots] previous label << 16 | label; 0: free
  uint32_t* count = nullptr;  // [slots] pixels
  uint32_t* used = nullptr;   // [max_pairs] indices of used slots, in any order
  // Number of used slots; if it exceeds `max_pairs`, the table overflowed.
  uint32_t* used_count = nullptr;

  // `Atomics` provides exchange_if(at, expected, desired) and add(at, more), which return the
  // previous value, and read(at).
  template <class Atomics>
  REGIONS_HD void add(uint32_t previous, uint32_t current, uint32_t pixels) const {
    const uint32_t pair = previous << 16 | current;
    if (Atomics::read(used_count) > max_pairs) return;
    uint32_t slot = (pair * 2654435769u) >> 7 & (slots - 1);  // Fibonacci hashing
    for (uint32_t i = 0; i < slots; ++i, slot = (slot + 1) & (slots - 1)) {
      uint32_t found = Atomics::read(key + slot);
      if (found == 0) {
        found = Atomics::exchange_if(key + slot, 0, pair);
        if (found == 0) {
          const uint32_t index = Atomics::add(used_count, 1);
          if (index < max_pairs) used[index] = slot;
          found = pair;
        }
      }
      if (found != pair) continue;
      Atomics::add(count + slot, pixels);
      return;
    }
  }
};

struct TrackCounts {
  uint32_t front = 0;  // index of the buffer with the previous frame's tracks
  uint32_t visible = 0;
  uint32_t lost = 0;
  uint32_t last_id = 0;  // must be the last member: a reset with IdNumbering::continued clears the
                         // memory up to here
};

// The arrays of one tracked stream. tracking_in() places them in one block of memory.
struct TrackMemory {
  static constexpr uint32_t kMaxRegions = 65535;  // labels have 16 bits, two fit in a pair
  // Unit of the occluded tracks with records in `tracks_inside`.
  static constexpr uint32_t kOneOccluded = 1 << 16;

  uint32_t capacity = 0;  // maximum number of regions per frame, and of lost tracks
  TrackCounts* counts = nullptr;
  TrackCounts* counts_before = nullptr;  // counts before this frame
  TrackEvents* report = nullptr;
  Track* visible[2] = {};  // [capacity], tracks of labels 1, 2, …
  Track* lost[2] = {};     // [capacity]
  Image<uint16_t> labels;  // [height][width], labels of the previous frame; 0: not tracked. Rows
                           // are multiples of 256 bytes
  PairTable pairs;

  // Arrays of one step. Visible tracks come first in the numbering of tracks, lost tracks follow.
  uint64_t* best_of_region = nullptr;  // [capacity] keys
  uint64_t* best_of_track = nullptr;   // [2 capacity]
  uint32_t* origin = nullptr;          // [capacity] 1 + track with the most shared pixels; 0: none
  uint32_t* track_of = nullptr;        // [capacity] 1 + track of the region; 0: none
  uint32_t* region_of = nullptr;       // [2 capacity] 1 + region of the track; 0: none
  uint32_t* claims = nullptr;          // [2 capacity] number of regions whose origin is this track
  // [2 capacity] 1 + region with the most shared pixels, or that hides the track now.
  uint32_t* destination = nullptr;
  // [capacity] number of lost tracks in the region, plus kOneOccluded per record.
  uint32_t* tracks_inside = nullptr;
  uint32_t* lost_indices = nullptr;  // [capacity] tracks that are lost now
  uint32_t* occluded = nullptr;  // [capacity] ranks in lost_indices of the tracks that get a record
  // [capacity] 1 + index of the lost track in `occluded`; 0: none.
  uint32_t* occluded_rank = nullptr;
  Region* occluded_record = nullptr;  // [capacity]
  // [side][capacity] keys of the outermost track on each side of a region, see side_key().
  uint64_t* outermost[4] = {};
  // Matching by motion: rows are tracks and columns are regions without a match. Further ones are
  // ignored.
  static constexpr uint32_t kMaxUnmatched = 1024;
  uint32_t* row = nullptr;                 // [kMaxUnmatched]
  uint32_t* column = nullptr;              // [kMaxUnmatched]
  TrackSummary* row_summary = nullptr;     // [kMaxUnmatched]
  TrackSummary* column_summary = nullptr;  // [kMaxUnmatched]
  uint64_t* best_of_row = nullptr;         // [kMaxUnmatched] keys
  uint64_t* best_of_column = nullptr;      // [kMaxUnmatched]
};

// Settings of a step, from parameters and stream.
struct TrackRules {
  uint32_t birth = 1;       // consecutive frames with a region before a track gets an id
  uint32_t memory = 0;      // number of frames for which a lost track is remembered
  uint32_t color_bits = 8;  // bits per sample of the colour sums
};

// Whether ids continue or restart at 1 after all tracks are forgotten.
enum class IdNumbering : uint8_t { continued, restarted };

// Size of the memory for pictures of this size, the size of its first part that must be zeroed to
// forget all tracks, and the arrays in a block of that memory (aligned to 256 bytes). All of it
// must be zero before the first frame.
size_t tracking_bytes(Size picture, uint32_t max_regions);
size_t tracking_reset_bytes(Size picture, uint32_t max_regions, IdNumbering ids);
TrackMemory tracking_in(void* memory, Size picture, uint32_t max_regions);

}  // namespace regions

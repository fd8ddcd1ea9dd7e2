// Tracking: what stays known of regions from frame to frame, and the memory it lies in. The
// decisions stand in core/tracking/step.hpp, the same for every backend.
#pragma once

#include "core/region.hpp"

namespace regions {

// What became of regions between a frame and the one before.
struct TrackReport {
  uint32_t births = 0;  // new ids, of regions that came out of no other when they got them
  uint32_t deaths = 0;  // ids given up for good
  uint32_t splits = 0;  // regions that came out of one whose id another region keeps, or a guest's
  uint32_t merges = 0;  // regions that went into one that keeps another's id
  uint32_t lost = 0;    // ids without a region now, still waited for
  uint32_t last_id = 0;
  uint32_t parts = 0;  // lost ids that share a region with another, and are told of
};

// A region over time. Places are in sixteenths of a pixel. Laid out in groups of 16 bytes that a
// GPU reads at once.
struct alignas(16) Track {
  uint32_t id = 0;      // 0: not born yet, see TrackRules
  uint16_t seen = 0;    // frames with a region, counted up to 65535
  uint16_t missed = 0;  // frames since
  // 1 + index of the visible track in whose region this lost one is believed to be; 0: none.
  uint32_t host = 0;
  uint32_t guests = 0;     // lost tracks that are believed to be in this visible one's region
  int32_t x = 0, y = 0;    // centre
  int32_t vx = 0, vy = 0;  // of the centre, a frame
  int32_t left = 0, top = 0, right = 0, bottom = 0;  // box, pixels, all four inside
  uint32_t area = 0;                                 // pixels
  int32_t color[3] = {};                             // mean, 1/16 of an 8-bit step

  REGIONS_HD int width() const { return right - left + 1; }
  REGIONS_HD int height() const { return bottom - top + 1; }
};

// What of a track or region tells at a glance that two are far apart.
struct alignas(16) Spot {
  int32_t x = 0, y = 0;  // sixteenths of a pixel
  uint32_t area = 0;     // pixels; 0: taken
  // Of a track, how far it may be from where it is predicted, sixteenths of a pixel; of a region,
  // whether it came out of a parted one.
  uint32_t reach = 0;
};

// How many pixels each region of the last frame shares with each of this one: a hash table of
// pairs of labels, filled by many threads in any order. The sums are exact, so order is no matter.
struct PairTable {
  uint32_t slots = 0;              // a power of two
  uint32_t most = 0;               // pairs; with more the table says nothing
  uint32_t* key = nullptr;         // [slots] label before << 16 | label now; 0: free
  uint32_t* count = nullptr;       // [slots] pixels
  uint32_t* used = nullptr;        // [most] slots in use, in any order
  uint32_t* used_count = nullptr;  // of slots in use, or, if that is more than `most`, too many

  // Atomics: exchange_if(at, expected, wanted) and add(at, more), both giving what was there, and
  // read(at).
  template <class Atomics>
  REGIONS_HD void add(uint32_t before, uint32_t now, uint32_t pixels) const {
    const uint32_t pair = before << 16 | now;
    if (Atomics::read(used_count) > most) return;
    uint32_t slot = (pair * 2654435769u) >> 7 & (slots - 1);  // Fibonacci hashing
    for (uint32_t i = 0; i < slots; ++i, slot = (slot + 1) & (slots - 1)) {
      uint32_t found = Atomics::read(key + slot);
      if (found == 0) {
        found = Atomics::exchange_if(key + slot, 0, pair);
        if (found == 0) {
          const uint32_t place = Atomics::add(used_count, 1);
          if (place < most) used[place] = slot;
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
  uint32_t front = 0;  // which of the two buffers holds the last frame's tracks
  uint32_t visible = 0;
  uint32_t lost = 0;
  uint32_t last_id = 0;  // stays last: what is cleared with Ids::go_on ends before it
};

// The memory of one tracked stream, cut out of one block by cut_tracking().
struct TrackMemory {
  static constexpr uint32_t kMaxRegions = 65535;  // labels of 16 bits, two in a pair
  static constexpr uint32_t kOneTold = 1 << 16;   // in `joins`

  uint32_t capacity = 0;  // regions of a frame, and as many lost tracks
  TrackCounts* counts = nullptr;
  TrackCounts* counts_before = nullptr;  // what they were before this frame
  TrackReport* report = nullptr;
  Track* visible[2] = {};  // [capacity] of labels 1, 2, …
  Track* lost[2] = {};     // [capacity]
  Image<uint16_t> labels;  // the last frame's, 0 where nothing is tracked; rows of 64 bytes' steps
  PairTable pairs;

  // Of one step. Tracks are counted through: the visible ones, then the lost ones.
  uint64_t* best_of_region = nullptr;  // [capacity] keys
  uint64_t* best_of_track = nullptr;   // [2 capacity]
  uint32_t* origin = nullptr;          // [capacity] 1 + track that shares most pixels; 0: none
  uint32_t* track_of = nullptr;        // [capacity] 1 + the region's track; 0: none
  uint32_t* region_of = nullptr;       // [2 capacity] 1 + the track's region; 0: none
  uint32_t* claims = nullptr;          // [2 capacity] regions that originate in it
  uint32_t* heir = nullptr;   // [2 capacity] 1 + region that shares most pixels, or hosts it now
  uint32_t* joins = nullptr;  // [capacity] tracks that are in the region, and kOneTold for a part
  uint32_t* kept = nullptr;   // [capacity] tracks that are lost now
  uint32_t* part = nullptr;   // [capacity] ranks of those among them that share a region
  uint32_t* part_rank = nullptr;  // [capacity] 1 + which of those one that is lost is; 0: none
  Region* part_record = nullptr;  // [capacity]
  uint64_t* outermost[4] = {};    // [capacity] of each side of a region, see parts.hpp
  // Rows are tracks, columns regions that are free to be matched by motion; others are not.
  static constexpr uint32_t kMaxFree = 1024;
  uint32_t* row = nullptr;             // [kMaxFree]
  uint32_t* column = nullptr;          // [kMaxFree]
  Spot* row_spot = nullptr;            // [kMaxFree]
  Spot* column_spot = nullptr;         // [kMaxFree]
  uint64_t* best_of_row = nullptr;     // [kMaxFree] keys
  uint64_t* best_of_column = nullptr;  // [kMaxFree]
};

// What the step needs of parameters and stream.
struct TrackRules {
  uint32_t birth = 1;       // frames on end in which a region is seen until its track has an id
  uint32_t memory = 0;      // frames a lost track is waited for
  uint32_t color_bits = 8;  // depth of the colour sums
};

// Whether ids that were given may be given again, once their tracks are forgotten.
enum class Ids : uint8_t { go_on, begin_again };

// Bytes of the memory for such pictures, and the memory cut out of so much (aligned to 256 bytes).
// It must be zero before the first frame; so many bytes of it must be to forget all tracks.
size_t tracking_bytes(Size picture, uint32_t max_regions);
size_t tracking_past_bytes(Size picture, uint32_t max_regions, Ids ids);
TrackMemory tracking_in(void* memory, Size picture, uint32_t max_regions);

}  // namespace regions

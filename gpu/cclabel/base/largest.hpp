// Areas of regions, and how the largest are chosen.
#pragma once

#include "core/image.hpp"
#include "gpu/runtime/launch.hpp"

namespace regions::cclabel {

struct Areas {
  uint32_t* of;        // [height][stride] by the id of the region's first pixel, there alone
  int id_bits;         // bits of an id, and of an area
  uint32_t limit = 0;  // the areas matter only if there are more regions; 0: always

  // Once number_regions has counted them, if there is a limit.
  REGIONS_HD bool wanted(const uint32_t* total) const { return limit == 0 || *total > limit; }
};

// Larger for larger areas, and for earlier regions among equal ones.
REGIONS_HD inline uint64_t key_of_region(const Areas& areas, uint32_t id, uint32_t area) {
  const uint64_t last_id = (uint64_t{1} << areas.id_bits) - 1;
  return static_cast<uint64_t>(area) << areas.id_bits | (last_id - id);
}

struct Selection {
  static constexpr int kDigitBits = 11;
  static constexpr int kDigits = 1 << kDigitBits;
  uint64_t least_key;  // of the regions that stay; its higher digits while they are being found
  uint32_t wanted;     // rank of that key among those with the same higher digits, from 1
  uint32_t arrived;    // blocks that have added their counts
  uint32_t count[kDigits];
};

// If there are more than areas.limit regions, which must be numbered: finds the largest. The bits
// of regions' first pixels stand in `words` words, in order of ids.
void find_largest(const uint32_t* firsts, size_t words, const uint32_t* total, const Areas& areas,
                  Selection* selection, cudaStream_t stream);

}  // namespace regions::cclabel

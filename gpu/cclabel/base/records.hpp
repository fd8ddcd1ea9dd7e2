// Records of regions on the device, and how they come to the table.
#pragma once

#include "core/cclabel/cclabel.hpp"
#include "gpu/runtime/launch.hpp"

namespace regions::cclabel {

// Which total the numbering counts: of all regions, or of those that keep a label.
enum class Count : uint8_t { all, labelled };
// Records of regions on the device, of the labels 1..capacity.
struct Records {
  Region* region = nullptr;  // [capacity]
  uint32_t capacity = 0;
};
// What a region shows: its label, or, with records, its track.
struct Shown {
  const Region* regions = nullptr;
  const uint32_t* total = nullptr;  // of regions with a label
  uint32_t capacity = 0;            // of the records
  uint32_t limit = UINT32_MAX;      // greatest value
  Overflow overflow = Overflow::saturate;

  REGIONS_HD uint32_t of(uint32_t label) const {
    if (!regions) return label;
    return track_value(regions, capacity < *total ? capacity : *total, label, limit, overflow);
  }
};

// Brings the records there are, and the total, to the table in pinned memory. `total`: regions, and
// those of them that have a label.
void publish_table(const uint32_t* total, const Records& records, const RegionTable& table,
                   cudaStream_t stream);

}  // namespace regions::cclabel

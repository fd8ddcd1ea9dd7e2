// Tracking's kernels. Each puts itself on the stream and returns.
#pragma once

#include "core/tracking/tracking.hpp"
#include "gpu/runtime/launch.hpp"

namespace regions {

// The records of a frame that are tracked: of labels 1..min(*total, capacity). On the device.
struct TrackedRecords {
  Region* regions = nullptr;
  const uint32_t* total = nullptr;
  uint32_t capacity = 0;
};

// 32 pixels of the last frame: where its regions were, and the first pixels there of their pieces.
struct alignas(8) PastWord {
  uint32_t foreground;
  uint32_t begins;
};

// See core/tracking/step.hpp. `report` and `published` are pinned host memory.
void see_tracks(const TrackMemory& memory, const TrackRules& rules, const TrackedRecords& records,
                cudaStream_t stream);
void match_tracks(const TrackMemory& memory, const TrackRules& rules, const TrackedRecords& records,
                  cudaStream_t stream);
void finish_tracks(const TrackMemory& memory, const TrackRules& rules,
                   const TrackedRecords& records, const RegionTable& published, TrackReport* report,
                   cudaStream_t stream);

}  // namespace regions

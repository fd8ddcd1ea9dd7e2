// Tracking's kernels. Each puts itself on the stream and returns.
#pragma once

#include "core/tracking.hpp"
#include "gpu/launch.hpp"

namespace regions {

// See core/tracking_step.hpp. `report` is pinned host memory.
void step_tracks(const TrackMemory& memory, const TrackRules& rules, Region* regions,
                 const uint32_t* count, uint32_t capacity, TrackReport* report,
                 cudaStream_t stream);

}  // namespace regions

// What a frame's output shows, on the CPU.
#pragma once

#include "core/workers.hpp"
#include "cpu/graphcutbg/slot.hpp"

namespace regions::graphcut {

// Writes job.out and job.foreground from the slot's mask. `image`: the new background, if any.
void show(const Job& job, const ViewPlan& plan, const uint16_t* image, Slot& slot,
          const Workers& workers);

}  // namespace regions::graphcut

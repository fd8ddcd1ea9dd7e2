// What a cut of a sequence chooses by what earlier ones told: the solver, and warm or cold. The
// kernels tell in pinned memory, so the host waits for none: it knows of the frames that are done.
#pragma once

#include <utility>

#include "core/maxflow/warm_choice.hpp"
#include "gpu/maxflow/problem.hpp"

namespace regions::maxflow {

// Which solver a cut takes that has the device for itself. With 4 neighbours tiles in shared memory
// pay for cuts of many rounds alone; on an H200 (2026-11-26), rounds and milliseconds by lists of
// tiles and in shared memory: bgdiff_vga 11 and 48, .28 and .38; bgdiff_1080 20 and 49, .51 and
// .62; grab_vga 72 and 161, 2.5 and 1.9; grab_1080 110 and 294, 6.1 and 5.2. With 8 they always do,
// by a fifth to a half. What counts is the last frame of which the host knows.
class LoneSolver {
 public:
  void start(Neighbours neighbours, Told* told) {
    neighbours_ = neighbours;
    told_ = told;
    choose(false);
  }
  bool takes_device() {
    if (neighbours_ == Neighbours::eight) return true;
    constexpr int kHardForLists = 45, kHardForDevice = 110;
    const int rounds = *static_cast<const volatile int32_t*>(&told_[takes_device_].rounds);
    const bool hard = rounds > (takes_device_ ? kHardForDevice : kHardForLists);
    if (hard != takes_device_) choose(hard);
    return hard;
  }

 private:
  // Until a frame of that solver has told its rounds, it stays.
  void choose(bool device) {
    takes_device_ = device;
    told_[device].rounds = device ? INT32_MAX : 0;
  }

  Told* told_ = nullptr;  // [2]: by lists of tiles, and by the whole device
  Neighbours neighbours_ = Neighbours::four;
  bool takes_device_ = false;
};

// Whether a solver's cuts start warm.
class WarmStarts {
 public:
  void start(const Told* told) {
    *this = {};
    told_ = told;
  }
  // For a cut that may start either way.
  bool takes_warm() {
    for (const bool warm : {false, true}) {
      const CutTime time = *static_cast<const volatile CutTime*>(&told_->time[warm]);
      const uint32_t cut = cut_of(time);
      if (cut != std::exchange(known_[warm], cut)) {
        choice_.note(warm, WarmChoice::Duration(nanoseconds_of(time)));
      }
    }
    return choice_.takes_warm();
  }

 private:
  const Told* told_ = nullptr;
  WarmChoice choice_;
  uint32_t known_[2] = {};  // the last cold and the last warm cut that was noted
};

}  // namespace regions::maxflow

// Choices for a cut based on measurements of earlier cuts: which solver, and warm or cold start.
// The kernels write the measurements to pinned memory, and the host reads them without waiting. It
// therefore uses the last frame that has been finished.
#pragma once

#include <utility>

#include "core/image.hpp"
#include "core/maxflow/maxflow.hpp"
#include "core/maxflow/warm_start_tuner.hpp"

namespace regions::maxflow {

// Duration of a cut: the upper 32 bits are the number of the cut (from 1), the lower ones its
// nanoseconds. One word, so that the host always reads a matching pair.
using CutTime = uint64_t;
REGIONS_HD inline CutTime cut_time(uint32_t cut, long long nanoseconds) {
  constexpr long long kMax = UINT32_MAX;  // 4.3 s
  return static_cast<CutTime>(cut) << 32 |
         static_cast<uint32_t>(nanoseconds < kMax ? nanoseconds : kMax);
}
inline uint32_t cut_of(CutTime time) { return static_cast<uint32_t>(time >> 32); }
inline uint32_t nanoseconds_of(CutTime time) { return static_cast<uint32_t>(time); }

// Measurements of one solver's cuts. In pinned memory.
struct CutStatistics {
  int32_t rounds;   // rounds of pushes of the last cut
  CutTime time[2];  // of the last cold cut and of the last warm cut
};

// Selects the solver of a cut that is the only one of the process: resident or sparse. With 4
// neighbours the resident solver is faster only for cuts of many rounds. Measured on an H200
// (2026-11-26), sparse / resident:
//
//                  rounds       ms
//   bgdiff_vga     11 /  48    0.28 / 0.38
//   bgdiff_1080    20 /  49    0.51 / 0.62
//   grab_vga       72 / 161    2.5  / 1.9
//   grab_1080     110 / 294    6.1  / 5.2
//
// With 8 neighbours the resident solver is always faster, by 20 to 50%.
class SolverSelector {
 public:
  // `statistics`: [2], of the sparse solver and of the resident solver.
  void start(Neighbours neighbours, CutStatistics* statistics) {
    neighbours_ = neighbours;
    statistics_ = statistics;
    choose(false);
  }
  bool prefers_resident() {
    if (neighbours_ == Neighbours::eight) return true;
    constexpr int kManyRoundsSparse = 45, kManyRoundsResident = 110;
    const int rounds =
        *static_cast<const volatile int32_t*>(&statistics_[prefers_resident_].rounds);
    const bool is_hard = rounds > (prefers_resident_ ? kManyRoundsResident : kManyRoundsSparse);
    if (is_hard != prefers_resident_) choose(is_hard);
    return is_hard;
  }

 private:
  // Sets a number of rounds that keeps this choice until the solver has finished a frame.
  void choose(bool resident) {
    prefers_resident_ = resident;
    statistics_[resident].rounds = resident ? INT32_MAX : 0;
  }

  CutStatistics* statistics_ = nullptr;  // [2], sparse and resident
  Neighbours neighbours_ = Neighbours::four;
  bool prefers_resident_ = false;
};

// Selects a warm or cold start for the cuts of one solver.
class WarmStartSelector {
 public:
  void start(const CutStatistics* statistics) {
    *this = {};
    statistics_ = statistics;
  }
  // Whether the next cut should start warm. Call it only for cuts that may start either way.
  bool use_warm_start() {
    for (const bool warm : {false, true}) {
      const CutTime time = *static_cast<const volatile CutTime*>(&statistics_->time[warm]);
      const uint32_t cut = cut_of(time);
      if (cut != std::exchange(last_cut_[warm], cut)) {
        choice_.record_time(warm, WarmStartTuner::Duration(nanoseconds_of(time)));
      }
    }
    return choice_.use_warm_start();
  }

 private:
  const CutStatistics* statistics_ = nullptr;
  WarmStartTuner choice_;
  uint32_t last_cut_[2] = {};  // the last cold and the last warm cut passed to choice_
};

}  // namespace regions::maxflow

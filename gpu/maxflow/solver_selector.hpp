// Chooses the solver and a warm or cold start for each cut, from measurements of earlier cuts. The
// kernels write the measurements to pinned memory. The host reads them without waiting, so it uses
// the measurements of the last finished frame.
#pragma once

#include <utility>

#include "core/image.hpp"
#include "core/maxflow/maxflow.hpp"
#include "core/maxflow/warm_start_tuner.hpp"

namespace regions::maxflow {

// Number and duration of a cut in one word: the upper 32 bits are the number of the cut (from 1),
// the lower 32 bits its duration in nanoseconds. They share a word so that the host always reads a
// matching pair.
using CutTime = uint64_t;
REGIONS_HD inline CutTime cut_time(uint32_t cut, long long nanoseconds) {
  constexpr long long kMaxDuration = UINT32_MAX;  // ns, about 4.3 s
  return static_cast<CutTime>(cut) << 32 |
         static_cast<uint32_t>(nanoseconds < kMaxDuration ? nanoseconds : kMaxDuration);
}
// The two parts of a CutTime: the number of the cut and its duration.
inline uint32_t cut_of(CutTime time) { return static_cast<uint32_t>(time >> 32); }
inline uint32_t nanoseconds_of(CutTime time) { return static_cast<uint32_t>(time); }

// Measurements of the cuts of one solver, in pinned memory.
struct CutStatistics {
  int32_t rounds;   // number of rounds of pushes of the last cut
  CutTime time[2];  // numbers and durations of the last cold cut and of the last warm cut
};

// Selects the resident or the sparse solver if the process has only one cut. With 4 neighbours the
// resident solver is faster only for cuts of many rounds. Results of the benchmarks on an H200
// (2026-11-26), each as sparse / resident:
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
  // `statistics` has two entries: for the sparse solver and for the resident solver.
  void start(Neighbours neighbours, CutStatistics* statistics) {
    neighbours_ = neighbours;
    statistics_ = statistics;
    store_choice(false);
  }
  // Chooses the solver of the next cut. Returns whether it is the resident solver.
  bool choose_resident() {
    if (neighbours_ == Neighbours::eight) return true;
    constexpr int kManyRoundsSparse = 45, kManyRoundsResident = 110;
    const int rounds =
        *static_cast<const volatile int32_t*>(&statistics_[prefers_resident_].rounds);
    const bool is_hard = rounds > (prefers_resident_ ? kManyRoundsResident : kManyRoundsSparse);
    if (is_hard != prefers_resident_) store_choice(is_hard);
    return is_hard;
  }

 private:
  // Stores the choice. Also sets a number of rounds that keeps this choice until the chosen solver
  // has finished a frame.
  void store_choice(bool resident) {
    prefers_resident_ = resident;
    statistics_[resident].rounds = resident ? INT32_MAX : 0;
  }

  CutStatistics* statistics_ = nullptr;  // [2], for the sparse and the resident solver
  Neighbours neighbours_ = Neighbours::four;
  bool prefers_resident_ = false;
};

// Selects a warm or a cold start for the cuts of one solver.
class WarmStartSelector {
 public:
  void start(const CutStatistics* statistics) {
    *this = {};
    statistics_ = statistics;
  }
  // Whether the next cut should have a warm start. Call this function only for cuts for which both
  // kinds of start are possible.
  bool use_warm_start() {
    for (const bool warm : {false, true}) {
      const CutTime time = *static_cast<const volatile CutTime*>(&statistics_->time[warm]);
      const uint32_t cut = cut_of(time);
      if (cut != std::exchange(last_cut_[warm], cut)) {
        tuner_.record_time(warm, WarmStartTuner::Duration(nanoseconds_of(time)));
      }
    }
    return tuner_.use_warm_start();
  }

 private:
  const CutStatistics* statistics_ = nullptr;
  WarmStartTuner tuner_;
  uint32_t last_cut_[2] = {};  // numbers of the last cold and the last warm cut passed to tuner_
};

}  // namespace regions::maxflow

// WarmStartTuner: decides by measurement whether warm starts are faster. If flow reaches few
// pixels, keeping the previous flow costs more than finding it again. From time to time a trial of
// several cuts uses the other kind of start. Their times are compared with the times of the
// preceding cuts, because neighbouring frames take similar times.
#pragma once

#include <chrono>
#include <utility>

namespace regions::maxflow {

class WarmStartTuner {
 public:
  using Duration = std::chrono::nanoseconds;
  static constexpr int kTrialCuts = 4;           // cuts per trial
  static constexpr int kCutsBetweenTrials = 64;  // cuts between trials, because scenes change

  // Returns whether the next cut should start warm, if it can start either way.
  bool use_warm_start() {
    if (cuts_ == kCutsBetweenTrials + kTrialCuts) cuts_ = 0;
    return ++cuts_ > kCutsBetweenTrials ? !prefers_warm_ : prefers_warm_;
  }
  // Records the time of a cut. Not every cut needs to be recorded. A trial ends when the first cut
  // after it is recorded.
  void record_time(bool warm, Duration took) {
    if (warm != prefers_warm_) {
      trial_time_ += took;
      ++trial_cuts_;
      return;
    }
    if (trial_cuts_ > 0 && end_trial()) return;
    recent_time_ = recent_time_ == Duration::zero() ? took : (3 * recent_time_ + took) / 4;
  }

 private:
  // Ends the trial. Returns whether the kind of start changed. At about equal times, cuts start
  // cold.
  bool end_trial() {
    const Duration mean = trial_time_ / trial_cuts_;
    const auto [warm, cold] =
        prefers_warm_ ? std::pair(recent_time_, mean) : std::pair(mean, recent_time_);
    const bool warm_is_faster = 8 * warm < 7 * cold;
    trial_time_ = {};
    trial_cuts_ = 0;
    if (warm_is_faster == prefers_warm_) return false;
    prefers_warm_ = warm_is_faster;
    recent_time_ = mean;
    cuts_ = 0;
    return true;
  }

  bool prefers_warm_ = false;      // kind of start outside trials
  Duration recent_time_{};         // mean time of recent cuts of that kind; zero: unknown
  Duration trial_time_{};          // total time of the trial's cuts
  int trial_cuts_ = 0;             // number of the trial's cuts
  int cuts_ = kCutsBetweenTrials;  // cuts since the last trial; the first trial starts at once
};

}  // namespace regions::maxflow

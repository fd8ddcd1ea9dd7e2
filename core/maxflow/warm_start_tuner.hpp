// WarmStartTuner: measures whether cuts are faster with a warm or a cold start. If flow reaches few
// pixels, keeping the previous flow costs more than computing it again. Now and then, a trial of
// several cuts uses the kind of start that is not preferred. Their times are compared with the
// times of the cuts just before the trial, because consecutive frames take similar times.
#pragma once

#include <chrono>
#include <utility>

namespace regions::maxflow {

class WarmStartTuner {
 public:
  using Duration = std::chrono::nanoseconds;
  static constexpr int kTrialCuts = 4;  // number of cuts per trial
  // Number of cuts between trials; trials are repeated because scenes change.
  static constexpr int kCutsBetweenTrials = 64;

  // Counts the next cut, and returns true if it should start warm. Call it only if both kinds of
  // start are possible.
  bool use_warm_start() {
    if (cuts_ == kCutsBetweenTrials + kTrialCuts) cuts_ = 0;
    return ++cuts_ > kCutsBetweenTrials ? !prefers_warm_ : prefers_warm_;
  }
  // Records the time of a cut with a warm or cold start. Times of some cuts may be missing. A trial
  // ends with the first recorded time of a cut after the trial.
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
  // Ends the trial. Returns true if the preferred kind of start changed. If both kinds take about
  // the same time, cold starts are preferred.
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

  bool prefers_warm_ = false;  // preferred kind of start, used outside trials
  // Mean time of recent cuts with the preferred kind of start; zero: unknown.
  Duration recent_time_{};
  Duration trial_time_{};          // total time of the recorded cuts of the trial
  int trial_cuts_ = 0;             // number of recorded cuts of the trial
  int cuts_ = kCutsBetweenTrials;  // cuts since the end of the last trial; the initial value starts
                                   // a trial at once
};

}  // namespace regions::maxflow

// Whether a warm start pays: where flow comes to few pixels, keeping the last frame's costs more
// than finding it again. Some cuts in a row are tried the other way now and then, and compared with
// those just before them, as frames side by side cost alike.
#pragma once

#include <chrono>
#include <utility>

namespace regions::maxflow {

class WarmChoice {
 public:
  using Duration = std::chrono::nanoseconds;
  static constexpr int kTried = 4;     // cuts in a row
  static constexpr int kBetween = 64;  // cuts between them, as scenes change

  // For a cut that may start either way.
  bool takes_warm() {
    if (cuts_ == kBetween + kTried) cuts_ = 0;
    return ++cuts_ > kBetween ? !is_warm_ : is_warm_;
  }
  // What a cut took; a trial is over when the next cut after it is told. Not all need be.
  void note(bool warm, Duration took) {
    if (warm != is_warm_) {
      tried_ += took;
      ++tried_cuts_;
      return;
    }
    if (tried_cuts_ > 0 && changes()) return;
    recent_ = recent_ == Duration::zero() ? took : (3 * recent_ + took) / 4;
  }

 private:
  // Where both are about as fast, cuts are cold.
  bool changes() {
    const Duration mean = tried_ / tried_cuts_;
    const auto [warm, cold] = is_warm_ ? std::pair(recent_, mean) : std::pair(mean, recent_);
    const bool pays = 8 * warm < 7 * cold;
    tried_ = {};
    tried_cuts_ = 0;
    if (pays == is_warm_) return false;
    is_warm_ = pays;
    recent_ = mean;
    cuts_ = 0;
    return true;
  }

  bool is_warm_ = false;  // but for trials
  Duration recent_{};     // mean of the last ones of that kind; zero: none is known
  Duration tried_{};      // sum over the trial
  int tried_cuts_ = 0;    // in it
  int cuts_ = kBetween;   // since the last trial; the first one is at once
};

}  // namespace regions::maxflow

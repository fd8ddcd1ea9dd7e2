// Whether a warm start pays: by what the last cuts of either kind took. Where flow comes to few
// pixels, keeping the last frame's costs more than finding it again.
#pragma once

#include <algorithm>
#include <chrono>

namespace regions::maxflow {

class WarmChoice {
 public:
  using Duration = std::chrono::steady_clock::duration;
  // The slower kind is tried again after so many cuts, as scenes change.
  static constexpr int kTrial = 32;

  // For a cut that may start either way.
  bool takes_warm() {
    if (cold_ == Duration::zero() || warm_ == Duration::zero()) return warm_ == Duration::zero();
    const bool warm_is_faster = warm_ < cold_;
    if (++cuts_ < kTrial) return warm_is_faster;
    cuts_ = 0;
    return !warm_is_faster;
  }
  void note(bool warm, Duration took) {
    Duration& of = warm ? warm_ : cold_;
    took = std::max(took, Duration(1));
    of = of == Duration::zero() ? took : (3 * of + took) / 4;
  }

 private:
  Duration cold_{}, warm_{};  // zero: not known
  int cuts_ = 0;              // since both kinds were compared
};

}  // namespace regions::maxflow

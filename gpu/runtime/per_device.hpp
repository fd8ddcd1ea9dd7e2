// What a device is asked once and then known of it. A process may use several that differ, and
// attributes of kernels are set for the device in use alone.
#pragma once

#include <array>
#include <atomic>

#include "gpu/runtime/launch.hpp"

namespace regions {

class PerDevice {
 public:
  // ask() of the device in use, the first time; two threads may both ask.
  template <class Ask>
  bool get(Ask ask) {
    const int device = device_in_use();
    if (device >= kMax) return ask();
    std::atomic<Answer>& answer = answers_[static_cast<size_t>(device)];
    if (answer == Answer::unknown) answer = ask() ? Answer::yes : Answer::no;
    return answer == Answer::yes;
  }

 private:
  enum class Answer : uint8_t { unknown, no, yes };
  static constexpr int kMax = 64;
  std::array<std::atomic<Answer>, kMax> answers_ = {};
};

}  // namespace regions

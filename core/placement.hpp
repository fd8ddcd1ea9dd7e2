// Which of several equal devices a new element goes to: the one that serves the fewest.
#pragma once

#include <mutex>
#include <vector>

namespace regions {

class Placement {
 public:
  // The device with the fewest elements, the first of them if there are several; it counts one more
  // from now on.
  int place(int devices) {
    const std::lock_guard lock(mutex_);
    int best = 0;
    for (int i = 1; i < devices; ++i) {
      if (elements(i) < elements(best)) best = i;
    }
    ++elements(best);
    return best;
  }
  // An element that has chosen for itself, and one that goes.
  void enter(int device) {
    const std::lock_guard lock(mutex_);
    ++elements(device);
  }
  void leave(int device) {
    const std::lock_guard lock(mutex_);
    --elements(device);
  }

 private:
  int& elements(int device) {
    const auto i = static_cast<size_t>(device);
    if (i >= elements_.size()) elements_.resize(i + 1);
    return elements_[i];
  }

  std::mutex mutex_;
  std::vector<int> elements_;  // by device
};

}  // namespace regions

// DeviceBalancer: assigns each new element to the device that serves the fewest elements.
#pragma once

#include <mutex>
#include <vector>

namespace regions {

class DeviceBalancer {
 public:
  // Chooses a device 0 .. devices - 1 for a new element: the device with the fewest elements, or
  // the first such device. Counts the new element on this device.
  int choose(int devices) {
    const std::lock_guard lock(mutex_);
    int best = 0;
    for (int i = 1; i < devices; ++i) {
      if (elements(i) < elements(best)) best = i;
    }
    ++elements(best);
    return best;
  }
  // add_element() counts an element whose device the user selected. remove_element() is called when
  // an element stops, and counts one element less.
  void add_element(int device) {
    const std::lock_guard lock(mutex_);
    ++elements(device);
  }
  void remove_element(int device) {
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
  std::vector<int> elements_;  // [device], number of elements
};

}  // namespace regions

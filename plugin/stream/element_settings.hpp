// The settings that all elements share, for example the device. They are properties of every
// element.
#pragma once

#include "core/work_area.hpp"

namespace regions {

enum class Device : uint8_t {
  any,   // a working CUDA device, else the CPU
  cuda,  // a CUDA device; an error if there is none
  cpu
};
enum class AttachLabels : uint8_t {
  when_untouched,  // if the picture passes unchanged
  always,
  never  // an attached label map from upstream is removed as well
};

struct FilterSettings : WorkAreaParams {
  Device device = Device::any;
  int cuda_device_id = -1;     // -1: device of the input, of neighbours, or the least used one
  int cpu_threads = 0;         // 0: one per core
  int frames_in_flight = 0;    // 0: chosen by the element
  int priority = 0;            // of the GPU work, 0 (lowest) to 5
  bool post_messages = false;  // one element message per frame
  double max_gap = 5;          // seconds; longer jumps of timestamps start a new scene
  AttachLabels attach_labels = AttachLabels::when_untouched;
};

// The table of these properties. They precede the properties of each element.
std::span<const Field> fields_of(const FilterSettings&);

}  // namespace regions

// The settings that all elements share, for example the device. They are properties of every
// element.
#pragma once

#include "core/work_area.hpp"

namespace regions {

enum class Device : uint8_t {
  any,   // a working CUDA device, else the CPU
  cuda,  // a CUDA device; without one the element stops with an error
  cpu
};
enum class AttachLabels : uint8_t {
  when_untouched,  // if the picture passes unchanged
  always,
  never  // a label map that upstream attached is removed as well
};

struct FilterSettings : WorkAreaParams {
  Device device = Device::any;
  // -1: the device of the input memory, then of neighbouring elements, then the least used one.
  int cuda_device_id = -1;
  // Threads that share the work on a frame. 0: one per core.
  int cpu_threads = 0;
  // Frames or volumes that are processed at the same time. 0: 1 in live pipelines, else 4 frames or
  // 2 volumes.
  int frames_in_flight = 0;
  // Priority of the GPU work, 0 (lowest) to 5.
  int priority = 0;
  // Whether an element message with the regions of each frame is posted.
  bool post_messages = false;
  // Timestamps that jump by more seconds start a new scene.
  double max_gap = 5;
  AttachLabels attach_labels = AttachLabels::when_untouched;
};

// The fields of these properties. They precede the fields of each element's algorithm.
std::span<const Field> fields_of(const FilterSettings&);

}  // namespace regions

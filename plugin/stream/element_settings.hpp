// The settings that all elements share, for example the device. Every element has them as
// properties.
#pragma once

#include "core/work_area.hpp"
#include "plugin/metadata/region_meta.hpp"

namespace regions {

// The device that processes the frames.
enum class Device : uint8_t {
  any,   // a working CUDA device, else the CPU
  cuda,  // a CUDA device; without one the element stops with an error
  cpu
};
// When the label map is attached to a frame.
enum class AttachLabels : uint8_t {
  when_untouched,  // if the picture passes unchanged
  always,
  never  // also removes a label map that an upstream element attached
};

struct FilterSettings : WorkAreaParams {
  Device device = Device::any;
  // CUDA device index. -1 selects the device of the input memory, or else of neighbouring elements,
  // or else the least used device.
  int cuda_device_id = -1;
  // Maximum number of CPU threads that share the work on a frame. 0: one per core.
  int cpu_threads = 0;
  // Maximum number of frames or volumes that are processed at the same time. 0 means 1 in live
  // pipelines and in the streaming thread, else 4 frames or 2 volumes.
  int frames_in_flight = 0;
  // Whether an element on the CPU works in the streaming thread.
  bool works_in_streaming_thread() const { return cpu_threads == 1 && frames_in_flight <= 1; }
  // Priority of the GPU work, 0 (lowest) to 5.
  int priority = 0;
  // Whether an element message with the regions of each frame is posted.
  bool post_messages = false;
  // Timestamps that jump by more than this time start a new scene (seconds).
  double max_gap = 5;
  AttachLabels attach_labels = AttachLabels::when_untouched;
  int describe = kAllForms;  // bits of Forms

  // The rectangle and scale alone.
  const WorkAreaParams& rectangle() const { return *this; }
  WorkAreaParams& rectangle() { return *this; }
};

// The Field table of the settings. An element's properties are these fields, then the fields of its
// algorithm.
std::span<const Field> fields_of(const FilterSettings&);

}  // namespace regions

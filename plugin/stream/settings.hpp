// What every element can be told, whatever it computes.
#pragma once

#include "core/work_area.hpp"

namespace regions {

enum class Device : uint8_t { any, cuda, cpu };
enum class AttachLabels : uint8_t { when_untouched, always, never };

struct FilterSettings : WorkAreaParams {
  Device device = Device::any;
  int cuda_device_id = -1;
  int cpu_threads = 0;
  int frames_in_flight = 0;
  int priority = 0;
  bool post_messages = false;
  double max_gap = 5;
  AttachLabels attach_labels = AttachLabels::when_untouched;
};

std::span<const Field> fields_of(const FilterSettings&);

}  // namespace regions

// The element regionevents: its parameters and its registration.
#pragma once

#include <gst/gst.h>

#include <span>
#include <string>

#include "core/field.hpp"

namespace regions {

struct RegionEventsParams {
  std::string rules;
  bool post_messages = true;
  bool attach_shapes = true;
  bool attach_classes = false;
};
std::span<const Field> fields_of(const RegionEventsParams&);

inline constexpr const char* kRegionEventsDescription =
    "Reports objects that enter or leave zones, cross lines, stay, stop or gather";

// Registers the element with the plugin.
gboolean register_region_events(GstPlugin* plugin);

}  // namespace regions

// The elements of the plugin in GStreamer's registry that process pictures.
#pragma once

#include <gst/gst.h>

#include <algorithm>
#include <string>
#include <vector>

namespace regions::test {

inline std::vector<std::string> all_elements() {
  std::vector<std::string> names;
  gst_init(nullptr, nullptr);
  GList* features = gst_registry_get_feature_list_by_plugin(gst_registry_get(), "regions");
  for (const GList* l = features; l; l = l->next) {
    GstElement* element = gst_element_factory_make(GST_OBJECT_NAME(l->data), nullptr);
    // regionevents reads only metadata, so it has no device.
    const bool has_device = g_object_class_find_property(G_OBJECT_GET_CLASS(element), "device");
    if (has_device) names.emplace_back(GST_OBJECT_NAME(l->data));
    gst_object_unref(element);
  }
  gst_plugin_feature_list_free(features);
  return names;
}

// These lines as in gst-launch, and a line for each element that is not in any of them.
inline std::vector<std::string> with_all_elements(std::vector<std::string> lines) {
  for (const std::string& name : all_elements()) {
    const bool is_there = std::ranges::any_of(
        lines, [&](const std::string& line) { return line.find(name) != line.npos; });
    if (!is_there) lines.push_back(name);
  }
  return lines;
}

}  // namespace regions::test

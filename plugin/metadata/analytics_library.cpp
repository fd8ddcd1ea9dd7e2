// Opening the analytics library.
#include "plugin/metadata/analytics_library.hpp"

#include <dlfcn.h>

#include <optional>
#include <string>

namespace regions {
namespace {

// It must be of the GStreamer that runs; another installation's may lie beside an older one.
bool can_be_here() {
  guint major = 0, minor = 0, micro = 0, nano = 0;
  gst_version(&major, &minor, &micro, &nano);
  constexpr guint kSince = 24;
  return major == 1 && minor >= kSince;
}

template <class Function>
bool look_up(void* library, const char* name, Function*& function) {
  function = reinterpret_cast<Function*>(dlsym(library, (std::string("gst_") + name).c_str()));
  return function != nullptr;
}

std::optional<AnalyticsLibrary> open() {
  if (!can_be_here()) return {};
  void* library = dlopen("libgstanalytics-1.0.so.0", RTLD_NOW | RTLD_LOCAL);  // stays open
  if (!library) return {};
  AnalyticsLibrary a = {};
  const bool whole =
      look_up(library, "buffer_get_analytics_relation_meta", a.get) &&
      look_up(library, "buffer_add_analytics_relation_meta_full", a.add) &&
      look_up(library, "analytics_relation_meta_iterate", a.iterate) &&
      look_up(library, "analytics_relation_meta_get_relation", a.relation) &&
      look_up(library, "analytics_relation_meta_set_relation", a.set_relation) &&
      look_up(library, "analytics_relation_meta_get_direct_related", a.related) &&
      look_up(library, "analytics_mtd_get_mtd_type", a.type_of) &&
      look_up(library, "analytics_mtd_get_size", a.size_of) &&
      look_up(library, "analytics_relation_meta_get_mtd_data", a.data_of) &&
      look_up(library, "analytics_relation_meta_add_mtd", a.add_entry) &&
      look_up(library, "analytics_od_mtd_get_mtd_type", a.detection_type) &&
      look_up(library, "analytics_od_mtd_get_obj_type", a.detection_object) &&
      look_up(library, "analytics_relation_meta_add_od_mtd", a.add_detection) &&
      look_up(library, "analytics_tracking_mtd_get_mtd_type", a.tracking_type) &&
      look_up(library, "analytics_relation_meta_add_tracking_mtd", a.add_tracking) &&
      look_up(library, "analytics_tracking_mtd_update_last_seen", a.update_last_seen);
  if (!whole) return {};
  const bool segments =
      look_up(library, "analytics_segmentation_mtd_get_mtd_type", a.segmentation_type) &&
      look_up(library, "analytics_relation_meta_add_segmentation_mtd", a.add_segmentation) &&
      look_up(library, "analytics_segmentation_mtd_get_mask", a.segmentation_map);
  if (!segments) a.segmentation_type = nullptr;
  return a;
}

}  // namespace

const AnalyticsLibrary* AnalyticsLibrary::find() {
  static const std::optional<AnalyticsLibrary> library = open();
  return library ? &*library : nullptr;
}

}  // namespace regions

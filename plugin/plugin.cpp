// The plugin `regions`: registers the metadata and one element per algorithm.
#include <gst/gst.h>

#include "plugin/element/region_filter.hpp"
#include "plugin/metadata/region_meta.hpp"

namespace regions {
// REGIONS_ALGORITHMS is the list in meson.build: X(cclabel) X(regionoverlay) …
#define X(name) const ElementSpec& name##_element();
REGIONS_ALGORITHMS
#undef X
}  // namespace regions

// Also runs in the plugin scanner, so it does not initialize CUDA.
static gboolean plugin_init(GstPlugin* plugin) {
  regions::register_region_meta();
  gboolean all = TRUE;
#define X(name) all = regions::register_element(plugin, regions::name##_element()) && all;
  REGIONS_ALGORITHMS
#undef X
  return all;
}

GST_PLUGIN_DEFINE(GST_VERSION_MAJOR, GST_VERSION_MINOR, regions,
                  "Cuts video into regions on the GPU or the CPU", plugin_init, REGIONS_VERSION,
                  "LGPL", "gst-regions", REGIONS_ORIGIN)

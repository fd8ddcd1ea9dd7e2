// The plugin `regions`: registers the metadata and one element an algorithm.
#include <gst/gst.h>

#include "plugin/element/region_filter.hpp"
#include "plugin/metadata/region_meta.hpp"

namespace regions {
// The list stands in meson.build: REGIONS_ALGORITHMS is X(cclabel) X(regionoverlay) …
#define X(name) const ElementSpec& name##_element();
REGIONS_ALGORITHMS
#undef X
}  // namespace regions

// CUDA is not touched here: this runs in the plugin scanner too.
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

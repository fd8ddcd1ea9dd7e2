// The plugin `regions`: registers the metadata, one element per algorithm, and
// regionevents.
#include <gst/gst.h>

#include "plugin/element/region_filter.hpp"
#include "plugin/elements/regionevents.hpp"
#include "plugin/metadata/region_meta.hpp"

namespace regions {
// meson.build defines REGIONS_ALGORITHMS as a list of macro calls: X(cclabel) X(regionoverlay) …
#define X(name) const ElementSpec& name##_element();
REGIONS_ALGORITHMS
#undef X
}  // namespace regions

// Called when GStreamer loads the plugin. GStreamer's plugin scanner calls it too, so it must not
// initialise CUDA.
static gboolean plugin_init(GstPlugin* plugin) {
  regions::register_region_meta();
  gboolean are_registered = TRUE;
#define X(name) \
  are_registered = regions::register_element(plugin, regions::name##_element()) && are_registered;
  REGIONS_ALGORITHMS
#undef X
  return regions::register_region_events(plugin) && are_registered;
}

GST_PLUGIN_DEFINE(GST_VERSION_MAJOR, GST_VERSION_MINOR, regions,
                  "Cuts video into regions on the GPU or the CPU", plugin_init, REGIONS_VERSION,
                  "LGPL", "gst-regions", REGIONS_ORIGIN)

// Starting GStreamer for fuzz targets.
#include "tests/fuzz/gstreamer.hpp"

extern "C" const GstPluginDesc* gst_plugin_regions_get_desc();

namespace regions::fuzz {

void start_gstreamer(bool others) {
  g_setenv("GST_REGISTRY_FORK", "no", TRUE);
  g_unsetenv("GST_PLUGIN_PATH");
  g_unsetenv("GST_PLUGIN_PATH_1_0");
  if (!others) {
    g_setenv("GST_REGISTRY_DISABLE", "yes", TRUE);
    g_setenv("GST_PLUGIN_SYSTEM_PATH", "", TRUE);
    g_setenv("GST_PLUGIN_SYSTEM_PATH_1_0", "", TRUE);
  }
  gst_init(nullptr, nullptr);
  g_log_set_always_fatal(
      static_cast<GLogLevelFlags>(G_LOG_LEVEL_ERROR | G_LOG_LEVEL_CRITICAL | G_LOG_FATAL_MASK));
  const GstPluginDesc* ours = gst_plugin_regions_get_desc();
  gst_plugin_register_static(ours->major_version, ours->minor_version, ours->name,
                             ours->description, ours->plugin_init, ours->version, ours->license,
                             ours->source, ours->package, ours->origin);
}

}  // namespace regions::fuzz

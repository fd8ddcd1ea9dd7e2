// Starting GStreamer for fuzz targets.
#include "tests/fuzz/gstreamer.hpp"

#include "tests/fuzz/values.hpp"

extern "C" const GstPluginDesc* gst_plugin_regions_get_desc();

namespace regions::fuzz {
namespace {

// GLib's own way to end a program is a signal that libFuzzer does not see.
void judge(const gchar* domain, GLogLevelFlags level, const gchar* message, gpointer) {
  if (!(level & (G_LOG_LEVEL_ERROR | G_LOG_LEVEL_CRITICAL))) return;
  const std::string text = message ? message : "";
  // Values of properties that GObject refuses are given on purpose. GLib's newer versions call that
  // critical.
  if (text.find("is invalid or out of range for property") != std::string::npos) return;
  fail(std::string(domain ? domain : "") + " CRITICAL " + text);
}

}  // namespace

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
  if (others) return;
  g_log_set_default_handler(judge, nullptr);
  const GstPluginDesc* ours = gst_plugin_regions_get_desc();
  gst_plugin_register_static(ours->major_version, ours->minor_version, ours->name,
                             ours->description, ours->plugin_init, ours->version, ours->license,
                             ours->source, ours->package, ours->origin);
}

}  // namespace regions::fuzz

// Replaces gst_version(), also in the elements: REGIONS_ANALYTICS is the minor version.
#include <gst/gst.h>

extern "C" void gst_version(guint* major, guint* minor, guint* micro, guint* nano) {
  *major = 1;
  *minor = static_cast<guint>(g_ascii_strtoull(g_getenv("REGIONS_ANALYTICS"), nullptr, 10));
  *micro = *nano = 0;
}

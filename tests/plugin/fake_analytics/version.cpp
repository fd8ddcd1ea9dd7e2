// The version of GStreamer that these tests have the elements see.
#include <gst/gst.h>

// Takes the place of GStreamer's, in the elements too.
extern "C" void gst_version(guint* major, guint* minor, guint* micro, guint* nano) {
  *major = 1;
  *minor = static_cast<guint>(g_ascii_strtoull(g_getenv("REGIONS_ANALYTICS"), nullptr, 10));
  *micro = *nano = 0;
}

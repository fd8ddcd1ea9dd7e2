// Mouse events that travel upstream.
#include "plugin/clicks.hpp"

#include <gst/video/navigation.h>

#include <cmath>

namespace regions {

void follow_click(GstElement* element, Engine& engine, GstEvent* event) {
  if (gst_navigation_event_get_type(event) != GST_NAVIGATION_EVENT_MOUSE_BUTTON_PRESS) return;
  gint button = 0;
  gdouble x = 0, y = 0;
  if (!gst_navigation_event_parse_mouse_button_event(event, &button, &x, &y)) return;
  if (!std::isfinite(x) || !std::isfinite(y)) return;
  if (const char* changed = engine.click(button, x, y)) {
    g_object_notify(G_OBJECT(element), changed);
  }
}

}  // namespace regions

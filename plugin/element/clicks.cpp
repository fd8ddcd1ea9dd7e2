// Clicks and touches that travel upstream.
#include "plugin/element/clicks.hpp"

#include <gst/video/navigation.h>

#include <cmath>

namespace regions {

namespace {

constexpr gint kLeft = 1;

// False for what is neither a click nor a touch.
bool read_click(GstEvent* event, gint& button, gdouble& x, gdouble& y) {
  switch (gst_navigation_event_get_type(event)) {
    case GST_NAVIGATION_EVENT_MOUSE_BUTTON_PRESS:
      return gst_navigation_event_parse_mouse_button_event(event, &button, &x, &y);
    case GST_NAVIGATION_EVENT_TOUCH_DOWN:
      button = kLeft;
      return gst_navigation_event_parse_touch_event(event, nullptr, &x, &y, nullptr);
    default:
      return false;
  }
}

}  // namespace

void follow_click(GstElement* element, Engine& engine, GstEvent* event) {
  gint button = 0;
  gdouble x = 0, y = 0;
  if (!read_click(event, button, x, y)) return;
  if (!std::isfinite(x) || !std::isfinite(y)) return;
  if (const char* changed = engine.click(button, x, y)) {
    g_object_notify(G_OBJECT(element), changed);
  }
}

}  // namespace regions

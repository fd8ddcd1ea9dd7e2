// The messages that are logged.
#pragma once

#include <gst/gst.h>

#include <algorithm>
#include <mutex>
#include <string>
#include <vector>

#include "tests/plugin/harness.hpp"

namespace regions::test {

// Collects the messages of the category `regions`, and the plugin's messages in the default
// category (strays).
class Log {
 public:
  explicit Log(GstDebugLevel level) {
    start_gstreamer();
    gst_debug_remove_log_function(gst_debug_log_default);
    gst_debug_add_log_function(take, this, nullptr);
    gst_debug_set_threshold_for_name("regions", level);
    gst_debug_set_threshold_for_name("default", level);
  }
  Log(const Log&) = delete;
  ~Log() {
    gst_debug_unset_threshold_for_name("default");
    gst_debug_unset_threshold_for_name("regions");
    gst_debug_remove_log_function(take);
    gst_debug_add_log_function(gst_debug_log_default, nullptr, nullptr);
  }

  bool has(const std::string& part) const {
    const std::lock_guard lock(mutex_);
    return std::any_of(ours_.begin(), ours_.end(),
                       [&](const std::string& line) { return line.find(part) != line.npos; });
  }
  std::vector<std::string> all() const {
    const std::lock_guard lock(mutex_);
    return ours_;
  }
  std::vector<std::string> strays() const {
    const std::lock_guard lock(mutex_);
    return strays_;
  }

 private:
  static void take(GstDebugCategory* category, GstDebugLevel, const gchar* file, const gchar*, gint,
                   GObject*, GstDebugMessage* message, gpointer self) {
    auto& log = *static_cast<Log*>(self);
    const std::lock_guard lock(log.mutex_);
    const std::string name = gst_debug_category_get_name(category);
    const std::string line = gst_debug_message_get(message);
    if (name == "regions") log.ours_.push_back(line);
    const bool of_plugin = std::string(file).find("plugin/") != std::string::npos;
    if (name == "default" && of_plugin) log.strays_.push_back(std::string(file) + ": " + line);
  }

  mutable std::mutex mutex_;
  std::vector<std::string> ours_, strays_;
};

}  // namespace regions::test

// The domain, code and text of an error or a warning.
#pragma once

#include "tests/plugin/harness.hpp"

namespace regions::test {

struct ErrorDetails {
  GQuark domain = 0;
  int code = 0;
  std::string text;
};

// All zero and empty for no message.
inline ErrorDetails error_details(const MessagePtr& message) {
  if (!message) return {};
  GError* error = nullptr;
  if (GST_MESSAGE_TYPE(message.get()) == GST_MESSAGE_ERROR) {
    gst_message_parse_error(message.get(), &error, nullptr);
  } else {
    gst_message_parse_warning(message.get(), &error, nullptr);
  }
  const ErrorDetails details = {error->domain, error->code, error->message};
  g_error_free(error);
  return details;
}

}  // namespace regions::test

// Recognises errors that REGIONS_FAULTS injected.
#pragma once

#include <glib.h>

#include <cstring>

namespace regions {

inline bool is_injected_fault(const GError& error) {
  // The base class reports that it cannot start a pool, but not the reason.
  return strstr(error.message, "injected failure") || strstr(error.message, "activate bufferpool");
}

}  // namespace regions

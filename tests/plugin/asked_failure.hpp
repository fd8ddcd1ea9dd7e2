// How a stream's error shows that its failure was asked for (REGIONS_FAULTS).
#pragma once

#include <glib.h>

#include <cstring>

namespace regions {

inline bool is_asked_failure(const GError& error) {
  // The base class tells that it cannot start a pool of ours, but not why.
  return strstr(error.message, "injected failure") || strstr(error.message, "activate bufferpool");
}

}  // namespace regions

// Whether a picture of labels can hold a frame's regions.
#pragma once

#include <string>

#include "core/format.hpp"

namespace regions {

// What is to be said of a finished frame.
struct Verdict {
  uint32_t kept = 0;    // regions that have a label
  std::string warning;  // empty if all is well
};

// Greatest label that a label picture of this layout can hold.
uint32_t label_limit(const Layout& layout);

// "300 regions, but GRAY8 holds labels up to 255"
std::string too_many(uint32_t total, const char* what, const Layout& out);

}  // namespace regions

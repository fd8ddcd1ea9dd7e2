// What labels a picture can hold.
#include "core/verdict.hpp"

namespace regions {

uint32_t label_limit(const Layout& layout) {
  if (layout.sample_bytes == 4) return UINT32_MAX;
  return static_cast<uint32_t>(layout.max_value());
}

std::string too_many(uint32_t total, const char* what, const Layout& out) {
  return std::to_string(total) + " " + what + ", but " + std::string(name_of(out.format)) +
         " holds labels up to " + std::to_string(label_limit(out));
}

}  // namespace regions

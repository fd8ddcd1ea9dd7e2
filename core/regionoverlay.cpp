// The parameter table of regionoverlay.
#include "core/regionoverlay.hpp"

namespace regions {

std::span<const Field> fields_of(const RegionOverlayParams&) {
  static const std::vector<Field> fields = drawing_fields<RegionOverlayParams>();
  return fields;
}

}  // namespace regions

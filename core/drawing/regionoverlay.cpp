// The parameter table of regionoverlay, and what it can draw on.
#include "core/drawing/regionoverlay.hpp"

namespace regions {

std::span<const Field> fields_of(const RegionOverlayParams&) {
  static const std::vector<Field> fields = drawing_fields<RegionOverlayParams>();
  return fields;
}

Output output_of(const RegionOverlayParams&) { return Output::drawn_on; }

void plan(const RegionOverlayParams&, Setup& setup) { setup.max_regions = 1 << 16; }

void expects_drawable(const Setup& setup) {
  const auto within = [](int n) { return n >= 1 && n <= 65535; };
  expects(within(setup.size.width) && within(setup.size.height),
          "pictures must have sides of 1 to 65535 pixels; this one has " +
              std::to_string(setup.size.width) + "x" + std::to_string(setup.size.height));
  expects(setup.slots >= 1, "drawing requires at least one slot");
  expects(setup.in.model != ColorModel::labels, "regions cannot be drawn on a label image");
  if (setup.has_output) expects_output(setup, Output::drawn_on);
  expects(!setup.has_mask || setup.mask.model == ColorModel::gray ||
              setup.mask.model == ColorModel::labels,
          "labels cannot be read from " + std::string(name_of(setup.mask.format)));
}

}  // namespace regions

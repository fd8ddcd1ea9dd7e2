// Parameters of regionoverlay, which draws the regions of the `regions` metadata on any picture;
// and the functions that every algorithm declares for the element and the library.
#pragma once

#include "core/algorithm.hpp"
#include "core/drawing/drawing.hpp"

namespace regions {

struct RegionOverlayParams : DrawingParams {};

namespace regionoverlay {
using Params = RegionOverlayParams;  // the name that meson.build's list of algorithms requires
}

std::span<const Field> fields_of(const RegionOverlayParams&);
Output output_of(const RegionOverlayParams& params);
// Derives the fields of a setup from the parameters.
void plan(const RegionOverlayParams& params, Setup& setup);

// The check that both backends share: throws InputError unless frames of this setup can be drawn
// on.
void expects_drawable(const Setup& setup);

}  // namespace regions

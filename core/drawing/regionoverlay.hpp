// Drawing what the `regions` metadata holds, on any picture.
#pragma once

#include "core/drawing/drawing.hpp"
#include "core/output.hpp"

namespace regions {

struct RegionOverlayParams : DrawingParams {};

namespace regionoverlay {
using Params = RegionOverlayParams;  // by the name that stands in meson.build's list
}

std::span<const Field> fields_of(const RegionOverlayParams&);
Output output_of(const RegionOverlayParams& params);
// What the parameters make of a setup.
void plan(const RegionOverlayParams& params, Setup& setup);

// What both backends refuse: throws InputError unless frames of this setup can be drawn on.
void expects_drawable(const Setup& setup);

}  // namespace regions

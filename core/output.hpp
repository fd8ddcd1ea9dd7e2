// What becomes of the picture that comes in, and in which formats one leaves. Each algorithm's
// output_of(parameters) chooses.
#pragma once

#include <span>

#include "core/algorithm.hpp"

namespace regions {

enum class Output : uint8_t {
  untouched,  // passes on with metadata
  drawn_on,   // passes on, changed in place
  labels,     // replaced by a label picture
  mask,       // replaced by a GRAY8 mask
  colors,     // replaced by an RGB picture
  cutout      // replaced by an RGBA picture whose alpha is the mask
};

// The formats of what replaces the picture, best first; none where it passes on in its own.
std::span<const PixelFormat> formats_of(Output output);

// Throws InputError unless the setup's output may be such a picture.
void expects_output(const Setup& setup, Output output);

}  // namespace regions

// The digits that ids are written with: sizes of one font, rendered when the project is built
// (glyphs.py), so that nothing needs a font at run time.
#pragma once

#include <cstdint>

#include "core/image.hpp"

namespace regions {

struct GlyphSize {
  int em = 0;          // nominal height of the font in pixels
  int width = 0;       // pixels of a digit's cell, the same for all digits
  int height = 0;      // pixels, no room above or below
  uint32_t start = 0;  // of the cells in the coverage table: [10][height][width], 0..255
};

// The size that reads well on a picture of so many rows.
GlyphSize glyphs_for(int picture_height);

// The coverage table, on the host. A GPU has a copy of its own (glyph_table.hpp).
const uint8_t* glyph_coverage();

}  // namespace regions

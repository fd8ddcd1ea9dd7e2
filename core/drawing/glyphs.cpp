// Which size of digits a picture gets.
#include "core/drawing/glyphs.hpp"

#include "core/drawing/glyph_table.hpp"

namespace regions {

GlyphSize glyphs_for(int picture_height) {
  GlyphSize best = kGlyphSizes[0];
  for (const GlyphSize& size : kGlyphSizes) {
    if (size.em * 45 <= picture_height) best = size;  // 24 px at 1080 rows
  }
  return best;
}

const uint8_t* glyph_coverage() { return kGlyphCoverage; }

}  // namespace regions

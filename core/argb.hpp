// Colours as they are named: red, green and blue of 8 bits.
#pragma once

#include <cstdint>

namespace regions {

struct Rgb {
  uint8_t red = 0, green = 0, blue = 0;
};

// 0xAARRGGBB, alpha 255 opaque.
struct Argb {
  uint32_t code = 0;

  uint8_t alpha() const { return static_cast<uint8_t>(code >> 24); }
  Rgb rgb() const {
    return {static_cast<uint8_t>(code >> 16), static_cast<uint8_t>(code >> 8),
            static_cast<uint8_t>(code)};
  }
};

}  // namespace regions

// Reads uncompressed RGB pictures from standard input.
#pragma once

#include <cstdio>
#include <cstring>

#include "tests/pictures/pictures.hpp"

namespace regions {

// Reads the next picture of this size. The input is packed RGB, the result is RGBX. Returns an
// empty picture at the end of the input.
inline Picture read_rgb(Size size) {
  std::vector<uint8_t> rgb(3 * size.area());
  if (std::fread(rgb.data(), 1, rgb.size(), stdin) != rgb.size()) return {};
  Picture picture{.size = size, .format = PixelFormat::rgbx, .pixels = {}};
  picture.pixels.assign(4 * size.area(), 255);
  for (size_t i = 0; i < size.area(); ++i) {
    std::memcpy(&picture.pixels[4 * i], &rgb[3 * i], 3);
  }
  return picture;
}

}  // namespace regions

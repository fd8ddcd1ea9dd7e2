// Portable bitmaps, graymaps and pixmaps (PBM, PGM, PPM: netpbm's P1 to P6).
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "core/image.hpp"

namespace regions {

struct Anymap {
  Size size;
  std::vector<std::byte>
      pixels;  // [height][width] RGB, rows at multiples of four bytes, as GStreamer's
};

// The first picture of such a file, of up to `most` pixels each way; none where the file is damaged
// or cut short.
std::optional<Anymap> read_anymap(std::span<const std::byte> file, int most);

}  // namespace regions

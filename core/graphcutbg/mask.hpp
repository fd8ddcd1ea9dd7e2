// A mask that came with the frame, of whatever size, at the frame's pixels: between its four
// nearest pixels, so that the border of a coarse mask is uncertain and the cut finds it in the
// picture.
#pragma once

#include "core/frame.hpp"

namespace regions::graphcut {

// How far apart the frame's pixels lie in a mask, pixels of 2^32.
struct MaskScale {
  uint64_t across = 0, down = 0;

  static MaskScale between(Size mask, Size frame) {
    const auto step = [](int from, int to) {
      return (static_cast<uint64_t>(from) << 32) / static_cast<uint64_t>(to);
    };
    return {step(mask.width, frame.width), step(mask.height, frame.height)};
  }
};

// Where the middle of the frame's pixel n lies between the middles of two of the mask's `count`
// pixels. At equal sizes that is the mask's pixel n.
struct MaskPlace {
  int first, second;
  int part;  // of the second, of 256

  REGIONS_HD MaskPlace(int n, uint64_t step, int count) {
    // At most 2^48, as sides are below 2^16.
    const auto middle = static_cast<int64_t>(static_cast<uint64_t>(n) * step + step / 2);
    const int64_t at = (middle - (int64_t{1} << 31)) >> 24;
    const auto before = static_cast<int>(at >> 8);
    part = static_cast<int>(at & 255);
    first = before < 0 ? 0 : before;
    second = before + 1 < count ? before + 1 : count - 1;
  }
};

// 0..255; a label counts as 255.
REGIONS_HD inline int mask_pixel(const ConstFrame& mask, int x, int y) {
  const int value = mask.sample(0, x, y);
  if (mask.layout.sample_bytes == 2) return value >> 8;
  if (mask.layout.sample_bytes == 1) return value;
  const std::byte* label = mask.at(0, x, y);
  return label[0] != std::byte{} || label[1] != std::byte{} || label[2] != std::byte{} ||
                 label[3] != std::byte{}
             ? 255
             : 0;
}

// The mask at the frame's pixel (x, y), 0..255.
REGIONS_HD inline int mask_value(const ConstFrame& mask, const MaskScale& scale, int x, int y) {
  const MaskPlace u(x, scale.across, mask.width), v(y, scale.down, mask.height);
  const auto along = [&](int row) {
    const int left = mask_pixel(mask, u.first, row);
    return left * 256 + (mask_pixel(mask, u.second, row) - left) * u.part;
  };
  const int upper = along(v.first);
  return (upper * 256 + (along(v.second) - upper) * v.part + (1 << 15)) >> 16;
}

}  // namespace regions::graphcut

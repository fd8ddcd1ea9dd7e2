// Frames with guarded surroundings: the bytes before, after and in the padding of the rows have a
// pattern that must not change.
#pragma once

#include <vector>

#include "core/frame.hpp"

namespace regions {

class GuardedFrame {
 public:
  // `padding` bytes after each row; odd ones make odd pitches (not for 4-byte samples).
  GuardedFrame(PixelFormat format, Size size, int padding = 0, Colorimetry color = {});
  GuardedFrame(GuardedFrame&&) = default;
  GuardedFrame& operator=(GuardedFrame&&) = default;

  Frame frame();
  ConstFrame frame() const;
  // The labels of a labels32 frame.
  LabelMap labels();
  // Whether the pattern is whole everywhere outside the pixels.
  bool intact() const;
  // Whether all pixels equal the other's, which has the same format and size.
  bool same_pixels(const GuardedFrame& other) const;

 private:
  std::vector<std::byte> bytes_;
  ConstFrame view_;
};

// A picture in any format and colorimetry: `gray` becomes component 0 of each pixel (scaled to the
// depth; R, G and B alike), everything else (chroma, alpha) is noise. With Tint::noise the colours
// of RGB differ a little from each other.
enum class Tint : uint8_t { none, noise };
GuardedFrame convert(const ConstFrame& gray, PixelFormat format, Colorimetry color = {},
                     int padding = 0, Tint tint = Tint::none);

}  // namespace regions

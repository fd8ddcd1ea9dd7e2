// A grey room in which a bright square appears, through an element.
#pragma once

#include "tests/plugin/harness.hpp"

namespace regions::test {

constexpr int kWidth = 96, kHeight = 64;
constexpr int kLeft = 30, kTop = 20, kSide = 24;  // of the thing that appears

// A textured grey room; `thing`: with a bright square.
inline std::vector<uint8_t> room(bool thing, int shift = 0) {
  std::vector<uint8_t> gray(kWidth * kHeight);
  for (int y = 0; y < kHeight; ++y) {
    for (int x = 0; x < kWidth; ++x) {
      const bool inside =
          x >= kLeft + shift && x < kLeft + shift + kSide && y >= kTop && y < kTop + kSide;
      gray[static_cast<size_t>(y * kWidth + x)] =
          static_cast<uint8_t>(thing && inside ? 220 : 60 + (x * 7 + y * 13) % 8);
    }
  }
  return gray;
}

// Sends an empty room, then, as the last of them, one with the thing. Gives the last frame out.
// `repeats`: how often a pixel's gray value stands in the format.
inline BufferPtr last_of(Harness& h, int frames = 12, int repeats = 1) {
  BufferPtr out;
  for (int i = 0; i < frames; ++i) {
    std::vector<uint8_t> bytes;
    for (const uint8_t g : room(i == frames - 1)) {
      bytes.insert(bytes.end(), static_cast<size_t>(repeats), g);
    }
    if (h.push(std::move(bytes), i) != GST_FLOW_OK) return nullptr;
    out = h.pull();
    if (!out) return nullptr;
  }
  return out;
}

// Share of a mask's pixels inside the thing (or outside of it) that are foreground.
inline double foreground_share(const std::vector<uint8_t>& mask, bool inside) {
  int count = 0, foreground = 0;
  for (int y = 0; y < kHeight; ++y) {
    for (int x = 0; x < kWidth; ++x) {
      const bool in = x >= kLeft && x < kLeft + kSide && y >= kTop && y < kTop + kSide;
      if (in != inside) continue;
      ++count;
      foreground += mask[static_cast<size_t>(y * kWidth + x)] > 127;
    }
  }
  return static_cast<double>(foreground) / count;
}

}  // namespace regions::test

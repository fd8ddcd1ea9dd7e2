// Frames of a grey room in which a bright square appears.
#pragma once

#include "tests/plugin/harness.hpp"

namespace regions::test {

constexpr int kWidth = 96, kHeight = 64;
constexpr int kLeft = 30, kTop = 20, kSide = 24;  // of the square

// A textured grey room, with a bright square if `square` is set.
inline std::vector<uint8_t> room_picture(bool square, int shift = 0) {
  std::vector<uint8_t> gray(kWidth * kHeight);
  for (int y = 0; y < kHeight; ++y) {
    for (int x = 0; x < kWidth; ++x) {
      const bool inside =
          x >= kLeft + shift && x < kLeft + shift + kSide && y >= kTop && y < kTop + kSide;
      gray[static_cast<size_t>(y * kWidth + x)] =
          static_cast<uint8_t>(square && inside ? 220 : 60 + (x * 7 + y * 13) % 8);
    }
  }
  return gray;
}

// Pushes frames of the empty room and one frame with the square. Returns the last output buffer.
// `repeats`: the number of components, which all contain the gray value.
inline BufferPtr last_of(Harness& h, int frames = 12, int repeats = 1) {
  BufferPtr out;
  for (int i = 0; i < frames; ++i) {
    std::vector<uint8_t> bytes;
    for (const uint8_t g : room_picture(i == frames - 1)) {
      bytes.insert(bytes.end(), static_cast<size_t>(repeats), g);
    }
    if (h.push(std::move(bytes), i) != GST_FLOW_OK) return nullptr;
    out = h.pull();
    if (!out) return nullptr;
  }
  return out;
}

// The share of foreground among the pixels inside or outside the square.
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

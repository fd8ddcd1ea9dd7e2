// A scene for tests of the work area, and the scaled pictures that elements process.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace regions::test {

using Bytes = std::vector<uint8_t>;

struct Area {
  int left, top, width, height;
};

// A gray picture in which a bright block moves over a textured background. All widths are multiples
// of 4, so that rows of GRAY8 have no padding.
struct Scene {
  int width = 96, height = 64;

  Bytes picture(int index) const {
    Bytes bytes(static_cast<size_t>(width * height));
    for (int y = 0; y < height; ++y) {
      for (int x = 0; x < width; ++x) {
        const bool block = x >= 20 + 3 * index && x < 50 + 3 * index && y >= 16 && y < 44;
        const bool dot = x % 24 == 3 && y % 16 == 5;
        bytes[static_cast<size_t>(y * width + x)] =
            static_cast<uint8_t>(block && index > 0 ? 210
                                 : dot              ? 250
                                                    : 50 + (x * 5 + y * 9) % 23);
      }
    }
    return bytes;
  }
};

// The picture in the area, scaled down: means of blocks of `factor` × `factor` pixels.
inline Bytes smaller(const Bytes& whole, const Scene& scene, Area r, int factor) {
  Bytes bytes;
  for (int y = 0; y < r.height; y += factor) {
    for (int x = 0; x < r.width; x += factor) {
      int sum = 0;
      for (int v = 0; v < factor; ++v) {
        for (int u = 0; u < factor; ++u) {
          sum += whole[static_cast<size_t>((r.top + y + v) * scene.width + r.left + x + u)];
        }
      }
      bytes.push_back(static_cast<uint8_t>((sum + factor * factor / 2) / (factor * factor)));
    }
  }
  return bytes;
}

// The picture in the area, enlarged by `factor`; 0 outside the area. `pixel` is in bytes.
inline Bytes enlarged(const Bytes& small, const Scene& scene, Area r, int factor, int pixel) {
  Bytes bytes(static_cast<size_t>(scene.width * scene.height * pixel));
  for (int v = 0; v < r.height; ++v) {
    for (int u = 0; u < r.width; ++u) {
      const int from = (v / factor * (r.width / factor) + u / factor) * pixel;
      const int to = ((r.top + v) * scene.width + r.left + u) * pixel;
      std::copy_n(&small[static_cast<size_t>(from)], pixel, &bytes[static_cast<size_t>(to)]);
    }
  }
  return bytes;
}

inline std::string placed(const std::string& line, Area r, double scale) {
  return line + " left=" + std::to_string(r.left) + " top=" + std::to_string(r.top) +
         " width=" + std::to_string(r.width) + " height=" + std::to_string(r.height) +
         " process-scale=" + std::to_string(scale);
}

}  // namespace regions::test

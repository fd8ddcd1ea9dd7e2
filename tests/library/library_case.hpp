// Filters with a destructor and small pictures for tests of the C interface.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "library/regions.h"

namespace regions::test {

constexpr int kWidth = 53, kHeight = 37;  // odd, so that chroma is padded

struct Close {
  void operator()(RegionsFilter* filter) const { regions_close(filter); }
};
using Filter = std::unique_ptr<RegionsFilter, Close>;

inline Filter open(const char* algorithm, const char* device = "cpu") {
  Filter filter(regions_open(algorithm, device, 2));
  EXPECT_TRUE(filter) << regions_error();
  return filter;
}

template <class T>
RegionsPicture picture(const char* format, std::vector<T>& pixels, int channels = 1) {
  RegionsPicture p = {};
  p.format = format;
  p.width = kWidth;
  p.height = kHeight;
  p.plane[0] = pixels.data();
  p.pitch[0] = static_cast<ptrdiff_t>(sizeof(T)) * kWidth * channels;
  return p;
}

// A picture of 20 with 6x4 pixels of 200 at (3, 2) and 10x5 pixels of 240 at (20, 12).
inline std::vector<uint8_t> rectangles() {
  std::vector<uint8_t> pixels(kWidth * kHeight, 20);
  const auto fill = [&](int x0, int y0, int w, int h, uint8_t value) {
    for (int y = y0; y < y0 + h; ++y) {
      std::memset(&pixels[static_cast<size_t>(y * kWidth + x0)], value, static_cast<size_t>(w));
    }
  };
  fill(3, 2, 6, 4, 200);
  fill(20, 12, 10, 5, 240);
  return pixels;
}

struct Labelled {
  std::vector<uint8_t> in = rectangles();
  std::vector<uint32_t> labels = std::vector<uint32_t>(kWidth * kHeight, 77);
  RegionsRegion regions[4] = {};
  RegionsFrame frame = REGIONS_FRAME_INIT;
  Labelled() {
    frame.in = picture("GRAY8", in);
    frame.labels = picture("U32_LE", labels);
    frame.regions = regions;
    frame.capacity = 4;
  }
};

}  // namespace regions::test

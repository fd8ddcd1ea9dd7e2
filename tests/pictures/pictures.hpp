// The pictures that tests and benchmarks share: made from their name and size alone, the same on
// every machine.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "core/frame.hpp"

namespace regions {

// Gray8 (or rgb for the colour contents), rows without padding.
struct Picture {
  Size size;
  PixelFormat format = PixelFormat::gray8;
  std::vector<uint8_t> pixels;

  ConstFrame frame() const;
};

// The 21 contents of the labelling benchmarks, all 0 or 255: rand_g{1,16}_d{10..90}, maze, spiral,
// smooth.
std::span<const std::string_view> contents();

// Further ones, 0 or 255, each the hard case of something: empty, full, checkerboard, stripes_h,
// stripes_v, single, comb, frame.
std::span<const std::string_view> edge_contents();

// Pictures with many values, for the criteria `equal` and `difference`: gradient, clouds (gray8),
// blobs (rgb: flat patches with sparse noise).
std::span<const std::string_view> tone_contents();

// Any of the above, also footage (rgb: like a frame of a camera), and rand_g<granularity in
// pixels>_d<density in percent> with other numbers. Throws InputError for an unknown name.
Picture make_picture(std::string_view content, Size size);

// A hash that pictures and tests draw their noise from.
constexpr uint32_t hash(uint32_t x, uint32_t y, uint32_t seed = 0) {
  uint32_t h = x * 0x9E3779B1u ^ (y + 0x7F4A7C15u) * 0x85EBCA77u ^ seed * 0xC2B2AE3Du;
  h = (h ^ h >> 15) * 0x2C1B3C6Du;  // finaliser of Ellis' "prospecting for hash functions", 2018
  h = (h ^ h >> 12) * 0x297A2D39u;
  return h ^ h >> 15;
}

}  // namespace regions

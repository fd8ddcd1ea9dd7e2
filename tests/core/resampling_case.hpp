// Random pictures and rectangles for the tests of resampling.
#pragma once

#include <string>

#include "core/work_area.hpp"
#include "tests/pictures/guarded.hpp"
#include "tests/pictures/pictures.hpp"

namespace regions {

inline constexpr int kCases = 300;

// The step of place x, by walking: a step ends where the share of all places is used up.
inline int step_by_walking(int x, int few, int many) {
  int step = 0;
  while ((step + 1) * static_cast<int64_t>(many) / few <= x) ++step;
  return step;
}

struct ResamplingCase {
  PixelFormat format = PixelFormat::gray8;
  WorkAreaParams params;
  WorkArea place;
  int padding = 0;
  int number = 0;

  explicit ResamplingCase(int n) : number(n) {
    uint32_t draw = 0;
    const auto below = [&](int end) {
      return static_cast<int>(hash(++draw, static_cast<uint32_t>(n), 77) %
                              static_cast<uint32_t>(end));
    };
    format = static_cast<PixelFormat>(below(kPixelFormats - 1));  // all but labels
    const Size size = {1 + below(70), 1 + below(50)};
    params.left = below(3) ? below(size.width) : 0;
    params.top = below(3) ? below(size.height) : 0;
    params.width = below(80);
    params.height = below(60);
    params.process_scale = below(3) ? 1.0 / 16 + below(1000) * 15.0 / 16 / 1000 : 1;
    padding = 2 * below(8);
    place = work_area_of(params, layout_of(format), size);
  }
  std::string name() const {
    return "case " + std::to_string(number) + ", " + std::string(name_of(format)) + ", " +
           std::to_string(place.area.width) + "x" + std::to_string(place.area.height) + " at " +
           std::to_string(place.left) + ", " + std::to_string(place.top) + " of " +
           std::to_string(place.picture.width) + "x" + std::to_string(place.picture.height) +
           " as " + std::to_string(place.work.width) + "x" + std::to_string(place.work.height);
  }
  // Noise in every component.
  GuardedFrame noise(Size size, uint32_t seed) const {
    GuardedFrame made(format, size, padding);
    const Frame frame = made.frame();
    for (int y = 0; y < size.height; ++y) {
      for (int x = 0; x < size.width; ++x) {
        for (int c = 0; c < frame.layout.channels + frame.layout.alpha; ++c) {
          const uint32_t value = hash(static_cast<uint32_t>(x), static_cast<uint32_t>(y),
                                      seed + static_cast<uint32_t>(c + 4 * number));
          frame.set_sample(c, x, y, static_cast<int>(value) & frame.layout.max_value());
        }
      }
    }
    return made;
  }
};

}  // namespace regions

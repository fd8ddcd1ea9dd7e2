// Makes the gray-value volumes of the benchmarks.
#include "bench/programs/cubes.hpp"

#include <cmath>
#include <cstdio>
#include <thread>

namespace regions {

Picture make_cube(const std::string& content, int side) {
  int grain = 1, density = -1;
  std::sscanf(content.c_str(), "rand_g%d_d%d", &grain, &density);
  const auto noise = [](int x, int y, int z, uint32_t seed) {
    return hash(static_cast<uint32_t>(x), static_cast<uint32_t>(z * 4099 + y), seed);
  };
  // Returns noise(), interpolated trilinearly between integer coordinates.
  const auto interpolated = [&](double x, double y, double z, uint32_t seed) {
    const int cx = static_cast<int>(x), cy = static_cast<int>(y), cz = static_cast<int>(z);
    double sum = 0;
    for (int k = 0; k < 8; ++k) {
      const int dx = k % 2, dy = k / 2 % 2, dz = k / 4;
      const double weight =
          (1 - std::abs(x - cx - dx)) * (1 - std::abs(y - cy - dy)) * (1 - std::abs(z - cz - dz));
      sum += weight * (noise(cx + dx, cy + dy, cz + dz, seed) & 255);
    }
    return sum;
  };
  const auto value = [&](int x, int y, int z) -> uint8_t {
    if (density >= 0) {
      const auto percentile = static_cast<int>(noise(x / grain, y / grain, z / grain, 7) % 100);
      return percentile < density ? 255 : 0;
    }
    if (content == "uniform") return static_cast<uint8_t>(noise(x, y, z, 7));
    double sum = 0;
    for (int octave = 0; octave < 4; ++octave) {
      const double cell = (32 >> octave);
      sum += interpolated(x / cell, y / cell, z / cell, static_cast<uint32_t>(octave)) *
             (8 >> octave) / 15;
    }
    // Interpolated values are close to the middle of 0..255, so the contrast is doubled.
    return static_cast<uint8_t>(std::min(std::max((sum - 128) * 2 + 128, 0.0), 255.0));
  };
  const auto side_length = static_cast<size_t>(side);
  Picture cube{.size = {side, side * side}, .pixels = {}};
  cube.pixels.resize(side_length * side_length * side_length);
  const auto fill = [&](int begin, int step) {
    for (int z = begin; z < side; z += step) {
      uint8_t* voxel = cube.pixels.data() + static_cast<size_t>(z) * side_length * side_length;
      for (int y = 0; y < side; ++y) {
        for (int x = 0; x < side; ++x) *voxel++ = value(x, y, z);
      }
    }
  };
  const int threads = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  std::vector<std::jthread> helpers;
  for (int k = 1; k < threads; ++k) helpers.emplace_back(fill, k, threads);
  fill(0, threads);
  helpers.clear();  // waits for the threads
  return cube;
}

Picture make_head(Size slice, int slices) {
  Picture head{.size = {slice.width, slice.height * slices}, .pixels = {}};
  head.pixels.reserve(head.size.area());
  for (int z = 0; z < slices; ++z) {
    for (int y = 0; y < slice.height; ++y) {
      for (int x = 0; x < slice.width; ++x) {
        const double u = 2.0 * x / slice.width - 1, v = 2.0 * y / slice.height - 1;
        const double w = 2.0 * z / slices - 1;
        const double r = std::sqrt(u * u * 1.5 + v * v * 1.1 + w * w * 0.9);
        const double side_distance = std::abs(u) - 0.12;
        const bool is_ventricle = side_distance * side_distance * 90 + v * v * 12 + w * w * 9 < 1;
        int value = r > 0.95 ? 0 : r > 0.88 ? 90 : r > 0.78 ? 220 : is_ventricle ? 60 : 140;
        const uint32_t noise =
            hash(static_cast<uint32_t>(x), static_cast<uint32_t>(z * 4099 + y), 7);
        if (noise % 100 < 2) value = static_cast<int>(noise >> 24);
        head.pixels.push_back(static_cast<uint8_t>(value));
      }
    }
  }
  return head;
}

}  // namespace regions

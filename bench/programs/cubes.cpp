// Making volumes, and labelling them.
#include "bench/cubes.hpp"

#include <cmath>
#include <cstdio>
#include <cstring>
#include <thread>

#include "tests/pictures/pictures.hpp"

namespace regions {

std::vector<uint8_t> make_cube(const std::string& content, int side) {
  int grain = 1, density = -1;
  std::sscanf(content.c_str(), "rand_g%d_d%d", &grain, &density);
  const auto noise = [](int x, int y, int z, uint32_t seed) {
    return hash(static_cast<uint32_t>(x), static_cast<uint32_t>(z * 4099 + y), seed);
  };
  const auto between = [&](double x, double y, double z, uint32_t seed) {  // trilinear
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
      const auto dice = static_cast<int>(noise(x / grain, y / grain, z / grain, 7) % 100);
      return dice < density ? 255 : 0;
    }
    if (content == "uniform") return static_cast<uint8_t>(noise(x, y, z, 7));
    double sum = 0;
    for (int octave = 0; octave < 4; ++octave) {
      const double cell = (32 >> octave);
      sum +=
          between(x / cell, y / cell, z / cell, static_cast<uint32_t>(octave)) * (8 >> octave) / 15;
    }
    // Averages lie close to the middle: spread them over all values.
    return static_cast<uint8_t>(std::min(std::max((sum - 128) * 2 + 128, 0.0), 255.0));
  };
  const auto edge = static_cast<size_t>(side);
  std::vector<uint8_t> cube(edge * edge * edge);
  const auto fill = [&](int begin, int step) {
    for (int z = begin; z < side; z += step) {
      uint8_t* voxel = cube.data() + static_cast<size_t>(z) * edge * edge;
      for (int y = 0; y < side; ++y) {
        for (int x = 0; x < side; ++x) *voxel++ = value(x, y, z);
      }
    }
  };
  const int threads = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  std::vector<std::jthread> helpers;
  for (int k = 1; k < threads; ++k) helpers.emplace_back(fill, k, threads);
  fill(0, threads);
  helpers.clear();  // waits
  return cube;
}

std::vector<uint8_t> make_head(Size slice, int slices) {
  std::vector<uint8_t> head;
  head.reserve(slice.area() * static_cast<size_t>(slices));
  for (int z = 0; z < slices; ++z) {
    for (int y = 0; y < slice.height; ++y) {
      for (int x = 0; x < slice.width; ++x) {
        const double u = 2.0 * x / slice.width - 1, v = 2.0 * y / slice.height - 1;
        const double w = 2.0 * z / slices - 1;
        const double r = std::sqrt(u * u * 1.5 + v * v * 1.1 + w * w * 0.9);
        const double aside = std::abs(u) - 0.12;
        const bool is_ventricle = aside * aside * 90 + v * v * 12 + w * w * 9 < 1;
        int value = r > 0.95 ? 0 : r > 0.88 ? 90 : r > 0.78 ? 220 : is_ventricle ? 60 : 140;
        const uint32_t noise =
            hash(static_cast<uint32_t>(x), static_cast<uint32_t>(z * 4099 + y), 7);
        if (noise % 100 < 2) value = static_cast<int>(noise >> 24);
        head.push_back(static_cast<uint8_t>(value));
      }
    }
  }
  return head;
}

CubeStand::CubeStand(const std::shared_ptr<Backend>& backend,
                     std::unique_ptr<Algorithm<CcLabelParams>> algorithm,
                     const std::vector<uint8_t>& voxels, Size slice, int slices,
                     const CcLabelParams& params, int frames)
    : backend_(backend),
      algorithm_(std::move(algorithm)),
      queue_(backend->make_queue()),
      params_(params),
      cells_(voxels.size() * static_cast<size_t>(layers_of(params))) {
  Setup setup{.in = layout_of(PixelFormat::gray8), .size = slice};
  setup.depth = slices;
  setup.layers = layers_of(params);
  setup.slots = frames;
  setup.max_regions = 1;
  algorithm_->prepare(params);
  algorithm_->configure(setup);
  staging_ = backend->allocate_pinned(std::max(voxels.size(), label_bytes()));
  std::memcpy(staging_.data(), voxels.data(), voxels.size());
  for (int frame = 0; frame < frames; ++frame) {
    Station& s = stations_.emplace_back();
    s.in = backend->allocate(voxels.size());
    s.labels = backend->allocate(label_bytes());
    queue_->copy_bytes(staging_.data(), s.in.data(), voxels.size());
    s.job.slot = frame;
    s.job.slices = slices;
    s.job.in.plane[0] = s.in.as<std::byte>();
    s.job.in.pitch[0] = slice.width;
    s.job.in.width = slice.width;
    s.job.in.height = slice.height * slices;
    s.job.in.layout = setup.in;
    s.job.in.memory = backend->memory();
    s.job.labels = {s.labels.as<uint32_t>(), slice.width, slice.height * slices * setup.layers,
                    slice.width * 4};
  }
  wait();
}

void CubeStand::fetch(int frame) {
  run(frame);
  queue_->copy_bytes(stations_[static_cast<size_t>(frame)].labels.data(), staging_.data(),
                     label_bytes());
  wait();
}

std::vector<uint32_t> CubeStand::answer(int frame) {
  fetch(frame);
  const auto* labels = staging_.as<uint32_t>();
  return {labels, labels + cells_};
}

bool CubeStand::gives(const std::vector<uint32_t>& expected, int frame) {
  fetch(frame);
  return expected.size() == cells_ &&
         std::memcmp(expected.data(), staging_.data(), label_bytes()) == 0;
}

}  // namespace regions

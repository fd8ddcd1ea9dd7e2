// Scenes of discs through cclabel with track=true on the CPU.
#pragma once

#include <gtest/gtest.h>

#include <cmath>

#include "cpu/backend.hpp"
#include "tests/cclabel/tracking_run.hpp"
#include "tests/cclabel/tracking_scene.hpp"

namespace regions {

using Scene = std::vector<std::vector<Disc>>;  // [frame][disc]

inline constexpr Size kSize = {320, 180};

inline TrackedRun on_cpu(PixelFormat format, Size size, int slots, int threads = 2,
                         uint32_t capacity = 4096) {
  auto backend = make_cpu_backend(threads);
  auto algorithm = make_algorithm<CcLabelParams, BackendKind::cpu>(backend);
  return TrackedRun(backend, std::move(algorithm), layout_of(format), size, slots, capacity);
}

inline CcLabelParams tracked() {
  CcLabelParams params;
  params.threshold = 0.2;
  params.output = CcOutput::none;
  params.track = true;
  return params;
}

inline Scene crowd_scene(Size size, int discs, int frames, uint32_t seed) {
  Scene scene = {crowd(size, discs, seed)};
  while (static_cast<int>(scene.size()) < frames) scene.push_back(moved(size, scene.back()));
  return scene;
}

inline std::vector<Picture> painted(const Scene& scene, Size size = kSize) {
  std::vector<Picture> pictures;
  for (const auto& discs : scene) pictures.push_back(paint_discs(size, discs));
  return pictures;
}

inline std::vector<ConstFrame> frames_of(const std::vector<Picture>& pictures) {
  std::vector<ConstFrame> frames;
  for (const Picture& picture : pictures) frames.push_back(picture.frame());
  return frames;
}

inline std::vector<TrackedFrame> run(const Scene& scene, const CcLabelParams& params, int slots = 1,
                                     int threads = 2, Size size = kSize, uint32_t capacity = 4096) {
  const std::vector<Picture> pictures = painted(scene, size);
  return on_cpu(PixelFormat::rgb, size, slots, threads, capacity).run(frames_of(pictures), params);
}

// The track of the region whose centre is the disc's; 0 if there is none.
inline uint32_t track_of(const TrackedFrame& frame, const Disc& disc) {
  for (const Region& region : frame.regions) {
    if (std::abs(region.centroid_x() - disc.x) < 1.5 &&
        std::abs(region.centroid_y() - disc.y) < 1.5) {
      return region.track;
    }
  }
  return 0;
}

}  // namespace regions

// Warm start: superpixels keep their tracks while the picture moves, and not beyond a cut.
#include "tests/slicsuperpixel/video.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "cpu/backend.hpp"

namespace regions {
namespace {

constexpr Size kSize = {320, 200};

std::vector<GuardedFrame> panned(int frames, int step) {
  std::vector<GuardedFrame> list;
  for (int i = 0; i < frames; ++i) list.push_back(panned_frame(kSize, i * step));
  return list;
}

std::vector<Superpixels> run(const std::vector<GuardedFrame>& frames, const SlicParams& params,
                             int slots = 1, int threads = 2) {
  const auto backend = make_cpu_backend(threads);
  const auto algorithm = make_algorithm<SlicParams, BackendKind::cpu>(backend);
  return run_frames(backend, *algorithm, frames, params, slots);
}

SlicParams warm(int iterations) {
  SlicParams params;
  params.output = SlicOutput::none;
  params.warm_start = true;
  params.iterations = iterations;
  return params;
}

// Share of pixels whose track is that of the same place of the scene in the frame before.
double kept_tracks(const Superpixels& before, const Superpixels& after, int step) {
  int kept = 0, all = 0;
  for (int y = 0; y < kSize.height; ++y) {
    for (int x = 0; x + step < kSize.width; ++x, ++all) {
      const auto row = static_cast<size_t>(y * kSize.width);
      const uint32_t old = before.labels[row + static_cast<size_t>(x + step)];
      const uint32_t now = after.labels[row + static_cast<size_t>(x)];
      kept += before.regions[old - 1].track == after.regions[now - 1].track;
    }
  }
  return static_cast<double>(kept) / all;
}

TEST(SlicVideo, TheFirstFrameIsAsWithoutWarmStart) {
  const auto frames = panned(1, 0);
  SlicParams cold = warm(10);
  cold.warm_start = false;
  EXPECT_EQ(run(frames, warm(10))[0].labels, run(frames, cold)[0].labels);
}

TEST(SlicVideo, TracksFollowTheMotion) {
  const auto frames = panned(8, 1);
  const auto results = run(frames, warm(2));
  double kept = 0;
  for (size_t i = 1; i < results.size(); ++i) kept += kept_tracks(results[i - 1], results[i], 1);
  EXPECT_GT(kept / 7, 0.7);  // a quarter of this noisy scene is second pieces of clusters
  // A cold start knows no tracks: it numbers by raster order.
  SlicParams cold = warm(10);
  cold.warm_start = false;
  const auto again = run(frames, cold);
  double kept_cold = 0;
  for (size_t i = 1; i < again.size(); ++i) kept_cold += kept_tracks(again[i - 1], again[i], 1);
  EXPECT_GT(kept, 2 * kept_cold);
}

TEST(SlicVideo, TracksAreUnique) {
  for (const Superpixels& frame : run(panned(4, 2), warm(3))) {
    std::vector<uint32_t> tracks;
    for (const Region& r : frame.regions) tracks.push_back(r.track);
    std::sort(tracks.begin(), tracks.end());
    EXPECT_EQ(std::adjacent_find(tracks.begin(), tracks.end()), tracks.end());
  }
}

// Two cells, one of each colour, and a corner of the first in the other's: the first superpixel is
// a small piece of the second cluster, whose track is its large piece's.
TEST(SlicVideo, TracksAreOfTheLargestPieces) {
  std::vector<GuardedFrame> frames;
  for (int i = 0; i < 2; ++i) {
    GuardedFrame& picture = frames.emplace_back(PixelFormat::rgb, Size{32, 16});
    for (int y = 0; y < 16; ++y) {
      for (int x = 0; x < 32; ++x) {
        const bool second = x >= 16 || (x < 2 && y < 2);
        for (int c = 0; c < 3; ++c) picture.frame().set_sample(c, x, y, second ? 200 : 40);
      }
    }
  }
  SlicParams params = warm(1);
  params.compactness = 0;
  params.min_size = 0;
  for (const Superpixels& found : run(frames, params)) {
    ASSERT_EQ(found.regions.size(), 3u);
    EXPECT_EQ(found.regions[0].track, 4u) << "behind both clusters' numbers, the second's spare";
    EXPECT_EQ(found.regions[1].track, 1u);
    EXPECT_EQ(found.regions[2].track, 2u);
  }
}

TEST(SlicVideo, ACutBeginsAfresh) {
  std::vector<GuardedFrame> frames = panned(2, 1);
  frames.push_back(panned_frame(kSize, 3, true));
  std::vector<GuardedFrame> alone;
  alone.push_back(panned_frame(kSize, 3, true));
  EXPECT_EQ(run(frames, warm(4))[2].labels, run(alone, warm(4))[0].labels);
}

// What slico has learnt of a superpixel goes on with it; a frame of slic in between ends that.
TEST(SlicVideo, ReachesGoOnWithWarmStart) {
  SlicParams adaptive = warm(1), plain = warm(1);
  adaptive.variant = SlicVariant::slico;
  const auto frames = panned(3, 0);
  const auto results = run(frames, adaptive);
  EXPECT_NE(results[2].labels, results[0].labels);  // one iteration more each, by better reaches

  const auto backend = make_cpu_backend(1);
  const auto algorithm = make_algorithm<SlicParams, BackendKind::cpu>(backend);
  run_frames(backend, *algorithm, panned(2, 0), plain, 1);
  algorithm->reset();
  run_frames(backend, *algorithm, panned(1, 0), plain, 1);
  const auto after = run_frames(backend, *algorithm, panned(1, 0), adaptive, 1);
  EXPECT_EQ(after[0].labels, results[0].labels);
}

TEST(SlicVideo, ResetForgets) {
  const auto backend = make_cpu_backend(1);
  const auto algorithm = make_algorithm<SlicParams, BackendKind::cpu>(backend);
  const auto first = run_frames(backend, *algorithm, panned(3, 1), warm(2), 1);
  algorithm->reset();
  const auto second = run_frames(backend, *algorithm, panned(3, 1), warm(2), 1);
  for (size_t i = 0; i < first.size(); ++i) EXPECT_EQ(first[i].labels, second[i].labels) << i;
}

TEST(SlicVideo, FramesInFlightChangeNothing) {
  const auto frames = panned(9, 2);
  const auto one = run(frames, warm(2), 1, 1);
  const auto four = run(frames, warm(2), 4, 3);
  for (size_t i = 0; i < frames.size(); ++i) {
    EXPECT_EQ(difference(four[i], one[i], kSize.width), "") << i;
  }
}

}  // namespace
}  // namespace regions

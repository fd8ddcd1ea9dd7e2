// Tracking on a GPU is tracking on the CPU, bit for bit, whatever moves.
#include <gtest/gtest.h>

#include <algorithm>

#include "cpu/backend.hpp"
#include "tests/cclabel/cuda_fixture.hpp"
#include "tests/cclabel/tracking_run.hpp"
#include "tests/cclabel/tracking_scene.hpp"

namespace regions {
namespace {

class TrackingCuda : public DirtyCuda {
 protected:
  static CcLabelParams tracked() {
    CcLabelParams params;
    params.threshold = 0.2;
    params.output = CcOutput::none;
    params.track = true;
    params.track_memory = 4;
    return params;
  }

  // All regions, tracks and reports of all frames; `slots` in flight on the GPU.
  void expect_same(const std::vector<Picture>& pictures, const CcLabelParams& params, int slots,
                   uint32_t capacity = 4096) {
    std::vector<ConstFrame> frames;
    for (const Picture& picture : pictures) frames.push_back(picture.frame());
    auto cpu = make_cpu_backend(2);
    TrackedRun slow(cpu, make_algorithm<CcLabelParams, BackendKind::cpu>(cpu), frames[0].layout,
                    frames[0].size(), 1, capacity);
    const auto first = slow.run(frames, params);
    slow.begin_scene();
    const auto second = slow.run(frames, params);
    TrackedRun fast(gpu_, make_algorithm<CcLabelParams, BackendKind::cuda>(gpu_), frames[0].layout,
                    frames[0].size(), slots, capacity);
    for (int time = 0; time < 4; ++time) {
      const auto& expected = time % 2 == 0 ? first : second;
      const auto found = fast.run(frames, params);
      ASSERT_EQ(found.size(), expected.size());
      for (size_t t = 0; t < found.size(); ++t) {
        EXPECT_TRUE(found[t] == expected[t])
            << "frame " << t << " of " << frames[0].width << "x" << frames[0].height << ", "
            << slots << " in flight, time " << time << ": last id " << found[t].report.last_id
            << " instead of " << expected[t].report.last_id;
      }
      time % 2 == 0 ? fast.begin_scene() : fast.reset();
    }
  }
};

std::vector<Picture> crowd_pictures(Size size, int discs, int frames, uint32_t seed, bool apart) {
  std::vector<Picture> pictures;
  std::vector<Disc> now = crowd(size, discs, seed);
  for (int t = 0; t < frames; ++t) {
    pictures.push_back(paint_discs(size, now));
    if (apart) {
      now = moved(size, now);
    } else {  // through each other and the edges
      for (Disc& disc : now) {
        disc.x += disc.vx;
        disc.y += disc.vy;
        if (disc.x < 0 || disc.x > size.width) disc.vx = -disc.vx;
        if (disc.y < 0 || disc.y > size.height) disc.vy = -disc.vy;
      }
    }
  }
  return pictures;
}

TEST_F(TrackingCuda, Crowds) {
  expect_same(crowd_pictures({320, 180}, 25, 60, 1, true), tracked(), 1);
  expect_same(crowd_pictures({321, 179}, 25, 60, 2, true), tracked(), 4);
}

TEST_F(TrackingCuda, CrowdsThatMergeAndPart) {
  expect_same(crowd_pictures({320, 180}, 40, 60, 3, false), tracked(), 1);
  expect_same(crowd_pictures({1000, 700}, 400, 30, 4, false), tracked(), 3);
  CcLabelParams linked = tracked();
  linked.criterion = Criterion::equal;  // every pixel is in a region
  expect_same(crowd_pictures({320, 180}, 30, 30, 5, false), linked, 2);
}

TEST_F(TrackingCuda, BirthsThatAreWaitedFor) {
  CcLabelParams params = tracked();
  params.track_birth = 3;
  expect_same(crowd_pictures({320, 180}, 40, 40, 8, false), params, 3);
}

// Few records, pairs beyond the table's room, more lost ones than fit.
TEST_F(TrackingCuda, Noise) {
  for (const uint32_t capacity : {1u, 40u, 4096u, 65535u}) {
    std::vector<Picture> pictures;
    for (int t = 0; t < 12; ++t) {
      const auto name = "rand_g" + std::to_string(1 + t % 5) + "_d" + std::to_string(10 + 7 * t);
      pictures.push_back(make_picture(name, {400, 300}));
      if (t % 4 == 3) pictures.push_back(make_picture("empty", {400, 300}));
      if (t % 4 == 1) pictures.push_back(make_picture("stripes_h", {400, 300}));
      if (t % 4 == 1) pictures.push_back(make_picture("stripes_v", {400, 300}));
    }
    expect_same(pictures, tracked(), 2, capacity);
  }
}

TEST_F(TrackingCuda, SmallPictures) {
  for (const Size size : {Size{1, 1}, Size{1, 70}, Size{70, 1}, Size{127, 65}, Size{129, 63}}) {
    std::vector<Picture> pictures;
    for (int t = 0; t < 6; ++t) {
      pictures.push_back(make_picture("rand_g" + std::to_string(1 + t % 3) + "_d60", size));
    }
    expect_same(pictures, tracked(), 2);
  }
}

// What is kept of a frame does not depend on how the next one is cut into tiles.
TEST_F(TrackingCuda, CriterionChanges) {
  const auto pictures = crowd_pictures({300, 200}, 30, 24, 7, false);
  const Layout& layout = layout_of(PixelFormat::rgb);
  const auto cpu = make_cpu_backend(2);
  TrackedRun slow(cpu, make_algorithm<CcLabelParams, BackendKind::cpu>(cpu), layout, {300, 200});
  TrackedRun fast(gpu_, make_algorithm<CcLabelParams, BackendKind::cuda>(gpu_), layout, {300, 200});
  uint32_t kept = 0;
  for (size_t t = 0; t < pictures.size(); ++t) {
    CcLabelParams params = tracked();
    params.criterion = t % 3 == 0 ? Criterion::equal : Criterion::binary;
    const auto expected = slow.run({pictures[t].frame()}, params);
    EXPECT_TRUE(fast.run({pictures[t].frame()}, params) == expected) << "frame " << t;
    const auto& regions = expected[0].regions;
    const auto is_kept = [](const Region& region) { return region.track < region.id; };
    if (t > 0) kept += static_cast<uint32_t>(std::ranges::count_if(regions, is_kept));
  }
  EXPECT_GT(kept, 0u) << "no track was followed, so that nothing was compared";
}

// The pictures that show tracks, against the CPU's.
TEST_F(TrackingCuda, PicturesShowTracks) {
  const Size size = {150, 90};
  const auto pictures = crowd_pictures(size, 12, 6, 6, false);
  for (const auto& [output, format] : {std::pair(CcOutput::labels, PixelFormat::gray8),
                                       std::pair(CcOutput::colors, PixelFormat::rgb),
                                       std::pair(CcOutput::overlay, PixelFormat::rgb)}) {
    CcLabelParams params = tracked();
    params.output = output;
    params.label_values = LabelValues::track;
    std::vector<std::vector<std::byte>> shown[2];
    for (int device = 0; device < 2; ++device) {
      const auto backend = device ? gpu_ : make_cpu_backend(2);
      const Backend::Entry entry(*backend);
      const auto algorithm = device ? make_algorithm<CcLabelParams, BackendKind::cuda>(backend)
                                    : make_algorithm<CcLabelParams, BackendKind::cpu>(backend);
      algorithm->configure({.in = layout_of(PixelFormat::rgb),
                            .size = size,
                            .out = layout_of(format),
                            .has_output = true,
                            .max_regions = 100,
                            .tracks = true});
      const auto queue = backend->make_queue();
      const Block in = backend->allocate(size.area() * 3), out = backend->allocate(size.area() * 3);
      for (const Picture& picture : pictures) {
        FrameTask task;
        task.in = picture.frame();
        queue->copy_bytes(picture.pixels.data(), in.data(), picture.pixels.size());
        task.in.plane[0] = in.as<std::byte>();
        task.in.memory = backend->memory();
        task.out.layout = layout_of(format);
        task.out.width = size.width;
        task.out.height = size.height;
        task.out.plane[0] = output == CcOutput::overlay ? in.as<std::byte>() : out.as<std::byte>();
        task.out.pitch[0] = size.width * (format == PixelFormat::gray8 ? 1 : 3);
        task.out.memory = backend->memory();
        algorithm->enqueue(task, params, *queue);
        std::vector<std::byte> bytes(static_cast<size_t>(task.out.pitch[0]) * 90);
        queue->copy_bytes(task.out.plane[0], bytes.data(), bytes.size());
        queue->record();
        queue->wait();
        shown[device].push_back(std::move(bytes));
      }
    }
    for (size_t t = 0; t < pictures.size(); ++t) {
      EXPECT_TRUE(shown[0][t] == shown[1][t]) << "frame " << t << " " << name_of(format);
    }
  }
}

}  // namespace
}  // namespace regions
